//! The long texts of a slot's rows: one heap, which only grows at its end, so that what readers refer to stays.
//!
//! Texts that were replaced stay behind. A heap that is full of them is not made larger but written anew, with new views
//! (`HotChunk::compact_heap`).

use std::sync::Arc;

use arrow_array::builder::make_view;
use arrow_buffer::Buffer;

use super::column::{own_buffer, own_buffer_of, own_region, write_bytes};
use super::write::WriteError;
use super::{HotChunk, HotColumn};
use crate::memory::Memory;
use crate::packed::PackedColumn;
use crate::prefetch::prefetch;
use crate::typed::{Stored, StoredValue};
use crate::types::Physical;
use crate::values::{Scratch, SpareValues, Values};
use crate::version::Image;
use crate::view::{self, HEAP_BYTES_MAX, INLINE_BYTES_MAX};

/// The least room that a heap with texts has.
const HEAP_BYTES_MIN: usize = 16 << 10;

pub(super) struct Heap {
    buffer: Buffer,
    used: usize,
    /// Bytes of texts that no row has any more.
    garbage: usize,
}

impl Default for Heap {
    fn default() -> Heap {
        Heap::filled(Buffer::from_vec(Vec::<u8>::new()), 0)
    }
}

impl Heap {
    pub(super) fn filled(buffer: Buffer, used: usize) -> Heap {
        Heap { buffer, used, garbage: 0 }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.used]
    }

    /// What readers get.
    pub(super) fn show(&self) -> Buffer {
        self.buffer.slice_with_length(0, self.used)
    }

    /// The texts for another slot, which has no room for more in this memory.
    pub(super) fn shared(&self) -> Heap {
        Heap { buffer: self.show(), ..*self }
    }

    /// A copy with room for so many bytes more.
    pub(super) fn with_room(&self, bytes: usize, memory: &Arc<Memory>) -> Result<Heap, WriteError> {
        if self.used + bytes > HEAP_BYTES_MAX {
            return Err(WriteError::HeapFull(bytes));
        }
        let mut heap = Heap { buffer: own_buffer(memory, self.used + bytes)?, used: 0, garbage: self.garbage };
        heap.push(self.bytes());
        Ok(heap)
    }

    fn room(&self) -> usize {
        self.buffer.len() - self.used
    }

    /// Appends a text for which there is room; says where it is.
    pub(super) fn push(&mut self, text: &[u8]) -> usize {
        let at = self.used;
        // SAFETY: what readers have of the buffer ends where `used` is, so nobody reads the bytes behind, and the slot's
        // latch keeps others from writing.
        unsafe { write_bytes(&self.buffer, at, text) };
        self.used += text.len();
        at
    }

    /// The view of a text, which is appended if it is long; there must be room.
    #[inline]
    pub(super) fn view_of(&mut self, text: &[u8]) -> u128 {
        let at = if text.len() > INLINE_BYTES_MAX { self.push(text) } else { 0 };
        make_view(text, 0, at as u32)
    }

    /// What a column holds of a value; `None` is NULL. There must be room for a long text.
    #[inline]
    pub(super) fn bits_of(&mut self, value: &impl StoredValue) -> Option<u128> {
        match value.stored() {
            Stored::Null => None,
            Stored::Bits(bits) => Some(bits),
            Stored::Text(text) => Some(self.view_of(text)),
        }
    }

    /// Asks for the memory of a text, if it is long.
    #[inline]
    pub(super) fn prefetch(&self, view: u128) {
        let length = view::length(view);
        if length > INLINE_BYTES_MAX {
            let start = self.buffer.as_ptr().wrapping_add(view::offset(view));
            prefetch(start);
            prefetch(start.wrapping_add(length));
        }
    }

    /// A row gives up a text.
    pub(super) fn forget(&mut self, view: u128) {
        if view::length(view) > INLINE_BYTES_MAX {
            self.garbage += view::length(view);
        }
    }
}

impl HotChunk {
    /// Makes room for so many bytes of long texts.
    pub(super) fn make_heap_room(&mut self, bytes: usize, memory: &Arc<Memory>) -> Result<(), WriteError> {
        if bytes <= self.heap.room() {
            return Ok(());
        }
        if self.heap.garbage > self.heap.used / 2 {
            return self.compact_heap(bytes, memory);
        }
        let needed = self.heap.used + bytes;
        if needed > HEAP_BYTES_MAX {
            return if self.heap.garbage > 0 {
                self.compact_heap(bytes, memory)
            } else {
                Err(WriteError::HeapFull(bytes))
            };
        }
        let larger = own_buffer(memory, heap_room(needed, 2 * self.heap.buffer.len()))?;
        let mut heap = Heap { buffer: larger, used: 0, garbage: self.heap.garbage };
        heap.push(self.heap.bytes());
        self.heap = heap;
        Ok(())
    }

    /// Writes all texts that rows have or had to a new heap with room for `bytes` more, and their views anew. Free rows
    /// lose theirs.
    fn compact_heap(&mut self, bytes: usize, memory: &Arc<Memory>) -> Result<(), WriteError> {
        let columns: Vec<bool> = self.columns.iter().map(HotColumn::is_view).collect();
        let is_free = self.dead.free_rows();
        let mut room = bytes;
        for column in self.columns.iter().filter(|column| column.has_plain_views()) {
            room += (0..self.rows)
                .filter(|&row| !is_free(row))
                .map(|row| view::heap_bytes(&[column.bits(row)]))
                .sum::<usize>();
        }
        let images = self.versions.iter_mut().flat_map(|versions| versions.images());
        room += images
            .filter(|(column, _)| columns[*column])
            .filter_map(|(_, image)| image.bits())
            .map(|view| view::heap_bytes(&[view]))
            .sum::<usize>();
        if room > HEAP_BYTES_MAX {
            return Err(WriteError::HeapFull(bytes));
        }
        let mut heap = Heap::filled(own_buffer(memory, heap_room(room, room.saturating_mul(2)))?, 0);
        // All copies before the first change: memory may run out.
        for column in self.columns.iter_mut().filter(|column| column.has_plain_views()) {
            column.replace_values(self.rows, self.capacity, memory)?;
        }
        let before = &self.heap;
        let mut moved = |view: u128| {
            let length = view::length(view);
            if length <= INLINE_BYTES_MAX {
                return view;
            }
            view::moved(view, heap.push(&before.bytes()[view::offset(view)..][..length]))
        };
        for column in self.columns.iter_mut().filter(|column| column.has_plain_views()) {
            for row in 0..self.rows {
                let view = if is_free(row) { 0 } else { moved(column.bits(row)) };
                column.put(row, view);
            }
        }
        for (_, image) in
            self.versions.iter_mut().flat_map(|versions| versions.images()).filter(|(column, _)| columns[*column])
        {
            if let Some(view) = image.bits() {
                *image = Image::of_bits(moved(view));
            }
        }
        self.heap = heap;
        Ok(())
    }

    /// Makes a column plain, if it is packed. Its long texts come to the heap; readers keep what they have.
    #[inline]
    pub(super) fn unpack(&mut self, column: usize, memory: &Arc<Memory>) -> Result<(), WriteError> {
        match self.columns[column].packed().cloned() {
            None => Ok(()),
            Some(packed) => self.take_unpacked(column, &packed, memory),
        }
    }

    fn take_unpacked(&mut self, column: usize, packed: &PackedColumn, memory: &Arc<Memory>) -> Result<(), WriteError> {
        let (physical, rows) = (self.schema.all_columns()[column].column_type.physical(), packed.rows());
        let mut values = own_region(memory, rows * physical.width())?;
        if physical == Physical::View {
            let mut scratch = Scratch::default();
            let (Values::Views(views), texts) = packed.read_with_texts(0..rows, &mut scratch) else {
                unreachable!("the column has views")
            };
            self.make_heap_room(view::heap_bytes(views), memory)?;
            for (slot, &view) in values.spare::<u128>(0, rows).iter_mut().zip(views) {
                let length = view::length(view);
                slot.write(if length > INLINE_BYTES_MAX {
                    view::moved(view, self.heap.push(&texts[view::offset(view)..][..length]))
                } else {
                    view
                });
            }
        } else {
            packed.unpack(0..rows, SpareValues::of(physical, &mut values, 0, rows));
        }
        self.shown = None;
        self.columns[column].unpacked(own_buffer_of(values));
        Ok(())
    }

    /// The text that a view of a plain column stands for, if it is long.
    pub(super) fn long_text(&self, view: u128) -> Option<&[u8]> {
        let length = view::length(view);
        (length > INLINE_BYTES_MAX).then(|| &self.heap.bytes()[view::offset(view)..][..length])
    }
}

/// Bytes of a heap that must take so many, when more are expected.
fn heap_room(needed: usize, expected: usize) -> usize {
    needed.max(expected).clamp(HEAP_BYTES_MIN, HEAP_BYTES_MAX)
}
