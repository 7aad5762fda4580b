//! What goes wrong, as ADBC tells it: a status, an SQLSTATE and a message.

use std::any::Any;
use std::ffi::{CString, c_char};
use std::fmt;

use arrow_schema::ArrowError;
use longshore_engine::Error;

use super::abi::{
    ALREADY_EXISTS, CANCELLED, CError, INTEGRITY, INTERNAL, INVALID_ARGUMENT, INVALID_DATA, INVALID_STATE, IO,
    NOT_FOUND, NOT_IMPLEMENTED, Status, UNAUTHENTICATED, UNAUTHORIZED, UNKNOWN,
};
use crate::c_data::stream::Failure;

/// What went wrong.
pub(super) struct Problem {
    status: Status,
    sqlstate: String,
    message: String,
}

impl Problem {
    pub(super) fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, sqlstate: String::new(), message: message.into() }
    }

    /// Why a stream cannot go on.
    pub(super) fn of_stream(failure: &Failure) -> Self {
        match failure.sqlstate.clone() {
            Some(sqlstate) => Self { status: status_of(&sqlstate), sqlstate, message: failure.message.clone() },
            None => Self::new(IO, failure.message.clone()),
        }
    }

    /// What a panic has left.
    pub(super) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let message = panic.downcast_ref::<&str>().map(|message| (*message).to_owned());
        let message = message.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Self::new(INTERNAL, format!("this is a bug of Longshore: {message}"))
    }

    /// Tells it in `error`, if anybody asks.
    ///
    /// # Safety
    /// `error` is null or a valid error of a manager.
    pub(super) unsafe fn tell(self, error: *mut CError) -> Status {
        // SAFETY: as the caller says.
        let Some(told) = (unsafe { error.as_mut() }) else { return self.status };
        if let Some(release) = told.release {
            // SAFETY: the error has something in it, whose producer gave the function for that.
            unsafe { release(told) };
        }
        told.message = CString::new(self.message.replace('\0', "")).unwrap_or_default().into_raw();
        told.sqlstate = [0; 5];
        for (to, byte) in told.sqlstate.iter_mut().zip(self.sqlstate.bytes()) {
            *to = byte as c_char;
        }
        told.release = Some(release);
        self.status
    }
}

unsafe extern "C" fn release(error: *mut CError) {
    // SAFETY: the caller hands in an error that `Problem::tell` has filled.
    let Some(told) = (unsafe { error.as_mut() }) else { return };
    if !told.message.is_null() {
        // SAFETY: `Problem::tell` made it of a text of ours, and nobody else frees it.
        drop(unsafe { CString::from_raw(told.message) });
    }
    told.message = std::ptr::null_mut();
    told.release = None;
}

fn status_of(sqlstate: &str) -> Status {
    match sqlstate {
        "42P01" | "42704" | "3F000" => NOT_FOUND,
        "42P07" | "42710" | "42P06" => ALREADY_EXISTS,
        "57014" => CANCELLED,
        "42501" => UNAUTHORIZED,
        _ => match sqlstate.get(..2).unwrap_or_default() {
            "0A" => NOT_IMPLEMENTED,
            "22" => INVALID_DATA,
            "23" => INTEGRITY,
            "24" | "25" | "2D" | "3B" => INVALID_STATE,
            "28" => UNAUTHENTICATED,
            "26" | "34" | "42" => INVALID_ARGUMENT,
            "53" | "58" => IO,
            "XX" => INTERNAL,
            _ => UNKNOWN,
        },
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self { sqlstate: Some(problem.sqlstate).filter(|sqlstate| !sqlstate.is_empty()), message: problem.message }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let sqlstate = error.kind().sqlstate().to_owned();
        Self { status: status_of(&sqlstate), sqlstate, message: error.to_string() }
    }
}

impl From<ArrowError> for Problem {
    fn from(error: ArrowError) -> Self {
        Self::new(INVALID_DATA, error.to_string())
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        Self::new(IO, error.to_string())
    }
}
