//! Takes the place of all requests where the feature `remote` is off.

use std::io::{self, Read};

use super::Listed;
use crate::budget::Budget;
use crate::options::StoreOptions;

/// Refuses to read the file at an address.
pub(crate) fn open(_url: &str, _options: &StoreOptions, _budget: Budget) -> io::Result<Box<dyn Read + Send>> {
    Err(refused())
}

/// Refuses to ask about the file at an address.
pub(crate) fn ask(_url: &str, _options: &StoreOptions) -> io::Result<Listed> {
    Err(refused())
}

/// Refuses to list the files of a bucket.
pub(crate) fn list(_bucket: &str, _prefix: &str, _options: &StoreOptions) -> io::Result<Vec<Listed>> {
    Err(refused())
}

fn refused() -> io::Error {
    let problem = "this build reads no remote files: fetch it first, or build with the feature `remote`";
    io::Error::new(io::ErrorKind::Unsupported, problem)
}
