//! The ways in which a record does not say what it must.

use std::error::Error;
use std::fmt;

use crate::log::Lsn;
use crate::memory::OutOfMemory;
use crate::row_id::RowId;
use crate::table::RelationId;

/// A record of a log cannot be done again. What was done before it stays done, but nothing may be made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayError {
    /// The record, by the position behind it.
    pub position: Lsn,
    /// The relation that it was about.
    pub relation: Option<RelationId>,
    /// The row.
    pub row: Option<RowId>,
    /// What is wrong.
    pub problem: ReplayProblem,
}

/// What is wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayProblem {
    /// Its bytes are not those of a record; the text says why.
    Malformed(String),
    /// There is no such relation.
    NoRelation,
    /// The relation is there already.
    RelationExists,
    /// The relation that is to be restored is at work.
    RelationInUse,
    /// There is no such row.
    NoRow,
    /// The row is there already.
    RowExists,
    /// There would be more chunks than memory has room for.
    RowBeyond,
    /// A column does not take a value.
    Value {
        /// The column.
        column: String,
        /// Why.
        reason: String,
    },
    /// A chunk in a block file cannot be read; the text says which and why.
    Block(String),
    /// Memory ran out.
    OutOfMemory(OutOfMemory),
}

impl fmt::Display for ReplayProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayProblem::Malformed(reason) => write!(f, "malformed: {reason}"),
            ReplayProblem::NoRelation => f.write_str("there is no such relation"),
            ReplayProblem::RelationExists => f.write_str("the relation is there already"),
            ReplayProblem::RelationInUse => f.write_str("somebody works on the relation"),
            ReplayProblem::NoRow => f.write_str("there is no such row"),
            ReplayProblem::RowExists => f.write_str("the row is there already"),
            ReplayProblem::RowBeyond => f.write_str("the row lies beyond what memory has room for"),
            ReplayProblem::Value { column, reason } => write!(f, "column {column}: {reason}"),
            ReplayProblem::Block(reason) => f.write_str(reason),
            ReplayProblem::OutOfMemory(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the record that ends at {}", self.position)?;
        if let Some(relation) = self.relation {
            write!(f, ", relation {relation}")?;
        }
        if let Some(row) = self.row {
            write!(f, ", row {row}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl Error for ReplayError {}

impl From<OutOfMemory> for ReplayProblem {
    fn from(error: OutOfMemory) -> ReplayProblem {
        ReplayProblem::OutOfMemory(error)
    }
}
