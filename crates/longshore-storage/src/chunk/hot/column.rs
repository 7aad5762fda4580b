//! Decides how the values of a column are changed in place while readers hold on to them.
//!
//! Definitions. A column's *whole* buffers have room for all rows of its slot. Readers get slices of them, so that the
//! strong count of a whole buffer tells whether anybody else can reach its bytes. *Shown* rows are those of the longest
//! slice that was given out since the whole buffer was last known to be the slot's alone.
//!
//! Invariants.
//! 1. A value is written only if its row is not shown, or if the strong count is one: then nobody but the slot, whose
//!    latch is held exclusively, can reach it, or come to.
//! 2. Eight rows share a byte of validity bits, so these are written only if the strong count is one.
//! 3. What cannot be written in place is copied first; readers keep what they have (copy on write per slot and column).
//! 4. A packed column is unpacked before a value of it is written, or a row comes behind its last: `HotChunk::unpack`.
//!    While it is packed, it has as many values as its slot has rows, and no versions.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use arrow_buffer::{Buffer, MutableBuffer};

use crate::arena::{Arena, Region};
use crate::chunk::{ChunkColumn, ColumnValues};
use crate::memory::{Memory, OutOfMemory};
use crate::packed::PackedColumn;
use crate::prefetch::prefetch;
use crate::statistics::bounds::Bounds;
use crate::typed::Scalar;
use crate::types::{ColumnType, Physical};
use crate::values::TextRoom;
use crate::view;

/// A column of a slot.
pub(crate) struct HotColumn {
    column_type: ColumnType,
    physical: Physical,
    /// If they are plain, values of all rows there is room for.
    values: ColumnValues,
    shown_rows: usize,
    /// Bits of some rows; those beyond are ones. `None` while no row has been NULL.
    validity: Option<Buffer>,
    nulls: usize,
    bounds: Bounds,
    /// Whether the bounds are values of the column: nothing was overwritten since they were gathered.
    exact: bool,
}

/// Memory of its own for some bytes, and never for none.
pub(super) fn own_region(memory: &Arc<Memory>, bytes: usize) -> Result<Region, OutOfMemory> {
    Arena::new(Arc::clone(memory), bytes).allocate(bytes)
}

/// The same as a buffer of a slot.
pub(super) fn own_buffer(memory: &Arc<Memory>, bytes: usize) -> Result<Buffer, OutOfMemory> {
    own_region(memory, bytes).map(own_buffer_of)
}

/// A region as a buffer of a slot.
#[allow(clippy::needless_pass_by_value, reason = "nobody has the region any more")]
pub(super) fn own_buffer_of(region: Region) -> Buffer {
    // SAFETY: the region is given up here, and the bytes are written by the rules above alone: never while anybody but the
    // slot, which is latched, can read them.
    unsafe { region.buffer(region.bytes()) }
}

/// Writes bytes of a buffer of a slot, from byte `at` on.
///
/// # Safety
///
/// Nobody else reads or writes them meanwhile.
pub(super) unsafe fn write_bytes(buffer: &Buffer, at: usize, bytes: &[u8]) {
    assert!(at + bytes.len() <= buffer.len(), "room is made first");
    let start = buffer.as_ptr().wrapping_add(at).cast_mut();
    // SAFETY: the bytes lie within the buffer, whose memory was mapped or allocated for it; the caller promises the rest.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len()) };
}

/// Whether nobody else can reach the bytes of a buffer.
fn is_alone(buffer: &Buffer) -> bool {
    // ThreadSanitizer knows no fences: where it looks on, every change is made in a copy.
    if cfg!(feature = "sanitize-threads") || buffer.strong_count() != 1 {
        return false;
    }
    // What the last reader did to give it up happened before: it read the bytes before it decremented the count.
    fence(Ordering::Acquire);
    true
}

impl HotColumn {
    /// A column without rows, and with room for as many as its values' buffer has.
    pub(super) fn empty(column_type: ColumnType, values: Buffer) -> HotColumn {
        let physical = column_type.physical();
        let bounds = Bounds::new(physical);
        let values = ColumnValues::Plain(values);
        HotColumn { column_type, physical, values, shown_rows: 0, validity: None, nulls: 0, bounds, exact: true }
    }

    /// A column of rows that were filled elsewhere. The values may have room for more.
    pub(crate) fn filled(
        column_type: ColumnType,
        values: ColumnValues,
        validity: Option<Buffer>,
        (nulls, bounds, exact): (usize, Bounds, bool),
        shown_rows: usize,
    ) -> HotColumn {
        HotColumn { column_type, physical: column_type.physical(), values, shown_rows, validity, nulls, bounds, exact }
    }

    /// A column of which every row has the same value. Where it may not be NULL, rows without one hold 0.
    pub(super) fn of_one_value(
        column_type: ColumnType,
        nullable: bool,
        bits: Option<u128>,
        rows: usize,
        memory: &Arc<Memory>,
    ) -> Result<HotColumn, OutOfMemory> {
        // Never without a byte.
        let values = own_buffer(memory, rows.max(1) * column_type.physical().width())?;
        let mut column = HotColumn::empty(column_type, values);
        (0..rows).for_each(|row| column.put(row, bits.unwrap_or(0)));
        match bits {
            Some(bits) => column.bounds.widen(column.physical, bits),
            None if nullable => column.validity = Some(Buffer::from_vec(vec![0_u8; rows.div_ceil(8)])),
            None => {}
        }
        Ok(column)
    }

    /// A column of one value with so many of its rows, which share their memory.
    pub(super) fn shortened(&self, rows: usize) -> HotColumn {
        let values = self.plain().slice_with_length(0, rows * self.physical.width());
        let validity = self.validity.as_ref().map(|bits| bits.slice_with_length(0, rows.div_ceil(8)));
        let nulls = if validity.is_some() { rows } else { 0 };
        let known = (nulls, self.bounds, true);
        HotColumn::filled(self.column_type, ColumnValues::Plain(values), validity, known, rows)
    }

    /// A column of another slot whose first rows share their memory with these. Where it may not be NULL, rows that are
    /// do not matter.
    pub(super) fn shared(&mut self, column_type: ColumnType, nullable: bool, rows: usize) -> HotColumn {
        let ChunkColumn { values, validity, .. } = self.show(rows);
        let (validity, nulls) = if nullable { (validity, self.nulls) } else { (None, 0) };
        HotColumn::filled(column_type, values, validity, (nulls, self.bounds, self.exact), rows)
    }

    /// The bits of a value, the lower ones of which are stored. Meaningless where the row is NULL.
    #[inline]
    pub(crate) fn bits(&self, row: usize) -> u128 {
        let width = self.physical.width();
        let values = match &self.values {
            ColumnValues::Plain(values) => values.as_slice(),
            ColumnValues::Packed(packed) => return packed.bits(row) & (u128::MAX >> (128 - 8 * width)),
        };
        let bytes = &values[row * width..][..width];
        // The length is known in each arm, so that each is one load.
        match width {
            1 => bytes[0].into(),
            2 => u16::from_le_bytes([bytes[0], bytes[1]]).into(),
            4 => u32::from_le_bytes(bytes.try_into().expect("four bytes")).into(),
            8 => u64::from_le_bytes(bytes.try_into().expect("eight bytes")).into(),
            _ => u128::from_le_bytes(bytes.try_into().expect("sixteen bytes")),
        }
    }

    /// The same of a type whose width is known when it is compiled, and which the column holds.
    #[inline]
    pub(super) fn scalar<T: Scalar>(&self, row: usize) -> T {
        debug_assert_eq!(T::BYTES, self.physical.width());
        match &self.values {
            ColumnValues::Plain(values) => {
                let mut bits = [0; 16];
                bits[..T::BYTES].copy_from_slice(&values.as_slice()[row * T::BYTES..][..T::BYTES]);
                T::from_bits(u128::from_le_bytes(bits))
            }
            ColumnValues::Packed(packed) => packed.scalar(row),
        }
    }

    /// A text, whose bytes are in `heap` if it is a long one of a plain column, and in `room` if it is compressed.
    #[inline]
    pub(super) fn text<'a>(&'a self, row: usize, heap: &'a [u8], room: &'a TextRoom) -> &'a [u8] {
        debug_assert_eq!(self.physical, Physical::View);
        match &self.values {
            ColumnValues::Plain(views) => view::text(&views.as_slice().as_chunks().0[row], heap),
            ColumnValues::Packed(packed) => packed.text(row, room),
        }
    }

    /// The view of a text of a plain column; `None` of a column of another type, or if it is packed.
    #[inline]
    pub(super) fn plain_view(&self, row: usize) -> Option<u128> {
        self.has_plain_views().then(|| self.bits(row))
    }

    /// What it holds, if that is packed.
    pub(super) fn packed(&self) -> Option<&Arc<PackedColumn>> {
        match &self.values {
            ColumnValues::Plain(_) => None,
            ColumnValues::Packed(packed) => Some(packed),
        }
    }

    /// Takes plain values in place of packed ones, which they are equal to: `values` has room for all rows, and nobody
    /// else has it.
    pub(super) fn unpacked(&mut self, values: Buffer) {
        self.values = ColumnValues::Plain(values);
        self.shown_rows = 0;
    }

    /// Takes packed values, and a copy of the validity bits, in place of those that they are equal to.
    pub(super) fn freeze(&mut self, packed: Arc<PackedColumn>, validity: Option<Buffer>) {
        self.values = ColumnValues::Packed(packed);
        self.validity = validity;
    }

    /// The whole buffer of its values, which are plain.
    fn plain(&self) -> &Buffer {
        match &self.values {
            ColumnValues::Plain(values) => values,
            ColumnValues::Packed(_) => unreachable!("a column is unpacked before it is written (invariant 4)"),
        }
    }

    /// Asks for the memory of a value.
    #[inline]
    pub(super) fn prefetch(&self, row: usize) {
        match &self.values {
            ColumnValues::Plain(values) => prefetch(values.as_ptr().wrapping_add(row * self.physical.width())),
            ColumnValues::Packed(packed) => packed.prefetch(row),
        }
        if let Some(bits) = &self.validity {
            prefetch(bits.as_ptr().wrapping_add(row / 8));
        }
    }

    #[inline]
    pub(crate) fn is_null(&self, row: usize) -> bool {
        let Some(bits) = self.validity.as_deref() else { return false };
        bits.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 0)
    }

    /// Whether a row is NULL, dead or not.
    pub(super) fn has_nulls(&self) -> bool {
        self.nulls > 0
    }

    pub(crate) fn is_view(&self) -> bool {
        self.physical == Physical::View
    }

    /// Whether it holds views that refer to the slot's heap.
    pub(super) fn has_plain_views(&self) -> bool {
        self.is_view() && self.packed().is_none()
    }

    /// Makes sure that the value of a row may be written: copies the values of the slot's `rows` rows if they are shown.
    #[inline]
    pub(super) fn make_writable(&mut self, row: usize, rows: usize, memory: &Arc<Memory>) -> Result<(), OutOfMemory> {
        if row < self.shown_rows { self.take_back(rows, memory) } else { Ok(()) }
    }

    /// Makes sure that no value is shown.
    fn take_back(&mut self, rows: usize, memory: &Arc<Memory>) -> Result<(), OutOfMemory> {
        if !is_alone(self.plain()) {
            self.replace_values(rows, self.capacity(), memory)?;
        }
        self.shown_rows = 0;
        Ok(())
    }

    /// The same, beyond the limit of the memory if need be: to undo a change must not fail.
    pub(super) fn make_writable_always(&mut self, row: usize, rows: usize, memory: &Arc<Memory>) {
        if self.make_writable(row, rows, memory).is_err() {
            let bytes = self.plain().len();
            self.replace_by(MutableBuffer::from_len_zeroed(bytes).into(), rows);
        }
    }

    /// Takes a new buffer with room for so many rows, and copies the first ones to it.
    pub(super) fn replace_values(
        &mut self,
        rows: usize,
        capacity: usize,
        memory: &Arc<Memory>,
    ) -> Result<(), OutOfMemory> {
        let mut arena = Arena::new(Arc::clone(memory), self.values_bytes(capacity));
        self.replace_values_in(rows, capacity, &mut arena)
    }

    /// The same in memory of an arena.
    pub(super) fn replace_values_in(
        &mut self,
        rows: usize,
        capacity: usize,
        arena: &mut Arena,
    ) -> Result<(), OutOfMemory> {
        let copy = own_buffer_of(arena.allocate(capacity * self.physical.width())?);
        self.replace_by(copy, rows);
        Ok(())
    }

    /// Bytes that so many values take of an arena.
    pub(super) fn values_bytes(&self, rows: usize) -> usize {
        (rows * self.physical.width()).next_multiple_of(64)
    }

    /// Copies the first rows to a buffer that nobody else has.
    fn replace_by(&mut self, copy: Buffer, rows: usize) {
        let bytes = rows * self.physical.width();
        // SAFETY: nobody else knows of the copy.
        unsafe { write_bytes(&copy, 0, &self.plain()[..bytes]) };
        self.values = ColumnValues::Plain(copy);
        self.shown_rows = 0;
    }

    /// Rows that the values have room for.
    pub(super) fn capacity(&self) -> usize {
        match &self.values {
            ColumnValues::Plain(values) => values.len() / self.physical.width(),
            ColumnValues::Packed(packed) => packed.rows(),
        }
    }

    /// Writes the value of a row that is inserted, which [`HotColumn::make_writable`] was called for if it was dead
    /// before; `None` is NULL.
    #[inline]
    pub(super) fn insert(&mut self, row: usize, bits: Option<u128>, was_dead: bool) {
        if was_dead {
            self.overwritten();
        }
        if self.validity.is_some() || bits.is_none() {
            let is_null = self.is_null(row);
            if is_null || bits.is_none() {
                self.set_null(row, bits.is_none(), was_dead && is_null);
            }
        }
        match bits {
            None => self.put(row, 0),
            Some(bits) => self.write(row, bits),
        }
    }

    /// Writes a value, for a row that [`HotColumn::make_writable`] was called for, and widens the bounds.
    #[inline]
    pub(super) fn write(&mut self, row: usize, bits: u128) {
        // One look at the type tells the width and how the bounds take it.
        match self.physical {
            Physical::I16 => self.write_integer(row, (bits as u16).to_le_bytes(), (bits as i16).into()),
            Physical::I32 => self.write_integer(row, (bits as u32).to_le_bytes(), (bits as i32).into()),
            Physical::I64 => self.write_integer(row, (bits as u64).to_le_bytes(), bits as i64),
            Physical::View => {
                self.put_bytes(row, bits.to_le_bytes());
                self.bounds.widen(Physical::View, bits);
            }
            other => {
                self.put(row, bits);
                self.bounds.widen(other, bits);
            }
        }
    }

    #[inline]
    fn write_integer<const WIDTH: usize>(&mut self, row: usize, bytes: [u8; WIDTH], value: i64) {
        self.put_bytes(row, bytes);
        self.bounds.widen_integer(value);
    }

    /// The same where bounds need not care.
    #[inline]
    pub(super) fn put(&mut self, row: usize, bits: u128) {
        match self.physical {
            Physical::U8 => self.put_bytes(row, (bits as u8).to_le_bytes()),
            Physical::I16 => self.put_bytes(row, (bits as u16).to_le_bytes()),
            Physical::I32 | Physical::F32 => self.put_bytes(row, (bits as u32).to_le_bytes()),
            Physical::I64 | Physical::F64 => self.put_bytes(row, (bits as u64).to_le_bytes()),
            Physical::I128 | Physical::View => self.put_bytes(row, bits.to_le_bytes()),
        }
    }

    /// Writes the bytes of a value, of which the column has as many each.
    #[inline]
    fn put_bytes<const WIDTH: usize>(&mut self, row: usize, bytes: [u8; WIDTH]) {
        debug_assert_eq!(WIDTH, self.physical.width());
        let values = self.plain();
        assert!((row + 1) * WIDTH <= values.len(), "the row is within the room for values");
        let start = values.as_ptr().wrapping_add(row * WIDTH).cast_mut();
        // SAFETY: the address lies within the buffer; nobody else reads or writes the value (invariant 1). The buffer's memory is writable: it was mapped for it.
        unsafe { start.cast::<[u8; WIDTH]>().write(bytes) };
    }

    /// Writes the bytes of values of rows that are not shown.
    pub(super) fn write_rows(&mut self, row: usize, bytes: &[u8]) {
        assert!(row >= self.shown_rows, "the rows are not shown");
        // SAFETY: nobody else reads or writes them (invariant 1).
        unsafe { write_bytes(self.plain(), row * self.physical.width(), bytes) };
    }

    /// Takes in what is known of values written by [`HotColumn::write_rows`].
    pub(super) fn merge_bounds(&mut self, bounds: &Bounds) {
        self.bounds.merge(bounds);
    }

    pub(super) fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// The values that there were are overwritten: the bounds may be wider than what is left.
    pub(super) fn overwritten(&mut self) {
        self.exact = false;
    }

    /// Makes a row NULL or not; `was_null` tells whether it counts among the NULLs now.
    pub(super) fn set_null(&mut self, row: usize, null: bool, was_null: bool) {
        self.nulls = self.nulls + usize::from(null) - usize::from(was_null);
        if self.is_null(row) == null {
            return;
        }
        let byte = row / 8;
        let fits = self.validity.as_ref().is_some_and(|bits| byte < bits.len() && is_alone(bits));
        if !fits {
            let mut bits = self.validity.as_deref().unwrap_or_default().to_vec();
            bits.resize(self.capacity().div_ceil(8).max(bits.len()), 0xFF);
            self.validity = Some(Buffer::from_vec(bits));
        }
        let Some(bits) = &self.validity else { return };
        let at = bits.as_ptr().wrapping_add(byte).cast_mut();
        // SAFETY: the byte lies within the buffer, which only this column refers to (invariant 2) and which the latch
        // guards; its memory was allocated for it, by a vector or by mapping.
        unsafe { at.write(*at & !(1 << (row % 8)) | u8::from(!null) << (row % 8)) };
    }

    /// The first rows, for readers.
    pub(super) fn show(&mut self, rows: usize) -> ChunkColumn {
        self.shown_rows = self.shown_rows.max(rows);
        let values = match &self.values {
            ColumnValues::Plain(values) => {
                ColumnValues::Plain(values.slice_with_length(0, rows * self.physical.width()))
            }
            ColumnValues::Packed(packed) => ColumnValues::Packed(Arc::clone(packed)),
        };
        let bytes = rows.div_ceil(8);
        if self.validity.as_ref().is_some_and(|bits| bits.len() < bytes) {
            let mut bits = self.validity.as_deref().unwrap_or_default().to_vec();
            bits.resize(bytes, 0xFF);
            self.validity = Some(Buffer::from_vec(bits));
        }
        let shared = self.validity.as_ref().filter(|_| self.nulls > 0);
        let mut statistics = self.bounds.statistics(self.column_type, rows as u64, self.nulls as u64);
        statistics.exact &= self.exact;
        ChunkColumn { values, validity: shared.map(|bits| bits.slice_with_length(0, bytes)), statistics }
    }
}
