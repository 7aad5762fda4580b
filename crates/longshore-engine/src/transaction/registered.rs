//! Rows of the program that a session belongs to, under names that its queries know.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

/// Rows under a name. All batches have the schema.
#[derive(Clone, Debug)]
pub(crate) struct Registered {
    pub(crate) name: String,
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Arc<[RecordBatch]>,
}

/// The rows that a session knows.
#[derive(Debug, Default)]
pub(crate) struct RegisteredRows(Mutex<Vec<Registered>>);

impl RegisteredRows {
    /// All of them.
    pub(crate) fn all(&self) -> Vec<Registered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether there are any.
    pub(crate) fn are_any(&self) -> bool {
        !self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Whether a name stands for rows.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|rows| rows.name == name)
    }

    /// Adds rows, in the place of those of the same name.
    pub(crate) fn add(&self, rows: Registered) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|other| other.name != rows.name);
        known.push(rows);
    }

    /// Forgets the rows of a name.
    pub(crate) fn remove(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|rows| rows.name != name);
    }
}
