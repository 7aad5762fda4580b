//! The ways in which the log cannot be written or read. Each names the file, and the place in it where there is one.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::disk::DiskError;

use super::frame::RECORD_BYTES_MAX;
use super::lsn::Lsn;

/// Why the log was not written or not read.
#[derive(Clone, Debug)]
pub enum LogError {
    /// The disk refused an operation. If it was one on the log that is written, the log is dead: nothing that was not safe
    /// before will be, and nothing more is taken.
    Disk(Arc<DiskError>),
    /// The log was closed.
    Closed,
    /// A record is longer than any may be.
    TooLong {
        /// Its bytes.
        bytes: usize,
    },
    /// A log is to be created where one is.
    Exists {
        /// The folder.
        folder: PathBuf,
    },
    /// The log does not reach back, or not on, to the position from which it is to be read.
    Missing {
        /// The folder.
        folder: PathBuf,
        /// The position.
        wanted: Lsn,
        /// The first and the last position that there are, if there is a segment at all.
        found: Option<(Lsn, Lsn)>,
    },
    /// A file of the log's folder is not a segment, though it is named as one.
    Foreign {
        /// The file.
        file: PathBuf,
    },
    /// A segment has another version of the format.
    Version {
        /// The file.
        file: PathBuf,
        /// Its version.
        found: u32,
        /// The version that this program reads and writes.
        supported: u32,
    },
    /// A segment is of another database.
    OtherDatabase {
        /// The file.
        file: PathBuf,
        /// The identity of the database that it belongs to.
        found: u64,
        /// The identity of the database that is open.
        expected: u64,
    },
    /// A segment is not as it was written.
    Damaged {
        /// The file.
        file: PathBuf,
        /// Where in the file.
        offset: u64,
        /// Where in the log.
        lsn: Lsn,
        /// What is wrong there.
        reason: String,
    },
}

impl LogError {
    /// Whether there was no room on the disk.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self, LogError::Disk(error) if error.is_full())
    }
}

impl From<DiskError> for LogError {
    fn from(error: DiskError) -> LogError {
        LogError::Disk(Arc::new(error))
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::Disk(error) => {
                error.fmt(f)?;
                if error.is_full() {
                    f.write_str("; make room on the disk and open the database again")
                } else {
                    Ok(())
                }
            }
            LogError::Closed => f.write_str("the log was closed; open the database again"),
            LogError::TooLong { bytes } => write!(
                f,
                "a record of {bytes} bytes is too long for the log, which takes {RECORD_BYTES_MAX}; change fewer rows in \
                 a transaction"
            ),
            LogError::Exists { folder } => {
                write!(f, "{}: there is a log already; use another directory", folder.display())
            }
            LogError::Missing { folder, wanted, found: Some((first, last)) } => write!(
                f,
                "{}: the log has {first} to {last}, and is needed from {wanted} on; put back the segments that are \
                 missing, or restore a backup",
                folder.display()
            ),
            LogError::Missing { folder, wanted, found: None } => write!(
                f,
                "{}: the folder has no segment of a log, which is needed from {wanted} on; put back the segments, or \
                 restore a backup",
                folder.display()
            ),
            LogError::Foreign { file } => write!(
                f,
                "{}: not a segment of a log (its first bytes are not those of one); move it out of the folder",
                file.display()
            ),
            LogError::Version { file, found, supported } => write!(
                f,
                "{}: the segment has version {found} of the log's format, this program reads version {supported}; open the \
                 database with the program that wrote it",
                file.display()
            ),
            LogError::OtherDatabase { file, found, expected } => write!(
                f,
                "{}: the segment belongs to the database {found:016x}, and this is {expected:016x}; put it where it came \
                 from",
                file.display()
            ),
            LogError::Damaged { file, offset, lsn, reason } => write!(
                f,
                "{}: offset {offset} (position {lsn}): {reason}; the segment is damaged or cut short: copy it again from \
                 its source, or restore a backup",
                file.display()
            ),
        }
    }
}

impl Error for LogError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            LogError::Disk(error) => Some(error),
            _ => None,
        }
    }
}
