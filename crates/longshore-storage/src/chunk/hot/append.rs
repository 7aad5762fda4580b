//! Rows of a chunk put behind those of a slot, for appends of few rows.

use std::ops::Range;
use std::sync::Arc;

use super::{HotChunk, InsertRange};
use crate::chunk::Chunk;
use crate::memory::{Memory, OutOfMemory};
use crate::row_id::CHUNK_ROWS_MAX;
use crate::statistics::bounds::Bounds;
use crate::values::{Scratch, Values};
use crate::view;
use crate::view::HEAP_BYTES_MAX;
use crate::visibility::StampId;

use super::write::WriteError;

impl HotChunk {
    /// Takes as many rows of a chunk, from row `from` on, as there may be room for; says how many.
    pub(crate) fn append(
        &mut self,
        source: &Chunk,
        from: usize,
        stamp: StampId,
        memory: &Arc<Memory>,
    ) -> Result<usize, OutOfMemory> {
        if self.closed || self.gone || self.deleted.is_some() {
            return Ok(0);
        }
        let count = (source.rows() - from).min(CHUNK_ROWS_MAX - self.rows);
        let long_text_bytes = |column| source.long_text_bytes(column, from..from + count);
        let heap_bytes = (0..self.columns.len()).map(long_text_bytes).sum();
        if count == 0 || heap_bytes > HEAP_BYTES_MAX {
            return Ok(0);
        }
        match self.make_room(count, heap_bytes, memory) {
            Ok(()) => {}
            Err(WriteError::OutOfMemory(error)) => return Err(error),
            Err(_) => return Ok(0),
        }
        self.shown = None;
        let (to, mut scratch) = (self.rows, Scratch::default());
        for column in 0..self.columns.len() {
            self.append_column(column, source, from..from + count, &mut scratch);
        }
        self.rows += count;
        self.inserts.push(InsertRange { from: to, to: to + count, stamp });
        Ok(count)
    }

    /// Makes room for rows behind the last.
    fn make_room(&mut self, rows: usize, heap_bytes: usize, memory: &Arc<Memory>) -> Result<(), WriteError> {
        if self.rows + rows > self.capacity {
            self.grow(self.rows + rows, memory)?;
        }
        self.make_heap_room(heap_bytes, memory)
    }

    fn append_column(&mut self, at: usize, source: &Chunk, rows: Range<usize>, scratch: &mut Scratch) {
        let (to, from, count) = (self.rows, rows.start, rows.len());
        let (values, texts) = source.values_with_texts(at, rows, scratch);
        if let Values::Views(views) = values {
            for (row, &view) in (to..).zip(views) {
                let length = view::length(view);
                let moved = if length > view::INLINE_BYTES_MAX {
                    self.heap.view_of(&texts[view::offset(view)..][..length])
                } else {
                    view
                };
                self.columns[at].put(row, moved);
            }
        } else {
            self.columns[at].write_rows(to, values.bytes());
        }
        let validity = source.validity(at).map(|bits| (bits, from));
        let column = &mut self.columns[at];
        for row in 0..count {
            let is_null = validity.is_some_and(|(bits, from)| bits[(from + row) / 8] >> ((from + row) % 8) & 1 == 0);
            if is_null || column.is_null(to + row) {
                column.set_null(to + row, is_null, false);
            }
        }
        let mut bounds = Bounds::new(source.physical(at));
        bounds.add(values, validity);
        column.merge_bounds(&bounds);
    }
}
