//! A record that refers to a row that is not there.
//!
//! Not here: finding it (`load/references`).

use std::fmt;

use longshore_storage::ForeignKeyError;

use super::duplicate::RecordPlace;
use super::field::BadField;

/// A record that refers to a row that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingReference {
    /// The record.
    pub record: ReferringRecord,
    /// What it violates.
    pub error: ForeignKeyError,
}

/// A record, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferringRecord {
    /// With its text.
    Text(BadField),
    /// Of a text that cannot be read again.
    Place(RecordPlace),
}

impl fmt::Display for MissingReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.record {
            ReferringRecord::Text(record) => record.fmt(f),
            ReferringRecord::Place(place) => write!(f, "{place}: {}", self.error),
        }
    }
}
