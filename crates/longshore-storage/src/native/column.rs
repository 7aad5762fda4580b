//! Writes and reads a packed column as a block: its buffers as they are in memory.

use arrow_buffer::Buffer;
use xxhash_rust::xxh3::xxh3_64;

use crate::arena::Arena;
use crate::chunk::{Chunk, ChunkColumn, ColumnValues};
use crate::memory::OutOfMemory;
use crate::packed::{Layout, PackedColumn, Packer, copy_of};
use crate::types::{ColumnType, Physical};
use crate::values::Scratch;

use super::block::{Block, Encoding};
use super::bounds;
use super::section::{self, PIECE_BYTES, Section, SectionWriter};
use super::wire::{Malformed, set_bits_beyond};

/// Appends the block of a column to `writer`; its offset is counted from the writer's start. What is not packed yet is
/// packed by `packer` into memory of `arena`.
pub(super) fn write(
    chunk: &Chunk,
    column: usize,
    packer: &mut Packer,
    arena: &mut Arena,
    writer: &mut SectionWriter,
) -> Result<Block, OutOfMemory> {
    let (rows, statistics) = (chunk.rows(), chunk.statistics(column).clone());
    let start = writer.bytes().len();
    let validity = chunk.validity(column).filter(|_| statistics.null_count > 0).map(|bits| &bits[..rows.div_ceil(8)]);
    let encoding = if statistics.null_count == rows as u64 {
        Encoding::Null
    } else {
        if let Some(validity) = validity {
            let mut bits = validity.to_vec();
            set_bits_beyond(&mut bits, rows);
            writer.push(&bits);
        }
        // Plain texts may be some of those of their heap.
        let kept = chunk.packed(column).filter(|packed| packed.as_plain().is_none());
        let repacked;
        let packed = if let Some(packed) = kept {
            packed.as_ref()
        } else {
            let mut scratch = Scratch::default();
            let (values, texts) = chunk.values_with_texts(column, 0..rows, &mut scratch);
            repacked = packer.pack(values, validity, texts, arena)?;
            &repacked
        };
        let layout = packed.layout();
        let physical = chunk.schema().all_columns()[column].column_type.physical();
        for (buffer, bytes) in packed.buffers().zip(layout.buffer_bytes(physical, rows)) {
            writer.push(&buffer[..bytes]);
        }
        for piece in packed.heap().chunks(PIECE_BYTES) {
            writer.push_piece(piece);
        }
        Encoding::Packed(layout)
    };
    let (sections, pieces) = writer.take_sections();
    let bytes = &writer.bytes()[start..];
    Ok(Block {
        offset: start as u64,
        bytes: bytes.len() as u64,
        checksum: xxh3_64(bytes),
        encoding,
        sections,
        pieces,
        statistics,
    })
}

/// Why a block does not become a column.
pub(super) enum Unread {
    Malformed(Malformed),
    OutOfMemory(OutOfMemory),
}

impl From<Malformed> for Unread {
    fn from(malformed: Malformed) -> Unread {
        Unread::Malformed(malformed)
    }
}

impl From<OutOfMemory> for Unread {
    fn from(error: OutOfMemory) -> Unread {
        Unread::OutOfMemory(error)
    }
}

/// The column of a block whose entry in the directory was verified, from its bytes, whose checksum was compared.
pub(super) fn read(
    block: &Block,
    mut bytes: &[u8],
    column_type: ColumnType,
    arena: &mut Arena,
    scratch: &mut Scratch,
) -> Result<ChunkColumn, Unread> {
    let (physical, rows) = (column_type.physical(), block.statistics.row_count as usize);
    let Encoding::Packed(layout) = block.encoding else { return Ok(nulls(physical, block, arena)?) };
    let mut sections = block.sections.iter();
    let mut validity = None;
    if block.has_validity() {
        let section = sections.next().ok_or_else(|| Malformed::new("the validity bits are missing"))?;
        let bits = expanded(std::slice::from_ref(section), &mut bytes, arena)?;
        let (nulls, expected) = (count_zeros(&bits), block.statistics.null_count);
        if nulls != expected {
            return Err(Malformed::new(format!("{nulls} rows are NULL where {expected} are expected")).into());
        }
        validity = Some(bits);
    }
    let buffers = sections.map(|section| expanded(std::slice::from_ref(section), &mut bytes, arena));
    let buffers = buffers.collect::<Result<Vec<_>, _>>()?;
    let heap = if block.pieces.is_empty() {
        Buffer::from_vec(Vec::<u8>::new())
    } else {
        expanded(&block.pieces, &mut bytes, arena)?
    };
    let packed = PackedColumn::from_buffers(physical, rows, layout, buffers, heap, !column_type.is_bytes())
        .map_err(Malformed::new)?;
    let found = packed.bounds(validity.as_ref().map(Buffer::as_slice), scratch);
    bounds::check(&block.statistics, &found, physical)?;
    Ok(ChunkColumn { values: ColumnValues::Packed(packed.into()), validity, statistics: block.statistics.clone() })
}

/// A column of NULLs.
fn nulls(physical: Physical, block: &Block, arena: &mut Arena) -> Result<ChunkColumn, OutOfMemory> {
    let rows = block.statistics.row_count as usize;
    let empty = || Buffer::from_vec(Vec::<u8>::new());
    let packed = PackedColumn::from_buffers(physical, rows, Layout::Constant([0; 16]), [], empty(), false);
    let mut validity = vec![0; rows.div_ceil(8)];
    set_bits_beyond(&mut validity, rows);
    let validity = copy_of(&validity, arena)?;
    Ok(ChunkColumn {
        values: ColumnValues::Packed(packed.expect("zero is a value of every type").into()),
        validity: Some(validity),
        statistics: block.statistics.clone(),
    })
}

fn count_zeros(bits: &[u8]) -> u64 {
    bits.iter().map(|byte| u64::from(byte.count_zeros())).sum()
}

/// Sections that stored bytes begin with, one behind the other in a buffer of their own; takes them from the bytes.
fn expanded(sections: &[Section], stored: &mut &[u8], arena: &mut Arena) -> Result<Buffer, Unread> {
    let bytes: usize = sections.iter().map(|section| section.raw_bytes as usize).sum();
    let mut region = arena.allocate(bytes)?;
    *stored = section::expand_all(sections, stored, region.spare::<u8>(0, bytes))?;
    // SAFETY: all bytes were written, and the region is given up here, so that nobody writes to it any more.
    Ok(unsafe { region.buffer(bytes) })
}
