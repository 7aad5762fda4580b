//! The names in the directory of a database, and what is litter there.
//!
//! | name | what |
//! |---|---|
//! | `lock` | locked by who has the database open for writing |
//! | `manifest` | what the last checkpoint left, and from where the log is to be done again |
//! | `manifest.new` | the next manifest, while it is written |
//! | `incomplete` | is there while the directory is made |
//! | `incomplete_backup` | is there while a backup is written to the directory; it becomes the manifest |
//! | `blocks` | the folder of block files |
//! | `log` | the folder of the log |

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::DirectoryError;
use crate::disk::{Disk, DiskError, DiskFile, OpenMode};

pub(super) const LOCK: &str = "lock";
const MANIFEST: &str = "manifest";
const NEXT_MANIFEST: &str = "manifest.new";
const INCOMPLETE: &str = "incomplete";
const INCOMPLETE_BACKUP: &str = "incomplete_backup";
const BLOCKS: &str = "blocks";
const LOG: &str = "log";

/// What is made in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Making {
    Database,
    Backup,
}

impl Making {
    /// The file that is there as long as it is not complete.
    fn marker(self) -> &'static str {
        match self {
            Making::Database => INCOMPLETE,
            Making::Backup => INCOMPLETE_BACKUP,
        }
    }
}

/// Where a database is.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) path: PathBuf,
}

impl Folder {
    pub(super) fn lock(&self) -> PathBuf {
        self.path.join(LOCK)
    }

    pub(super) fn manifest(&self) -> PathBuf {
        self.path.join(MANIFEST)
    }

    pub(super) fn blocks(&self) -> PathBuf {
        self.path.join(BLOCKS)
    }

    pub(super) fn log(&self) -> PathBuf {
        self.path.join(LOG)
    }

    /// The block file of a number.
    pub(super) fn block_file(&self, number: u64) -> PathBuf {
        self.blocks().join(format!("{number:016x}.blocks"))
    }

    pub(super) fn sync(&self) -> Result<(), DiskError> {
        self.disk.sync_directory(&self.path)
    }

    /// Makes the directory, in one that is there, unless it is there.
    pub(super) fn make(&self) -> Result<(), DirectoryError> {
        match self.disk.list(&self.path) {
            Err(error) if error.is_missing() => self.disk.create_directory(&self.path)?,
            listed => drop(listed?),
        }
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        Ok(self.disk.sync_directory(parent.unwrap_or(Path::new(".")))?)
    }

    /// Fails if there is something in the directory but what an attempt before has left, which says by its marker that it was
    /// one. Says what there is. Nothing is written.
    pub(super) fn check_room(&self, making: Making) -> Result<Vec<OsString>, DirectoryError> {
        let directory = || self.path.clone();
        let names = self.disk.list(&self.path)?;
        let has = |wanted: &str| names.iter().any(|name| name == wanted);
        if has(MANIFEST) {
            return Err(DirectoryError::Exists { directory: directory() });
        }
        if has(making.marker()) {
            return Ok(names);
        }
        if has(INCOMPLETE_BACKUP) {
            return Err(DirectoryError::IncompleteBackup { directory: directory() });
        }
        match names.iter().find(|name| *name != LOCK) {
            Some(name) => Err(DirectoryError::NotEmpty { directory: directory(), name: PathBuf::from(name) }),
            None => Ok(names),
        }
    }

    /// Makes what lies in the directory but for the manifest, without which it is incomplete. The marker is safe before
    /// anything else is there. What an attempt before has left goes.
    pub(super) fn create(&self, making: Making) -> Result<(), DirectoryError> {
        let Folder { disk, path } = self;
        let names = self.check_room(making)?;
        if !names.iter().any(|name| name == making.marker()) {
            disk.open(&path.join(making.marker()), OpenMode::Create)?;
        }
        self.sync()?;
        for folder in [self.blocks(), self.log()] {
            if names.iter().any(|name| Some(name.as_os_str()) == folder.file_name()) {
                for name in disk.list(&folder)? {
                    disk.remove(&folder.join(name))?;
                }
            } else {
                disk.create_directory(&folder)?;
            }
        }
        self.sync()?;
        Ok(())
    }

    pub(super) fn has_manifest(&self) -> Result<bool, DirectoryError> {
        match self.disk.list(&self.path) {
            Ok(names) => Ok(names.iter().any(|name| name == MANIFEST)),
            Err(error) if error.is_missing() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Why there is no database.
    pub(super) fn missing(&self) -> DirectoryError {
        let directory = self.path.clone();
        let names = self.disk.list(&self.path).unwrap_or_default();
        if names.iter().any(|name| name == INCOMPLETE_BACKUP) {
            DirectoryError::IncompleteBackup { directory }
        } else {
            DirectoryError::Missing { directory }
        }
    }

    /// Writes the manifest of a backup, which makes it complete: the marker becomes the manifest.
    pub(super) fn complete_backup(&self, manifest: &[u8]) -> Result<(), DiskError> {
        let marker = self.path.join(INCOMPLETE_BACKUP);
        self.write_manifest(&marker, manifest)?;
        self.disk.rename(&marker, &self.manifest())?;
        self.sync().inspect_err(|_| {
            // A crash may bring back the one or the other. Who tries again shall find the marker, if the disk lets it.
            let _ = self.disk.rename(&self.manifest(), &marker);
        })
    }

    /// Writes another manifest and puts it in the place of the one that is there.
    pub(super) fn switch_manifest(&self, manifest: &[u8]) -> Result<(), SwitchError> {
        let next = self.path.join(NEXT_MANIFEST);
        self.write_manifest(&next, manifest).map_err(SwitchError::NotDone)?;
        let switched = self.disk.rename(&next, &self.manifest()).and_then(|()| self.sync());
        switched.map_err(SwitchError::InDoubt)
    }

    fn write_manifest(&self, next: &Path, manifest: &[u8]) -> Result<(), DiskError> {
        let file = match self.disk.open(next, OpenMode::Write) {
            // An attempt that failed has left it.
            Ok(file) => {
                file.truncate(0)?;
                file
            }
            Err(error) if error.is_missing() => self.disk.open(next, OpenMode::Create)?,
            Err(error) => return Err(error),
        };
        file.write_at(manifest, 0)?;
        file.sync()
    }

    /// Opens a block file to read it.
    pub(super) fn open_block_file(&self, number: u64) -> Result<Box<dyn DiskFile>, DiskError> {
        self.disk.open(&self.block_file(number), OpenMode::Read)
    }

    /// Removes what nobody needs: block files but for those of some numbers, and what an attempt that did not succeed has left.
    pub(super) fn remove_litter(&self, is_needed: impl Fn(u64) -> bool) -> Result<(), DirectoryError> {
        for name in [NEXT_MANIFEST, INCOMPLETE] {
            match self.disk.remove(&self.path.join(name)) {
                Err(error) if !error.is_missing() => return Err(error.into()),
                Ok(()) | Err(_) => {}
            }
        }
        let blocks = self.blocks();
        for name in self.disk.list(&blocks)? {
            if number_of(&name).is_some_and(|number| !is_needed(number)) {
                self.disk.remove(&blocks.join(name))?;
            }
        }
        Ok(())
    }
}

/// How a switch of the manifest has failed.
pub(super) enum SwitchError {
    /// The one before is there.
    NotDone(DiskError),
    /// A crash may bring back the one or the other.
    InDoubt(DiskError),
}

impl SwitchError {
    /// Why, where it does not matter which manifest is there.
    pub(super) fn into_error(self) -> DiskError {
        match self {
            SwitchError::NotDone(error) | SwitchError::InDoubt(error) => error,
        }
    }
}

/// The number in the name of a block file.
fn number_of(name: &OsStr) -> Option<u64> {
    let digits = name.to_str()?.strip_suffix(".blocks")?;
    let is_number = digits.len() == 16 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if is_number { u64::from_str_radix(digits, 16).ok() } else { None }
}
