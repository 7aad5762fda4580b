//! Why the program ends with a status other than zero, and with which.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use longshore_engine::{Error, ErrorKind};

use crate::generate::GenerateError;
use crate::interrupt::EXIT_INTERRUPTED;

/// Exit status of a process that wrote to a closed pipe, as a shell reports it.
const EXIT_BROKEN_PIPE: i32 = 141;

/// Why a run ended early.
#[derive(Debug)]
pub(crate) struct Failure {
    /// File and line of the statement.
    place: Option<(String, usize)>,
    reason: Reason,
}

/// What went wrong.
#[derive(Debug)]
pub(crate) enum Reason {
    /// A statement failed.
    Statement(Error),
    /// A meta-command failed, or a step of the demo.
    Message(String),
    /// A file could not be read or written.
    File(PathBuf, io::Error),
    /// Standard output could not be written.
    Output(io::Error),
    /// The reader of standard output has gone.
    BrokenPipe,
    /// The file of `--stats` could not be written.
    Stats(io::Error),
    /// Signals cannot be handled.
    Signals(io::Error),
    /// The terminal failed.
    Terminal(String),
    /// The user stopped it.
    Interrupted,
}

impl Reason {
    /// A file that could not be read or written.
    pub(crate) fn file(path: &Path, error: io::Error) -> Self {
        Self::File(path.to_owned(), error)
    }

    /// A failure of standard output.
    pub(crate) fn output(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::BrokenPipe } else { Self::Output(error) }
    }
}

impl Failure {
    /// Names the file and the line of the statement, unless an inner file is named already.
    pub(crate) fn at(mut self, name: &str, line: usize) -> Self {
        self.place.get_or_insert_with(|| (name.to_owned(), line));
        self
    }

    /// Whether the user need not be told.
    pub(crate) fn is_quiet(&self) -> bool {
        matches!(self.reason, Reason::BrokenPipe)
    }

    /// Whether a shell cannot go on after it.
    pub(crate) fn is_fatal(&self) -> bool {
        matches!(self.reason, Reason::BrokenPipe | Reason::Output(_) | Reason::Stats(_) | Reason::Terminal(_))
    }

    /// The error of the statement that failed.
    pub(crate) fn error(&self) -> Option<&Error> {
        match &self.reason {
            Reason::Statement(error) => Some(error),
            _ => None,
        }
    }

    /// The status of the process.
    pub(crate) fn exit_code(&self) -> i32 {
        match &self.reason {
            Reason::BrokenPipe => EXIT_BROKEN_PIPE,
            Reason::Interrupted => EXIT_INTERRUPTED,
            Reason::Statement(error) if error.kind() == ErrorKind::Cancelled => EXIT_INTERRUPTED,
            _ => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, line)) = &self.place {
            write!(f, "{name}:{line}: ")?;
        }
        match &self.reason {
            Reason::Statement(error) => write!(f, "{error}"),
            Reason::Message(message) | Reason::Terminal(message) => f.write_str(message),
            Reason::File(path, error) => write!(f, "{}: {error}", path.display()),
            Reason::Output(error) => write!(f, "standard output: {error}"),
            Reason::BrokenPipe => f.write_str("standard output was closed"),
            Reason::Stats(error) => write!(f, "the file of --stats: {error}"),
            Reason::Signals(error) => write!(f, "signals cannot be handled: {error}"),
            Reason::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Self {
        Self { place: None, reason }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Reason::Statement(error).into()
    }
}

impl From<GenerateError> for Failure {
    fn from(error: GenerateError) -> Self {
        match error {
            GenerateError::Interrupted => Reason::Interrupted.into(),
            other => Reason::Message(other.to_string()).into(),
        }
    }
}
