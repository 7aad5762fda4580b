//! Columns and chunks as parts of something else than a native file: of a record of the log.
//!
//! A chunk is what a file with this one chunk would have between its header and its trailer, the directory first: the
//! length of the directory (`u32`), the directory, the blocks. A schema is a directory without chunks.

use std::sync::Arc;

use arrow_buffer::Buffer;
use xxhash_rust::xxh3::xxh3_64;

use super::block::Block;
use super::column::{self, Unread};
use super::directory::{ChunkEntry, Directory};
use super::section::SectionWriter;
use super::wire::Reader;
use crate::arena::Arena;
use crate::chunk::Chunk;
use crate::memory::{Memory, OutOfMemory};
use crate::packed::{PACKED_BLOCK_BYTES, Packer};
use crate::types::Schema;
use crate::values::Scratch;

/// Why bytes do not become a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChunkError {
    /// They are none; the text says why.
    Malformed(String),
    OutOfMemory(OutOfMemory),
}

/// A schema as bytes.
pub(crate) fn schema_to_bytes(schema: &Schema) -> Vec<u8> {
    Directory::encode(schema, &[])
}

/// The schema of such bytes.
pub(crate) fn schema_of_bytes(bytes: &[u8]) -> Result<Schema, ChunkError> {
    let directory = directory_of(bytes, 0)?;
    if directory.chunks.is_empty() {
        Ok(directory.schema)
    } else {
        Err(ChunkError::Malformed("a schema has chunks".to_owned()))
    }
}

/// Writes chunks behind what vectors hold.
pub(crate) struct ChunkWriter {
    packer: Packer,
    /// For what is packed to be written: it is not part of the database, and soon let go of.
    arena: Arena,
    sections: SectionWriter,
}

impl ChunkWriter {
    pub(crate) fn new() -> ChunkWriter {
        ChunkWriter {
            packer: Packer::default(),
            arena: Arena::new(Memory::new(None), PACKED_BLOCK_BYTES),
            sections: SectionWriter::new(),
        }
    }

    /// Appends a chunk; says how many of its bytes come before its blocks.
    pub(crate) fn write(&mut self, chunk: &Chunk, bytes: &mut Vec<u8>) -> Result<usize, OutOfMemory> {
        let ChunkWriter { packer, arena, sections } = self;
        sections.clear();
        let columns = 0..chunk.schema().all_columns().len();
        let blocks = columns.map(|column| column::write(chunk, column, packer, arena, sections));
        let entry = ChunkEntry { rows: chunk.rows() as u32, blocks: blocks.collect::<Result<_, _>>()? };
        let directory = Directory::encode(chunk.schema(), &[entry]);
        bytes.reserve(4 + directory.len() + sections.bytes().len());
        bytes.extend_from_slice(&(directory.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&directory);
        bytes.extend_from_slice(sections.bytes());
        Ok(4 + directory.len())
    }
}

/// The chunk of bytes of a [`ChunkWriter`], all of which are checked.
pub(crate) fn chunk_of_bytes(
    bytes: &[u8],
    schema: &Arc<Schema>,
    arena: &mut Arena,
    scratch: &mut Scratch,
) -> Result<Chunk, ChunkError> {
    let (directory, blocks) = directory_and_blocks(bytes)?;
    if directory.schema != **schema {
        return Err(ChunkError::Malformed("a chunk has other columns than its relation".to_owned()));
    }
    let [entry] = directory.chunks.as_slice() else {
        return Err(ChunkError::Malformed(format!("{} chunks where one is expected", directory.chunks.len())));
    };
    let mut columns = Vec::with_capacity(entry.blocks.len());
    for (definition, block) in schema.all_columns().iter().zip(&entry.blocks) {
        let in_column = |reason: &str| ChunkError::Malformed(format!("column {}: {reason}", definition.name));
        let stored = checked(block, blocks).ok_or_else(|| in_column(WRONG_CHECKSUM))?;
        let column = column::read(block, stored, definition.column_type, arena, scratch);
        columns.push(column.map_err(|unread| match unread {
            Unread::Malformed(reason) => in_column(&reason.0),
            Unread::OutOfMemory(error) => ChunkError::OutOfMemory(error),
        })?);
    }
    let heap = Buffer::from_vec(Vec::<u8>::new());
    // SAFETY: what is read has been checked: views refer to texts, which are UTF-8 where they must be, and a boolean is a
    // bit, or a constant of 0 or 1.
    Ok(unsafe { Chunk::from_parts(Arc::clone(schema), entry.rows as usize, columns, heap) })
}

/// Compares the blocks of such bytes with their checksums, and makes no values of them.
pub(crate) fn check_blocks(bytes: &[u8]) -> Result<(), ChunkError> {
    let (directory, blocks) = directory_and_blocks(bytes)?;
    for entry in &directory.chunks {
        for (column, block) in directory.schema.all_columns().iter().zip(&entry.blocks) {
            if checked(block, blocks).is_none() {
                return Err(ChunkError::Malformed(format!("column {}: {WRONG_CHECKSUM}", column.name)));
            }
        }
    }
    Ok(())
}

const WRONG_CHECKSUM: &str = "the checksum does not match";

/// The bytes of a block, if its checksum fits them.
fn checked<'a>(block: &Block, blocks: &'a [u8]) -> Option<&'a [u8]> {
    // Within the bytes, as was checked with the directory.
    let stored = &blocks[block.offset as usize..][..block.bytes as usize];
    (xxh3_64(stored) == block.checksum).then_some(stored)
}

fn directory_and_blocks(bytes: &[u8]) -> Result<(Directory, &[u8]), ChunkError> {
    let mut reader = Reader::new(bytes);
    let directory_bytes = reader.u32().map_err(malformed)? as usize;
    let directory = reader.take(directory_bytes).map_err(malformed)?;
    let blocks = &bytes[4 + directory_bytes..];
    Ok((directory_of(directory, blocks.len())?, blocks))
}

/// A directory of blocks that take so many bytes.
fn directory_of(bytes: &[u8], blocks_bytes: usize) -> Result<Directory, ChunkError> {
    let directory = Directory::parse(bytes, super::VERSION).map_err(malformed)?;
    let verified = directory.verify(0, blocks_bytes as u64);
    verified.map_err(|(place, reason)| ChunkError::Malformed(format!("{place}: {reason}")))
}

#[allow(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn malformed(reason: super::wire::Malformed) -> ChunkError {
    ChunkError::Malformed(reason.0)
}
