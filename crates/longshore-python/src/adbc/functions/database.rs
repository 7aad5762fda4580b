//! The functions of databases: told which one, opened, released.

use std::ffi::c_char;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use longshore_engine::{Config, Database, Durability};

use super::super::abi::{CError, Handle, INVALID_STATE, NOT_FOUND, NOT_IMPLEMENTED, Status};
use super::super::handles::{made, taken, told, with};
use super::super::problem::Problem;
use super::super::texts::{given, optional};
use crate::runtime::started;
use crate::shared;

/// A database: what is told of it before it is opened, and then itself.
#[derive(Default)]
pub(super) struct OfDatabase {
    directory: Mutex<Option<String>>,
    opened: Mutex<Option<Arc<Database>>>,
}

impl OfDatabase {
    /// The database, if it was opened.
    pub(super) fn opened(&self) -> Result<Arc<Database>, Problem> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone();
        opened.ok_or_else(|| Problem::new(INVALID_STATE, "the database is not open"))
    }
}

// Managers call these functions as the specification has it: handles are those of this driver, texts end with NUL and live as
// long as the call, and errors are null or valid. This is what the safety comments mean.

pub(super) unsafe extern "C" fn new(database: *mut Handle, error: *mut CError) -> Status {
    // SAFETY: see above.
    unsafe { made::<OfDatabase>(database, error) }
}

pub(super) unsafe extern "C" fn set_option(
    database: *mut Handle,
    name: *const c_char,
    value: *const c_char,
    error: *mut CError,
) -> Status {
    // SAFETY: see above.
    unsafe {
        with(database, error, |database: &OfDatabase| {
            let value = optional(value)?.unwrap_or_default();
            match given(name)? {
                "uri" | "path" => {
                    let directory = (!value.is_empty() && value != ":memory:").then(|| value.to_owned());
                    *database.directory.lock().unwrap_or_else(PoisonError::into_inner) = directory;
                }
                "longshore.database" => {
                    let found = value.parse().ok().and_then(shared::shared);
                    let found = found.ok_or_else(|| Problem::new(NOT_FOUND, "this database is closed"))?;
                    *database.opened.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
                }
                other => {
                    let problem = format!("Longshore's databases have no option {other}; there is uri");
                    return Err(Problem::new(NOT_IMPLEMENTED, problem));
                }
            }
            Ok(())
        })
    }
}

pub(super) unsafe extern "C" fn init(database: *mut Handle, error: *mut CError) -> Status {
    // SAFETY: see above.
    unsafe {
        with(database, error, |database: &OfDatabase| {
            let mut opened = database.opened.lock().unwrap_or_else(PoisonError::into_inner);
            let _entered = started()?.enter();
            if opened.is_none() {
                let directory = database.directory.lock().unwrap_or_else(PoisonError::into_inner);
                let (config, durability) = (Config::default(), Durability::default());
                *opened = Some(match &*directory {
                    None => Database::open(config)?,
                    Some(directory) => Database::open_directory(Path::new(directory), config, &durability)?,
                });
            }
            Ok(())
        })
    }
}

pub(super) unsafe extern "C" fn release(database: *mut Handle, error: *mut CError) -> Status {
    // SAFETY: see above.
    unsafe {
        told(error, || {
            let database = taken::<OfDatabase>(database)?;
            let opened = database
                .here()
                .and_then(|database| database.opened.lock().unwrap_or_else(PoisonError::into_inner).take());
            let _entered = started()?.enter();
            opened.map_or(Ok(()), |opened| Ok(shared::close(opened)?))
        })
    }
}
