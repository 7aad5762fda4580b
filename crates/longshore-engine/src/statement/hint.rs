//! What may have been meant where a table does not exist.

use crate::catalog::Catalog;
use crate::sql::slips;
use crate::{Error, ErrorKind};

/// The error that a table does not exist, with the one that may have been meant.
pub(super) fn with_hint(error: Error, catalog: &Catalog) -> Error {
    let message = error.to_string();
    let name = message.strip_suffix(" does not exist").and_then(|rest| match rest.strip_prefix("relation ") {
        Some(name) => name.strip_prefix('"')?.strip_suffix('"'),
        None => rest.strip_prefix("table "),
    });
    let Some(name) = name.filter(|_| error.kind() == ErrorKind::NotFound) else { return error };
    let names = catalog.names();
    match slips::hint(name, names.iter().map(String::as_str)) {
        hint if hint.is_empty() => error,
        hint => Error::not_found(message + &hint),
    }
}
