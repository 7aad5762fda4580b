//! Factorials and divisors.

use num_bigint::BigInt;

use crate::digits::Digits;
use crate::error::NumberError;
use crate::number::{Decimal, Number};

/// The greatest number whose factorial is a number.
const FACTORIAL_MAX: i64 = 32_177;

/// The product of the whole numbers up to `of`.
///
/// # Errors
/// When there is none, or it has too many digits.
pub fn factorial(of: i64) -> Result<Number, NumberError> {
    match of {
        ..0 => Err(NumberError::Range("factorial of a negative number is undefined")),
        0..=FACTORIAL_MAX => Decimal::checked(Digits::of(product(2, of.max(1) as u64)), 0).map(Number::Finite),
        _ => Err(NumberError::Overflow),
    }
}

/// The product of `from..=to`, halved until the factors are short: large numbers are multiplied faster by large ones.
fn product(from: u64, to: u64) -> BigInt {
    if from > to {
        return BigInt::from(1);
    }
    if to - from < 8 {
        return (from..=to).fold(BigInt::from(1), |product, factor| product * factor);
    }
    let middle = u64::midpoint(from, to);
    product(from, middle) * product(middle + 1, to)
}

impl Number {
    /// The greatest number that both are multiples of.
    #[must_use]
    pub fn greatest_common_divisor(&self, other: &Self) -> Self {
        let (Self::Finite(one), Self::Finite(other)) = (self, other) else { return Self::NaN };
        Self::Finite(divisor(one, other))
    }

    /// The least number that is a multiple of both.
    ///
    /// # Errors
    /// When it has too many digits.
    pub fn least_common_multiple(&self, other: &Self) -> Result<Self, NumberError> {
        let (Self::Finite(one), Self::Finite(other)) = (self, other) else { return Ok(Self::NaN) };
        let scale = one.scale.max(other.scale);
        if one.is_zero() || other.is_zero() {
            return Ok(Self::Finite(Decimal { digits: Digits::ZERO, scale }));
        }
        let multiple = one.quotient(&divisor(one, other))?.times(other);
        let digits = multiple.with_scale(scale).digits.absolute();
        Decimal::checked(digits, scale).map(Self::Finite)
    }
}

fn divisor(one: &Decimal, other: &Decimal) -> Decimal {
    let scale = one.scale.max(other.scale);
    let (one, other) = (one.with_scale(scale).digits, other.with_scale(scale).digits);
    Decimal { digits: one.greatest_common_divisor(&other), scale }
}
