//! The ways in which the directory of a database is not made, opened or written. Each names the file, and the place in it
//! where there is one.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::DiskError;
use crate::log::LogError;
use crate::memory::OutOfMemory;
use crate::redo::{RECORD_VERSION, RECORD_VERSION_MIN, ReplayError};

/// Why the directory of a database was not made, opened or written.
#[derive(Debug)]
pub enum DirectoryError {
    /// The disk refused an operation, or somebody else has locked the database.
    Disk(DiskError),
    /// The log cannot be read or written.
    Log(LogError),
    /// A record of the log cannot be done again.
    Replay {
        /// The folder of the log.
        folder: PathBuf,
        /// What is wrong.
        error: ReplayError,
    },
    /// The log has a record of a version that this program does not know.
    RecordVersion {
        /// The folder of the log.
        folder: PathBuf,
        /// The version.
        found: u8,
    },
    /// There is no database.
    Missing {
        /// The directory.
        directory: PathBuf,
    },
    /// There is a database where one is to be made.
    Exists {
        /// The directory.
        directory: PathBuf,
    },
    /// A database is to be made where something else is, or what is left of one.
    NotEmpty {
        /// The directory.
        directory: PathBuf,
        /// Something in it.
        name: PathBuf,
    },
    /// There is a backup that was cut short.
    IncompleteBackup {
        /// The directory.
        directory: PathBuf,
    },
    /// What an incremental backup is to share files with is not a backup of this database.
    OtherBackup {
        /// The directory.
        directory: PathBuf,
    },
    /// The caller has stopped a backup.
    Stopped,
    /// A file does not begin as one of its kind.
    Foreign {
        /// The file.
        file: PathBuf,
        /// What it should be.
        kind: &'static str,
    },
    /// A file has a version that this program does not know.
    Version {
        /// The file.
        file: PathBuf,
        /// Its version.
        found: u32,
        /// The version that this program writes; it reads all up to it.
        supported: u32,
    },
    /// A file is of another database.
    OtherDatabase {
        /// The file.
        file: PathBuf,
        /// The identity of the database that it belongs to.
        found: u64,
        /// The identity of the database that is open.
        expected: u64,
    },
    /// A file is not as it was written.
    Damaged {
        /// The file.
        file: PathBuf,
        /// Where in the file.
        offset: u64,
        /// The rows that are concerned, if it is known; for instance `table t, rows 65536 to 131071`.
        about: Option<String>,
        /// What is wrong there.
        reason: String,
    },
    /// A checkpoint is under way.
    CheckpointRuns,
    /// The system starts no thread.
    Thread(io::Error),
    /// Memory ran out.
    OutOfMemory(OutOfMemory),
}

impl DirectoryError {
    pub(super) fn damaged(file: &Path, offset: u64, reason: impl Into<String>) -> DirectoryError {
        DirectoryError::Damaged { file: file.to_owned(), offset, about: None, reason: reason.into() }
    }

    /// Whether there was no room on the disk.
    #[must_use]
    pub fn is_full(&self) -> bool {
        match self {
            DirectoryError::Disk(error) => error.is_full(),
            DirectoryError::Log(error) => error.is_full(),
            _ => false,
        }
    }
}

impl From<DiskError> for DirectoryError {
    fn from(error: DiskError) -> DirectoryError {
        DirectoryError::Disk(error)
    }
}

impl From<LogError> for DirectoryError {
    fn from(error: LogError) -> DirectoryError {
        DirectoryError::Log(error)
    }
}

impl From<OutOfMemory> for DirectoryError {
    fn from(error: OutOfMemory) -> DirectoryError {
        DirectoryError::OutOfMemory(error)
    }
}

impl fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DirectoryError::Disk(error) => error.fmt(f),
            DirectoryError::Log(error) => error.fmt(f),
            DirectoryError::Replay { folder, error } => write!(
                f,
                "{}: {error}; restore a backup, or ask for help with a copy of the directory",
                folder.display()
            ),
            DirectoryError::RecordVersion { folder, found } => write!(
                f,
                "{}: the log has records of version {found}, this program reads versions {RECORD_VERSION_MIN} to {RECORD_VERSION}; open the database \
                 with the program that wrote it",
                folder.display()
            ),
            DirectoryError::Missing { directory } => {
                write!(f, "{}: there is no database (no file named manifest)", directory.display())
            }
            DirectoryError::Exists { directory } => {
                write!(f, "{}: there is a database already; open it, or use another directory", directory.display())
            }
            DirectoryError::NotEmpty { directory, name } => write!(
                f,
                "{}: no database can be made here, since there is {} but no manifest; use an empty directory, or restore \
                 the manifest if this was a database",
                directory.display(),
                name.display()
            ),
            DirectoryError::IncompleteBackup { directory } => write!(
                f,
                "{}: the backup that was to be written here was cut short; write it again with BACKUP DATABASE TO, or remove \
                 the directory",
                directory.display()
            ),
            DirectoryError::OtherBackup { directory } => write!(
                f,
                "{}: this is a backup of another database, so there is nothing to share; name the last backup of this one, or \
                 leave INCREMENTAL out",
                directory.display()
            ),
            DirectoryError::Stopped => f.write_str("the backup was stopped; write it again, or remove its directory"),
            DirectoryError::Foreign { file, kind } => {
                write!(f, "{}: not a {kind} (its first bytes are not those of one)", file.display())
            }
            DirectoryError::Version { file, found, supported } => write!(
                f,
                "{}: the file has version {found} of its format, this program reads versions 1 to {supported}; open the database \
                 with the program that wrote it",
                file.display()
            ),
            DirectoryError::OtherDatabase { file, found, expected } => write!(
                f,
                "{}: the file belongs to the database {found:016x}, and this is {expected:016x}; put it where it came from",
                file.display()
            ),
            DirectoryError::Damaged { file, offset, about, reason } => {
                write!(f, "{}: offset {offset}", file.display())?;
                if let Some(about) = about {
                    write!(f, " ({about})")?;
                }
                write!(
                    f,
                    ": {reason}; the file is damaged or cut short: copy it again from its source, or restore a backup"
                )
            }
            DirectoryError::Thread(error) => write!(f, "cannot start a thread that writes the log: {error}"),
            DirectoryError::CheckpointRuns => f.write_str("a checkpoint is under way; wait until it is done"),
            DirectoryError::OutOfMemory(error) => error.fmt(f),
        }
    }
}

impl Error for DirectoryError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            DirectoryError::Disk(error) => Some(error),
            DirectoryError::Log(error) => Some(error),
            DirectoryError::Replay { error, .. } => Some(error),
            DirectoryError::OutOfMemory(error) => Some(error),
            DirectoryError::Thread(error) => Some(error),
            _ => None,
        }
    }
}
