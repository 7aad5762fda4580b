//! What is said beside an error: what may have been meant where a table does not exist, and why a label is none yet.

use crate::catalog::Catalog;
use crate::sql::{names, slips};
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

/// The error that a text is no label of an enumeration; another one if it is to be one once the transaction block commits.
pub(super) fn of_new_label(error: Error, catalog: &Catalog) -> Error {
    if error.kind() != ErrorKind::InvalidText || !catalog.is_fork() {
        return error;
    }
    let message = error.to_string();
    let added = catalog.definitions(|definitions| definitions.new_labels.clone());
    for (name, labels) in &added {
        let shown = names::shown_name(name);
        let said = format!("invalid input value for enum {shown}");
        let Some((_, rest)) = message.split_once(&said) else { continue };
        let is_it = |label: &&String| match rest.strip_prefix("; failing row contains (") {
            Some(row) => row.split([',', ')']).any(|value| value.trim() == label.as_str()),
            None => rest.starts_with(&format!(": \"{label}\"")),
        };
        if let Some(label) = labels.iter().find(is_it) {
            let problem = format!("unsafe use of new value \"{label}\" of enum type {shown}");
            let why = "new enum values must be committed before they can be used";
            return Error::new(ErrorKind::Coded("55P04"), format!("{problem}: {why}"));
        }
    }
    error
}
