//! Files and directories as the parts of a durable database use them: one small interface, so that tests can put in its
//! place a disk that fails, tears, reorders and loses what was not synchronised.
//!
//! What a caller may rely on is what a file system promises, and no more:
//!
//! - What [`DiskFile::write_at`], [`DiskFile::truncate`] and [`DiskFile::allocate`] do is safe once [`DiskFile::sync`] has
//!   returned. Before that a crash keeps any part of it.
//! - A name that was made, linked, changed or removed is safe once [`Disk::sync_directory`] has returned for its directory. A
//!   rename happens as a whole or not at all.
//! - After a [`DiskFile::sync`] that failed, what was written since the last one may be lost, although it can still be
//!   read and later calls succeed. Only writing it again makes it safe.
//!
//! Not here: what the files hold (`log`); the files of loads and unloads, which are not part of a database (`native`).

use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

mod system;

pub use system::SystemDisk;

/// Where a database has its files.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// When the system refuses, for instance because there is no such file, or there is one that was to be created.
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Box<dyn DiskFile>, DiskError>;

    /// Makes a directory in one that is there.
    ///
    /// # Errors
    ///
    /// When the system refuses, for instance because there is one of that name.
    fn create_directory(&self, path: &Path) -> Result<(), DiskError>;

    /// Waits until the names in a directory are safe.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    fn sync_directory(&self, path: &Path) -> Result<(), DiskError>;

    /// Gives a file another name in its directory. A file that has the name already is replaced.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError>;

    /// Gives a file another name beside its own, in any directory: both stand for the same bytes from then on. No file may
    /// have the name.
    ///
    /// # Errors
    ///
    /// When the system refuses; [`DiskError::cannot_link`] says whether no other link would succeed either.
    fn link(&self, from: &Path, to: &Path) -> Result<(), DiskError>;

    /// Removes a file, or one of its names.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    fn remove(&self, path: &Path) -> Result<(), DiskError>;

    /// The names in a directory, in ascending order.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    fn list(&self, directory: &Path) -> Result<Vec<OsString>, DiskError>;

    /// Locks a file, which is made if need be, against everybody else who locks it, until the lock is dropped or the
    /// process ends.
    ///
    /// # Errors
    ///
    /// [`DiskError::Locked`] if somebody else holds it, or when the system refuses.
    fn lock(&self, path: &Path) -> Result<Box<dyn DiskLock>, DiskError>;
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// A file that is there, to read it.
    Read,
    /// A file that is there, to read and write it.
    Write,
    /// A file that must not be there yet, to read and write it.
    Create,
}

/// An open file. Several threads may use it at a time.
pub trait DiskFile: fmt::Debug + Send + Sync {
    /// Reads bytes from `offset` on until `buffer` is full or the file ends. Returns their number.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, DiskError>;

    /// Writes all bytes from `offset` on. The file grows if need be. After an error any part of them may be written.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), DiskError>;

    /// Gives the file a length. What it gains is zeros.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    fn truncate(&self, length: u64) -> Result<(), DiskError>;

    /// Reserves room for the first `length` bytes, and makes a shorter file so long: writing them finds room then, and need
    /// not change the length. A file system that cannot do this does nothing.
    ///
    /// # Errors
    ///
    /// When the disk is full, or the system refuses.
    fn allocate(&self, length: u64) -> Result<(), DiskError>;

    /// Waits until the bytes and the length of the file are safe.
    ///
    /// # Errors
    ///
    /// When the system refuses: then what was written since the last call may be lost, even if later calls succeed.
    fn sync(&self) -> Result<(), DiskError>;

    /// Bytes of the file.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    fn length(&self) -> Result<u64, DiskError>;
}

/// A lock on a file. Dropping it frees the file.
pub trait DiskLock: fmt::Debug + Send + Sync {}

/// An operation on a file or directory has failed.
#[derive(Debug)]
pub enum DiskError {
    /// The operating system refused it.
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried, as in "cannot ...".
        operation: &'static str,
        /// What the operating system says.
        source: io::Error,
    },
    /// Somebody else has locked the file.
    Locked {
        /// The file.
        path: PathBuf,
        /// Who it is, for instance `process 4711`.
        holder: String,
    },
}

impl DiskError {
    /// The operating system refused to do something with `path`.
    #[must_use]
    pub fn io(path: &Path, operation: &'static str, source: io::Error) -> DiskError {
        DiskError::Io { path: path.to_owned(), operation, source }
    }

    /// Whether there was no room.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is(|kind| matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
    }

    /// Whether there is no such file or directory.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.is(|kind| kind == io::ErrorKind::NotFound)
    }

    /// Whether a file cannot have a second name there: the directories are on different file systems, or on one that has
    /// no links, or the file has too many.
    #[must_use]
    pub fn cannot_link(&self) -> bool {
        use io::ErrorKind::{CrossesDevices, PermissionDenied, TooManyLinks, Unsupported};
        self.is(|kind| matches!(kind, CrossesDevices | PermissionDenied | TooManyLinks | Unsupported))
    }

    fn is(&self, test: impl Fn(io::ErrorKind) -> bool) -> bool {
        matches!(self, DiskError::Io { source, .. } if test(source.kind()))
    }
}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DiskError::Io { path, operation, source } => write!(f, "{}: cannot {operation}: {source}", path.display()),
            DiskError::Locked { path, holder } => {
                write!(f, "{}: {holder} holds the lock; end it first, or use another directory", path.display())
            }
        }
    }
}

impl Error for DiskError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            DiskError::Io { source, .. } => Some(source),
            DiskError::Locked { .. } => None,
        }
    }
}
