//! Files that operators spill to: without a name, so that they are gone when the last handle is closed.
//!
//! A file is made in the folder for temporary files (`TMPDIR`) without a name; where the file system cannot do that, it
//! is unlinked at once. Whatever ends a statement or the
//! process (an error, a cancellation, a signal that cannot be caught), the system frees the space with the last handle,
//! and nothing is left to be cleaned up at the next start. Not here: who spills, and when (`memory`, `DataFusion`).

use std::fs::{File, OpenOptions, remove_file};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::spill_file::{SpillFile, SpillWriter, TempFileFactory};
use futures::Stream;
use futures::stream::try_unfold;

/// Bytes that are read at a time.
const READ_BYTES: usize = 128 << 10;

/// Makes files without a name in one folder.
#[derive(Debug)]
pub(super) struct NamelessFiles {
    directory: PathBuf,
    made: AtomicU64,
}

impl NamelessFiles {
    /// Files in the system's folder for temporary files.
    pub(super) fn new() -> Self {
        Self { directory: std::env::temp_dir(), made: AtomicU64::new(0) }
    }

    fn open(&self) -> io::Result<File> {
        let mut nameless = OpenOptions::new();
        nameless.read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE);
        if let Ok(file) = nameless.open(&self.directory) {
            return Ok(file);
        }
        loop {
            let number = self.made.fetch_add(1, Ordering::Relaxed);
            let path = self.directory.join(format!("longshore-spill-{}-{number}", std::process::id()));
            match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => {
                    remove_file(&path)?;
                    return Ok(file);
                }
                // Of a process of the same number that was killed between the two calls.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl TempFileFactory for NamelessFiles {
    fn create_temp_file(&self, _description: &str) -> Result<Arc<dyn SpillFile>> {
        let file = self.open().map_err(|error| told(&self.directory, "make", &error))?;
        Ok(Arc::new(Spilled { file: Arc::new(file), bytes: Arc::default(), directory: self.directory.clone() }))
    }
}

/// What could not be done, where, and the remedy.
fn told(directory: &Path, action: &str, error: &io::Error) -> io::Error {
    let text = format!(
        "cannot {action} a temporary file in {}: {error}; TMPDIR names another folder for what does not fit into memory",
        directory.display()
    );
    io::Error::new(error.kind(), text)
}

/// A file that rows were spilled to.
struct Spilled {
    file: Arc<File>,
    bytes: Arc<AtomicU64>,
    directory: PathBuf,
}

impl SpillFile for Spilled {
    fn size(&self) -> Option<u64> {
        Some(self.bytes.load(Ordering::Relaxed))
    }

    fn read_stream(&self) -> Result<Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>> {
        let (file, directory) = (Arc::clone(&self.file), self.directory.clone());
        Ok(Box::pin(try_unfold(0, move |at| {
            let read = next_bytes(&file, at).map_err(|error| told(&directory, "read", &error).into());
            std::future::ready(
                read.map(|bytes: Bytes| (!bytes.is_empty()).then(|| (bytes.clone(), at + bytes.len() as u64))),
            )
        })))
    }

    fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
        let file = self.file.try_clone().map_err(|error| told(&self.directory, "write", &error))?;
        Ok(Box::new(Writer { file, bytes: Arc::clone(&self.bytes), directory: self.directory.clone() }))
    }
}

fn next_bytes(file: &File, at: u64) -> io::Result<Bytes> {
    let mut bytes = vec![0; READ_BYTES];
    loop {
        match file.read_at(&mut bytes, at) {
            Ok(read) => {
                bytes.truncate(read);
                return Ok(bytes.into());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Appends to a [`Spilled`] file.
struct Writer {
    file: File,
    bytes: Arc<AtomicU64>,
    directory: PathBuf,
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            _ => told(&self.directory, "write", &error),
        })?;
        self.bytes.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl SpillWriter for Writer {
    fn finish(&mut self) -> Result<()> {
        self.file.flush().map_err(DataFusionError::IoError)
    }
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;

    use super::*;

    #[tokio::test]
    async fn what_is_written_is_read_from_a_file_without_a_name() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let files = NamelessFiles { directory: directory.path().to_owned(), made: AtomicU64::new(0) };
        let file = files.create_temp_file("rows").expect("a file");
        let text: Vec<u8> = (0..3 * READ_BYTES + 17).map(|at| at as u8).collect();
        let mut writer = file.open_writer().expect("a writer");
        writer.write_all(&text).expect("room");
        writer.finish().expect("written");
        assert_eq!(std::fs::read_dir(directory.path()).expect("the directory").count(), 0);
        assert_eq!(file.size(), Some(text.len() as u64));
        for _ in 0..2 {
            let read: Vec<Bytes> = file.read_stream().expect("a stream").try_collect().await.expect("bytes");
            assert!(read.concat() == text);
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_told() {
        let files = NamelessFiles { directory: PathBuf::from("/no/such/folder"), made: AtomicU64::new(0) };
        let Err(error) = files.create_temp_file("rows") else { panic!("there is no such folder") };
        let text = error.to_string();
        assert!(text.contains("/no/such/folder") && text.contains("TMPDIR"), "{text}");
    }
}
