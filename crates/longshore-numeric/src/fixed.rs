//! Binary fixed-point numbers: whole numbers that are meant to be divided by a power of two. Exponentials and logarithms are
//! computed with them, to a number of bits that leaves some beyond what is shown.

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{Signed as _, Zero as _};

use crate::digits::{Digits, power_of_ten};
use crate::number::Decimal;

/// Bits of a decimal digit.
const BITS_PER_DIGIT: f64 = std::f64::consts::LOG2_10;
/// Bits beyond those of the digits that are asked for.
const SPARE_BITS: u64 = 128;

/// How many bits stand behind the point.
#[derive(Clone, Copy)]
pub(crate) struct Fixed {
    pub(crate) bits: u64,
}

impl Fixed {
    /// With so many decimal digits behind the point, and some to spare.
    pub(crate) fn of_digits(digits: i64) -> Self {
        Self { bits: (digits.max(0) as f64 * BITS_PER_DIGIT).ceil() as u64 + SPARE_BITS }
    }

    pub(crate) fn one(self) -> BigInt {
        BigInt::from(1) << self.bits
    }

    pub(crate) fn times(self, one: &BigInt, other: &BigInt) -> BigInt {
        (one * other) >> self.bits
    }

    pub(crate) fn divided(self, one: &BigInt, other: &BigInt) -> BigInt {
        (one << self.bits) / other
    }

    fn root(self, value: &BigInt) -> BigInt {
        let (_, magnitude) = (value << self.bits).into_parts();
        BigInt::from_biguint(Sign::Plus, BigUint::sqrt(&magnitude))
    }

    pub(crate) fn of(self, value: &Decimal) -> BigInt {
        (value.digits.big().as_ref() << self.bits) / power_of_ten(value.scale)
    }

    /// With so many digits behind the point.
    pub(crate) fn decimal(self, value: &BigInt, scale: u32) -> Decimal {
        let scaled = Digits::of(value * power_of_ten(scale));
        Decimal { digits: scaled.divided_rounding(&Digits::of(self.one())), scale }
    }

    /// The inverse hyperbolic tangent of 1 / `of`.
    fn inverse_tangent(self, of: u32) -> BigInt {
        let mut power = self.one() / of;
        let square = of * of;
        let (mut sum, mut odd) = (power.clone(), 1_u32);
        while !power.is_zero() {
            power /= square;
            odd += 2;
            sum += &power / odd;
        }
        sum
    }

    /// The natural logarithm of 2.
    fn logarithm_of_two(self) -> BigInt {
        self.inverse_tangent(26) * 18 - self.inverse_tangent(4801) * 2 + self.inverse_tangent(8749) * 8
    }

    /// e to the power of `value`, as a fixed-point number with its own bits and a power of two that it is to be multiplied by.
    pub(crate) fn exponential(self, value: &BigInt) -> (BigInt, i64) {
        let two = self.logarithm_of_two();
        let power = (value + (&two >> 1_u32)) / &two;
        let power = if value.is_negative() { power - 1 } else { power };
        let rest = value - &power * &two;
        // The series converges sooner for a smaller number, and is squared as often as that was halved.
        let halvings = self.bits.isqrt() / 2;
        let small = rest >> halvings;
        let (mut sum, mut term, mut count) = (self.one(), self.one(), 0_u32);
        while !term.is_zero() && term != BigInt::from(-1) {
            count += 1;
            term = self.times(&term, &small) / count;
            sum += &term;
        }
        for _ in 0..halvings {
            sum = self.times(&sum, &sum);
        }
        (sum, i64::try_from(power).unwrap_or(i64::MAX))
    }

    /// The natural logarithm of a number greater than zero, given as a quotient.
    pub(crate) fn logarithm(self, dividend: &BigInt, divisor: &BigInt) -> BigInt {
        // So that it is near to 1.
        let power = dividend.bits() as i64 - divisor.bits() as i64;
        let mut power = power;
        let scaled = |power: i64| {
            let shift = self.bits as i64 - power;
            if shift >= 0 { (dividend << shift) / divisor } else { dividend / (divisor << -shift) }
        };
        let mut value = scaled(power);
        let one = self.one();
        if value > &one * 3 / 2 {
            power += 1;
            value = scaled(power);
        } else if value < &one * 3 / 4 {
            power -= 1;
            value = scaled(power);
        }
        let roots = self.bits.isqrt() / 4;
        for _ in 0..roots {
            value = self.root(&value);
        }
        let quotient = self.divided(&(&value - &one), &(&value + &one));
        let square = self.times(&quotient, &quotient);
        let (mut sum, mut term, mut odd) = (quotient.clone(), quotient, 1_u32);
        while !term.is_zero() && term != BigInt::from(-1) {
            term = self.times(&term, &square);
            odd += 2;
            sum += &term / odd;
        }
        (sum << (roots + 1)) + self.logarithm_of_two() * power
    }
}
