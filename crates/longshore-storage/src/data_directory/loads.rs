//! The files of loads: their chunks are written while a load runs, in the threads that made them and past the log. The
//! record of the commit names them, and the next checkpoint takes them over.
//!
//! A load whose file cannot be written, or made safe, fails: what it has written goes at once, so that a disk that is full
//! has room again.
//!
//! Invariant. Any other file goes only at a checkpoint, and only if nobody has a chunk that may yet be committed as one of
//! it, no record behind the checkpoint names it, and its manifest does not.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError};

use super::block::BlockEncoder;
use super::block_file::BlockWriter;
use super::error::DirectoryError;
use super::folder::Folder;
use crate::block_ref::{BlockRef, LoadFile, NotStored, StoredBlock};
use crate::chunk::Chunk;
use crate::error::TransactionError;
use crate::log::Lsn;
use crate::manager::{BlockStore, LoadWriter};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::brief::{Mutex, MutexGuard};

/// The files of loads that no manifest names yet, and the numbers of all block files.
#[derive(Debug)]
pub(super) struct Loads {
    folder: Folder,
    identity: u64,
    /// The number of the next block file.
    next_file: AtomicU64,
    files: Mutex<Vec<Arc<FileOfLoad>>>,
    /// The directory is somebody else's, so nothing is written any more.
    is_ended: AtomicBool,
}

/// The file of a load.
#[derive(Debug)]
pub(super) struct FileOfLoad {
    pub(super) number: u64,
    folder: Folder,
    /// What writes it; `None` if a record names it that was done again.
    writer: Option<BlockWriter>,
    /// Bytes of a file that is not written any more.
    bytes: u64,
    /// How it was synced, which is done once.
    synced: OnceLock<Result<(), NotStored>>,
    is_gone: AtomicBool,
    /// Where the record ends that names it; 0 if none does.
    named_by: AtomicU64,
}

/// A load that writes to its file, which is made for its first chunk.
struct Load {
    loads: Arc<Loads>,
    file: OnceLock<Result<Arc<FileOfLoad>, NotStored>>,
    idle: Mutex<Vec<BlockEncoder>>,
}

impl Loads {
    pub(super) fn new(folder: &Folder, identity: u64, next_file: u64) -> Loads {
        let (next_file, is_ended) = (AtomicU64::new(next_file), AtomicBool::new(false));
        Loads { folder: folder.clone(), identity, next_file, files: Mutex::default(), is_ended }
    }

    /// A number for a block file, which no other one has had.
    pub(super) fn new_number(&self) -> u64 {
        self.next_file.fetch_add(1, Ordering::Relaxed)
    }

    /// The number that the next file gets.
    pub(super) fn next_number(&self) -> u64 {
        self.next_file.load(Ordering::Relaxed)
    }

    /// Writes nothing more.
    pub(super) fn end(&self) {
        self.is_ended.store(true, Ordering::Release);
    }

    /// Takes note of the file of a load that was done again.
    pub(super) fn add(&self, file: Arc<FileOfLoad>) {
        self.next_file.fetch_max(file.number + 1, Ordering::Relaxed);
        self.files().push(file);
    }

    /// The lengths of the files of some numbers, which are of loads.
    pub(super) fn lengths(&self, is_wanted: impl Fn(u64) -> bool) -> BTreeMap<u64, u64> {
        let files = self.files();
        files.iter().filter(|file| is_wanted(file.number)).map(|file| (file.number, file.length())).collect()
    }

    /// Gives up the files that the manifest of a checkpoint has taken over, and those that nobody needs behind its position;
    /// says which these are.
    pub(super) fn give_up(&self, lsn: Lsn, is_taken: impl Fn(u64) -> bool) -> Vec<u64> {
        let mut unneeded = Vec::new();
        self.files().retain(|file| {
            if is_taken(file.number) {
                return false;
            }
            // Whoever has it elsewhere may still name it in a record.
            let is_named_behind = file.named_by.load(Ordering::Acquire) > lsn.get();
            let is_needed = Arc::strong_count(file) > 1 && file.named_by.load(Ordering::Acquire) == 0;
            if is_needed || is_named_behind {
                return true;
            }
            file.is_gone.store(true, Ordering::Release);
            unneeded.push(file.number);
            false
        });
        unneeded
    }

    fn files(&self) -> MutexGuard<'_, Vec<Arc<FileOfLoad>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BlockStore for Loads {
    fn begin_load(self: Arc<Self>) -> Box<dyn LoadWriter> {
        Box::new(Load { loads: self, file: OnceLock::new(), idle: Mutex::default() })
    }
}

impl Loads {
    /// Makes the file of a load.
    fn new_file(&self) -> Result<Arc<FileOfLoad>, NotStored> {
        if self.is_ended.load(Ordering::Acquire) {
            return Err(closed());
        }
        let number = self.new_number();
        let created = BlockWriter::create(&self.folder, self.identity, number);
        let writer = created.map_err(|error| {
            // It may be there, without its header.
            let _ = self.folder.disk.remove(&self.folder.block_file(number));
            not_stored(&error)
        })?;
        let file = Arc::new(FileOfLoad {
            number,
            folder: self.folder.clone(),
            writer: Some(writer),
            bytes: 0,
            synced: OnceLock::new(),
            is_gone: AtomicBool::new(false),
            named_by: AtomicU64::new(0),
        });
        self.files().push(Arc::clone(&file));
        Ok(file)
    }
}

impl LoadWriter for Load {
    fn write(&self, chunk: &Chunk) -> Result<StoredBlock, TransactionError> {
        let file = self.file.get_or_init(|| self.loads.new_file()).as_ref().map_err(Clone::clone)?;
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if self.loads.is_ended.load(Ordering::Acquire) {
            return Err(closed().into());
        }
        let mut encoder = idle().pop().unwrap_or_else(BlockEncoder::new);
        let written = file.write(chunk, &mut encoder);
        idle().push(encoder);
        let block = written.inspect_err(|_| file.give_up())?;
        Ok(StoredBlock { block, file: Arc::clone(file) as Arc<dyn LoadFile> })
    }

    fn finish(&self) -> Result<(), TransactionError> {
        match self.file.get() {
            None => Ok(()),
            Some(Ok(file)) => Ok(file.make_safe().map(drop)?),
            Some(Err(error)) => Err(error.clone().into()),
        }
    }
}

impl FileOfLoad {
    /// A file that a record names.
    pub(super) fn of_record(folder: &Folder, number: u64, bytes: u64, lsn: Lsn) -> FileOfLoad {
        FileOfLoad {
            number,
            folder: folder.clone(),
            writer: None,
            bytes,
            synced: OnceLock::from(Ok(())),
            is_gone: AtomicBool::new(false),
            named_by: AtomicU64::new(lsn.get()),
        }
    }

    fn write(&self, chunk: &Chunk, encoder: &mut BlockEncoder) -> Result<BlockRef, TransactionError> {
        let writer = self.writer.as_ref().expect("the file of a load that goes on is written");
        let (bytes, head_bytes) = encoder.encode_all(chunk)?;
        Ok(writer.write(bytes, head_bytes).map_err(|error| not_stored(&error))?)
    }

    /// Removes the file, whose load has failed. If that fails as well, the next checkpoint does it.
    fn give_up(&self) {
        if !self.is_gone.swap(true, Ordering::AcqRel) {
            let _ = self.folder.disk.remove(&self.folder.block_file(self.number));
        }
    }

    fn length(&self) -> u64 {
        self.writer.as_ref().map_or(self.bytes, BlockWriter::bytes)
    }
}

impl LoadFile for FileOfLoad {
    fn make_safe(&self) -> Result<bool, NotStored> {
        let sync = || {
            let writer = self.writer.as_ref().expect("what is not written any more is safe");
            writer.sync(&self.folder).map_err(|error| not_stored(&error)).inspect_err(|_| self.give_up())
        };
        self.synced.get_or_init(sync).clone()?;
        Ok(!self.is_gone.load(Ordering::Acquire))
    }

    fn is_safe(&self) -> bool {
        self.synced.get() == Some(&Ok(())) && !self.is_gone.load(Ordering::Acquire)
    }

    fn named_by(&self, lsn: Lsn) {
        self.named_by.fetch_max(lsn.get(), Ordering::AcqRel);
    }
}

fn closed() -> NotStored {
    NotStored("the database is closed".into())
}

fn not_stored(error: &DirectoryError) -> NotStored {
    NotStored(error.to_string().into())
}
