//! Decides what the decoders write into: borrowed, uninitialised column memory, validity bits and one
//! heap for long strings.
//!
//! The caller (a partition buffer of `longshore-storage`, or a recycled scan batch) owns the memory; the
//! decoders fill slots `0..rows.count()` of each column and never read them. Strings follow Arrow's view
//! layout: 16 bytes per value, of up to 12 bytes inline, of more as length, first four bytes, buffer index
//! (always 0) and offset within the heap. Not here: how the memory is obtained and sealed into chunks.

use std::mem::MaybeUninit;

use super::text_memo::TextMemo;
#[cfg(doc)]
use crate::PADDING;

/// Longest string, in bytes, that a view holds itself; longer ones lie in the heap.
pub const VIEW_INLINE_BYTES_MAX: usize = 12;

/// Largest heap, in bytes: Arrow's views hold offsets as signed 32-bit integers.
pub const HEAP_BYTES_MAX: usize = i32::MAX as usize;

/// Where one column of a piece goes: values, validity and the heap shared by the columns of a partition.
#[derive(Debug)]
pub struct Target<'a, 'h> {
    /// One slot per row; the variant must match the column's type ([`crate::ValueType::slot`]).
    pub values: Values<'a>,
    /// One bit per row.
    pub validity: Validity<'a>,
    /// Receives strings longer than [`VIEW_INLINE_BYTES_MAX`].
    pub heap: &'a mut Heap<'h>,
    /// Receives codes, where a column of text is to have some.
    pub coded: Option<Coded<'a>>,
}

/// Where the codes of a column of text go.
#[derive(Debug)]
pub struct Coded<'a> {
    /// What is known of its fields, whose long texts lie in the heap of the target. It tells what the codes stand for.
    pub memo: &'a mut TextMemo,
    /// One per row. If the column is given up, they are written in part.
    pub codes: &'a mut [MaybeUninit<u8>],
}

/// Uninitialised slots of one column, by physical type.
#[derive(Debug)]
pub enum Values<'a> {
    /// Booleans: 0 or 1.
    U8(&'a mut [MaybeUninit<u8>]),
    /// Small integers.
    I16(&'a mut [MaybeUninit<i16>]),
    /// Integers, and dates in days since 1970-01-01.
    I32(&'a mut [MaybeUninit<i32>]),
    /// Big integers, decimals of up to 18 digits, times and timestamps in microseconds.
    I64(&'a mut [MaybeUninit<i64>]),
    /// Decimals of up to 38 digits, and UUIDs.
    I128(&'a mut [MaybeUninit<i128>]),
    /// Single precision.
    F32(&'a mut [MaybeUninit<f32>]),
    /// Double precision.
    F64(&'a mut [MaybeUninit<f64>]),
    /// Arrow string or binary views.
    Views(&'a mut [MaybeUninit<u128>]),
}

impl Values<'_> {
    /// Number of slots.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Values::U8(slots) => slots.len(),
            Values::I16(slots) => slots.len(),
            Values::I32(slots) => slots.len(),
            Values::I64(slots) => slots.len(),
            Values::I128(slots) => slots.len(),
            Values::F32(slots) => slots.len(),
            Values::F64(slots) => slots.len(),
            Values::Views(slots) => slots.len(),
        }
    }

    /// Whether there is no slot.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The physical type of the slots.
    #[must_use]
    pub fn slot(&self) -> Slot {
        match self {
            Values::U8(_) => Slot::U8,
            Values::I16(_) => Slot::I16,
            Values::I32(_) => Slot::I32,
            Values::I64(_) => Slot::I64,
            Values::I128(_) => Slot::I128,
            Values::F32(_) => Slot::F32,
            Values::F64(_) => Slot::F64,
            Values::Views(_) => Slot::View,
        }
    }
}

/// Physical type of a column's slots: which variant of [`Values`] it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slot {
    /// [`Values::U8`].
    U8,
    /// [`Values::I16`].
    I16,
    /// [`Values::I32`].
    I32,
    /// [`Values::I64`].
    I64,
    /// [`Values::I128`].
    I128,
    /// [`Values::F32`].
    F32,
    /// [`Values::F64`].
    F64,
    /// [`Values::Views`].
    View,
}

/// Validity bits of one column, least significant bit first, 1 = valid. The caller presets them to 1; the
/// decoders only clear.
#[derive(Debug)]
pub struct Validity<'a> {
    bits: &'a mut [u8],
    offset: usize,
    nulls: usize,
}

impl<'a> Validity<'a> {
    /// Bits whose row 0 is bit number `offset` of `bits`.
    #[must_use]
    pub fn new(bits: &'a mut [u8], offset: usize) -> Self {
        Validity { bits, offset, nulls: 0 }
    }

    /// Marks `row` as NULL and counts it.
    ///
    /// # Panics
    ///
    /// If the bits end before `row`.
    #[inline]
    pub fn clear(&mut self, row: usize) {
        let bit = self.offset + row;
        self.bits[bit / 8] &= !(1 << (bit % 8));
        self.nulls += 1;
    }

    /// Whether `row` is NULL.
    #[inline]
    pub(crate) fn is_null(&self, row: usize) -> bool {
        let bit = self.offset + row;
        self.bits[bit / 8] >> (bit % 8) & 1 == 0
    }

    /// How many rows were cleared through this value.
    #[must_use]
    pub fn nulls(&self) -> usize {
        self.nulls
    }
}

/// Memory for strings too long for a view, filled from the front.
///
/// Contract: before the text columns of some rows are decoded, [`Heap::room`] is at least the rows'
/// `text_bytes()`, the `growth_max()` of each column's type for each row, and [`PADDING`]: no value is longer
/// than its field and that growth, and the decoders store up to [`PADDING`] bytes at a time, so that some bytes beyond [`Heap::used`] may be overwritten. They panic
/// where the contract is broken.
#[derive(Debug)]
pub struct Heap<'h> {
    bytes: &'h mut [MaybeUninit<u8>],
    used: usize,
}

impl<'h> Heap<'h> {
    /// A heap whose first `used` bytes hold strings already. Offsets in views count from `bytes[0]`.
    ///
    /// # Panics
    ///
    /// If `used` lies beyond `bytes`, or `bytes` is larger than [`HEAP_BYTES_MAX`].
    #[must_use]
    pub fn new(bytes: &'h mut [MaybeUninit<u8>], used: usize) -> Self {
        assert!(used <= bytes.len(), "{used} bytes used in a heap of {}", bytes.len());
        assert!(bytes.len() <= HEAP_BYTES_MAX, "a heap of {} bytes is beyond the reach of views", bytes.len());
        Heap { bytes, used }
    }

    /// Bytes filled so far.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used
    }

    /// Bytes left.
    #[must_use]
    pub fn room(&self) -> usize {
        self.bytes.len() - self.used
    }

    /// Where the next string goes, for a store of `bytes` bytes.
    ///
    /// # Panics
    ///
    /// If fewer than `bytes` bytes are left.
    #[inline(always)]
    pub(crate) fn reserve(&mut self, bytes: usize) -> *mut u8 {
        assert!(bytes <= self.bytes.len() - self.used, "heap contract broken: {bytes} bytes do not fit");
        // SAFETY: `used` never exceeds the length of `bytes`.
        unsafe { self.bytes.as_mut_ptr().add(self.used).cast::<u8>() }
    }

    /// Counts `bytes` bytes, which were written where [`Heap::reserve`] said, as used.
    ///
    /// # Safety
    ///
    /// They were written, and lie within what was reserved.
    #[inline(always)]
    pub(crate) unsafe fn keep(&mut self, bytes: usize) {
        self.used += bytes;
    }

    /// Stores `value`, in the heap if it does not fit the view, and returns its view.
    pub(crate) fn view(&mut self, value: &[u8]) -> u128 {
        if value.len() <= VIEW_INLINE_BYTES_MAX {
            return inline_view(value);
        }
        let to = self.reserve(value.len());
        // SAFETY: `reserve` checked the room, and a borrowed value cannot overlap the heap's `&mut`.
        unsafe {
            std::ptr::copy_nonoverlapping(value.as_ptr(), to, value.len());
            self.keep_view(value.len())
        }
    }

    /// Counts `bytes` bytes, which were written where [`Heap::reserve`] said, as used, and returns their view.
    ///
    /// # Safety
    ///
    /// They were written, lie within what was reserved, and are more than [`VIEW_INLINE_BYTES_MAX`].
    #[inline(always)]
    pub(crate) unsafe fn keep_view(&mut self, bytes: usize) -> u128 {
        let offset = self.used;
        // SAFETY: as the caller promises.
        unsafe {
            let prefix = self.bytes.as_ptr().add(offset).cast::<u32>().read_unaligned();
            self.keep(bytes);
            long_view(bytes, u32::from_le(prefix), offset)
        }
    }
}

/// The view of a string of at most [`VIEW_INLINE_BYTES_MAX`] bytes.
fn inline_view(value: &[u8]) -> u128 {
    let mut view = [0_u8; 16];
    view[..4].copy_from_slice(&(value.len() as u32).to_le_bytes());
    view[4..4 + value.len()].copy_from_slice(value);
    u128::from_le_bytes(view)
}

/// The view of a string in the heap.
#[inline(always)]
pub(crate) fn long_view(len: usize, prefix: u32, offset: usize) -> u128 {
    let low = len as u64 | u64::from(prefix) << 32;
    // The buffer index, in bits 64..96, is 0.
    u128::from(low) | u128::from((offset as u64) << 32) << 64
}
