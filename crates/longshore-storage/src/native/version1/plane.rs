//! Joins integers of 0 to 128 bits from planes of 64, 32, 16, 8, 4, 2 and 1 bits.
//!
//! A number of 20 bits is kept as its low 16 bits in one plane and its high 4 bits in another. Every plane is then read
//! by loads, shifts and ORs that the compiler turns into vector code, which a stream of 20-bit numbers does not allow
//! without shuffles made for each CPU. A plane of high bits also repeats more than whole numbers, which is what LZ4
//! finds.
//!
//! Planes of less than a byte are laid out batch by batch so that neighbouring rows lie in neighbouring bytes:
//!
//! ```text
//! rows of a batch   0 1 2 3 4 5 6 7 8 9           plane of 4 bits, 5 bytes
//! high half of byte                               5 6 7 8 9
//! low half of byte                                0 1 2 3 4
//! ```

#![allow(clippy::inline_always, reason = "what is not inlined is not compiled for the instruction set of its caller")]

/// Most planes that one width has (124 = 64 + 32 + 16 + 8 + 4).
const PLANES_MAX: usize = 5;

/// Rows joined at a time; their residuals stay in L1.
pub(super) const BATCH_ROWS: usize = 1024;

/// An integer of a column or of a list of lengths, with the wrapping arithmetic the encodings need.
pub(super) trait Integer: Copy + Ord + Default {
    /// The low bits of `value`.
    fn truncate(value: i128) -> Self;
    /// Sum modulo 2 to the bits of the type.
    fn add(self, other: Self) -> Self;
    /// Product modulo 2 to the bits of the type.
    fn mul(self, other: Self) -> Self;
    /// ORs `plane` in, `shift_bits` bits up.
    fn or(self, plane: u64, shift_bits: u32) -> Self;
}

macro_rules! integer {
    ($($signed:ty, $unsigned:ty;)*) => {$(
        #[allow(clippy::cast_lossless, reason = "of the types, i128 and u128 need no conversion and have none by From")]
        impl Integer for $signed {
            #[inline(always)]
            fn truncate(value: i128) -> Self {
                value as $signed
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn or(self, plane: u64, shift_bits: u32) -> Self {
                self | ((plane as $unsigned) << shift_bits) as $signed
            }
        }
    )*};
}
integer! { u8, u8; i16, u16; i32, u32; i64, u64; i128, u128; u32, u32; }

/// Whether numbers are kept in so many bits: a little more than they need, for the sake of fewer planes.
pub(super) fn is_width(width: u8) -> bool {
    width <= 2 || width <= 128 && width.is_multiple_of(4)
}

/// The widths of the planes that numbers of `width` bits are kept in, low bits first.
fn plane_widths(width: u8) -> impl Iterator<Item = u8> {
    let mut rest = width;
    std::iter::from_fn(move || {
        let plane = if rest == 0 { return None } else { 1 << rest.ilog2().min(6) };
        rest -= plane;
        Some(plane)
    })
}

/// The lengths of the planes that `rows` numbers of `width` bits are kept in.
pub(super) fn plane_bytes(width: u8, rows: u64) -> impl Iterator<Item = u64> {
    // Batches are whole bytes, all but the last.
    plane_widths(width).map(move |plane_width| (rows * u64::from(plane_width)).div_ceil(8))
}

/// The planes of one list of integers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Planes<'a> {
    planes: [&'a [u8]; PLANES_MAX],
    width: u8,
}

impl<'a> Planes<'a> {
    /// The planes of `rows` numbers of `width` bits, taken in order from `sections`.
    /// `None` if there are too few or one has another length.
    pub(super) fn new(width: u8, rows: usize, sections: &mut impl Iterator<Item = &'a [u8]>) -> Option<Planes<'a>> {
        let mut planes = [&[][..]; PLANES_MAX];
        for (slot, bytes) in planes.iter_mut().zip(plane_bytes(width, rows as u64)) {
            *slot = sections.next().filter(|section| section.len() as u64 == bytes)?;
        }
        Some(Planes { planes, width })
    }

    /// Joins the numbers of batch `batch` into `out`, which has as many slots as the batch has rows.
    #[inline(always)]
    pub(super) fn join<T: Integer>(&self, batch: usize, out: &mut [T]) {
        if self.width == 0 {
            out.fill(T::default());
        }
        let mut shift_bits = 0;
        for (plane, plane_width) in self.planes.iter().zip(plane_widths(self.width)) {
            let bytes = &plane[batch * (BATCH_ROWS / 8) * usize::from(plane_width)..];
            match plane_width {
                64 => join_wide(bytes, shift_bits, out, u64::from_le_bytes),
                32 => join_wide(bytes, shift_bits, out, |bytes| u64::from(u32::from_le_bytes(bytes))),
                16 => join_wide(bytes, shift_bits, out, |bytes| u64::from(u16::from_le_bytes(bytes))),
                8 => join_wide(bytes, shift_bits, out, |[byte]| u64::from(byte)),
                4 => join_narrow::<T, 4>(bytes, shift_bits, out),
                2 => join_narrow::<T, 2>(bytes, shift_bits, out),
                _ => join_narrow::<T, 1>(bytes, shift_bits, out),
            }
            shift_bits += u32::from(plane_width);
        }
    }
}

/// Joins a plane of one or more bytes per number.
#[inline(always)]
fn join_wide<T: Integer, const N: usize>(bytes: &[u8], shift_bits: u32, out: &mut [T], load: impl Fn([u8; N]) -> u64) {
    let (loads, _) = bytes.as_chunks::<N>();
    if shift_bits == 0 {
        for (slot, bytes) in out.iter_mut().zip(loads) {
            *slot = T::default().or(load(*bytes), 0);
        }
    } else {
        for (slot, bytes) in out.iter_mut().zip(loads) {
            *slot = slot.or(load(*bytes), shift_bits);
        }
    }
}

/// Joins a plane of several numbers per byte.
#[inline(always)]
fn join_narrow<T: Integer, const WIDTH: usize>(bytes: &[u8], shift_bits: u32, out: &mut [T]) {
    let part_rows = (out.len() * WIDTH).div_ceil(8);
    for (part, slots) in out.chunks_mut(part_rows.max(1)).enumerate() {
        let bits = |byte: &u8| u64::from(byte >> (part * WIDTH)) & ((1 << WIDTH) - 1);
        if shift_bits == 0 {
            for (slot, byte) in slots.iter_mut().zip(bytes) {
                *slot = T::default().or(bits(byte), 0);
            }
        } else {
            for (slot, byte) in slots.iter_mut().zip(bytes) {
                *slot = slot.or(bits(byte), shift_bits);
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
