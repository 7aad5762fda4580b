//! Copies rows of a chunk to the range of a destination that was reserved for them: column by column (the copy-based
//! merge) or row by row (the insert-based one).
//!
//! Long texts move to the destination's heap one by one, in the order of the views: a range of rows is seldom a whole
//! source, and what its texts occupy in the source's heap is not contiguous.

use std::sync::Arc;

use arrow_buffer::bit_chunk_iterator::UnalignedBitChunk;

use super::space::Space;
use crate::arena::{Plain, Region};
use crate::chunk::Chunk;
use crate::statistics::bounds::Bounds;
use crate::values::{Scratch, Values};
use crate::view::{self, INLINE_BYTES_MAX};

/// Rows of a chunk to be copied to a range reserved for them.
pub(super) struct Task {
    pub(super) source: Arc<Chunk>,
    pub(super) from: usize,
    pub(super) count: usize,
    pub(super) space: Space,
    pub(super) to: usize,
    pub(super) heap_at: usize,
    pub(super) heap_bytes: usize,
}

/// What a copier has found out about its rows, per column.
pub(super) struct Copied {
    pub(super) nulls: usize,
    pub(super) bounds: Bounds,
}

impl Task {
    /// Copies the rows column by column.
    pub(super) fn copy(&self) -> Vec<Copied> {
        let (mut heap_at, mut scratch) = (self.heap_at, Scratch::default());
        let columns = self.space.values.iter().enumerate();
        let copied = columns.map(|(column, region)| {
            let (values, texts) = self.values(column, &mut scratch);
            match values {
                Values::U8(values) => self.copy_values(region, values),
                Values::I16(values) => self.copy_values(region, values),
                Values::I32(values) => self.copy_values(region, values),
                Values::I64(values) => self.copy_values(region, values),
                Values::I128(values) => self.copy_values(region, values),
                Values::F32(values) => self.copy_values(region, values),
                Values::F64(values) => self.copy_values(region, values),
                Values::Views(views) => self.copy_views(region, 0, (views, texts), &mut heap_at),
            }
            self.summary(column, values)
        });
        let copied = copied.collect();
        self.check_heap(heap_at);
        copied
    }

    /// Copies the rows one by one.
    pub(super) fn insert(&self) -> Vec<Copied> {
        let mut scratch: Vec<Scratch> = self.space.values.iter().map(|_| Scratch::default()).collect();
        let columns = self.space.values.iter().zip(&mut scratch).enumerate();
        let columns: Vec<(&Region, (Values<'_>, &[u8]))> =
            columns.map(|(column, (region, scratch))| (region, self.values(column, scratch))).collect();
        let mut heap_at = self.heap_at;
        for row in 0..self.count {
            for &(region, (values, texts)) in &columns {
                match values {
                    Values::U8(values) => self.insert_value(region, row, values[row]),
                    Values::I16(values) => self.insert_value(region, row, values[row]),
                    Values::I32(values) => self.insert_value(region, row, values[row]),
                    Values::I64(values) => self.insert_value(region, row, values[row]),
                    Values::I128(values) => self.insert_value(region, row, values[row]),
                    Values::F32(values) => self.insert_value(region, row, values[row]),
                    Values::F64(values) => self.insert_value(region, row, values[row]),
                    Values::Views(views) => self.copy_views(region, row, (&views[row..=row], texts), &mut heap_at),
                }
            }
        }
        self.check_heap(heap_at);
        columns.iter().enumerate().map(|(column, &(_, (values, _)))| self.summary(column, values)).collect()
    }

    /// The values of a column, and the texts that long views refer to.
    fn values<'a>(&'a self, column: usize, scratch: &'a mut Scratch) -> (Values<'a>, &'a [u8]) {
        self.source.values_with_texts(column, self.from..self.from + self.count, scratch)
    }

    fn copy_values<T: Plain>(&self, region: &Region, values: &[T]) {
        // SAFETY: the range was reserved for this task alone.
        let slots = unsafe { region.reserved::<T>(self.to, self.count) };
        slots.write_copy_of_slice(values);
    }

    fn insert_value<T: Plain>(&self, region: &Region, row: usize, value: T) {
        // SAFETY: the row is of the range that was reserved for this task alone.
        let slot = unsafe { region.reserved::<T>(self.to + row, 1) };
        slot[0].write(value);
    }

    /// Copies views to the slots from row `row` of the range on, and their texts to the heap.
    fn copy_views(&self, region: &Region, row: usize, (views, texts): (&[u128], &[u8]), heap_at: &mut usize) {
        assert!(row + views.len() <= self.count, "within the range");
        // SAFETY: the ranges of rows and of heap bytes were reserved for this task alone.
        let (slots, heap) = unsafe {
            let slots = region.reserved::<u128>(self.to + row, views.len());
            (slots, self.space.heap.reserved::<u8>(self.heap_at, self.heap_bytes))
        };
        for (slot, &view) in slots.iter_mut().zip(views) {
            let length = view::length(view);
            if length <= INLINE_BYTES_MAX {
                slot.write(view);
                continue;
            }
            let (from, to) = (view::offset(view), *heap_at - self.heap_at);
            heap[to..to + length].write_copy_of_slice(&texts[from..from + length]);
            slot.write(view::moved(view, *heap_at));
            *heap_at += length;
        }
    }

    fn check_heap(&self, heap_end: usize) {
        assert_eq!(heap_end, self.heap_at + self.heap_bytes, "the texts take what was reserved for them");
    }

    /// Counts and bounds of the values of a column.
    fn summary(&self, column: usize, values: Values<'_>) -> Copied {
        let validity = self.source.validity(column).map(|bits| (bits, self.from));
        let count_valid = |(bits, from)| UnalignedBitChunk::new(bits, from, self.count).count_ones();
        let mut bounds = Bounds::new(self.source.physical(column));
        bounds.add(values, validity);
        Copied { nulls: self.count - validity.map_or(self.count, count_valid), bounds }
    }
}
