//! The values of a column as they are stored, a slice of the physical type, and room for such values.
//!
//! Not here: single values (`datum`), who has such slices (`chunk`, `buffer`).

use std::mem::MaybeUninit;

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
    /// Views in Arrow's layout; long ones point into the chunk's heap.
    Views(&'a [u128]),
}

impl<'a> Values<'a> {
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
