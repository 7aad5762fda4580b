//! Why a source cannot be found, opened or read: always with its name.
//!
//! Not here: what is wrong with records (`longshore-load`), or with a container (`fault`, which travels inside an
//! [`io::Error`]).

use std::fmt;
use std::io;

/// Why a source cannot be found, opened or read. `Display` is the whole message for the user.
#[derive(Debug)]
pub enum SourceError {
    /// The system, a server or a container says so.
    Io {
        /// The file.
        file: String,
        /// What was tried.
        action: &'static str,
        /// What was said.
        error: io::Error,
    },
    /// It is not what was asked for.
    Unfit {
        /// The file, or the pattern.
        file: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// It can be opened once only, and that failed.
    Unopened,
    /// Nobody wants it any more.
    Cancelled,
}

impl SourceError {
    /// The source `name` could not be read on.
    #[must_use]
    pub fn of_read(name: &str, error: io::Error) -> Self {
        Self::Io { file: name.to_owned(), action: "read it", error }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { file, action, error } => write!(f, "{file}: cannot {action}: {error}"),
            Self::Unfit { file, problem } => write!(f, "{file}: {problem}"),
            Self::Unopened => f.write_str("a source that could not be opened cannot be read"),
            Self::Cancelled => f.write_str("the statement was cancelled"),
        }
    }
}

impl std::error::Error for SourceError {}
