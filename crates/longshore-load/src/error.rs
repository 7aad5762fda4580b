//! Why a load stopped: always with the file, and with line, byte, column, value and remedy where a field is at fault.
//!
//! The folder holds what errors tell of: bad fields, rejected records, duplicate keys, references to nothing. Not here:
//! from a position in a piece to a line (`position`), gathering rejects (`reject`).

use std::fmt;
use std::io;

use longshore_csv::{DialectError, RECORD_BYTES_MAX};
use longshore_source::SourceError;
use longshore_storage::{OutOfMemory, TransactionError};

mod duplicate;
mod field;
mod reference;
mod reject;

pub(crate) use duplicate::REMEDY;
pub use duplicate::{DuplicateKey, KeyHolder, RecordNumber, RecordPlace};
pub use field::{BadField, Fault};
pub(crate) use field::{Excerpt, UNCLOSED_QUOTE};
pub use reference::{MissingReference, ReferringRecord};
pub use reject::{
    REJECT_RECORD_BYTES_MAX, REJECT_VALUE_BYTES_MAX, REJECTS_SHOWN_MAX, Reject, RejectLimit, RejectedColumn,
    TooManyRejects,
};

/// Why a load, a scan or an unload stopped. `Display` is the whole message for the user.
#[derive(Debug)]
pub enum LoadError {
    /// The file cannot be opened or read.
    Io {
        /// The file.
        file: String,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        error: io::Error,
    },
    /// The file became shorter while it was read.
    Shrunk {
        /// The file.
        file: String,
    },
    /// The file was written while it was read.
    Changed {
        /// The file.
        file: String,
    },
    /// A field or a record that cannot be taken.
    Bad(Box<BadField>),
    /// A record that is not whole, in a pass that is to be done again with a format that repairs such
    /// ([`TextOptions::repairing`](crate::TextOptions::repairing)).
    Misshapen(Box<BadField>),
    /// A field that is NULL where none may be.
    Null(Box<BadField>),
    /// A record that violates a check.
    Violated(Box<BadField>),
    /// There are not as many numbers as records.
    NoNumbers(String),
    /// A record that refers to a row that is not there.
    Reference(Box<MissingReference>),
    /// More records were rejected than may be.
    TooManyRejects(Box<TooManyRejects>),
    /// Two records have the same key, or one has a key that is in the relation already, and there can only be one.
    Duplicate(Box<DuplicateKey>),
    /// The rows could not become part of the relation.
    Transaction(TransactionError),
    /// The text is not what the options say, as a whole.
    Unfit {
        /// The file.
        file: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// The options contradict each other.
    Dialect(DialectError),
    /// An option has a value that cannot work.
    Options(String),
    /// The memory limit was reached.
    OutOfMemory(OutOfMemory),
    /// The same for the text of a stream that can be read only once.
    TextOutOfMemory {
        /// The stream.
        file: String,
        /// What was asked for.
        error: OutOfMemory,
    },
    /// The statement was cancelled.
    Cancelled,
    /// A predicate that was pushed into the scan failed.
    Filter(String),
    /// The rows to unload could not be made.
    Query(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { file, action, error } => write!(f, "{file}: cannot {action}: {error}"),
            Self::Shrunk { file } => {
                write!(f, "{file}: the file became shorter while it was read; load it again when nothing writes to it")
            }
            Self::Changed { file } => {
                write!(
                    f,
                    "{file}: a text of the file changed while it was read; load it again when nothing writes to it"
                )
            }
            Self::Bad(bad) | Self::Misshapen(bad) | Self::Null(bad) | Self::Violated(bad) => bad.fmt(f),
            Self::Reference(missing) => missing.fmt(f),
            Self::TooManyRejects(rejects) => rejects.fmt(f),
            Self::Duplicate(duplicate) => duplicate.fmt(f),
            Self::Transaction(error) => error.fmt(f),
            Self::Unfit { file, problem } => write!(f, "{file}: {problem}"),
            Self::Dialect(error) => error.fmt(f),
            Self::OutOfMemory(error) => error.fmt(f),
            Self::TextOutOfMemory { file, error } => write!(
                f,
                "{file}: it can be read only once, so that its text is kept until the types of all columns are known; give \
                 the columns with their types, or save it to a file first ({error})"
            ),
            Self::Cancelled => f.write_str("the statement was cancelled"),
            Self::Options(problem) | Self::Filter(problem) | Self::Query(problem) | Self::NoNumbers(problem) => {
                f.write_str(problem)
            }
        }
    }
}

impl std::error::Error for LoadError {}

impl LoadError {
    /// A record of the file `name` is longer than may be: more likely than data is a quote that was never closed.
    pub(crate) fn record_too_long(name: &str) -> Self {
        Self::Unfit {
            file: name.to_owned(),
            problem: format!(
                "a record is longer than {RECORD_BYTES_MAX} bytes; a quote may never be closed: check QUOTE and ESCAPE, \
                 or set QUOTE NONE"
            ),
        }
    }

    /// The same of options that do not fit the file `name`.
    pub(crate) fn about(self, name: &str) -> Self {
        match self {
            Self::Options(problem) => Self::Options(format!("{name}: {problem}")),
            error => error,
        }
    }
}

impl From<SourceError> for LoadError {
    /// A reader says so when the memory limit is reached.
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Io { file, action, error } => {
                match error.get_ref().and_then(|inner| inner.downcast_ref::<OutOfMemory>()) {
                    Some(out_of_memory) => Self::OutOfMemory(out_of_memory.clone()),
                    None => Self::Io { file, action, error },
                }
            }
            SourceError::Unfit { file, problem } => Self::Unfit { file, problem },
            SourceError::Unopened => Self::Options(error.to_string()),
            SourceError::Cancelled => Self::Cancelled,
        }
    }
}

impl From<OutOfMemory> for LoadError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}

impl From<TransactionError> for LoadError {
    fn from(error: TransactionError) -> Self {
        match error {
            TransactionError::OutOfMemory(error) => Self::OutOfMemory(error),
            error => Self::Transaction(error),
        }
    }
}

impl From<DialectError> for LoadError {
    fn from(error: DialectError) -> Self {
        Self::Dialect(error)
    }
}
