//! The functions of the driver, as managers call them, and the one that hands them out.

mod connection;
mod database;
mod statement;

use std::ffi::{c_int, c_void};

use super::abi::{
    CError, CError1_1, Driver1_0, Driver1_1, Handle, NOT_IMPLEMENTED, OK, Status, VERSION_1_0, VERSION_1_1,
};
use super::handles::{put, told};
use super::problem::Problem;
use crate::c_data::CStream;
use crate::c_data::stream::Failure;

unsafe extern "C" fn driver_release(_driver: *mut Handle, _error: *mut CError) -> Status {
    OK
}

/// Why a stream of ours cannot go on; null where it can. What it points to lives as long as the stream.
///
/// # Safety
/// `stream` and `status` are null or valid, and nobody else uses the stream meanwhile.
unsafe extern "C" fn error_from_array_stream(stream: *mut CStream, status: *mut Status) -> *const CError {
    let tell = |failure: &Failure| {
        let mut told = CError1_1::empty();
        // SAFETY: the error is valid.
        let status = unsafe { Problem::of_stream(failure).tell(&raw mut told.before) };
        (status, told)
    };
    // SAFETY: as the caller says.
    let Some((of_stream, told)) = (unsafe { CStream::told(stream, tell) }) else { return std::ptr::null() };
    // SAFETY: as the caller says.
    if let Some(status) = unsafe { status.as_mut() } {
        *status = *of_stream;
    }
    &raw const told.before
}

fn driver() -> Driver1_1 {
    Driver1_1 {
        before: Driver1_0 {
            private_data: std::ptr::null_mut(),
            private_manager: std::ptr::null_mut(),
            release: Some(driver_release),
            database_init: Some(database::init),
            database_new: Some(database::new),
            database_set_option: Some(database::set_option),
            database_release: Some(database::release),
            connection_commit: Some(connection::commit),
            connection_get_info: Some(connection::get_info),
            connection_get_objects: Some(connection::get_objects),
            connection_get_table_schema: Some(connection::get_table_schema),
            connection_get_table_types: Some(connection::get_table_types),
            connection_init: Some(connection::init),
            connection_new: Some(connection::new),
            connection_set_option: Some(connection::set_option),
            connection_read_partition: None,
            connection_release: Some(connection::release),
            connection_rollback: Some(connection::rollback),
            statement_bind: Some(statement::bind),
            statement_bind_stream: Some(statement::bind_stream),
            statement_execute_query: Some(statement::execute_query),
            statement_execute_partitions: None,
            statement_get_parameter_schema: None,
            statement_new: Some(statement::new),
            statement_prepare: Some(statement::prepare),
            statement_release: Some(statement::release),
            statement_set_option: Some(statement::set_option),
            statement_set_sql_query: Some(statement::set_sql_query),
            statement_set_substrait_plan: None,
        },
        of_errors: [None; 2],
        error_from_array_stream: Some(error_from_array_stream),
        of_databases: [None; 7],
        connection_cancel: None,
        of_connections: [None; 9],
        statement_cancel: Some(statement::cancel),
        statement_execute_schema: Some(statement::execute_schema),
        of_statements: [None; 7],
    }
}

/// Fills in the functions of the driver: what a manager looks for in the library.
///
/// # Safety
/// `driver` is room for a driver of this revision, and `error` null or valid.
#[unsafe(export_name = "AdbcDriverInit")]
unsafe extern "C" fn init(version: c_int, place: *mut c_void, error: *mut CError) -> Status {
    let known = driver();
    // SAFETY: as the caller says.
    unsafe {
        told(error, || match version {
            VERSION_1_1 => put(place.cast(), known),
            VERSION_1_0 => put(place.cast(), known.before),
            _ => Err(Problem::new(NOT_IMPLEMENTED, "this driver has revisions 1.0 and 1.1 of ADBC")),
        })
    }
}
