//! The disk as storage uses it, and as a test makes it fail.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_storage::disk::{Disk, DiskError, DiskFile, DiskLock, OpenMode};
use longshore_testing::Random;

use crate::faults::Fault;
use crate::state::State;

/// A disk in memory. Clones are the same disk. Paths begin at `/`, the one directory that a new disk has.
#[derive(Clone, Debug)]
pub struct SimDisk(Arc<Mutex<State>>);

impl SimDisk {
    /// An empty disk, whose fate is that of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> SimDisk {
        SimDisk::of(State::new(Random::new(seed)))
    }

    /// How many operations there have been, those that read included.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.state().faults.operations()
    }

    /// How many of the operations have changed or synced something.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.state().faults.changes()
    }

    /// Bytes that have been written.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.state().bytes_written()
    }

    /// Lets the machine crash in the middle of a change, counted from the first one of this disk, from 0. It and all
    /// operations behind it fail.
    pub fn crash_at(&self, change: u64) {
        self.state().faults.crash_at(change);
    }

    /// Lets one operation fail, counted from the first one of this disk, from 0.
    pub fn fail_at(&self, operation: u64, fault: Fault) {
        self.state().faults.fail(operation, fault, false);
    }

    /// Lets all operations fail from one on, until the disk heals.
    pub fn fail_from(&self, operation: u64, fault: Fault) {
        self.state().faults.fail(operation, fault, true);
    }

    /// Lets no operation fail any more, unless the machine has crashed.
    pub fn heal(&self) {
        self.state().faults.heal();
    }

    /// Whether the machine has crashed.
    #[must_use]
    pub fn has_crashed(&self) -> bool {
        self.state().faults.is_dead()
    }

    /// The disk after a crash, now or before: what was safe, and some of what was not.
    #[must_use]
    pub fn restart(&self) -> SimDisk {
        SimDisk::of(self.state().survivor())
    }

    fn of(state: State) -> SimDisk {
        SimDisk(Arc::new(Mutex::new(state)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What turns errors of the system into those of [`Disk`].
fn at<'a>(path: &'a Path, operation: &'static str) -> impl Fn(io::Error) -> DiskError + 'a {
    move |error| DiskError::io(path, operation, error)
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Box<dyn DiskFile>, DiskError> {
        let file = self.state().open(path, mode).map_err(at(path, "open it"))?;
        Ok(Box::new(SimFile { disk: self.clone(), file, path: path.to_owned(), mode }))
    }

    fn create_directory(&self, path: &Path) -> Result<(), DiskError> {
        self.state().create_directory(path).map_err(at(path, "create the directory"))
    }

    fn sync_directory(&self, path: &Path) -> Result<(), DiskError> {
        self.state().sync_directory(path).map_err(at(path, "sync the directory"))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.state().rename(from, to).map_err(at(from, "rename it"))
    }

    fn link(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.state().link(from, to).map_err(at(to, "link it to a file that is there"))
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.state().remove(path).map_err(at(path, "remove it"))
    }

    fn list(&self, directory: &Path) -> Result<Vec<OsString>, DiskError> {
        self.state().list(directory).map_err(at(directory, "list the directory"))
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn DiskLock>, DiskError> {
        if self.state().lock(path).map_err(at(path, "lock it"))? {
            Ok(Box::new(SimLock { disk: self.clone(), path: path.to_owned() }))
        } else {
            Err(DiskError::Locked { path: path.to_owned(), holder: "another user of the disk".to_owned() })
        }
    }
}

#[derive(Debug)]
struct SimLock {
    disk: SimDisk,
    path: PathBuf,
}

impl DiskLock for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.disk.state().unlock(&self.path);
    }
}

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    file: usize,
    path: PathBuf,
    mode: OpenMode,
}

impl SimFile {
    fn change(
        &self,
        operation: &'static str,
        change: impl FnOnce(&mut State, usize) -> io::Result<()>,
    ) -> Result<(), DiskError> {
        if self.mode == OpenMode::Read {
            return Err(DiskError::io(&self.path, operation, io::ErrorKind::PermissionDenied.into()));
        }
        change(&mut self.disk.state(), self.file).map_err(at(&self.path, operation))
    }
}

impl DiskFile for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, DiskError> {
        self.disk.state().read(self.file, buffer, offset).map_err(at(&self.path, "read it"))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), DiskError> {
        self.change("write to it", |state, file| state.write(file, bytes, offset))
    }

    fn truncate(&self, length: u64) -> Result<(), DiskError> {
        self.change("change its length", |state, file| state.truncate(file, length))
    }

    fn allocate(&self, length: u64) -> Result<(), DiskError> {
        self.change("reserve room for it", |state, file| state.allocate(file, length))
    }

    fn sync(&self) -> Result<(), DiskError> {
        self.disk.state().sync(self.file).map_err(at(&self.path, "sync it"))
    }

    fn length(&self) -> Result<u64, DiskError> {
        self.disk.state().length(self.file).map_err(at(&self.path, "ask for its length"))
    }
}
