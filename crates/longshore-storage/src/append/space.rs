//! The memory that rows are copied to.
//!
//! Not here: who may write which bytes of it (`append/destination.rs`).

use std::sync::Arc;

use crate::arena::{Arena, Region};
use crate::buffer::COLUMN_SLACK_BYTES;
use crate::memory::OutOfMemory;
use crate::types::Schema;

/// Spaces smaller than this get a block of their own.
const OWN_BLOCK_BYTES_MAX: usize = 1 << 20;

/// Memory of values and texts, shared with copiers.
#[derive(Clone)]
pub(super) struct Space {
    pub(super) values: Arc<[Region]>,
    pub(super) heap: Arc<Region>,
}

impl Space {
    pub(super) fn new(
        schema: &Schema,
        rows: usize,
        heap_bytes: usize,
        arena: &mut Arena,
    ) -> Result<Space, OutOfMemory> {
        let column_bytes = |width: usize| (rows * width + COLUMN_SLACK_BYTES).next_multiple_of(64);
        let columns = schema.all_columns().iter().map(|column| column_bytes(column.column_type.physical().width()));
        let bytes = columns.sum::<usize>() + heap_bytes;
        if bytes >= OWN_BLOCK_BYTES_MAX {
            return Ok(Space { values: Space::values(schema, rows, arena)?, heap: Space::heap(heap_bytes, arena)? });
        }
        // A block of its own, of just the size: small relations are many.
        let arena = &mut Arena::new(Arc::clone(arena.memory()), bytes);
        Ok(Space { values: Space::values(schema, rows, arena)?, heap: Space::heap(heap_bytes, arena)? })
    }

    pub(super) fn values(schema: &Schema, rows: usize, arena: &mut Arena) -> Result<Arc<[Region]>, OutOfMemory> {
        let bytes = |width: usize| rows * width + COLUMN_SLACK_BYTES;
        schema.all_columns().iter().map(|column| arena.allocate(bytes(column.column_type.physical().width()))).collect()
    }

    pub(super) fn heap(bytes: usize, arena: &mut Arena) -> Result<Arc<Region>, OutOfMemory> {
        arena.allocate(bytes).map(Arc::new)
    }
}

/// Copies the first bytes of a region to a new one.
pub(super) fn copy_bytes(from: &Region, to: &Region, bytes: usize) {
    // SAFETY: what is copied has been written and is no longer changed, and the new region belongs to nobody else yet.
    let (from, to) = unsafe { (from.values::<u8>(0, bytes), to.reserved::<u8>(0, bytes)) };
    to.write_copy_of_slice(from);
}
