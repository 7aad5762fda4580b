//! Files that operators spill to: stretches of one file without a name, which is gone when its last handle is closed.
//!
//! The file is made in the folder for temporary files (`TMPDIR`) without a name; where the file system cannot do that,
//! it is unlinked at once. Whatever ends a statement or the process (an error, a cancellation, a signal that cannot be
//! caught), the system frees the space with the last handle, and nothing is left to be cleaned up at the next start.
//!
//! An operator may have thousands of files, so that they share one handle: each has blocks of the one file, which
//! others take when it is dropped. When none is left, the file is closed. Not here: who spills, and when (`memory`,
//! `DataFusion`).

use std::fs::{File, OpenOptions, remove_file};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::spill_file::{SpillFile, SpillWriter, TempFileFactory};
use futures::Stream;
use futures::stream::try_unfold;

use crate::datafusion::errors::TEMP_FILES_TOO_LARGE;

/// Bytes of a block, and at most so many are read at a time.
const BLOCK_BYTES: u64 = 128 << 10;

/// Makes files that have no name in one folder.
#[derive(Debug)]
pub(in crate::datafusion) struct NamelessFiles(Arc<Shared>);

impl NamelessFiles {
    /// Files in the system's folder for temporary files.
    pub(in crate::datafusion) fn new() -> Self {
        Self::in_folder(std::env::temp_dir())
    }

    /// The same, of at most so many bytes together.
    pub(in crate::datafusion) fn up_to(bytes_max: u64) -> Self {
        let directory = std::env::temp_dir();
        let bytes_max = Some(bytes_max);
        Self(Arc::new(Shared { directory, made: AtomicU64::new(0), blocks: Mutex::default(), bytes_max }))
    }

    fn in_folder(directory: PathBuf) -> Self {
        Self(Arc::new(Shared { directory, made: AtomicU64::new(0), blocks: Mutex::default(), bytes_max: None }))
    }
}

impl TempFileFactory for NamelessFiles {
    fn create_temp_file(&self, _description: &str) -> Result<Arc<dyn SpillFile>> {
        let file = self.0.join().map_err(|error| self.0.told("make", &error))?;
        let blocks = Mutex::default();
        Ok(Arc::new(Spilled(Arc::new(Stretches {
            shared: Arc::clone(&self.0),
            file,
            blocks,
            bytes: AtomicU64::new(0),
        }))))
    }
}

/// The one file that all have blocks of.
#[derive(Debug)]
struct Shared {
    directory: PathBuf,
    /// Names tried, where a file has to have one for a moment.
    made: AtomicU64,
    blocks: Mutex<Blocks>,
    /// Bytes of all files together, at most.
    bytes_max: Option<u64>,
}

#[derive(Debug, Default)]
struct Blocks {
    /// `None` while nobody has a file.
    file: Option<Arc<File>>,
    /// Files that are there.
    files: usize,
    /// Blocks that the file has been grown to.
    end: u64,
    /// Those that nobody has.
    free: Vec<u64>,
}

impl Shared {
    /// The handle for one file more.
    fn join(&self) -> io::Result<Arc<File>> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &blocks.file {
            Some(file) => Arc::clone(file),
            None => Arc::clone(blocks.file.insert(Arc::new(self.open()?))),
        };
        blocks.files += 1;
        Ok(file)
    }

    /// Takes back the blocks of a file that is dropped. With the last one, the space is freed.
    fn leave(&self, freed: &[u64]) {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.files -= 1;
        if blocks.files == 0 {
            *blocks = Blocks::default();
        } else {
            blocks.free.extend_from_slice(freed);
        }
    }

    /// A block that nobody has.
    fn block(&self) -> io::Result<u64> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(free) = blocks.free.pop() {
            return Ok(free);
        }
        if let Some(bytes_max) = self.bytes_max.filter(|bytes_max| (blocks.end + 1) * BLOCK_BYTES > *bytes_max) {
            let text = format!("{TEMP_FILES_TOO_LARGE} ({}kB)", bytes_max >> 10);
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, text));
        }
        blocks.end += 1;
        Ok(blocks.end - 1)
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

    /// What could not be done, where, and the remedy.
    fn told(&self, action: &str, error: &io::Error) -> io::Error {
        let text = format!(
            "cannot {action} a temporary file in {}: {error}; TMPDIR names another folder for what does not fit into \
             memory",
            self.directory.display()
        );
        io::Error::new(error.kind(), text)
    }
}

/// A file that rows were spilled to.
struct Spilled(Arc<Stretches>);

impl SpillFile for Spilled {
    fn size(&self) -> Option<u64> {
        Some(self.0.bytes.load(Ordering::Acquire))
    }

    /// What is there when the end is come to; more may be written while it is read.
    fn read_stream(&self) -> Result<Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>> {
        let file = Arc::clone(&self.0);
        Ok(Box::pin(try_unfold(0, move |at| {
            let read = file.read(at).map_err(|error| file.shared.told("read", &error).into());
            std::future::ready(read.map(|bytes: Bytes| {
                let next = at + bytes.len() as u64;
                (!bytes.is_empty()).then_some((bytes, next))
            }))
        })))
    }

    fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
        Ok(Box::new(Writer(Arc::clone(&self.0))))
    }
}

/// Where the bytes of a file lie in the one that is shared. It has one writer, and any number of readers.
struct Stretches {
    shared: Arc<Shared>,
    file: Arc<File>,
    /// In the order of the bytes; all are full but the last.
    blocks: Mutex<Vec<u64>>,
    /// Bytes that can be read.
    bytes: AtomicU64,
}

impl Stretches {
    /// Bytes from `at` to the end of their block; none at the end of the file.
    fn read(&self, at: u64) -> io::Result<Bytes> {
        let room = (BLOCK_BYTES - at % BLOCK_BYTES).min(self.bytes.load(Ordering::Acquire) - at);
        let mut bytes = vec![0; room as usize];
        if room > 0 {
            self.file.read_exact_at(&mut bytes, self.place(at)?)?;
        }
        Ok(bytes.into())
    }

    /// Adds the first of `bytes`, as many as fit into the last block; says how many.
    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        let at = self.bytes.load(Ordering::Relaxed);
        let room = BLOCK_BYTES - at % BLOCK_BYTES;
        let written = self.file.write_at(&bytes[..bytes.len().min(room as usize)], self.place(at)?)?;
        self.bytes.store(at + written as u64, Ordering::Release);
        Ok(written)
    }

    /// Where byte `at` lies, in a block more where it is the first that the blocks have no room for.
    fn place(&self, at: u64) -> io::Result<u64> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let number = (at / BLOCK_BYTES) as usize;
        if number == blocks.len() {
            blocks.push(self.shared.block()?);
        }
        Ok(blocks[number] * BLOCK_BYTES + at % BLOCK_BYTES)
    }
}

impl Drop for Stretches {
    fn drop(&mut self) {
        self.shared.leave(self.blocks.get_mut().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Appends to a [`Spilled`] file.
struct Writer(Arc<Stretches>);

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted | io::ErrorKind::QuotaExceeded => error,
            _ => self.0.shared.told("write", &error),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SpillWriter for Writer {
    fn finish(&mut self) -> Result<()> {
        self.flush().map_err(DataFusionError::IoError)
    }
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;

    use super::*;

    fn text(bytes: u64, seed: u64) -> Vec<u8> {
        (0..bytes).map(|at| (at * 31 + seed) as u8).collect()
    }

    async fn read(file: &Arc<dyn SpillFile>) -> Vec<u8> {
        let read: Vec<Bytes> = file.read_stream().expect("a stream").try_collect().await.expect("bytes");
        read.concat()
    }

    #[tokio::test]
    async fn files_that_are_written_side_by_side_are_read_from_one_without_a_name() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let files = NamelessFiles::in_folder(directory.path().to_owned());
        let sizes = [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 3 * BLOCK_BYTES + 17];
        for round in 0..3 {
            let texts: Vec<Vec<u8>> = (round..).zip(sizes).map(|(seed, bytes)| text(bytes, seed)).collect();
            let made: Vec<_> = sizes.map(|_| files.create_temp_file("rows").expect("a file")).into();
            let mut writers: Vec<_> = made.iter().map(|file| file.open_writer().expect("a writer")).collect();
            for at in (0..4 * BLOCK_BYTES as usize).step_by(50_000) {
                for (writer, text) in writers.iter_mut().zip(&texts) {
                    let piece = &text[at.min(text.len())..(at + 50_000).min(text.len())];
                    writer.write_all(piece).expect("room");
                }
                for (file, text) in made.iter().zip(&texts) {
                    assert!(read(file).await == text[..text.len().min(at + 50_000)], "while it is written");
                }
            }
            for ((file, text), writer) in made.iter().zip(&texts).zip(&mut writers) {
                writer.finish().expect("written");
                assert_eq!(file.size(), Some(text.len() as u64));
                assert!(read(file).await == *text);
            }
            assert_eq!(std::fs::read_dir(directory.path()).expect("the directory").count(), 0);
        }
        let blocks = files.0.blocks.lock().expect("nobody panics");
        assert!(blocks.file.is_none() && blocks.free.is_empty(), "{blocks:?}");
    }

    #[tokio::test]
    async fn blocks_of_files_that_are_gone_are_taken_again_and_readers_keep_theirs() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let files = NamelessFiles::in_folder(directory.path().to_owned());
        let write = |seed: u64| {
            let file = files.create_temp_file("rows").expect("a file");
            file.open_writer().expect("a writer").write_all(&text(2 * BLOCK_BYTES, seed)).expect("room");
            file
        };
        let (kept, streamed) = (write(0), write(1));
        let stream = streamed.read_stream().expect("a stream");
        drop(streamed);
        for seed in 2..50 {
            drop(write(seed));
        }
        assert_eq!(files.0.blocks.lock().expect("nobody panics").end, 6, "two for each of three files");
        let late: Vec<Bytes> = stream.try_collect().await.expect("bytes");
        assert!(late.concat() == text(2 * BLOCK_BYTES, 1));
        assert!(read(&kept).await == text(2 * BLOCK_BYTES, 0));
    }

    #[test]
    fn a_folder_that_is_not_there_is_told() {
        let files = NamelessFiles::in_folder(PathBuf::from("/no/such/folder"));
        let Err(error) = files.create_temp_file("rows") else { panic!("there is no such folder") };
        let text = error.to_string();
        assert!(text.contains("/no/such/folder") && text.contains("TMPDIR"), "{text}");
    }
}
