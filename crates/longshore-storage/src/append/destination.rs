//! Decides how rows are copied into a chunk that several threads fill.
//!
//! Definitions. A *destination* is a chunk with room. Its *space* is the memory of its values and its heap. *Reserving*
//! gives a range of rows and of heap bytes to one copier. A destination is *quiet* when no copier is at work.
//!
//! Invariants.
//! 1. Ranges are reserved once and in row order, so that no two copiers write the same bytes.
//! 2. Nobody reads it before it has become a slot; then it is not written any more, and the slot's rules hold.
//! 3. Values lie on whole bytes, but eight rows share a byte of validity bits. These are therefore kept apart from the
//!    space and written under the append's lock. The same goes for counts and bounds.
//! 4. A destination grows only when it is quiet, into new space.

use std::sync::Arc;

use arrow_buffer::Buffer;

use super::copy::{Copied, Task};
use super::space::{Space, copy_bytes};
use crate::arena::Arena;
use crate::chunk::hot::{HotChunk, HotColumn};
use crate::chunk::{Chunk, ColumnValues};
use crate::memory::OutOfMemory;
use crate::row_id::CHUNK_ROWS_MAX;
use crate::statistics::bounds::Bounds;
use crate::types::Schema;
use crate::view::HEAP_BYTES_MAX;

/// Rows that a destination has room for at first.
const ROWS_MIN: usize = 1024;

/// Heap bytes that a destination with long texts has room for at first.
const HEAP_BYTES_MIN: usize = 16 << 10;

/// A destination for this many rows is made as large as a chunk may be.
const ROWS_OF_A_LARGE_APPEND: usize = CHUNK_ROWS_MAX / 4;

/// A chunk that has room.
#[derive(Clone)]
pub(super) struct Destination {
    schema: Arc<Schema>,
    space: Space,
    capacity: usize,
    heap_capacity: usize,
    rows: usize,
    heap_used: usize,
    columns: Vec<DestinationColumn>,
    /// Copiers at work.
    pub(super) copiers: usize,
}

#[derive(Clone)]
struct DestinationColumn {
    /// Bits of all rows there is room for, ones beyond those filled; empty until a row is NULL.
    validity: Vec<u8>,
    nulls: usize,
    bounds: Bounds,
}

impl Destination {
    /// A destination for a number of rows with as many bytes of long texts, and for more to come.
    pub(super) fn new(
        schema: &Arc<Schema>,
        rows: usize,
        heap_bytes: usize,
        arena: &mut Arena,
    ) -> Result<Destination, OutOfMemory> {
        let capacity = roomy_rows(rows);
        // For as many texts per row to come, unless that would be out of all proportion to what is known.
        let heap_expected = heap_bytes.saturating_mul(capacity) / rows.max(1);
        let heap_capacity = roomy_heap_bytes(heap_bytes, (heap_expected + heap_expected / 8).min(4 * heap_bytes));
        Ok(Destination {
            schema: Arc::clone(schema),
            space: Space::new(schema, capacity, heap_capacity, arena)?,
            capacity,
            heap_capacity,
            rows: 0,
            heap_used: 0,
            columns: schema
                .all_columns()
                .iter()
                .map(|column| DestinationColumn {
                    validity: Vec::new(),
                    nulls: 0,
                    bounds: Bounds::new(column.column_type.physical()),
                })
                .collect(),
            copiers: 0,
        })
    }

    /// How many rows of the source, from row `from` on, the chunk may come to hold, and the bytes of their long texts.
    pub(super) fn may_take(&self, source: &Chunk, from: usize) -> (usize, usize) {
        let count = (source.rows() - from).min(CHUNK_ROWS_MAX - self.rows);
        let heap_bytes = heap_bytes_of(source, from, count);
        if self.heap_used + heap_bytes > HEAP_BYTES_MAX { (0, 0) } else { (count, heap_bytes) }
    }

    /// Whether there is room for so much without growing.
    pub(super) fn has_room(&self, rows: usize, heap_bytes: usize) -> bool {
        rows <= self.capacity - self.rows && heap_bytes <= self.heap_capacity - self.heap_used
    }

    /// Makes room for more, at least twice what there was. The destination must be quiet.
    pub(super) fn grow(&mut self, rows: usize, heap_bytes: usize, arena: &mut Arena) -> Result<(), OutOfMemory> {
        assert_eq!(self.copiers, 0, "a destination grows only when it is quiet");
        if rows > self.capacity - self.rows {
            let capacity = roomy_rows((self.rows + rows).max(2 * self.capacity).min(CHUNK_ROWS_MAX));
            let values = Space::values(&self.schema, capacity, arena)?;
            for ((from, to), column) in self.space.values.iter().zip(values.iter()).zip(self.schema.all_columns()) {
                copy_bytes(from, to, self.rows * column.column_type.physical().width());
            }
            self.space.values = values;
            self.capacity = capacity;
            for column in self.columns.iter_mut().filter(|column| !column.validity.is_empty()) {
                column.validity.resize(capacity.div_ceil(8), 0xFF);
            }
        }
        if heap_bytes > self.heap_capacity - self.heap_used {
            let heap_capacity = roomy_heap_bytes(self.heap_used + heap_bytes, 2 * self.heap_capacity);
            let heap = Space::heap(heap_capacity, arena)?;
            copy_bytes(&self.space.heap, &heap, self.heap_used);
            self.space.heap = heap;
            self.heap_capacity = heap_capacity;
        }
        Ok(())
    }

    /// Gives the rows of the source from row `from` on a range of their own; there must be room.
    pub(super) fn reserve(&mut self, source: Arc<Chunk>, from: usize, count: usize, heap_bytes: usize) -> Task {
        assert!(self.has_room(count, heap_bytes), "room is made first");
        let task =
            Task { source, from, count, space: self.space.clone(), to: self.rows, heap_at: self.heap_used, heap_bytes };
        self.rows += count;
        self.heap_used += heap_bytes;
        self.copiers += 1;
        task
    }

    /// Takes in what a copier has found out, when it is done.
    pub(super) fn finish(&mut self, task: &Task, copied: &[Copied]) {
        self.copiers -= 1;
        let validity_bytes = self.capacity.div_ceil(8);
        for (at, (column, copied)) in self.columns.iter_mut().zip(copied).enumerate() {
            column.bounds.merge(&copied.bounds);
            column.nulls += copied.nulls;
            if copied.nulls > 0
                && let Some(bits) = task.source.validity(at)
            {
                column.validity.resize(validity_bytes, 0xFF);
                for row in (0..task.count).filter(|row| !is_set(bits, task.from + row)) {
                    let row = task.to + row;
                    column.validity[row / 8] &= !(1 << (row % 8));
                }
            }
        }
    }

    /// Nothing more comes: the rest of the heap goes back to the arena.
    pub(super) fn close(&mut self) {
        // SAFETY: the bytes from `heap_used` on are reserved for nobody, and never will be.
        unsafe { self.space.heap.release_from(self.heap_used) };
        self.heap_capacity = self.heap_used;
    }

    /// The rows reserved so far as those of a slot that has the room that is left. The destination must be quiet, and
    /// is not filled any further.
    pub(super) fn to_hot_chunk(&self) -> HotChunk {
        assert_eq!(self.copiers, 0, "every row has been copied");
        let columns = self.columns.iter().zip(&*self.space.values).zip(self.schema.all_columns());
        let columns = columns.map(|((column, values), described)| {
            let column_type = described.column_type;
            // SAFETY: copiers have written the values of all rows reserved, and none is at work; later ones are written by
            // the slot, by the rules of `chunk/hot/column.rs`, before anybody reads them. Nobody writes through the space
            // any more: the destination is not filled any further.
            let values = unsafe { values.buffer(self.capacity * column_type.physical().width()) };
            let validity = (column.nulls > 0).then(|| Buffer::from_slice_ref(&column.validity));
            HotColumn::filled(
                column_type,
                ColumnValues::Plain(values),
                validity,
                (column.nulls, column.bounds, true),
                0,
            )
        });
        let columns = columns.collect();
        // SAFETY: as for the values.
        let heap = unsafe { self.space.heap.buffer(self.heap_capacity) };
        HotChunk::of_columns(&self.schema, columns, (heap, self.heap_used), self.rows, self.capacity)
    }
}

/// Rows that a destination gets room for when it must take so many.
fn roomy_rows(rows: usize) -> usize {
    if rows >= ROWS_OF_A_LARGE_APPEND { CHUNK_ROWS_MAX } else { rows.next_power_of_two().max(ROWS_MIN) }
}

/// Heap bytes that a destination gets room for when it must take so many, and more are expected.
fn roomy_heap_bytes(needed: usize, expected: usize) -> usize {
    if needed == 0 { 0 } else { needed.max(expected).clamp(HEAP_BYTES_MIN, HEAP_BYTES_MAX) }
}

/// Bytes of the long texts of some rows.
pub(super) fn heap_bytes_of(source: &Chunk, from: usize, count: usize) -> usize {
    (0..source.schema().all_columns().len()).map(|column| source.long_text_bytes(column, from..from + count)).sum()
}

fn is_set(bits: &[u8], at: usize) -> bool {
    bits[at / 8] >> (at % 8) & 1 == 1
}
