//! Files that are kept to become segments.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use crate::disk::DiskError;
use crate::sync::brief::{Mutex, MutexGuard};

use super::folder::Folder;

/// The files that are kept to become segments. Their names are safe. Clones share the list.
#[derive(Clone, Debug)]
pub(super) struct Spares(Arc<Mutex<Vec<PathBuf>>>);

impl Spares {
    /// Those of a folder that nobody writes.
    pub(super) fn find(folder: &Folder) -> Result<Spares, DiskError> {
        let found = folder.spares()?;
        folder.sync()?;
        Ok(Spares(Arc::new(Mutex::new(found))))
    }

    pub(super) fn count(&self) -> usize {
        self.list().len()
    }

    pub(super) fn has(&self, path: &Path) -> bool {
        self.list().iter().any(|spare| spare == path)
    }

    pub(super) fn take(&self) -> Option<PathBuf> {
        self.list().pop()
    }

    pub(super) fn add(&self, paths: Vec<PathBuf>) {
        self.list().extend(paths);
    }

    fn list(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
