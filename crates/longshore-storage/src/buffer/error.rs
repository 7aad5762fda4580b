//! The failure of an append from Arrow batches.

use std::error::Error;
use std::fmt;

use crate::memory::OutOfMemory;
use crate::types::ColumnType;
use crate::view::HEAP_BYTES_MAX;

/// A batch cannot be appended. Rows are counted from 0 within the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppendError {
    /// Memory ran out.
    OutOfMemory(OutOfMemory),
    /// The batch does not have the columns of the relation.
    ColumnCount {
        /// Columns of the relation.
        expected: usize,
        /// Columns of the batch.
        found: usize,
    },
    /// A column of the batch does not have the Arrow type of the relation's column.
    Type {
        /// The column.
        column: String,
        /// The type the relation asks for.
        expected: String,
        /// The type of the batch.
        found: String,
    },
    /// NULL for a column that is NOT NULL.
    Null {
        /// The column.
        column: String,
        /// Row of the batch.
        row: usize,
    },
    /// A text of more characters than the column may hold.
    TooLong {
        /// The column.
        column: String,
        /// Its type.
        column_type: ColumnType,
        /// Row of the batch.
        row: usize,
        /// The value, shortened for display.
        value: String,
        /// Its characters.
        length: usize,
    },
    /// A value that the column's type cannot represent.
    Invalid {
        /// The column.
        column: String,
        /// Its type.
        column_type: ColumnType,
        /// Row of the batch.
        row: usize,
        /// The value, shortened for display.
        value: String,
    },
    /// A single row with more bytes of text than a chunk can hold (2 GiB).
    RowTooLarge {
        /// Row of the batch.
        row: usize,
        /// Bytes of its texts.
        bytes: usize,
    },
}

impl fmt::Display for AppendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AppendError::OutOfMemory(error) => error.fmt(f),
            AppendError::ColumnCount { expected, found } => {
                write!(f, "a row has {found} values, but the table has {expected} columns")
            }
            AppendError::Type { column, expected, found } => {
                write!(f, "column {column}: found a value of type {found} where {expected} is expected; cast it")
            }
            AppendError::Null { column, .. } => {
                write!(f, "column {column}: the value is NULL but the column is NOT NULL")
            }
            AppendError::TooLong { column, column_type, value, length, .. } => write!(
                f,
                "value too long for type {}: column {column}, \"{value}\" ({length} characters); shorten it or widen the column",
                column_type.long_name()
            ),
            AppendError::Invalid { column, column_type, value, .. } => {
                write!(f, "column {column} {column_type}: \"{value}\" is not a valid value or out of range")
            }
            AppendError::RowTooLarge { bytes, .. } => {
                write!(f, "a row has {bytes} bytes of text; at most {HEAP_BYTES_MAX} fit")
            }
        }
    }
}

impl Error for AppendError {}

impl From<OutOfMemory> for AppendError {
    fn from(error: OutOfMemory) -> AppendError {
        AppendError::OutOfMemory(error)
    }
}
