//! Packs integers of 0 to 128 bits into planes of 64, 32, 16, 8, 4, 2 and 1 bits.
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
    /// Width of the type in bits.
    const BITS: u8;
    /// The value, sign kept.
    fn widen(self) -> i128;
    /// The low bits of `value`.
    fn truncate(value: i128) -> Self;
    /// Sum modulo 2 to the bits of the type.
    fn add(self, other: Self) -> Self;
    /// Difference modulo 2 to the bits of the type.
    fn sub(self, other: Self) -> Self;
    /// Product modulo 2 to the bits of the type.
    fn mul(self, other: Self) -> Self;
    /// The bits taken as an unsigned number.
    fn unsigned(self) -> u128;
    /// Up to 64 bits from bit `shift_bits` on.
    fn high(self, shift_bits: u32) -> u64;
    /// ORs `plane` in, `shift_bits` bits up.
    fn or(self, plane: u64, shift_bits: u32) -> Self;
}

macro_rules! integer {
    ($($signed:ty, $unsigned:ty;)*) => {$(
        #[allow(clippy::cast_lossless, reason = "of the types, i128 and u128 need no conversion and have none by From")]
        impl Integer for $signed {
            const BITS: u8 = <$signed>::BITS as u8;
            #[inline(always)]
            fn widen(self) -> i128 {
                self as i128
            }
            #[inline(always)]
            fn truncate(value: i128) -> Self {
                value as $signed
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn unsigned(self) -> u128 {
                self as $unsigned as u128
            }
            #[inline(always)]
            fn high(self, shift_bits: u32) -> u64 {
                ((self as $unsigned) >> shift_bits) as u64
            }
            #[inline(always)]
            fn or(self, plane: u64, shift_bits: u32) -> Self {
                self | ((plane as $unsigned) << shift_bits) as $signed
            }
        }
    )*};
}
integer! { u8, u8; i16, u16; i32, u32; i64, u64; i128, u128; u32, u32; }

/// The bits in which the unsigned number `value` is kept: a little more than it needs, for the sake of fewer planes.
pub(super) fn width_of(value: u128) -> u8 {
    match 128 - value.leading_zeros() {
        bits @ 0..=2 => bits as u8,
        bits => bits.next_multiple_of(4) as u8,
    }
}

/// Whether `width_of` has this result for some number.
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

/// Hands each plane of `values`, numbers of `width` bits, to `section`.
pub(super) fn split<T: Integer>(values: &[T], width: u8, mut section: impl FnMut(&[u8])) {
    let mut shift_bits = 0;
    let mut plane = Vec::new();
    for plane_width in plane_widths(width) {
        plane.clear();
        match plane_width {
            64 => split_wide(values, &mut plane, |value| value.high(shift_bits).to_le_bytes()),
            32 => split_wide(values, &mut plane, |value| (value.high(shift_bits) as u32).to_le_bytes()),
            16 => split_wide(values, &mut plane, |value| (value.high(shift_bits) as u16).to_le_bytes()),
            8 => split_wide(values, &mut plane, |value| [value.high(shift_bits) as u8]),
            _ => split_narrow(values, plane_width, shift_bits, &mut plane),
        }
        section(&plane);
        shift_bits += u32::from(plane_width);
    }
}

fn split_wide<T: Copy, const N: usize>(values: &[T], plane: &mut Vec<u8>, bytes: impl Fn(T) -> [u8; N]) {
    plane.resize(values.len() * N, 0);
    let (slots, _) = plane.as_chunks_mut::<N>();
    for (slot, &value) in slots.iter_mut().zip(values) {
        *slot = bytes(value);
    }
}

fn split_narrow<T: Integer>(values: &[T], plane_width: u8, shift_bits: u32, plane: &mut Vec<u8>) {
    for batch in values.chunks(BATCH_ROWS) {
        let start = plane.len();
        let bytes = (batch.len() * usize::from(plane_width)).div_ceil(8);
        plane.resize(start + bytes, 0);
        for (part, values) in batch.chunks(bytes).enumerate() {
            for (byte, value) in plane[start..].iter_mut().zip(values) {
                let bits = value.high(shift_bits) as u8 & ((1 << plane_width) - 1);
                *byte |= bits << (part * usize::from(plane_width));
            }
        }
    }
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
mod tests {
    use super::*;

    #[test]
    fn every_width_splits_and_joins() {
        for rows in [1, 2, 7, 8, 9, 1023, 1024, 1025, 3000_usize] {
            for width in (0..=128_u8).filter(|width| is_width(*width)) {
                let mask = if width == 128 { u128::MAX } else { (1_u128 << width) - 1 };
                let values: Vec<i128> = (0..rows as u128)
                    .map(|i| {
                        (i.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835).rotate_right(67) & mask) as i128
                    })
                    .collect();
                let mut sections: Vec<Vec<u8>> = Vec::new();
                split(&values, width, |plane| sections.push(plane.to_vec()));
                let planes = Planes::new(width, rows, &mut sections.iter().map(Vec::as_slice)).expect("planes fit");
                let mut joined = vec![-1_i128; rows];
                for (batch, out) in joined.chunks_mut(BATCH_ROWS).enumerate() {
                    planes.join(batch, out);
                }
                assert_eq!(joined, values, "{rows} rows of {width} bits");
            }
        }
    }

    #[test]
    fn widths_of_numbers() {
        assert_eq!([0, 1, 2, 3, 4, 15, 16, 255, 256].map(width_of), [0, 1, 2, 2, 4, 4, 8, 8, 12]);
        assert_eq!(width_of(u128::MAX), 128);
        for width in (0..128).map(|bits| width_of(1 << bits)) {
            assert!(is_width(width) && plane_widths(width).count() <= PLANES_MAX);
        }
    }

    #[test]
    fn planes_of_a_wrong_length_are_refused() {
        let bytes = [0_u8; 7];
        assert!(Planes::new(16, 4, &mut std::iter::once(&bytes[..])).is_none());
        assert!(Planes::new(24, 3, &mut std::iter::once(&bytes[..6])).is_none());
    }
}
