//! The ways in which an operation on relations fails, by a transaction or beside all.
//!
//! Not here: how a commit fails (`transaction/error.rs`), an append from Arrow batches (`buffer/error.rs`), a key
//! (`index/key.rs`), the native format (`native/error.rs`); what the memory limit refuses (`memory/error.rs`).

use std::error::Error;
use std::fmt;

use crate::block_ref::NotStored;
use crate::index::{IsCancelled, KeyError};
use crate::memory::OutOfMemory;
use crate::row_id::RowId;
use crate::types::ColumnType;
use crate::view::HEAP_BYTES_MAX;
use crate::visibility::{ConflictKind, Owner};

mod foreign_key;

pub use foreign_key::{ForeignKeyError, ForeignKeyProblem};

/// A row that has a key which a row of an append was to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// It was in the relation before.
    Relation(RowId),
    /// It is of the same append: its number among all rows of it, in their order, from 0.
    Append(u64),
}

/// A row of an append that has the key of another one: the first such row in the order of the append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendedPair {
    /// Who has the key.
    pub first: Holder,
    /// Who must not have it, too: its number among all rows of the append, in their order, from 0.
    pub second: u64,
}

/// An operation of a transaction has failed. After a [`TransactionError::Conflict`] or when memory has run out the
/// transaction can only be rolled back; after any other error what the operation had done is undone.
#[derive(Clone, Debug, PartialEq)]
pub enum TransactionError {
    /// Another transaction is in the way; the same transaction may succeed when it is tried again.
    Conflict {
        /// The relation.
        relation: String,
        /// The row that both are about.
        row: RowId,
        /// In what way.
        kind: ConflictKind,
    },
    /// The relation is being altered, or was: what the transaction knows of it is out of date.
    Altered {
        /// The relation.
        relation: String,
        /// Whether the same transaction may succeed when it is tried again, and asks anew what the name stands for. If
        /// not, it began after the alteration and works on what the relation was before.
        retry: bool,
        /// The transaction that alters it and has not ended, if one does.
        by: Option<Owner>,
    },
    /// Rows are being appended to a relation that is to be altered.
    Appending {
        /// The relation.
        relation: String,
    },
    /// A row is NULL in a column that is to be NOT NULL.
    HasNull {
        /// The relation.
        relation: String,
        /// The column.
        column: String,
        /// The first such row.
        row: RowId,
        /// Its values, for instance `(1, 'two', NULL)`.
        values: String,
    },
    /// A key that there can only be one of is there already.
    Duplicate {
        /// The relation.
        relation: String,
        /// The index.
        index: String,
        /// The key, as text.
        key: String,
        /// The row that has it.
        row: RowId,
        /// Which rows of an append these are, if it is one that was to add the key.
        appended: Option<Box<AppendedPair>>,
    },
    /// The transaction sees no such row.
    NoSuchRow {
        /// The relation.
        relation: String,
        /// The row.
        row: RowId,
    },
    /// There is no such column.
    NoSuchColumn {
        /// The relation.
        relation: String,
        /// The name that was asked for.
        column: String,
    },
    /// A value has another type than the column it is for.
    Type {
        /// The relation.
        relation: String,
        /// The column.
        column: String,
        /// Its type.
        column_type: ColumnType,
        /// The type of the value.
        found: &'static str,
    },
    /// A row with another number of values than the relation has columns.
    ColumnCount {
        /// The relation.
        relation: String,
        /// Its columns.
        expected: usize,
        /// Values.
        found: usize,
    },
    /// A foreign key does not hold.
    ForeignKey(Box<ForeignKeyError>),
    /// A column has no default that a row could get which refers to another one.
    Default {
        /// The relation.
        relation: String,
        /// The column.
        column: String,
        /// Why not.
        reason: String,
    },
    /// NULL for a column that is NOT NULL.
    NotNull {
        /// The relation.
        relation: String,
        /// The column.
        column: String,
    },
    /// The value is NULL, but was read as one that is not.
    IsNull {
        /// The relation.
        relation: String,
        /// The column.
        column: String,
        /// The row.
        row: RowId,
    },
    /// A text of more characters than the column may hold.
    TooLong {
        /// The relation.
        relation: String,
        /// The column.
        column: String,
        /// Its type.
        column_type: ColumnType,
        /// The text, shortened for display.
        value: String,
        /// Its characters.
        length: usize,
    },
    /// A value that the column's type cannot represent.
    Invalid {
        /// The relation.
        relation: String,
        /// The column.
        column: String,
        /// Its type.
        column_type: ColumnType,
        /// The value, shortened for display.
        value: String,
    },
    /// More bytes of text in a row, or by and by in the rows of a chunk, than a chunk can hold (2 GiB).
    TooMuchText {
        /// The relation.
        relation: String,
        /// Bytes of the text that does not fit.
        bytes: usize,
    },
    /// A column of an index cannot be set in place: the row must be deleted and inserted again.
    Indexed {
        /// The relation.
        relation: String,
        /// The column.
        column: String,
    },
    /// Values that are no key of an index.
    Key {
        /// The relation.
        relation: String,
        /// The index.
        index: String,
        /// What is wrong with them.
        error: KeyError,
    },
    /// The relation has an index of that name already, or none where one is meant.
    IndexName {
        /// The relation.
        relation: String,
        /// The name.
        index: String,
        /// Whether there is one.
        exists: bool,
    },
    /// Transactions wait for each other in a circle, and this one was chosen to fail.
    Deadlock,
    /// The transaction was begun as one that only reads.
    ReadOnly,
    /// The transaction was given up by who ran it.
    Abandoned,
    /// The caller wants what it asked for no more.
    Cancelled,
    /// The log of the database does not take the changes: the transaction was rolled back.
    NotLogged {
        /// Why.
        reason: String,
    },
    /// Rows do not reach the file of the database that they are loaded into.
    NotStored {
        /// Why, with the name of the file.
        reason: String,
    },
    /// The transaction was committed, but is not known to be safe on disk: after a crash all of it is there, or nothing.
    NotSafe {
        /// Why.
        reason: String,
    },
    /// Memory ran out.
    OutOfMemory(OutOfMemory),
}

impl TransactionError {
    /// Whether the same transaction may succeed when it is tried again.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(
            self,
            TransactionError::Conflict { .. }
                | TransactionError::Altered { retry: true, .. }
                | TransactionError::Appending { .. }
                | TransactionError::Deadlock
        )
    }
}

impl fmt::Display for TransactionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TransactionError::Conflict { relation, row, kind } => {
                write!(f, "could not serialize access to row {row} of {relation}: {kind}; try the transaction again")
            }
            TransactionError::Altered { relation, retry: true, .. } => write!(
                f,
                "could not serialize access to {relation}: it is being altered, or was since this transaction began; try \
                 the transaction again"
            ),
            TransactionError::Altered { relation, retry: false, .. } => {
                write!(f, "{relation} was altered, and this is what it was before; look it up by its name again")
            }
            TransactionError::Appending { relation } => {
                write!(f, "rows are being loaded into {relation}; alter it when that is done")
            }
            TransactionError::HasNull { relation, column, row, values } => write!(
                f,
                "column {column} of {relation} cannot be NOT NULL: it is NULL in row {row}, {values}; update that first"
            ),
            TransactionError::Duplicate { relation, index, key, appended, .. } => {
                write!(f, "duplicate key {key} in {relation}: {index} allows it once, and ")?;
                match appended.as_deref() {
                    None => f.write_str("another row has it"),
                    Some(AppendedPair { first: Holder::Append(first), second }) => {
                        write!(f, "rows {} and {} of those that were to be added have it", first + 1, second + 1)
                    }
                    Some(AppendedPair { first: Holder::Relation(_), second }) => write!(
                        f,
                        "row {} of those that were to be added has it, which is in the table already",
                        second + 1
                    ),
                }
            }
            TransactionError::NoSuchRow { relation, row } => {
                write!(f, "row {row} of {relation} does not exist for this transaction")
            }
            TransactionError::NoSuchColumn { relation, column } => {
                write!(f, "{relation} has no column {column}")
            }
            TransactionError::Type { relation, column, column_type, found } => {
                write!(f, "column {column} of {relation} is {column_type}, but the value is {found}; convert it")
            }
            TransactionError::ColumnCount { relation, expected, found } => {
                write!(f, "a row has {found} values, but {relation} has {expected} columns")
            }
            TransactionError::ForeignKey(error) => error.fmt(f),
            TransactionError::Default { relation, column, reason } => {
                write!(f, "column {column} of {relation} has no default to refer to: {reason}")
            }
            TransactionError::NotNull { relation, column } => {
                write!(f, "column {column} of {relation}: the value is NULL but the column is NOT NULL")
            }
            TransactionError::IsNull { relation, column, row } => {
                write!(f, "column {column} of row {row} of {relation} is NULL; read it as a value that may be missing")
            }
            TransactionError::TooLong { relation, column, column_type, value, length } => write!(
                f,
                "value too long for type {}: column {column} of {relation}, \"{value}\" ({length} characters); shorten it or widen \
                 the column",
                column_type.long_name()
            ),
            TransactionError::Invalid { relation, column, column_type, value } => write!(
                f,
                "column {column} {column_type} of {relation}: \"{value}\" is not a valid value or out of range"
            ),
            TransactionError::TooMuchText { relation, bytes } => write!(
                f,
                "a text of {bytes} bytes does not fit into its chunk of {relation}, which holds at most {HEAP_BYTES_MAX}"
            ),
            TransactionError::Indexed { relation, column } => write!(
                f,
                "column {column} of {relation} is part of an index and cannot be set in place; replace the whole row"
            ),
            TransactionError::Key { relation, index, error } => write!(f, "index {index} of {relation}: {error}"),
            TransactionError::IndexName { relation, index, exists: true } => {
                write!(f, "{relation} has an index {index} already; choose another name")
            }
            TransactionError::IndexName { relation, index, exists: false } => {
                write!(f, "{relation} has no index {index}")
            }
            TransactionError::Deadlock => f.write_str("deadlock detected"),
            TransactionError::ReadOnly => f.write_str("a read-only transaction cannot change rows"),
            TransactionError::Abandoned => f.write_str("the transaction was given up"),
            TransactionError::Cancelled => f.write_str("the statement was cancelled"),
            TransactionError::NotLogged { reason } => write!(f, "the log does not take the changes: {reason}"),
            TransactionError::NotStored { reason } => {
                write!(f, "rows cannot be written to the database, which goes on without them: {reason}")
            }
            TransactionError::NotSafe { reason } => {
                write!(f, "the transaction was committed, but a crash may undo it: {reason}")
            }
            TransactionError::OutOfMemory(error) => error.fmt(f),
        }
    }
}

impl Error for TransactionError {}

impl From<ForeignKeyError> for TransactionError {
    fn from(error: ForeignKeyError) -> TransactionError {
        TransactionError::ForeignKey(Box::new(error))
    }
}

impl From<NotStored> for TransactionError {
    fn from(NotStored(reason): NotStored) -> TransactionError {
        TransactionError::NotStored { reason: reason.to_string() }
    }
}

impl From<OutOfMemory> for TransactionError {
    fn from(error: OutOfMemory) -> TransactionError {
        TransactionError::OutOfMemory(error)
    }
}

/// Fails if the statement was cancelled.
pub(crate) fn check_cancelled(is_cancelled: IsCancelled<'_>) -> Result<(), TransactionError> {
    if is_cancelled() { Err(TransactionError::Cancelled) } else { Ok(()) }
}
