//! Why a load stopped: always with the file, and with line, byte, column, value and remedy where a field is at fault.

use std::fmt;
use std::io;

use longshore_csv::DialectError;
use longshore_storage::{OutOfMemory, TransactionError};

use crate::{DuplicateKey, MissingReference, TooManyRejects};

/// Characters of a bad value that a message shows.
const VALUE_CHARS_MAX: usize = 60;

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

/// Where a bad field or record stands, and why it is bad.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadField {
    /// The file.
    pub file: String,
    /// Line of the field's first byte, from 1; every line feed counts, also those inside quotes.
    pub line: u64,
    /// Offset of the field's first byte in the file, from 0.
    pub byte: u64,
    /// Name and type of the column; `None` where the record as a whole is misshapen.
    pub column: Option<(String, String)>,
    /// The raw text of the field or record, quotes included.
    pub value: Vec<u8>,
    /// Why it cannot be taken.
    pub reason: String,
    /// What the user can do.
    pub remedy: String,
}

impl fmt::Display for BadField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: line {}, byte {}", self.file, self.line, self.byte)?;
        if let Some((name, column_type)) = &self.column {
            let value = Excerpt(&self.value);
            write!(f, ", column {name} {column_type}: {value} is not valid ({})", self.reason)?;
        } else {
            write!(f, ": {}: {}", Excerpt(&self.value), self.reason)?;
        }
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

/// A raw value as a message shows it: quoted, escaped, and cut when long.
pub(crate) struct Excerpt<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        let mut shown = 0;
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                if shown == VALUE_CHARS_MAX {
                    return write!(f, "...\" ({} bytes)", self.0.len());
                }
                shown += 1;
                match character {
                    '\n' => f.write_str("\\n")?,
                    '\r' => f.write_str("\\r")?,
                    '\t' => f.write_str("\\t")?,
                    c if c.is_control() => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                    c => write!(f, "{c}")?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
                shown += 1;
            }
        }
        f.write_str("\"")
    }
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
    /// The same of options that do not fit the file `name`.
    pub(crate) fn about(self, name: &str) -> Self {
        match self {
            Self::Options(problem) => Self::Options(format!("{name}: {problem}")),
            error => error,
        }
    }

    /// Why the file `name` could not be read on; a reader says so when the memory limit is reached.
    pub(crate) fn of_read(name: &str, error: io::Error) -> Self {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<OutOfMemory>()) {
            Some(out_of_memory) => Self::OutOfMemory(out_of_memory.clone()),
            None => Self::Io { file: name.to_owned(), action: "read it", error },
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
