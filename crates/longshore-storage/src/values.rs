//! The values of a column as they are stored: a slice of the physical type.
//!
//! Not here: single values (`datum`), who has such slices (`chunk`, `buffer`).

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
