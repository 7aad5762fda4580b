//! The ways in which a native file cannot be written or read. Each names the file, and the block where there is one.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::memory::OutOfMemory;

use super::wire::Malformed;

/// Why a native file was not written or not read.
#[derive(Debug)]
pub enum NativeError {
    /// The operating system refused an operation on the file.
    Io {
        /// The file.
        file: PathBuf,
        /// What was tried, as in "cannot ...".
        action: &'static str,
        /// What the operating system says.
        source: io::Error,
    },
    /// The file does not begin as a native file does.
    Foreign {
        /// The file.
        file: PathBuf,
    },
    /// The file has another version of the format.
    Version {
        /// The file.
        file: PathBuf,
        /// Its version.
        found: u32,
        /// The version that this program reads and writes.
        supported: u32,
    },
    /// The file is not as it was written.
    Damaged {
        /// The file.
        file: PathBuf,
        /// Where.
        place: Place,
        /// What is wrong there.
        reason: String,
    },
    /// There is not enough memory for the relation.
    OutOfMemory {
        /// The file.
        file: PathBuf,
        /// What was asked for.
        source: OutOfMemory,
    },
    /// It claims more rows than the machine has memory for.
    TooLarge {
        /// The file.
        file: PathBuf,
        /// The rows that it claims to have.
        rows: u64,
        /// The least that they take in memory.
        bytes: u64,
        /// What the machine has.
        machine_bytes: u64,
    },
    /// The caller's control said to stop.
    Cancelled {
        /// The file.
        file: PathBuf,
    },
}

/// The part of a file that an error is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The last bytes of the file, which say where the directory is.
    Trailer,
    /// The list of all blocks.
    Directory,
    /// The values of one column of one chunk.
    Block {
        /// Number of the chunk, from 0.
        chunk: usize,
        /// Name of the column.
        column: String,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Trailer => f.write_str("trailer"),
            Place::Directory => f.write_str("directory"),
            Place::Block { chunk, column } => write!(f, "block of chunk {chunk}, column {column}"),
        }
    }
}

impl NativeError {
    pub(super) fn io(file: &Path, action: &'static str, source: io::Error) -> NativeError {
        NativeError::Io { file: file.to_owned(), action, source }
    }

    pub(super) fn damaged(file: &Path, place: Place, reason: impl Into<String>) -> NativeError {
        NativeError::Damaged { file: file.to_owned(), place, reason: reason.into() }
    }

    pub(super) fn malformed(file: &Path, place: Place, malformed: Malformed) -> NativeError {
        NativeError::damaged(file, place, malformed.0)
    }

    pub(super) fn out_of_memory(file: &Path, source: OutOfMemory) -> NativeError {
        NativeError::OutOfMemory { file: file.to_owned(), source }
    }

    pub(super) fn cancelled(file: &Path) -> NativeError {
        NativeError::Cancelled { file: file.to_owned() }
    }
}

impl fmt::Display for NativeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NativeError::Io { file, action, source } => {
                write!(f, "{}: cannot {action}: {source}", file.display())
            }
            NativeError::Foreign { file } => write!(
                f,
                "{}: not a file of the native format (its first bytes are not those of one); name a file that \
                 EXPORT DATABASE (FORMAT native) has written",
                file.display()
            ),
            NativeError::Version { file, found, supported } => write!(
                f,
                "{}: the file has version {found} of the native format, this program reads versions 1 to {supported}; \
                 read it with the program that wrote it, or export the data again (FORMAT csv is read by every version)",
                file.display()
            ),
            NativeError::Damaged { file, place, reason } => write!(
                f,
                "{}: {place}: {reason}; the file is damaged or cut short: copy it again from its source, or export the \
                 data again",
                file.display()
            ),
            NativeError::OutOfMemory { file, source } => write!(f, "{}: {source}", file.display()),
            NativeError::TooLarge { file, rows, bytes, machine_bytes } => write!(
                f,
                "{}: the file claims {rows} rows, which take {bytes} bytes of memory or more, and the machine has \
                 {machine_bytes}; export fewer rows, or read it on a larger machine",
                file.display()
            ),
            NativeError::Cancelled { file } => write!(f, "{}: cancelled; nothing was kept", file.display()),
        }
    }
}

impl Error for NativeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            NativeError::Io { source, .. } => Some(source),
            NativeError::OutOfMemory { source, .. } => Some(source),
            _ => None,
        }
    }
}
