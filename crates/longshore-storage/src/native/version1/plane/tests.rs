//! Planes as programs of version 1 wrote them come back.

use super::*;

/// What writing asks of an integer.
pub(in crate::native::version1) trait Written: Integer {
    /// Width of the type in bits.
    const BITS: u8;
    /// The value, sign kept.
    fn widen(self) -> i128;
    /// Difference modulo 2 to the bits of the type.
    fn sub(self, other: Self) -> Self;
    /// The bits taken as an unsigned number.
    fn unsigned(self) -> u128;
    /// Up to 64 bits from bit `shift_bits` on.
    fn high(self, shift_bits: u32) -> u64;
}

macro_rules! written {
    ($($signed:ty, $unsigned:ty;)*) => {$(
        #[allow(clippy::cast_lossless, reason = "of the types, i128 and u128 need no conversion and have none by From")]
        impl Written for $signed {
            const BITS: u8 = <$signed>::BITS as u8;
            fn widen(self) -> i128 {
                self as i128
            }
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn unsigned(self) -> u128 {
                self as $unsigned as u128
            }
            fn high(self, shift_bits: u32) -> u64 {
                ((self as $unsigned) >> shift_bits) as u64
            }
        }
    )*};
}
written! { u8, u8; i16, u16; i32, u32; i64, u64; i128, u128; u32, u32; }

#[test]
fn every_width_splits_and_joins() {
    for rows in [1, 2, 7, 8, 9, 1023, 1024, 1025, 3000_usize] {
        for width in (0..=128_u8).filter(|width| is_width(*width)) {
            let mask = if width == 128 { u128::MAX } else { (1_u128 << width) - 1 };
            let values: Vec<i128> = (0..rows as u128)
                .map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835).rotate_right(67) & mask) as i128)
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

/// Hands each plane of `values`, numbers of `width` bits, to `section`.
pub(in crate::native::version1) fn split<T: Written>(values: &[T], width: u8, mut section: impl FnMut(&[u8])) {
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

fn split_narrow<T: Written>(values: &[T], plane_width: u8, shift_bits: u32, plane: &mut Vec<u8>) {
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

/// The bits in which the unsigned number `value` is kept: a little more than it needs, for the sake of fewer planes.
pub(in crate::native::version1) fn width_of(value: u128) -> u8 {
    match 128 - value.leading_zeros() {
        bits @ 0..=2 => bits as u8,
        bits => bits.next_multiple_of(4) as u8,
    }
}
