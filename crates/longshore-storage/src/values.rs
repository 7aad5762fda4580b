//! The values of a column as they are stored, a slice of the physical type, and room for such values.
//!
//! Not here: single values (`datum`), who has such slices (`chunk`, `buffer`).

use std::cell::OnceCell;
use std::mem::MaybeUninit;

use arrow_buffer::{ArrowNativeType, Buffer, ToByteSlice};

use crate::arena::Region;
use crate::types::Physical;

/// The stored values of a column, one per row; NULL rows hold 0 or the empty view.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// Booleans, 0 or 1.
    U8(&'a [u8]),
    /// 16-bit integers.
    I16(&'a [i16]),
    /// 32-bit integers.
    I32(&'a [i32]),
    /// 64-bit integers.
    I64(&'a [i64]),
    /// 128-bit integers.
    I128(&'a [i128]),
    /// 32-bit floats.
    F32(&'a [f32]),
    /// 64-bit floats.
    F64(&'a [f64]),
    /// Views in Arrow's layout; long ones point into the column's heap.
    Views(&'a [u128]),
}

impl<'a> Values<'a> {
    /// The values of a type that a buffer holds.
    #[inline]
    pub(crate) fn of(physical: Physical, values: &'a Buffer) -> Values<'a> {
        match physical {
            Physical::U8 => Values::U8(values.as_slice()),
            Physical::I16 => Values::I16(values.typed_data()),
            Physical::I32 => Values::I32(values.typed_data()),
            Physical::I64 => Values::I64(values.typed_data()),
            Physical::I128 => Values::I128(values.typed_data()),
            Physical::F32 => Values::F32(values.typed_data()),
            Physical::F64 => Values::F64(values.typed_data()),
            Physical::View => Values::Views(values.typed_data()),
        }
    }

    /// The bits of a value, the sign of a number kept.
    #[inline]
    pub(crate) fn bits(self, row: usize) -> u128 {
        match self {
            Values::U8(values) => values[row].into(),
            Values::I16(values) => values[row] as u128,
            Values::I32(values) => values[row] as u128,
            Values::I64(values) => values[row] as u128,
            Values::I128(values) => values[row] as u128,
            Values::F32(values) => values[row].to_bits().into(),
            Values::F64(values) => values[row].to_bits().into(),
            Values::Views(views) => views[row],
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Values::U8(values) => values.len(),
            Values::I16(values) => values.len(),
            Values::I32(values) => values.len(),
            Values::I64(values) => values.len(),
            Values::I128(values) => values.len(),
            Values::F32(values) => values.len(),
            Values::F64(values) => values.len(),
            Values::Views(values) => values.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Their bytes.
    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Values::U8(values) => values,
            Values::I16(values) => values.to_byte_slice(),
            Values::I32(values) => values.to_byte_slice(),
            Values::I64(values) => values.to_byte_slice(),
            Values::I128(values) => values.to_byte_slice(),
            Values::F32(values) => values.to_byte_slice(),
            Values::F64(values) => values.to_byte_slice(),
            Values::Views(values) => values.to_byte_slice(),
        }
    }

    /// Some of the values.
    ///
    /// # Panics
    ///
    /// When there are not as many.
    #[must_use]
    pub fn slice(self, from: usize, count: usize) -> Values<'a> {
        let range = from..from + count;
        match self {
            Values::U8(values) => Values::U8(&values[range]),
            Values::I16(values) => Values::I16(&values[range]),
            Values::I32(values) => Values::I32(&values[range]),
            Values::I64(values) => Values::I64(&values[range]),
            Values::I128(values) => Values::I128(&values[range]),
            Values::F32(values) => Values::F32(&values[range]),
            Values::F64(values) => Values::F64(&values[range]),
            Values::Views(values) => Values::Views(&values[range]),
        }
    }

    /// The values of some rows, in the order given.
    ///
    /// # Panics
    ///
    /// When there are fewer rows.
    pub(crate) fn picked(self, rows: &[u32]) -> Buffer {
        match self {
            Values::U8(values) => picked(values, rows),
            Values::I16(values) => picked(values, rows),
            Values::I32(values) => picked(values, rows),
            Values::I64(values) => picked(values, rows),
            Values::I128(values) => picked(values, rows),
            Values::F32(values) => picked(values, rows),
            Values::F64(values) => picked(values, rows),
            Values::Views(views) => picked(views, rows),
        }
    }
}

/// The values of some rows, in the order given.
///
/// # Panics
///
/// When there are fewer rows.
pub(crate) fn picked<T: ArrowNativeType>(values: &[T], rows: &[u32]) -> Buffer {
    Buffer::from_vec(rows.iter().map(|&row| values[row as usize]).collect::<Vec<T>>())
}

/// Slots by physical type. A row that is NULL is given 0 or the empty view (0).
#[derive(Debug)]
pub enum SpareValues<'a> {
    /// Booleans, 0 or 1.
    U8(&'a mut [MaybeUninit<u8>]),
    /// 16-bit integers.
    I16(&'a mut [MaybeUninit<i16>]),
    /// 32-bit integers.
    I32(&'a mut [MaybeUninit<i32>]),
    /// 64-bit integers.
    I64(&'a mut [MaybeUninit<i64>]),
    /// 128-bit integers.
    I128(&'a mut [MaybeUninit<i128>]),
    /// 32-bit floats.
    F32(&'a mut [MaybeUninit<f32>]),
    /// 64-bit floats.
    F64(&'a mut [MaybeUninit<f64>]),
    /// Views in Arrow's layout; long ones have data buffer 0 and an offset into the heap.
    Views(&'a mut [MaybeUninit<u128>]),
}

impl<'a> SpareValues<'a> {
    /// The slots of values `from..from + count` of a region.
    pub(crate) fn of(physical: Physical, region: &'a mut Region, from: usize, count: usize) -> SpareValues<'a> {
        match physical {
            Physical::U8 => SpareValues::U8(region.spare(from, count)),
            Physical::I16 => SpareValues::I16(region.spare(from, count)),
            Physical::I32 => SpareValues::I32(region.spare(from, count)),
            Physical::I64 => SpareValues::I64(region.spare(from, count)),
            Physical::I128 => SpareValues::I128(region.spare(from, count)),
            Physical::F32 => SpareValues::F32(region.spare(from, count)),
            Physical::F64 => SpareValues::F64(region.spare(from, count)),
            Physical::View => SpareValues::Views(region.spare(from, count)),
        }
    }
}

macro_rules! spare_values_from {
    ($($variant:ident: $type:ty),*) => {$(
        impl<'a> From<&'a mut [MaybeUninit<$type>]> for SpareValues<'a> {
            fn from(slots: &'a mut [MaybeUninit<$type>]) -> SpareValues<'a> {
                SpareValues::$variant(slots)
            }
        }
    )*};
}
spare_values_from!(U8: u8, I16: i16, I32: i32, I64: i64, I128: i128, F32: f32, F64: f64, Views: u128);

/// Room for single texts that must be decompressed to be read. They stay as long as it does.
#[derive(Debug, Default)]
pub(crate) struct TextRoom {
    text: OnceCell<Vec<u8>>,
    more: OnceCell<Box<TextRoom>>,
}

impl TextRoom {
    /// Keeps a text.
    pub(crate) fn keep(&self, text: Vec<u8>) -> &[u8] {
        let mut last = self;
        while last.text.get().is_some() {
            last = last.more.get_or_init(Box::default);
        }
        last.text.get_or_init(|| text)
    }
}

/// Room to which values are unpacked, used again from column to column.
#[derive(Debug, Default)]
pub struct Scratch {
    room: Vec<MaybeUninit<u128>>,
    /// Texts that were decompressed.
    texts: Vec<u8>,
}

impl Scratch {
    /// Room for so many views, for `write` to write all of them, and the texts that they refer to; it says where these end.
    /// Then the views and the texts.
    ///
    /// # Safety
    ///
    /// `write` writes every slot that it is given.
    pub(crate) unsafe fn filled_with_texts(
        &mut self,
        count: usize,
        write: impl FnOnce(&mut [MaybeUninit<u128>], &mut Vec<u8>) -> usize,
    ) -> (Values<'_>, &[u8]) {
        if self.room.len() < count {
            self.room.resize(count, MaybeUninit::uninit());
        }
        let views = &mut self.room[..count];
        let end = write(views, &mut self.texts);
        // SAFETY: the caller promises that all slots have been written.
        (Values::Views(unsafe { views.assume_init_ref() }), &self.texts[..end])
    }

    /// Room for so many values of a type, for `write` to write all of them; then these values.
    ///
    /// # Safety
    ///
    /// `write` writes every slot that it is given.
    pub(crate) unsafe fn filled(
        &mut self,
        physical: Physical,
        count: usize,
        write: impl FnOnce(SpareValues<'_>),
    ) -> Values<'_> {
        let words = (count * physical.width()).div_ceil(size_of::<u128>());
        if self.room.len() < words {
            self.room.resize(words, MaybeUninit::uninit());
        }
        macro_rules! filled {
            ($variant:ident, $type:ty) => {{
                // SAFETY: the room has as many bytes, is aligned for all these types, and nothing is asked of its content.
                let slots = unsafe {
                    std::slice::from_raw_parts_mut(self.room.as_mut_ptr().cast::<MaybeUninit<$type>>(), count)
                };
                write(SpareValues::$variant(slots));
                // SAFETY: the caller promises that all slots have been written.
                Values::$variant(unsafe { slots.assume_init_ref() })
            }};
        }
        match physical {
            Physical::U8 => filled!(U8, u8),
            Physical::I16 => filled!(I16, i16),
            Physical::I32 => filled!(I32, i32),
            Physical::I64 => filled!(I64, i64),
            Physical::I128 => filled!(I128, i128),
            Physical::F32 => filled!(F32, f32),
            Physical::F64 => filled!(F64, f64),
            Physical::View => filled!(Views, u128),
        }
    }
}
