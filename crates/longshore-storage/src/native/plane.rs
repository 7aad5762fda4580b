//! Splits integers of any width from 0 to 16 bytes into planes of 8, 4, 2 and 1 bytes.
//!
//! A residual of 3 bytes is kept as a plane of its low 2 bytes and a plane of its high byte, so that every width is
//! joined by widening loads, shifts and ORs that the compiler turns into vector code; a packed 3-byte layout would
//! need a shuffle per CPU. A plane of high bytes also repeats more, which is what LZ4 finds.
//!
//! ```text
//! width 7:  low [0 1 2 3] [4 5] [6] high      planes of 4, 2 and 1 bytes
//! ```

#![allow(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for the instruction set of its caller"
)]

/// Most planes that one width has (15 = 8 + 4 + 2 + 1).
pub(super) const PLANES_MAX: usize = 4;

/// Rows joined at a time; their residuals stay in L1.
pub(super) const BATCH_ROWS: usize = 1024;

/// An integer of a column or of a list of lengths, with the wrapping arithmetic the encodings need.
pub(super) trait Integer: Copy + Ord + Default {
    /// Width of the type.
    const BYTES: u8;
    /// The value, sign kept.
    fn widen(self) -> i128;
    /// The low bytes of `value`.
    fn truncate(value: i128) -> Self;
    /// Sum modulo 2 to the bits of the type.
    fn add(self, other: Self) -> Self;
    /// Difference modulo 2 to the bits of the type.
    fn sub(self, other: Self) -> Self;
    /// Product modulo 2 to the bits of the type.
    fn mul(self, other: Self) -> Self;
    /// The bits taken as an unsigned number.
    fn unsigned(self) -> u128;
    /// Bytes `shift_bits / 8` and up of the bits.
    fn high(self, shift_bits: u32) -> u64;
    /// ORs `plane` in, `shift_bits` bits up.
    fn or(self, plane: u64, shift_bits: u32) -> Self;
}

macro_rules! integer {
    ($($signed:ty, $unsigned:ty;)*) => {$(
        #[allow(clippy::cast_lossless, reason = "of the types, i128 and u128 need no conversion and have none by From")]
        impl Integer for $signed {
            const BYTES: u8 = size_of::<$signed>() as u8;
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
integer! { i16, u16; i32, u32; i64, u64; i128, u128; u32, u32; }

/// Bytes that the unsigned number `value` needs, 0 for 0.
pub(super) fn width_of(value: u128) -> u8 {
    (128 - value.leading_zeros()).div_ceil(8) as u8
}

/// The plane widths of `width`, low bytes first.
pub(super) fn plane_widths(width: u8) -> impl Iterator<Item = u8> {
    let mut rest = width;
    std::iter::from_fn(move || {
        let plane = match rest {
            0 => return None,
            8.. => 8,
            4.. => 4,
            2.. => 2,
            1 => 1,
        };
        rest -= plane;
        Some(plane)
    })
}

/// Appends the bytes `shift_bits / 8` to `shift_bits / 8 + plane_width` of each residual to `out`.
pub(super) fn split<T: Integer>(residuals: &[T], plane_width: u8, shift_bits: u32, out: &mut Vec<u8>) {
    match plane_width {
        1 => out.extend(residuals.iter().map(|r| r.high(shift_bits) as u8)),
        2 => split_wide(residuals, out, |r| (r.high(shift_bits) as u16).to_le_bytes()),
        4 => split_wide(residuals, out, |r| (r.high(shift_bits) as u32).to_le_bytes()),
        _ => split_wide(residuals, out, |r| r.high(shift_bits).to_le_bytes()),
    }
}

fn split_wide<T: Copy, const N: usize>(residuals: &[T], out: &mut Vec<u8>, bytes: impl Fn(T) -> [u8; N]) {
    let start = out.len();
    out.resize(start + residuals.len() * N, 0);
    let (slots, _) = out[start..].as_chunks_mut::<N>();
    for (slot, &residual) in slots.iter_mut().zip(residuals) {
        *slot = bytes(residual);
    }
}

/// The planes of one list of integers, each as long as the list times the plane's width.
#[derive(Debug, Clone, Copy)]
pub(super) struct Planes<'a> {
    planes: [&'a [u8]; PLANES_MAX],
    width: u8,
}

impl<'a> Planes<'a> {
    /// Planes of `rows` residuals of `width` bytes, taken in order from `sections`.
    /// `None` if there are too few or one has another length.
    pub(super) fn new(width: u8, rows: usize, sections: &mut impl Iterator<Item = &'a [u8]>) -> Option<Planes<'a>> {
        let mut planes = [&[][..]; PLANES_MAX];
        for (slot, plane_width) in planes.iter_mut().zip(plane_widths(width)) {
            *slot = sections.next().filter(|s| s.len() == rows * usize::from(plane_width))?;
        }
        Some(Planes { planes, width })
    }

    /// Joins the residuals of the rows from `start` on into `out`.
    #[inline(always)]
    pub(super) fn join<T: Integer>(&self, start: usize, out: &mut [T]) {
        if self.width == 0 {
            out.fill(T::default());
        }
        let mut shift_bits = 0;
        for (plane, plane_width) in self.planes.iter().zip(plane_widths(self.width)) {
            let bytes = &plane[start * usize::from(plane_width)..];
            match plane_width {
                1 => join_plane::<T, 1>(bytes, shift_bits, out, |b| u64::from(b[0])),
                2 => join_plane::<T, 2>(bytes, shift_bits, out, |b| u64::from(u16::from_le_bytes(b))),
                4 => join_plane::<T, 4>(bytes, shift_bits, out, |b| u64::from(u32::from_le_bytes(b))),
                _ => join_plane::<T, 8>(bytes, shift_bits, out, u64::from_le_bytes),
            }
            shift_bits += 8 * u32::from(plane_width);
        }
    }
}

/// Stores the lowest plane, ORs the others.
#[inline(always)]
fn join_plane<T: Integer, const N: usize>(bytes: &[u8], shift_bits: u32, out: &mut [T], load: impl Fn([u8; N]) -> u64) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_splits_and_joins() {
        for width in 0..=16_u8 {
            let mask = if width == 16 {
                u128::MAX
            } else {
                (1_u128 << (8 * width)) - 1
            };
            let residuals: Vec<i128> = (0..3000_u128)
                .map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835) & mask) as i128)
                .collect();
            let mut shift_bits = 0;
            let sections: Vec<Vec<u8>> = plane_widths(width)
                .map(|plane_width| {
                    let mut bytes = Vec::new();
                    split(&residuals, plane_width, shift_bits, &mut bytes);
                    shift_bits += 8 * u32::from(plane_width);
                    bytes
                })
                .collect();
            assert_eq!(shift_bits, 8 * u32::from(width));
            let planes = Planes::new(width, 3000, &mut sections.iter().map(Vec::as_slice)).expect("planes fit");
            let mut joined = vec![0_i128; 1000];
            planes.join(1500, &mut joined);
            assert_eq!(joined, residuals[1500..2500], "width {width}");
        }
    }

    #[test]
    fn widths_of_numbers() {
        assert_eq!(width_of(0), 0);
        assert_eq!(width_of(255), 1);
        assert_eq!(width_of(256), 2);
        assert_eq!(width_of(u128::MAX), 16);
    }

    #[test]
    fn planes_of_a_wrong_length_are_refused() {
        let bytes = [0_u8; 7];
        assert!(Planes::new(2, 4, &mut std::iter::once(&bytes[..])).is_none());
        assert!(Planes::new(3, 3, &mut std::iter::once(&bytes[..6])).is_none());
    }
}
