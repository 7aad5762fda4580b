//! The names in the directory of a database, and what is litter there.
//!
//! | name | what |
//! |---|---|
//! | `lock` | locked by who has the database open for writing |
//! | `manifest` | what the last checkpoint left, and from where the log is to be done again |
//! | `manifest.new` | the next manifest, while it is written |
//! | `incomplete` | is there while the directory is made |
//! | `blocks` | the folder of block files |
//! | `log` | the folder of the log |

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::DirectoryError;
use crate::disk::{Disk, DiskError, DiskFile, OpenMode};

pub(super) const LOCK: &str = "lock";
const MANIFEST: &str = "manifest";
const NEXT_MANIFEST: &str = "manifest.new";
const INCOMPLETE: &str = "incomplete";
const BLOCKS: &str = "blocks";
const LOG: &str = "log";

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

    /// Makes what lies in the directory but for the manifest, without which it is incomplete.
    ///
    /// Only what an attempt before has left may be in it: it says that it was one by `incomplete`, which is safe before
    /// anything else is there.
    pub(super) fn create(&self) -> Result<(), DirectoryError> {
        let Folder { disk, path } = self;
        if self.has_manifest()? {
            return Err(DirectoryError::Exists { directory: path.clone() });
        }
        let names = disk.list(path)?;
        let incomplete = path.join(INCOMPLETE);
        if !names.iter().any(|name| name == INCOMPLETE) {
            if let Some(name) = names.iter().find(|name| *name != LOCK) {
                return Err(DirectoryError::NotEmpty { directory: path.clone(), name: PathBuf::from(name) });
            }
            disk.open(&incomplete, OpenMode::Create)?;
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
