//! What must hold of a row beside its types, as the caller evaluates it.
//!
//! Not here: decoding the columns that it reads (`check`).

use std::fmt;

use arrow_array::RecordBatch;
use longshore_csv::DefectKind;

/// A condition on rows, evaluated on some of their columns.
pub trait RowCheck: fmt::Debug + Send + Sync {
    /// The columns that it reads, as positions in the schema of the relation.
    fn columns(&self) -> &[usize];

    /// The rows that violate it, in their order, each once.
    ///
    /// # Errors
    /// The message of an evaluation that failed.
    fn violations(&self, rows: &RecordBatch) -> Result<Vec<RowViolation>, String>;
}

/// A row that violates a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowViolation {
    /// Its number among the rows that were checked.
    pub row: usize,
    /// What it violates, as a word.
    pub kind: DefectKind,
    /// What it violates, as a sentence.
    pub reason: String,
    /// What the user can do; empty where that is clear.
    pub remedy: &'static str,
}
