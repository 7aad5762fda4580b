//! Block files: chunks of relations, one behind the other, written once and never changed. `docs/format.md` describes every
//! byte.
//!
//! Several threads write to a file: each reserves its place by an atomic addition. Who refers to a chunk has its place, its
//! length, and the checksum of its head; the head has the checksums of all else.

use std::path::PathBuf;

use xxhash_rust::xxh3::xxh3_64;

use super::error::DirectoryError;
use super::folder::Folder;
use super::header::{HEADER_BYTES, Header, Kind};
use crate::block_ref::BlockRef;
use crate::disk::{DiskFile, OpenMode};
use crate::native::wire::{Malformed, Reader, Writer};
use crate::sync::atomic::{AtomicU64, Ordering};

const KIND: Kind = Kind { magic: [0x8C, b'L', b'S', b'B', b'L', b'K', b'\r', b'\n'], version: 1, name: "block file" };

/// Bytes of a place in a manifest.
pub(super) const BLOCK_REF_BYTES: usize = 4 * 8 + 4;

/// Appends where a chunk is.
pub(super) fn write_block_ref(block: &BlockRef, writer: &mut Writer) {
    writer.u64(block.file);
    writer.u64(block.offset);
    writer.u64(block.bytes);
    writer.u32(block.head_bytes);
    writer.u64(block.checksum);
}

pub(super) fn read_block_ref(reader: &mut Reader<'_>) -> Result<BlockRef, Malformed> {
    let (file, offset, bytes) = (reader.u64()?, reader.u64()?, reader.u64()?);
    let block = BlockRef { file, offset, bytes, head_bytes: reader.u32()?, checksum: reader.u64()? };
    if block.is_possible() {
        Ok(block)
    } else {
        Err(Malformed::new(format!("a chunk of {bytes} bytes at {offset} is impossible")))
    }
}

/// A block file that is written.
#[derive(Debug)]
pub(super) struct BlockWriter {
    pub(super) number: u64,
    file: Box<dyn DiskFile>,
    /// Where the next chunk goes.
    end: AtomicU64,
}

impl BlockWriter {
    pub(super) fn create(folder: &Folder, identity: u64, number: u64) -> Result<BlockWriter, DirectoryError> {
        let file = folder.disk.open(&folder.block_file(number), OpenMode::Create)?;
        file.write_at(&Header { version: KIND.version, identity, number }.bytes(KIND), 0)?;
        Ok(BlockWriter { number, file, end: AtomicU64::new(HEADER_BYTES as u64) })
    }

    /// Writes a chunk.
    pub(super) fn write(&self, bytes: &[u8], head_bytes: usize) -> Result<BlockRef, DirectoryError> {
        let offset = self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.file.write_at(bytes, offset)?;
        Ok(BlockRef {
            file: self.number,
            offset,
            bytes: bytes.len() as u64,
            head_bytes: u32::try_from(head_bytes).expect("the head of a chunk is short"),
            checksum: xxh3_64(&bytes[..head_bytes]),
        })
    }

    /// Writes a chunk of another file of this number where it lies there.
    pub(super) fn put(&self, bytes: &[u8], block: &BlockRef) -> Result<(), DirectoryError> {
        self.end.fetch_max(block.offset + block.bytes, Ordering::Relaxed);
        Ok(self.file.write_at(bytes, block.offset)?)
    }

    /// Makes all chunks safe, but not the name of the file.
    pub(super) fn sync_bytes(&self) -> Result<(), DirectoryError> {
        Ok(self.file.sync()?)
    }

    /// Bytes of chunks that were written.
    pub(super) fn chunk_bytes(&self) -> u64 {
        self.bytes() - HEADER_BYTES as u64
    }

    /// Bytes that were written.
    pub(super) fn bytes(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    /// Makes all chunks, and the name of the file, safe.
    pub(super) fn sync(&self, folder: &Folder) -> Result<(), DirectoryError> {
        self.sync_bytes()?;
        Ok(folder.disk.sync_directory(&folder.blocks())?)
    }
}

/// A block file that is read.
#[derive(Debug)]
pub(super) struct BlockReader {
    pub(super) path: PathBuf,
    file: Box<dyn DiskFile>,
    pub(super) file_bytes: u64,
}

impl BlockReader {
    pub(super) fn open(folder: &Folder, identity: u64, number: u64) -> Result<BlockReader, DirectoryError> {
        let path = folder.block_file(number);
        let file = folder.open_block_file(number)?;
        let header = Header::read(&*file, &path, KIND)?;
        if header.identity != identity {
            let (found, expected) = (header.identity, identity);
            return Err(DirectoryError::OtherDatabase { file: path, found, expected });
        }
        if header.number != number {
            return Err(DirectoryError::damaged(&path, 24, format!("the file was named {:016x}", header.number)));
        }
        let file_bytes = file.length()?;
        Ok(BlockReader { path, file, file_bytes })
    }

    /// Reads the bytes of a chunk, of which the head is checked.
    pub(super) fn read(&self, block: &BlockRef, bytes: &mut Vec<u8>) -> Result<(), DirectoryError> {
        self.read_first(block, block.bytes, bytes)
    }

    /// Reads and checks the head of a chunk.
    pub(super) fn read_head(&self, block: &BlockRef, bytes: &mut Vec<u8>) -> Result<(), DirectoryError> {
        self.read_first(block, u64::from(block.head_bytes), bytes)
    }

    /// Reads so many bytes of a chunk, the head at least, which is checked.
    fn read_first(&self, block: &BlockRef, count: u64, bytes: &mut Vec<u8>) -> Result<(), DirectoryError> {
        let damaged = |reason: &str| DirectoryError::damaged(&self.path, block.offset, reason);
        if block.offset < HEADER_BYTES as u64 || block.offset + block.bytes > self.file_bytes {
            return Err(damaged("the file ends before the chunk does"));
        }
        // No more than the file has, as just checked.
        bytes.resize(count as usize, 0);
        if self.file.read_at(bytes, block.offset)? < bytes.len() {
            return Err(damaged("the file ends before the chunk does"));
        }
        if xxh3_64(&bytes[..block.head_bytes as usize]) != block.checksum {
            return Err(damaged("the checksum of the chunk's head does not fit it"));
        }
        Ok(())
    }
}
