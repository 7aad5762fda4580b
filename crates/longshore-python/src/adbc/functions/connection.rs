//! The functions of connections: sessions, their transactions and options, and what there is in the database.

use std::ffi::{c_char, c_int};
use std::sync::{Mutex, PoisonError};

use super::super::abi::{CError, Handle, INVALID_STATE, Status};
use super::super::handles::{made, put, state, taken, told, with};
use super::super::info;
use super::super::objects::{self, Asked};
use super::super::problem::Problem;
use super::super::session::{Session, kept, quoted};
use super::super::statement::columns_of;
use super::super::texts::{given, optional};
use super::database::OfDatabase;
use crate::c_data::{CSchema, CStream};

/// A connection: what is told of it before it has a session, and then this.
#[derive(Default)]
pub(super) struct OfConnection {
    options: Mutex<Vec<(String, String)>>,
    session: Mutex<Option<Session>>,
}

impl OfConnection {
    /// Its session, once it has one.
    pub(super) fn session(&self) -> Result<Session, Problem> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).clone();
        session.ok_or_else(|| Problem::new(INVALID_STATE, "the connection is not open"))
    }
}

// Managers call these functions as the specification has it: handles are those of this driver, texts end with NUL and live as
// long as the call, and errors are null or valid. This is what the safety comments mean.

pub(super) unsafe extern "C" fn new(connection: *mut Handle, error: *mut CError) -> Status {
    // SAFETY: see above.
    unsafe { made::<OfConnection>(connection, error) }
}

pub(super) unsafe extern "C" fn init(connection: *mut Handle, database: *mut Handle, error: *mut CError) -> Status {
    // SAFETY: see above.
    unsafe {
        with(connection, error, |connection: &OfConnection| {
            let database: &OfDatabase = state(database)?;
            let session = Session::of(database.opened()?);
            let options = std::mem::take(&mut *connection.options.lock().unwrap_or_else(PoisonError::into_inner));
            for (name, value) in options {
                session.set_option(&name, &value)?;
            }
            *connection.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
            Ok(())
        })
    }
}

pub(super) unsafe extern "C" fn set_option(
    connection: *mut Handle,
    name: *const c_char,
    value: *const c_char,
    error: *mut CError,
) -> Status {
    // SAFETY: see above.
    unsafe {
        with(connection, error, |connection: &OfConnection| {
            let (name, value) = (given(name)?, optional(value)?.unwrap_or_default());
            if let Ok(session) = connection.session() {
                return session.set_option(name, value);
            }
            let mut options = connection.options.lock().unwrap_or_else(PoisonError::into_inner);
            options.push((name.to_owned(), value.to_owned()));
            Ok(())
        })
    }
}

pub(super) unsafe extern "C" fn release(connection: *mut Handle, error: *mut CError) -> Status {
    // SAFETY: see above.
    unsafe {
        told(error, || {
            let connection = taken::<OfConnection>(connection)?;
            let session = connection
                .here()
                .and_then(|connection| connection.session.lock().unwrap_or_else(PoisonError::into_inner).take());
            session.map_or(Ok(()), Session::close)
        })
    }
}

pub(super) unsafe extern "C" fn commit(connection: *mut Handle, error: *mut CError) -> Status {
    // SAFETY: see above.
    unsafe { with(connection, error, |connection: &OfConnection| connection.session()?.end("COMMIT")) }
}

pub(super) unsafe extern "C" fn rollback(connection: *mut Handle, error: *mut CError) -> Status {
    // SAFETY: see above.
    unsafe { with(connection, error, |connection: &OfConnection| connection.session()?.end("ROLLBACK")) }
}

pub(super) unsafe extern "C" fn get_info(
    connection: *mut Handle,
    codes: *const u32,
    count: usize,
    out: *mut CStream,
    error: *mut CError,
) -> Status {
    // SAFETY: see above; a manager has so many codes there.
    unsafe {
        with(connection, error, |_: &OfConnection| {
            let codes = if codes.is_null() { None } else { Some(std::slice::from_raw_parts(codes, count)) };
            let batch = info::info(codes)?;
            put(out, kept(batch.schema(), vec![batch]))
        })
    }
}

#[allow(clippy::too_many_arguments, reason = "they are those of adbc.h")]
pub(super) unsafe extern "C" fn get_objects(
    connection: *mut Handle,
    depth: c_int,
    catalog: *const c_char,
    schema: *const c_char,
    table: *const c_char,
    kinds: *const *const c_char,
    column: *const c_char,
    out: *mut CStream,
    error: *mut CError,
) -> Status {
    // SAFETY: see above; null ends the list of texts.
    unsafe {
        with(connection, error, |connection: &OfConnection| {
            let mut asked_kinds = None;
            if !kinds.is_null() {
                let found = asked_kinds.insert(Vec::new());
                let mut at = kinds;
                while let Some(kind) = optional(*at)? {
                    found.push(kind);
                    at = at.add(1);
                }
            }
            let asked = Asked {
                depth,
                catalog: optional(catalog)?,
                schema: optional(schema)?,
                table: optional(table)?,
                kinds: asked_kinds,
                column: optional(column)?,
            };
            let batch = objects::objects(&connection.session()?, &asked)?;
            put(out, kept(batch.schema(), vec![batch]))
        })
    }
}

pub(super) unsafe extern "C" fn get_table_types(
    connection: *mut Handle,
    out: *mut CStream,
    error: *mut CError,
) -> Status {
    // SAFETY: see above.
    unsafe {
        with(connection, error, |_: &OfConnection| {
            let batch = objects::table_types()?;
            put(out, kept(batch.schema(), vec![batch]))
        })
    }
}

pub(super) unsafe extern "C" fn get_table_schema(
    connection: *mut Handle,
    catalog: *const c_char,
    schema: *const c_char,
    table: *const c_char,
    out: *mut CSchema,
    error: *mut CError,
) -> Status {
    // SAFETY: see above.
    unsafe {
        with(connection, error, |connection: &OfConnection| {
            let table = quoted(given(table)?);
            // There is one catalog.
            let _ = optional(catalog)?;
            let table = match optional(schema)?.filter(|schema| !schema.is_empty()) {
                Some(schema) => format!("{}.{table}", quoted(schema)),
                None => table,
            };
            let columns = columns_of(&connection.session()?, &format!("SELECT * FROM {table}"))?;
            put(out, CSchema::of_table(&columns)?)
        })
    }
}
