//! What is wrong with a container, in words: the format, the place in the compressed bytes, and the reason.
//!
//! A fault travels inside an [`io::Error`], since readers can say nothing else; the file's name is added by the load.

use std::fmt;
use std::io;

/// Why a worker or the thread that cuts a container stopped before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Nobody reads any more.
    Cancelled,
    /// The input cannot be read, or is damaged.
    Failed(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// A damaged container.
#[derive(Debug)]
struct Fault {
    format: &'static str,
    offset: u64,
    problem: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at compressed byte {}: {}", self.format, self.offset, self.problem)
    }
}

impl std::error::Error for Fault {}

/// The bytes at `offset` are not what the format asks for.
pub(crate) fn damaged(format: &'static str, offset: u64, problem: impl Into<String>) -> Stop {
    let fault = Fault { format, offset, problem: problem.into() };
    Stop::Failed(io::Error::new(io::ErrorKind::InvalidData, fault))
}

/// The bytes end at `offset`, inside `what`.
pub(crate) fn truncated(format: &'static str, offset: u64, what: &str) -> Stop {
    let problem = format!("the file ends inside {what}: it is cut short, fetch or compress it again");
    Stop::Failed(io::Error::new(io::ErrorKind::UnexpectedEof, Fault { format, offset, problem }))
}
