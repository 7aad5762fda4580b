//! A folder that takes its place when all of it is written: it is made beside its target, and renamed.
//!
//! Where the target is there and may be replaced, both change places in one step of the file system, and the old one is removed
//! after. So there is a whole folder under the name at any time: whoever reads it, or a crash, finds the old one or the new one.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::Error;

/// A folder that is being written; removed with all that is in it unless it is kept.
pub(crate) struct NewFolder {
    target: PathBuf,
    partial: PathBuf,
    /// Whether something is in place of the target.
    replaces: bool,
    kept: bool,
}

impl NewFolder {
    /// Begins a folder for `target`. One that is there and not empty is an error, unless it shall be replaced and `may_go` lets
    /// it.
    pub(crate) fn create(
        target: &Path,
        overwrite: bool,
        may_go: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let replaces = match fs::read_dir(target) {
            Ok(mut inside) => {
                let is_empty = inside.next().is_none();
                if !is_empty && !overwrite {
                    return Err(Error::exists(format!(
                        "{}: the directory is not empty; name a new one, empty it first, or add OVERWRITE to replace it",
                        target.display()
                    )));
                }
                if !is_empty {
                    may_go(target)?;
                }
                true
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
            Err(error) => return Err(Error::io("read the directory", target, &error)),
        };
        let trimmed: PathBuf = target.components().collect();
        if let Some(parent) = trimmed.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(|error| Error::io("create the directory", parent, &error))?;
        }
        let mut name = trimmed.clone().into_os_string();
        name.push(format!(".partial-{}", std::process::id()));
        let partial = PathBuf::from(name);
        if partial.exists() {
            // An earlier process of this number has left it.
            fs::remove_dir_all(&partial).map_err(|error| Error::io("remove", &partial, &error))?;
        }
        fs::create_dir(&partial).map_err(|error| Error::io("create the directory", &partial, &error))?;
        Ok(Self { target: trimmed, partial, replaces, kept: false })
    }

    /// Where it is written.
    pub(crate) fn path(&self) -> &Path {
        &self.partial
    }

    /// Puts it in its place.
    pub(crate) fn keep(mut self) -> Result<(), Error> {
        sync(&self.partial)?;
        let failed = |error: std::io::Error| Error::io("rename to", &self.target, &error);
        if self.replaces {
            let exchanged = renameat_with(CWD, &self.partial, CWD, &self.target, RenameFlags::EXCHANGE);
            if exchanged.is_err() {
                // A file system that cannot do it in one step.
                let mut aside = self.target.clone().into_os_string();
                aside.push(format!(".replaced-{}", std::process::id()));
                fs::rename(&self.target, &aside).map_err(failed)?;
                fs::rename(&self.partial, &self.target).map_err(failed)?;
                fs::rename(&aside, &self.partial).map_err(failed)?;
            }
        } else {
            fs::rename(&self.partial, &self.target).map_err(failed)?;
        }
        self.kept = true;
        if let Some(parent) = self.target.parent() {
            sync(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })?;
        }
        if self.replaces {
            fs::remove_dir_all(&self.partial).map_err(|error| Error::io("remove", &self.partial, &error))?;
        }
        Ok(())
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        if !self.kept {
            // Best effort: the statement fails with the error that led here.
            let _ = fs::remove_dir_all(&self.partial);
        }
    }
}

/// What stands in a directory is on disk.
fn sync(directory: &Path) -> Result<(), Error> {
    fs::File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| Error::io("write", directory, &error))
}
