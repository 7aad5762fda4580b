//! Whole numbers as multiples of a divisor above the least of them, in as few bytes as the greatest takes (the thesis,
//! 7.2.1: truncation).
//!
//! `value = base + code * divisor`. The divisor is one but where a greater one saves a width: timestamps of whole seconds,
//! prices of whole units. Arithmetic wraps at 64 bits, so any codes stand for *some* values.

#![allow(clippy::inline_always, reason = "what is not inlined is not compiled for the instruction set of its caller")]

use std::mem::MaybeUninit;

use crate::instruction_set::for_each_instruction_set;

/// A whole number of a column.
pub(super) trait Whole: Copy {
    /// The distance to a number that is not greater, if it is less than 2^64.
    fn distance_from(self, base: Self) -> u64;
    /// The number at a distance from another.
    fn at_distance(base: Self, distance: u64) -> Self;
    /// The number of these bits, sign kept.
    fn of(bits: i128) -> Self;
}

macro_rules! whole {
    ($($signed:ty, $unsigned:ty;)*) => {$(
        #[allow(clippy::cast_lossless, reason = "written for all widths alike")]
        impl Whole for $signed {
            #[inline(always)]
            fn distance_from(self, base: Self) -> u64 {
                self.wrapping_sub(base) as $unsigned as u64
            }
            #[inline(always)]
            fn at_distance(base: Self, distance: u64) -> Self {
                base.wrapping_add(distance as $signed)
            }
            #[inline(always)]
            fn of(bits: i128) -> Self {
                bits as $signed
            }
        }
    )*};
}
whole! { i16, u16; i32, u32; i64, u64; i128, u128; }

/// What a packed column holds of a value.
pub(super) trait Code: Copy {
    /// The low bits of a number.
    fn of(number: u64) -> Self;
    /// The number.
    fn number(self) -> u64;
}

macro_rules! code {
    ($($type:ty),*) => {$(
        impl Code for $type {
            #[inline(always)]
            fn of(number: u64) -> Self {
                number as $type
            }
            #[inline(always)]
            fn number(self) -> u64 {
                self.into()
            }
        }
    )*};
}
code!(u8, u16, u32);

/// Divides by a constant, exactly: a multiplication by the inverse of its odd part and a rotation (*Hacker's Delight*,
/// 10-17).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Divisor {
    number: u64,
    /// Of the odd part, modulo 2^64.
    inverse: u64,
    shift: u32,
}

impl Divisor {
    pub(super) const ONE: Divisor = Divisor { number: 1, inverse: 1, shift: 0 };

    /// # Panics
    ///
    /// When it is zero.
    pub(super) fn new(number: u64) -> Divisor {
        assert!(number != 0, "nothing is divided by zero");
        let shift = number.trailing_zeros();
        let odd = number >> shift;
        // Newton's method: an odd number is its own inverse modulo 8, and each step doubles the bits.
        let inverse =
            (0..5).fold(odd, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse))));
        Divisor { number, inverse, shift }
    }

    /// The quotient of a multiple; of any other number something greater than the quotient of every multiple.
    #[inline(always)]
    fn quotient(self, number: u64) -> u64 {
        number.wrapping_mul(self.inverse).rotate_right(self.shift)
    }
}

/// The greatest common divisor of some numbers, zeros aside; 0 if there is nothing else.
pub(super) fn common_divisor(numbers: impl Iterator<Item = u64>) -> u64 {
    let mut common = 0;
    for number in numbers {
        let (mut a, mut b) = (common, number);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        common = a;
        if common == 1 {
            break;
        }
    }
    common
}

for_each_instruction_set! {
    /// Writes the codes of numbers that are not less than `base`; says what the greatest quotient by a divisor other than
    /// one was. NULLs, of which `validity` tells by bits, get the code 0. The codes are right if no distance by the divisor
    /// is greater than what a code holds, and the greatest quotient is not greater than any of them would be: then all
    /// distances were multiples.
    pub(super) fn pack<T: Whole, C: Code>(
        values: &[T],
        validity: Option<&[u8]>,
        base: T,
        divisor: Divisor,
        codes: &mut [MaybeUninit<C>],
    ) -> u64 = pack_inlined;
}

#[inline(always)]
fn pack_inlined<T: Whole, C: Code>(
    values: &[T],
    validity: Option<&[u8]>,
    base: T,
    divisor: Divisor,
    codes: &mut [MaybeUninit<C>],
) -> u64 {
    assert_eq!(values.len(), codes.len(), "one code per value");
    let mut greatest = 0;
    let Some(validity) = validity else {
        if divisor == Divisor::ONE {
            for (code, value) in codes.iter_mut().zip(values) {
                code.write(C::of(value.distance_from(base)));
            }
        } else {
            for (code, value) in codes.iter_mut().zip(values) {
                let quotient = divisor.quotient(value.distance_from(base));
                greatest = greatest.max(quotient);
                code.write(C::of(quotient));
            }
        }
        return greatest;
    };
    for ((codes, values), &bits) in codes.chunks_mut(8).zip(values.chunks(8)).zip(validity) {
        for (row, (code, value)) in codes.iter_mut().zip(values).enumerate() {
            let kept = 0_u64.wrapping_sub(u64::from(bits >> row & 1));
            let quotient = divisor.quotient(value.distance_from(base) & kept);
            greatest = greatest.max(quotient);
            code.write(C::of(quotient));
        }
    }
    greatest
}

for_each_instruction_set! {
    /// Writes the numbers that codes stand for.
    pub(super) fn unpack<T: Whole, C: Code>(
        codes: &[C],
        base: T,
        divisor: u64,
        values: &mut [MaybeUninit<T>],
    ) = unpack_inlined;
}

#[inline(always)]
fn unpack_inlined<T: Whole, C: Code>(codes: &[C], base: T, divisor: u64, values: &mut [MaybeUninit<T>]) {
    assert_eq!(codes.len(), values.len(), "one value per code");
    if divisor == 1 {
        for (value, code) in values.iter_mut().zip(codes) {
            value.write(T::at_distance(base, code.number()));
        }
    } else {
        for (value, code) in values.iter_mut().zip(codes) {
            value.write(T::at_distance(base, code.number().wrapping_mul(divisor)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_are_divided_and_others_are_greater() {
        for divisor in [1, 2, 3, 10, 12, 100, 1000, 1_000_000, 86_400_000_000, u64::MAX, 1 << 63] {
            let by = Divisor::new(divisor);
            let greatest = u64::MAX / divisor;
            for quotient in [0, 1, 2, 3, 255, 65_535, greatest / 2, greatest] {
                let quotient = quotient.min(greatest);
                assert_eq!(by.quotient(quotient * divisor), quotient, "{quotient} times {divisor}");
                for beside in [1, divisor / 2, divisor - 1].into_iter().filter(|beside| beside % divisor != 0) {
                    let Some(number) = (quotient * divisor).checked_add(beside) else { continue };
                    assert!(by.quotient(number) > greatest, "{number} by {divisor}");
                }
            }
        }
    }

    #[test]
    fn common_divisors() {
        for (numbers, divisor) in [
            (&[][..], 0),
            (&[0, 0], 0),
            (&[0, 6, 9], 3),
            (&[7], 7),
            (&[1_000_000, 86_400_000_000, 0], 1_000_000),
            (&[4, 9, 0], 1),
        ] {
            assert_eq!(common_divisor(numbers.iter().copied()), divisor, "{numbers:?}");
        }
    }
}
