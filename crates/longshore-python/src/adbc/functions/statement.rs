//! The functions of statements: told what to execute, with which rows, executed, cancelled.

use std::ffi::c_char;
use std::sync::Arc;

use arrow_schema::{DataType, Schema};

use super::super::abi::{CError, Handle, INVALID_ARGUMENT, Status};
use super::super::handles::{put, taken, told, with};
use super::super::problem::Problem;
use super::super::session::kept;
use super::super::statement::Statement;
use super::super::texts::{given, optional};
use super::connection::OfConnection;
use crate::c_data::stream::StreamReader;
use crate::c_data::{CArray, CSchema, CStream};
use crate::runtime::Home;

// Managers call these functions as the specification has it: handles are those of this driver, texts end with NUL and live as
// long as the call, and errors are null or valid. This is what the safety comments mean.

pub(super) unsafe extern "C" fn new(connection: *mut Handle, statement: *mut Handle, error: *mut CError) -> Status {
    // SAFETY: see above.
    unsafe {
        with(connection, error, |connection: &OfConnection| {
            let made = Home::new(Statement::of(connection.session()?));
            let handle = statement.as_mut().ok_or_else(|| Problem::new(INVALID_ARGUMENT, "there is no handle"))?;
            handle.private_data = Box::into_raw(Box::new(made)).cast();
            Ok(())
        })
    }
}

pub(super) unsafe extern "C" fn release(statement: *mut Handle, error: *mut CError) -> Status {
    // SAFETY: see above.
    unsafe { told(error, || taken::<Statement>(statement).map(drop)) }
}

pub(super) unsafe extern "C" fn set_sql_query(
    statement: *mut Handle,
    query: *const c_char,
    error: *mut CError,
) -> Status {
    // SAFETY: see above.
    unsafe {
        with(statement, error, |statement: &Statement| {
            statement.set_query(given(query)?);
            Ok(())
        })
    }
}

pub(super) unsafe extern "C" fn set_option(
    statement: *mut Handle,
    name: *const c_char,
    value: *const c_char,
    error: *mut CError,
) -> Status {
    // SAFETY: see above.
    unsafe {
        with(statement, error, |statement: &Statement| {
            statement.set_option(given(name)?, optional(value)?.unwrap_or_default())
        })
    }
}

/// Statements are prepared when they are executed, as the types of their parameters are known then.
pub(super) unsafe extern "C" fn prepare(statement: *mut Handle, error: *mut CError) -> Status {
    // SAFETY: see above.
    unsafe { with(statement, error, |_: &Statement| Ok(())) }
}

pub(super) unsafe extern "C" fn bind(
    statement: *mut Handle,
    rows: *mut CArray,
    schema: *mut CSchema,
    error: *mut CError,
) -> Status {
    // SAFETY: see above; a manager hands both over.
    unsafe {
        with(statement, error, |statement: &Statement| {
            if rows.is_null() || schema.is_null() {
                return Err(Problem::new(INVALID_ARGUMENT, "there are no rows to bind"));
            }
            let (rows, schema) = (CArray::take(rows), CSchema::take(schema));
            let DataType::Struct(fields) = schema.data_type()? else {
                return Err(Problem::new(INVALID_ARGUMENT, "the values of rows that are bound are no structs"));
            };
            let schema = Arc::new(Schema::new(fields));
            let batch = rows.batch(&schema)?;
            statement.bind(schema, Box::new(std::iter::once(Ok(batch))));
            Ok(())
        })
    }
}

pub(super) unsafe extern "C" fn bind_stream(
    statement: *mut Handle,
    stream: *mut CStream,
    error: *mut CError,
) -> Status {
    // SAFETY: see above; a manager hands the stream over.
    unsafe {
        with(statement, error, |statement: &Statement| {
            if stream.is_null() {
                return Err(Problem::new(INVALID_ARGUMENT, "there are no rows to bind"));
            }
            let reader = StreamReader::new(CStream::take(stream))?;
            let schema = Arc::clone(reader.schema());
            statement.bind(schema, Box::new(reader.map(|batch| batch.map_err(|error| error.to_string()))));
            Ok(())
        })
    }
}

pub(super) unsafe extern "C" fn execute_query(
    statement: *mut Handle,
    out: *mut CStream,
    changed: *mut i64,
    error: *mut CError,
) -> Status {
    // SAFETY: see above.
    unsafe {
        with(statement, error, |statement: &Statement| {
            let (stream, rows) = statement.execute(!out.is_null())?;
            if let Some(changed) = changed.as_mut() {
                *changed = rows.and_then(|rows| i64::try_from(rows).ok()).unwrap_or(-1);
            }
            if out.is_null() {
                return Ok(());
            }
            // A statement without rows has a stream without columns.
            put(out, stream.unwrap_or_else(|| kept(Arc::new(Schema::empty()), Vec::new())))
        })
    }
}

pub(super) unsafe extern "C" fn execute_schema(
    statement: *mut Handle,
    out: *mut CSchema,
    error: *mut CError,
) -> Status {
    // SAFETY: see above.
    unsafe { with(statement, error, |statement: &Statement| put(out, CSchema::of_table(&*statement.columns()?)?)) }
}

pub(super) unsafe extern "C" fn cancel(statement: *mut Handle, error: *mut CError) -> Status {
    // SAFETY: see above.
    unsafe {
        with(statement, error, |statement: &Statement| {
            statement.cancel();
            Ok(())
        })
    }
}
