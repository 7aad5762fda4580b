//! From and to floating-point numbers.

use std::fmt::LowerExp;
use std::str::FromStr;

use crate::digits::{Digits, small_power_of_ten};
use crate::error::NumberError;
use crate::number::{Decimal, Number};

/// Digits of a float that its number has: those that every float keeps.
const DOUBLE_DIGITS: usize = 15;
const REAL_DIGITS: usize = 6;

/// Whole numbers, and powers of ten, up to here are doubles without a change.
const DOUBLE_EXACT_MAX: u128 = 1 << 53;
const DOUBLE_POWER_MAX: u32 = 22;

impl Number {
    /// The first 15 digits of a double.
    #[must_use]
    pub fn from_f64(value: f64) -> Self {
        if value.is_finite() { spelled(value, DOUBLE_DIGITS) } else { special(value) }
    }

    /// The first 6 digits of a REAL.
    #[must_use]
    pub fn from_f32(value: f32) -> Self {
        if value.is_finite() { spelled(value, REAL_DIGITS) } else { special(value.into()) }
    }

    /// The nearest double.
    ///
    /// # Errors
    /// When it is out of range.
    pub fn to_f64(&self) -> Result<f64, NumberError> {
        const RANGE: NumberError = NumberError::Range("value out of range for type double precision");
        match self {
            Self::Finite(Decimal { digits: Digits::Small(digits), scale })
                if digits.unsigned_abs() <= DOUBLE_EXACT_MAX && *scale <= DOUBLE_POWER_MAX =>
            {
                // Both are exact, so that the quotient is the nearest one.
                Ok(*digits as f64 / small_power_of_ten(*scale).unwrap_or(1) as f64)
            }
            Self::Finite(value) => {
                let nearest = parsed::<f64>(self);
                let is_lost = nearest.is_infinite() || (nearest == 0.0 && !value.is_zero());
                if is_lost { Err(RANGE) } else { Ok(nearest) }
            }
            Self::NaN => Ok(f64::NAN),
            Self::Infinity { negative } => Ok(if *negative { f64::NEG_INFINITY } else { f64::INFINITY }),
        }
    }

    /// The nearest REAL.
    ///
    /// # Errors
    /// When it is out of range.
    pub fn to_f32(&self) -> Result<f32, NumberError> {
        const RANGE: NumberError = NumberError::Range("value out of range for type real");
        match self {
            Self::Finite(value) => {
                let nearest = parsed::<f32>(self);
                let is_lost = nearest.is_infinite() || (nearest == 0.0 && !value.is_zero());
                if is_lost { Err(RANGE) } else { Ok(nearest) }
            }
            Self::NaN => Ok(f32::NAN),
            Self::Infinity { negative } => Ok(if *negative { f32::NEG_INFINITY } else { f32::INFINITY }),
        }
    }

    /// About this number, infinite if it is out of range.
    pub(crate) fn about(&self) -> f64 {
        parsed(self)
    }
}

impl Decimal {
    /// About this number, infinite if it is out of range.
    pub(crate) fn about(&self) -> f64 {
        Number::Finite(self.clone()).about()
    }
}

fn parsed<T: FromStr + From<f32>>(number: &Number) -> T {
    number.to_string().parse().unwrap_or(T::from(f32::NAN))
}

fn special(value: f64) -> Number {
    if value.is_nan() { Number::NaN } else { Number::Infinity { negative: value < 0.0 } }
}

fn spelled(value: impl LowerExp, digits: usize) -> Number {
    let text = format!("{value:.*e}", digits - 1);
    let Ok(number) = Number::parse(&text) else { return Number::NaN };
    // No more digits behind the point than there are.
    number.trimmed()
}
