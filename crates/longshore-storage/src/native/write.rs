//! Writes a snapshot as a native file: workers write chunks side by side.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use xxhash_rust::xxh3::xxh3_64;

use crate::arena::Arena;
use crate::memory::Memory;
use crate::packed::Packer;
use crate::table::Snapshot;
use crate::threads::in_threads;

use super::directory::{ChunkEntry, Directory};
use super::section::SectionWriter;
use super::{HEADER_BYTES, MAGIC, NativeControl, NativeError, NativeReport, TRAILER_BYTES, VERSION, column};

/// Writes the rows of `snapshot` to a file at `path`, with `threads` workers. Hidden columns are left out.
///
/// The file is written under another name in the same folder, synchronised with the disk and then renamed: a file that
/// was at `path` is replaced as a whole or not at all.
///
/// # Errors
///
/// When the operating system refuses an operation, or `control` says to stop; then nothing is left behind.
pub fn write(
    path: &Path,
    snapshot: &Snapshot,
    threads: usize,
    control: NativeControl<'_>,
) -> Result<NativeReport, NativeError> {
    let begun = Instant::now();
    let partial = Partial::create(path)?;
    let unload = Unload {
        path,
        file: &partial.file,
        snapshot,
        control,
        next_chunk: AtomicUsize::new(0),
        end: AtomicU64::new(HEADER_BYTES as u64),
        stop: AtomicBool::new(false),
    };
    let chunks = unload.write_chunks(threads)?;
    let bytes_on_disk = unload.write_frame(&chunks)?;
    partial.publish()?;
    Ok(NativeReport::new(snapshot.rows(), bytes_on_disk, snapshot.bytes(), begun.elapsed()))
}

/// What the workers share.
struct Unload<'a> {
    path: &'a Path,
    file: &'a File,
    snapshot: &'a Snapshot,
    control: NativeControl<'a>,
    next_chunk: AtomicUsize,
    /// Where the next block goes.
    end: AtomicU64,
    /// A worker has failed.
    stop: AtomicBool,
}

impl Unload<'_> {
    fn write_chunks(&self, threads: usize) -> Result<Vec<ChunkEntry>, NativeError> {
        let results = in_threads(threads.min(self.snapshot.chunks().len()), || self.work());
        let mut entries = Vec::with_capacity(self.snapshot.chunks().len());
        for result in results {
            entries.extend(result?);
        }
        entries.sort_unstable_by_key(|(number, _)| *number);
        Ok(entries.into_iter().map(|(_, entry)| entry).collect())
    }

    /// Writes chunks until there are no more; returns their entries with their numbers.
    fn work(&self) -> Result<Vec<(usize, ChunkEntry)>, NativeError> {
        let mut encoder = Encoder {
            packer: Packer::default(),
            arena: Arena::new(Memory::new(None), PACKED_BYTES),
            writer: SectionWriter::new(),
        };
        let mut entries = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next_chunk.fetch_add(1, Ordering::Relaxed);
            if number >= self.snapshot.chunks().len() {
                break;
            }
            match self.write_chunk(number, &mut encoder) {
                Ok(entry) => entries.push((number, entry)),
                Err(error) => {
                    self.stop.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(entries)
    }

    fn write_chunk(&self, number: usize, encoder: &mut Encoder) -> Result<ChunkEntry, NativeError> {
        let chunk = &self.snapshot.chunks()[number];
        let Encoder { packer, arena, writer } = encoder;
        writer.clear();
        let columns = 0..self.snapshot.schema().columns().len();
        let blocks = columns.map(|column| column::write(chunk, column, packer, arena, writer));
        let mut blocks: Vec<_> =
            blocks.collect::<Result<_, _>>().map_err(|error| NativeError::out_of_memory(self.path, error))?;
        let bytes = writer.bytes().len() as u64;
        let start = self.end.fetch_add(bytes, Ordering::Relaxed);
        self.write_at(writer.bytes(), start)?;
        for block in &mut blocks {
            block.offset += start;
        }
        if !(self.control)(bytes) {
            return Err(NativeError::cancelled(self.path));
        }
        Ok(ChunkEntry { rows: chunk.rows() as u32, blocks })
    }

    /// Writes header, directory and trailer; returns the length of the file.
    fn write_frame(&self, chunks: &[ChunkEntry]) -> Result<u64, NativeError> {
        let directory = Directory::encode(&self.snapshot.schema().visible(), chunks);
        let directory_at = self.end.load(Ordering::Relaxed);
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend_from_slice(&MAGIC);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&[0; 4]);
        self.write_at(&header, 0)?;

        let mut end = Vec::with_capacity(directory.len() + TRAILER_BYTES);
        end.extend_from_slice(&directory);
        end.extend_from_slice(&directory_at.to_le_bytes());
        end.extend_from_slice(&(directory.len() as u64).to_le_bytes());
        end.extend_from_slice(&xxh3_64(&directory).to_le_bytes());
        end.extend(MAGIC.iter().rev());
        self.write_at(&end, directory_at)?;
        Ok(directory_at + end.len() as u64)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), NativeError> {
        self.file.write_all_at(bytes, offset).map_err(|error| NativeError::io(self.path, "write the file", error))
    }
}

/// What a worker keeps from chunk to chunk.
struct Encoder {
    packer: Packer,
    /// For what is packed to be written: it is not part of the database, and soon let go of.
    arena: Arena,
    writer: SectionWriter,
}

/// The arena's blocks.
const PACKED_BYTES: usize = 2 << 20;

/// A file under a temporary name, which is removed unless it is published.
struct Partial<'a> {
    file: File,
    name: PathBuf,
    path: &'a Path,
}

impl<'a> Partial<'a> {
    fn create(path: &'a Path) -> Result<Partial<'a>, NativeError> {
        let mut name = path.file_name().map_or_else(OsString::new, ToOwned::to_owned);
        name.push(format!(".{}.partial", std::process::id()));
        let name = path.with_file_name(name);
        let file = File::create(&name).map_err(|error| NativeError::io(path, "create the file", error))?;
        Ok(Partial { file, name, path })
    }

    /// Gives the file its name, after all of it is on disk.
    fn publish(self) -> Result<(), NativeError> {
        let failed = |action| move |error| NativeError::io(self.path, action, error);
        self.file.sync_all().map_err(failed("write the file to disk"))?;
        fs::rename(&self.name, self.path).map_err(failed("rename the finished file"))?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("write the file's folder to disk"))
    }
}

impl Drop for Partial<'_> {
    fn drop(&mut self) {
        // After publishing there is nothing under this name; before, the error that led here says more than a second.
        let _ = fs::remove_file(&self.name);
    }
}
