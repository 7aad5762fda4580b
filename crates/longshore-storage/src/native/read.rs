//! Reads a native file into a new relation: workers read and check chunks side by side.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use arrow_buffer::Buffer;
use xxhash_rust::xxh3::xxh3_64;

use crate::append::{Append, MergeKind};
use crate::arena::Arena;
use crate::buffer::PartitionBuffer;
use crate::chunk::Chunk;
use crate::error::TransactionError;
use crate::memory::{Memory, OutOfMemory};
use crate::packed::PACKED_BLOCK_BYTES;
use crate::relation::Relation;
use crate::table::Storage;
use crate::threads::in_threads;
use crate::types::Schema;
use crate::values::Scratch;

use super::block::{Block, Encoding};
use super::column::{self, Unread};
use super::directory::{ChunkEntry, Directory};
use super::section::SLACK_BYTES;
use super::wire::Reader;
use super::{
    HEADER_BYTES, MAGIC, NativeControl, NativeError, NativeReport, Place, TRAILER_BYTES, VERSION, VERSION_MIN, version1,
};

/// Reads the file at `path` into a new relation of `memory` with this storage, with `threads` workers.
///
/// The relation has the columns, the rows and the order of rows of the one that was written.
///
/// # Errors
///
/// When the file cannot be read, is of another format or version, or differs in any byte from what was written; when
/// memory runs out; when `control` says to stop.
pub fn read(
    path: &Path,
    storage: Storage,
    threads: usize,
    memory: &Arc<Memory>,
    control: NativeControl<'_>,
) -> Result<(Relation, NativeReport), NativeError> {
    let begun = Instant::now();
    let file = File::open(path).map_err(|error| NativeError::io(path, "open the file", error))?;
    let (directory, version, bytes_on_disk) = read_directory(&file, path)?;
    check_room(&directory, path, memory)?;
    let relation = Relation::new(Arc::new(directory.schema.clone()), Arc::clone(memory));
    relation.set_storage(storage);
    let reload = Reload {
        path,
        file: &file,
        directory: &directory,
        schema: relation.schema(),
        memory,
        control,
        version,
        arena_block_bytes: (directory.bytes_in_memory() as usize).clamp(1, PACKED_BLOCK_BYTES),
        next_chunk: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
    };
    let append = relation.begin_append(match storage {
        Storage::Packed => MergeKind::Chunk,
        // Rows are copied to plain columns.
        Storage::Plain => MergeKind::Copy,
    });
    reload.read_chunks(threads, &append)?;
    let rows = append.commit().map_err(|error| not_taken(path, error))?;
    let bytes_in_memory = relation.snapshot().bytes();
    let report = NativeReport::new(rows, bytes_on_disk, bytes_in_memory, begun.elapsed());
    Ok((relation, report))
}

/// Reads and checks header, trailer and directory; returns the directory, the version and the length of the file.
fn read_directory(file: &File, path: &Path) -> Result<(Directory, u32, u64), NativeError> {
    let file_bytes = file.metadata().map_err(|error| NativeError::io(path, "read the file's length", error))?.len();
    let read = |offset: u64, bytes: &mut [u8], place: Place| {
        file.read_exact_at(bytes, offset).map_err(|error| read_error(path, place, error))
    };
    let mut header = [0; HEADER_BYTES];
    let header = &mut header[..HEADER_BYTES.min(file_bytes as usize)];
    read(0, header, Place::Trailer)?;
    if !MAGIC.starts_with(&header[..MAGIC.len().min(header.len())]) || header.is_empty() {
        return Err(NativeError::Foreign { file: path.to_owned() });
    }
    let in_trailer = |reason: String| NativeError::damaged(path, Place::Trailer, reason);
    if file_bytes < (HEADER_BYTES + TRAILER_BYTES) as u64 {
        return Err(in_trailer(format!("the file has only {file_bytes} bytes")));
    }
    let in_header = |malformed| NativeError::malformed(path, Place::Trailer, malformed);
    let mut fields = Reader::new(&header[MAGIC.len()..]);
    let version = fields.u32().map_err(in_header)?;
    if !(VERSION_MIN..=VERSION).contains(&version) {
        return Err(NativeError::Version { file: path.to_owned(), found: version, supported: VERSION });
    }
    if fields.u32().map_err(in_header)? != 0 {
        return Err(in_trailer("the header has bytes that mean nothing in this version".to_owned()));
    }

    let mut trailer = [0; TRAILER_BYTES];
    read(file_bytes - TRAILER_BYTES as u64, &mut trailer, Place::Trailer)?;
    let (fields, magic) = trailer.split_at(TRAILER_BYTES - MAGIC.len());
    if !magic.iter().eq(MAGIC.iter().rev()) {
        return Err(in_trailer("the last bytes are not those of a native file".to_owned()));
    }
    let mut fields = Reader::new(fields);
    let mut field = || fields.u64().map_err(in_header);
    let (directory_at, directory_bytes, checksum) = (field()?, field()?, field()?);
    let end = directory_at.checked_add(directory_bytes).and_then(|end| end.checked_add(TRAILER_BYTES as u64));
    if directory_at < HEADER_BYTES as u64 || end != Some(file_bytes) {
        return Err(in_trailer(format!(
            "a directory of {directory_bytes} bytes at {directory_at} does not end a file of {file_bytes} bytes"
        )));
    }
    // No more than the file has, as just checked.
    let mut directory = vec![0; directory_bytes as usize];
    read(directory_at, &mut directory, Place::Directory)?;
    if xxh3_64(&directory) != checksum {
        return Err(NativeError::damaged(path, Place::Directory, "the checksum does not match"));
    }
    let directory = Directory::parse(&directory, version)
        .map_err(|malformed| (Place::Directory, malformed))
        .and_then(|directory| directory.verify(HEADER_BYTES as u64, directory_at))
        .map_err(|(place, malformed)| NativeError::malformed(path, place, malformed))?;
    Ok((directory, version, file_bytes))
}

/// Refuses, before anything is allocated, more rows than there is memory for: a few bytes of a file may claim any number.
fn check_room(directory: &Directory, path: &Path, memory: &Memory) -> Result<(), NativeError> {
    let bytes = directory.bytes_in_memory();
    if let Some(limit) = memory.limit() {
        let used = memory.used();
        if bytes > limit.saturating_sub(used) as u64 {
            let wanted = usize::try_from(bytes).unwrap_or(usize::MAX);
            return Err(NativeError::out_of_memory(path, OutOfMemory { wanted, used, limit: Some(limit) }));
        }
    } else if let Some(machine_bytes) = Memory::machine_bytes().map(|bytes| bytes as u64)
        && bytes > machine_bytes
    {
        return Err(NativeError::TooLarge { file: path.to_owned(), rows: directory.rows(), bytes, machine_bytes });
    }
    Ok(())
}

/// A file that ends early is damaged; everything else is the operating system's.
fn read_error(path: &Path, place: Place, error: io::Error) -> NativeError {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        NativeError::damaged(path, place, "the file ends here")
    } else {
        NativeError::io(path, "read the file", error)
    }
}

/// The relation does not take its rows.
fn not_taken(path: &Path, error: TransactionError) -> NativeError {
    match error {
        TransactionError::OutOfMemory(source) => NativeError::out_of_memory(path, source),
        error => unreachable!("nobody else knows the relation, which has no keys and no log: {error}"),
    }
}

/// What the workers share.
struct Reload<'a> {
    path: &'a Path,
    file: &'a File,
    directory: &'a Directory,
    schema: &'a Arc<Schema>,
    memory: &'a Arc<Memory>,
    control: NativeControl<'a>,
    version: u32,
    /// The usual size, or what the whole relation needs if that is less.
    arena_block_bytes: usize,
    next_chunk: AtomicUsize,
    /// A worker has failed.
    stop: AtomicBool,
}

impl Reload<'_> {
    fn read_chunks(&self, threads: usize, append: &Append<'_>) -> Result<(), NativeError> {
        // All come to their end, then the first error counts.
        in_threads(threads.min(self.directory.chunks.len()), || self.work(append)).into_iter().collect()
    }

    /// Reads chunks until there are no more.
    fn work(&self, append: &Append<'_>) -> Result<(), NativeError> {
        let mut worker = Worker {
            arena: Arena::new(Arc::clone(self.memory), self.arena_block_bytes),
            stored: Vec::new(),
            scratch: Vec::new(),
            unpacked: Scratch::default(),
        };
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next_chunk.fetch_add(1, Ordering::Relaxed);
            let Some(chunk) = self.directory.chunks.get(number) else {
                break;
            };
            let merged = if self.version == 1 {
                worker.read_buffer(self, number, chunk).map(|buffer| append.merge(number as u64, vec![buffer]))
            } else {
                worker.read_chunk(self, number, chunk).map(|chunk| append.merge_chunks(number as u64, vec![chunk]))
            };
            let read = merged.and_then(|merged| {
                merged.map_err(|error| not_taken(self.path, error))?;
                let bytes = chunk.blocks.iter().map(|block| block.bytes).sum();
                if (self.control)(bytes) { Ok(()) } else { Err(NativeError::cancelled(self.path)) }
            });
            if let Err(error) = read {
                self.stop.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(())
    }
}

/// What a worker keeps from chunk to chunk.
struct Worker {
    arena: Arena,
    /// The bytes of a block, and `SLACK_BYTES` more.
    stored: Vec<u8>,
    /// Its unpacked sections, in version 1.
    scratch: Vec<u8>,
    /// The values of a column.
    unpacked: Scratch,
}

impl Worker {
    fn read_chunk(&mut self, reload: &Reload<'_>, number: usize, chunk: &ChunkEntry) -> Result<Chunk, NativeError> {
        let mut columns = Vec::with_capacity(chunk.blocks.len());
        for (definition, block) in reload.schema.all_columns().iter().zip(&chunk.blocks) {
            let place = || Place::Block { chunk: number, column: definition.name.clone() };
            self.read_block(reload, block, place)?;
            let bytes = &self.stored[..block.bytes as usize];
            let column = column::read(block, bytes, definition.column_type, &mut self.arena, &mut self.unpacked);
            columns.push(column.map_err(|unread| match unread {
                Unread::Malformed(malformed) => NativeError::malformed(reload.path, place(), malformed),
                Unread::OutOfMemory(error) => NativeError::out_of_memory(reload.path, error),
            })?);
        }
        let heap = Buffer::from_vec(Vec::<u8>::new());
        // SAFETY: what is read has been checked: views refer to texts, which are UTF-8 where they must be, and a boolean is
        // a bit, or a constant of 0 or 1.
        Ok(unsafe { Chunk::from_parts(Arc::clone(reload.schema), chunk.rows as usize, columns, heap) })
    }

    /// The same of a file of version 1.
    fn read_buffer(
        &mut self,
        reload: &Reload<'_>,
        number: usize,
        chunk: &ChunkEntry,
    ) -> Result<PartitionBuffer, NativeError> {
        let rows = chunk.rows as usize;
        let heap_bytes = chunk.heap_bytes() as usize;
        let mut buffer = PartitionBuffer::with_capacity(reload.schema, rows, heap_bytes, &mut self.arena)
            .map_err(|error| NativeError::out_of_memory(reload.path, error))?
            .with_statistics(chunk.blocks.iter().map(|block| block.statistics.clone()).collect());
        let mut spare = buffer.spare(rows);
        let columns = reload.schema.all_columns();
        for ((definition, block), column) in columns.iter().zip(&chunk.blocks).zip(&mut spare.columns) {
            let place = || Place::Block { chunk: number, column: definition.name.clone() };
            self.read_block(reload, block, place)?;
            let Encoding::Version1(encoding) = block.encoding else { unreachable!("the file is of version 1") };
            let stored = version1::column::Stored {
                encoding,
                sections: &block.sections,
                pieces: &block.pieces,
                statistics: &block.statistics,
                bytes: &self.stored,
                scratch: &mut self.scratch,
            };
            version1::column::decode(stored, column, &mut spare.heap, definition.column_type)
                .map_err(|malformed| NativeError::malformed(reload.path, place(), malformed))?;
        }
        let heap_used = spare.heap.used;
        let nulls: Vec<usize> = chunk.blocks.iter().map(|block| block.statistics.null_count as usize).collect();
        // SAFETY: decoding has filled every slot of every column, the heap up to `heap_used` with what the views point
        // to, and the validity bits, in which it has counted these nulls.
        unsafe { buffer.advance(rows, &nulls, heap_used) };
        Ok(buffer)
    }

    /// Reads a block to the start of `stored`, and compares its checksum.
    fn read_block(&mut self, reload: &Reload<'_>, block: &Block, place: impl Fn() -> Place) -> Result<(), NativeError> {
        let bytes = block.bytes as usize;
        if self.stored.len() < bytes + SLACK_BYTES {
            self.stored.resize(bytes + SLACK_BYTES, 0);
        }
        let stored = &mut self.stored[..bytes];
        reload.file.read_exact_at(stored, block.offset).map_err(|error| read_error(reload.path, place(), error))?;
        if xxh3_64(stored) != block.checksum {
            return Err(NativeError::damaged(reload.path, place(), "the checksum does not match"));
        }
        Ok(())
    }
}
