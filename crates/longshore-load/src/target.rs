//! Where text is written: a file that is replaced when all of it is there, or anything that takes bytes in order.
//!
//! Not here: what is written (`unload`, `reject/file`).

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::LoadError;

/// Where text goes.
pub enum Target {
    /// A file, replaced if it exists, and only when all of the text is written.
    File(PathBuf),
    /// Anything that takes bytes in order.
    Writer(Box<dyn Write + Send>),
}

/// An open target. What is neither completed nor discarded stays beside the target.
pub struct OpenTarget(Open);

enum Open {
    /// A new file beside the target, renamed to it at the end.
    File {
        file: File,
        partial: PathBuf,
        path: PathBuf,
    },
    Writer {
        writer: Mutex<Box<dyn Write + Send>>,
        name: String,
    },
}

impl OpenTarget {
    /// Opens a target.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn open(target: Target) -> Result<Self, LoadError> {
        let path = match target {
            Target::Writer(writer) => {
                let name = "standard output".to_owned();
                return Ok(Self(Open::Writer { writer: Mutex::new(writer), name }));
            }
            Target::File(path) => path,
        };
        let failed = |action, error| LoadError::Io { file: path.display().to_string(), action, error };
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            // A pipe or a device; opening a directory for writing fails.
            let file = File::options().write(true).open(&path).map_err(|e| failed("open it", e))?;
            let name = path.display().to_string();
            return Ok(Self(Open::Writer { writer: Mutex::new(Box::new(file)), name }));
        }
        let partial = partial_name(&path);
        let file = File::create(&partial).map_err(|error| failed("create it", error))?;
        Ok(Self(Open::File { file, partial, path }))
    }

    /// Writes the next bytes.
    ///
    /// # Errors
    /// When the target cannot be written.
    pub fn write_next(&self, text: &[u8]) -> io::Result<()> {
        match &self.0 {
            Open::File { file, .. } => (&*file).write_all(text),
            Open::Writer { writer, .. } => writer.lock().unwrap_or_else(PoisonError::into_inner).write_all(text),
        }
    }

    /// All is written.
    ///
    /// # Errors
    /// When that cannot be finished.
    pub fn complete(self) -> Result<(), LoadError> {
        let finished = match &self.0 {
            Open::File { partial, path, .. } => std::fs::rename(partial, path),
            Open::Writer { writer, .. } => writer.lock().unwrap_or_else(PoisonError::into_inner).flush(),
        };
        finished.map_err(|error| self.error("finish it", error))
    }

    /// Gives up: a file that existed before is left as it was.
    pub fn discard(self) {
        if let Open::File { partial, .. } = self.0 {
            // The error that led here is the one to report.
            let _ = std::fs::remove_file(partial);
        }
    }

    /// The error of writing it.
    #[must_use]
    pub fn error(&self, action: &'static str, error: io::Error) -> LoadError {
        let file = match &self.0 {
            Open::File { path, .. } => path.display().to_string(),
            Open::Writer { name, .. } => name.clone(),
        };
        LoadError::Io { file, action, error }
    }
}

impl Write for &OpenTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_next(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where the text of `path` is gathered until it is complete: beside it, so that it can be renamed.
fn partial_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".partial-{}", std::process::id()));
    PathBuf::from(name)
}
