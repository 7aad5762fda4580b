//! A chunk as bytes of a block file: which of its rows are dead, then the chunk as native files have it. Every row is at its
//! place, so that ids stay what they are.

use std::sync::Arc;

use crate::arena::Arena;
use crate::block_ref::StoredBlock;
use crate::chunk::hot::HotChunk;
use crate::chunk::{Chunk, VisibleChunk};
use crate::memory::{Memory, OutOfMemory};
use crate::native::embedded::{ChunkError, ChunkWriter, check_blocks, chunk_of_bytes};
use crate::packed::PACKED_BLOCK_BYTES;
use crate::types::Schema;
use crate::values::Scratch;

/// Makes bytes of chunks.
pub(super) struct BlockEncoder {
    chunks: ChunkWriter,
    bytes: Vec<u8>,
}

impl BlockEncoder {
    pub(super) fn new() -> BlockEncoder {
        BlockEncoder { chunks: ChunkWriter::new(), bytes: Vec::new() }
    }

    /// The bytes of what a view sees of a chunk, and how many of them are the head.
    pub(super) fn encode(&mut self, visible: &VisibleChunk) -> Result<(&[u8], usize), OutOfMemory> {
        let mut dead = Vec::new();
        if visible.visible_rows() < visible.rows() {
            dead.resize(visible.rows().div_ceil(8), 0);
            visible.hidden().for_each(|row| dead[row / 8] |= 1 << (row % 8));
        }
        self.encode_with(&dead, &visible.settled_in_place())
    }

    /// The same of a chunk of which all rows are there.
    pub(super) fn encode_all(&mut self, chunk: &Chunk) -> Result<(&[u8], usize), OutOfMemory> {
        self.encode_with(&[], chunk)
    }

    fn encode_with(&mut self, dead: &[u8], chunk: &Chunk) -> Result<(&[u8], usize), OutOfMemory> {
        let bytes = &mut self.bytes;
        bytes.clear();
        bytes.extend_from_slice(&(dead.len() as u32).to_le_bytes());
        bytes.extend_from_slice(dead);
        let head_bytes = bytes.len() + self.chunks.write(chunk, bytes)?;
        Ok((bytes, head_bytes))
    }
}

/// Makes chunks of bytes.
pub(super) struct BlockDecoder {
    memory: Arc<Memory>,
    arena: Arena,
    scratch: Scratch,
}

impl BlockDecoder {
    /// For chunks that take about so many bytes together.
    pub(super) fn new(memory: &Arc<Memory>, bytes: u64) -> BlockDecoder {
        let block_bytes = usize::try_from(bytes).unwrap_or(usize::MAX).clamp(1, PACKED_BLOCK_BYTES);
        BlockDecoder {
            memory: Arc::clone(memory),
            arena: Arena::new(Arc::clone(memory), block_bytes),
            scratch: Scratch::default(),
        }
    }

    /// The slot of a chunk, of which the first bytes were checked: its head, which has the checksums of the others. `stored`
    /// is kept with it.
    pub(super) fn decode(
        &mut self,
        bytes: &[u8],
        head_bytes: usize,
        schema: &Arc<Schema>,
        stored: Option<StoredBlock>,
    ) -> Result<HotChunk, ChunkError> {
        let (dead, rest) = split(bytes, head_bytes)?;
        let chunk = chunk_of_bytes(rest, schema, &mut self.arena, &mut self.scratch)?;
        let rows = dead_rows(dead, &chunk).ok_or_else(|| malformed("its dead rows are not some of its rows"))?;
        if let Some(stored) = stored {
            chunk.set_stored(stored);
        }
        let mut slot = HotChunk::of_chunk(Arc::new(chunk));
        for row in rows {
            slot.restore_delete(row, &self.memory).map_err(|_| malformed("a row cannot be deleted"))?;
        }
        Ok(slot)
    }
}

/// Compares the bytes of a chunk, of which the head was checked, with the checksums in it.
pub(super) fn check_bytes(bytes: &[u8], head_bytes: usize) -> Result<(), ChunkError> {
    check_blocks(split(bytes, head_bytes)?.1)
}

/// The bits of dead rows, and the chunk.
fn split(bytes: &[u8], head_bytes: usize) -> Result<(&[u8], &[u8]), ChunkError> {
    let (count, rest) = bytes.split_first_chunk::<4>().ok_or_else(|| malformed("it has no head"))?;
    let dead_bytes = u32::from_le_bytes(*count) as usize;
    let (dead, rest) = rest.split_at_checked(dead_bytes).ok_or_else(|| malformed("it ends within its head"))?;
    let directory_bytes = rest.first_chunk::<4>().map_or(0, |count| u32::from_le_bytes(*count) as usize);
    if 4 + dead_bytes + 4 + directory_bytes == head_bytes {
        Ok((dead, rest))
    } else {
        Err(malformed("its head has another length"))
    }
}

fn malformed(reason: &str) -> ChunkError {
    ChunkError::Malformed(reason.to_owned())
}

/// The rows that are dead: some, but not all; `None` if the bits cannot be right.
fn dead_rows(bits: &[u8], chunk: &Chunk) -> Option<Vec<usize>> {
    if bits.is_empty() {
        return Some(Vec::new());
    }
    let rows: Vec<usize> = (0..bits.len() * 8).filter(|row| bits[row / 8] >> (row % 8) & 1 == 1).collect();
    let is_possible = bits.len() == chunk.rows().div_ceil(8)
        && !rows.is_empty()
        && rows.len() < chunk.rows()
        && rows.last().is_some_and(|last| *last < chunk.rows());
    is_possible.then_some(rows)
}
