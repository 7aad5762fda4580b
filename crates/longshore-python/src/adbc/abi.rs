//! ADBC's C interface, revision 1.1: the structs and numbers that drivers and their managers share.
//!
//! The layouts are those of `adbc.h` (<https://arrow.apache.org/adbc/current/format/specification.html>). Functions that this driver
//! has not are null: managers answer for them that they are not implemented.

use std::ffi::{c_char, c_int, c_void};

use crate::c_data::{CArray, CSchema, CStream};

/// `AdbcStatusCode`.
pub(crate) type Status = u8;

/// What went well.
pub(super) const OK: Status = 0;
pub(super) const UNKNOWN: Status = 1;
pub(super) const NOT_IMPLEMENTED: Status = 2;
pub(super) const NOT_FOUND: Status = 3;
pub(super) const ALREADY_EXISTS: Status = 4;
pub(super) const INVALID_ARGUMENT: Status = 5;
pub(super) const INVALID_STATE: Status = 6;
pub(super) const INVALID_DATA: Status = 7;
pub(super) const INTEGRITY: Status = 8;
pub(super) const INTERNAL: Status = 9;
pub(super) const IO: Status = 10;
pub(super) const CANCELLED: Status = 11;
pub(super) const UNAUTHENTICATED: Status = 13;
pub(super) const UNAUTHORIZED: Status = 14;

/// The revisions that this driver knows.
pub(super) const VERSION_1_0: c_int = 1_000_000;
pub(super) const VERSION_1_1: c_int = 1_001_000;

/// `struct AdbcDatabase`, `struct AdbcConnection` and `struct AdbcStatement`, which are alike.
#[repr(C)]
pub(crate) struct Handle {
    pub(super) private_data: *mut c_void,
    private_driver: *mut c_void,
}

/// `struct AdbcError`, as far as every revision has it.
#[repr(C)]
pub(crate) struct CError {
    pub(super) message: *mut c_char,
    vendor_code: i32,
    pub(super) sqlstate: [c_char; 5],
    pub(super) release: Option<unsafe extern "C" fn(*mut CError)>,
}

/// `struct AdbcError` of revision 1.1.
#[repr(C)]
pub(super) struct CError1_1 {
    pub(super) before: CError,
    private_data: *mut c_void,
    /// Set by managers.
    private_driver: *mut c_void,
}

impl CError1_1 {
    /// One with nothing in it.
    pub(super) fn empty() -> Self {
        let before = CError { message: std::ptr::null_mut(), vendor_code: 0, sqlstate: [0; 5], release: None };
        Self { before, private_data: std::ptr::null_mut(), private_driver: std::ptr::null_mut() }
    }
}

impl Drop for CError1_1 {
    fn drop(&mut self) {
        if let Some(release) = self.before.release {
            // SAFETY: it has something in it, whose producer gave the function for that.
            unsafe { release(&raw mut self.before) };
        }
    }
}

// SAFETY: what it points to belongs to it, and managers use it with its stream, by one thread at a time.
unsafe impl Send for CError1_1 {}

/// A function that this driver has not.
type Missing = Option<unsafe extern "C" fn()>;
pub(super) type OnHandle = unsafe extern "C" fn(*mut Handle, *mut CError) -> Status;
pub(super) type OnText = unsafe extern "C" fn(*mut Handle, *const c_char, *mut CError) -> Status;
pub(super) type SetOption = unsafe extern "C" fn(*mut Handle, *const c_char, *const c_char, *mut CError) -> Status;
pub(super) type OnTwo = unsafe extern "C" fn(*mut Handle, *mut Handle, *mut CError) -> Status;
pub(super) type GetStream = unsafe extern "C" fn(*mut Handle, *mut CStream, *mut CError) -> Status;
pub(super) type GetInfo = unsafe extern "C" fn(*mut Handle, *const u32, usize, *mut CStream, *mut CError) -> Status;
pub(super) type GetObjects = unsafe extern "C" fn(
    *mut Handle,
    c_int,
    *const c_char,
    *const c_char,
    *const c_char,
    *const *const c_char,
    *const c_char,
    *mut CStream,
    *mut CError,
) -> Status;
pub(super) type GetTableSchema =
    unsafe extern "C" fn(*mut Handle, *const c_char, *const c_char, *const c_char, *mut CSchema, *mut CError) -> Status;
pub(super) type Bind = unsafe extern "C" fn(*mut Handle, *mut CArray, *mut CSchema, *mut CError) -> Status;
pub(super) type ExecuteQuery = unsafe extern "C" fn(*mut Handle, *mut CStream, *mut i64, *mut CError) -> Status;
pub(super) type ErrorFromStream = unsafe extern "C" fn(*mut CStream, *mut Status) -> *const CError;
pub(super) type GetSchema = unsafe extern "C" fn(*mut Handle, *mut CSchema, *mut CError) -> Status;

/// `struct AdbcDriver` of revision 1.0.
#[repr(C)]
pub(super) struct Driver1_0 {
    pub(super) private_data: *mut c_void,
    pub(super) private_manager: *mut c_void,
    pub(super) release: Option<OnHandle>,
    pub(super) database_init: Option<OnHandle>,
    pub(super) database_new: Option<OnHandle>,
    pub(super) database_set_option: Option<SetOption>,
    pub(super) database_release: Option<OnHandle>,
    pub(super) connection_commit: Option<OnHandle>,
    pub(super) connection_get_info: Option<GetInfo>,
    pub(super) connection_get_objects: Option<GetObjects>,
    pub(super) connection_get_table_schema: Option<GetTableSchema>,
    pub(super) connection_get_table_types: Option<GetStream>,
    pub(super) connection_init: Option<OnTwo>,
    pub(super) connection_new: Option<OnHandle>,
    pub(super) connection_set_option: Option<SetOption>,
    pub(super) connection_read_partition: Missing,
    pub(super) connection_release: Option<OnHandle>,
    pub(super) connection_rollback: Option<OnHandle>,
    pub(super) statement_bind: Option<Bind>,
    pub(super) statement_bind_stream: Option<GetStream>,
    pub(super) statement_execute_query: Option<ExecuteQuery>,
    pub(super) statement_execute_partitions: Missing,
    pub(super) statement_get_parameter_schema: Missing,
    pub(super) statement_new: Option<OnTwo>,
    pub(super) statement_prepare: Option<OnHandle>,
    pub(super) statement_release: Option<OnHandle>,
    pub(super) statement_set_option: Option<SetOption>,
    pub(super) statement_set_sql_query: Option<OnText>,
    pub(super) statement_set_substrait_plan: Missing,
}

/// What revision 1.1 has more.
#[repr(C)]
pub(super) struct Driver1_1 {
    pub(super) before: Driver1_0,
    /// Details of errors.
    pub(super) of_errors: [Missing; 2],
    pub(super) error_from_array_stream: Option<ErrorFromStream>,
    /// Options of databases by other types.
    pub(super) of_databases: [Missing; 7],
    pub(super) connection_cancel: Option<OnHandle>,
    /// Options of connections by other types, and statistics.
    pub(super) of_connections: [Missing; 9],
    pub(super) statement_cancel: Option<OnHandle>,
    pub(super) statement_execute_schema: Option<GetSchema>,
    /// Options of statements by other types.
    pub(super) of_statements: [Missing; 7],
}

// The sizes that `adbc.h` has: 29 and 58 pointers.
const POINTER: usize = size_of::<*const c_void>();
const _: () = assert!(size_of::<Driver1_0>() == 29 * POINTER);
const _: () = assert!(size_of::<Driver1_1>() == 58 * POINTER);
