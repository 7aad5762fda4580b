//! Operators, with the scales that PostgreSQL gives to their results.

use std::cmp::Ordering;

use crate::digits::Digits;
use crate::error::NumberError;
use crate::number::{Decimal, Number};

/// Digits that matter in a result whose scale is chosen, at least.
pub(crate) const SIGNIFICANT_DIGITS_MIN: i64 = 16;
/// The scale that is chosen, at most.
pub(crate) const CHOSEN_SCALE_MAX: i64 = 1000;
/// Decimal digits that PostgreSQL takes together, by which it estimates sizes.
pub(crate) const GROUP_DIGITS: i64 = 4;

impl Decimal {
    /// The weight of the first group of four digits, as PostgreSQL counts, and that group.
    pub(crate) fn first_group(&self) -> (i64, i64) {
        if self.is_zero() {
            return (0, 0);
        }
        let count = self.digits.count();
        let point = i64::from(count) - i64::from(self.scale);
        let weight = (point - 1).div_euclid(GROUP_DIGITS);
        let digits = (point - weight * GROUP_DIGITS) as u32;
        let first = match self.digits.small_magnitude() {
            Some(magnitude) if count >= digits => (magnitude / 10_u64.pow(count - digits)) as i64,
            _ => self.leading(digits) as i64,
        };
        (weight, first)
    }

    /// The first so many digits as a whole number, with zeros behind them if there are fewer.
    pub(crate) fn leading(&self, digits: u32) -> i128 {
        let count = self.digits.count();
        let taken = if digits >= count {
            self.digits.shifted(digits - count)
        } else {
            self.digits.divided(&Digits::Small(1).shifted(count - digits)).0
        };
        if let Digits::Small(taken) = taken.absolute() { taken } else { i128::MAX }
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        let scale = self.scale.max(other.scale);
        Self { digits: self.with_scale(scale).digits.plus(&other.with_scale(scale).digits), scale }
    }

    pub(crate) fn negated(&self) -> Self {
        Self { digits: self.digits.negated(), scale: self.scale }
    }

    pub(crate) fn minus(&self, other: &Self) -> Self {
        self.plus(&other.negated())
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        Self { digits: self.digits.times(&other.digits), scale: self.scale + other.scale }
    }

    /// The scale of a quotient: as many digits as matter, and not fewer behind the point than those of either operand.
    pub(crate) fn quotient_scale(&self, divisor: &Self) -> u32 {
        let (weight, first) = self.first_group();
        let (divisor_weight, divisor_first) = divisor.first_group();
        let estimate = weight - divisor_weight - i64::from(first <= divisor_first);
        let scale = SIGNIFICANT_DIGITS_MIN - estimate * GROUP_DIGITS;
        scale.max(self.scale.into()).max(divisor.scale.into()).clamp(0, CHOSEN_SCALE_MAX) as u32
    }

    /// The quotient with this scale, rounded.
    pub(crate) fn divided(&self, divisor: &Self, scale: u32) -> Result<Self, NumberError> {
        let (dividend, divisor) = self.aligned(divisor, scale)?;
        Ok(Self { digits: dividend.divided_rounding(&divisor), scale })
    }

    /// Whole numbers with the same quotient, once that is multiplied by ten to the power of `scale`.
    fn aligned(&self, divisor: &Self, scale: u32) -> Result<(Digits, Digits), NumberError> {
        if divisor.is_zero() {
            return Err(NumberError::DivisionByZero);
        }
        let shift = i64::from(scale) + i64::from(divisor.scale) - i64::from(self.scale);
        let by = shift.unsigned_abs() as u32;
        Ok(if shift >= 0 {
            (self.digits.shifted(by), divisor.digits.clone())
        } else {
            (self.digits.clone(), divisor.digits.shifted(by))
        })
    }

    pub(crate) fn quotient(&self, divisor: &Self) -> Result<Self, NumberError> {
        let (dividend, divisor) = self.aligned(divisor, 0)?;
        Ok(Self { digits: dividend.divided(&divisor).0, scale: 0 })
    }

    pub(crate) fn remainder(&self, divisor: &Self) -> Result<Self, NumberError> {
        if divisor.is_zero() {
            return Err(NumberError::DivisionByZero);
        }
        let scale = self.scale.max(divisor.scale);
        let (dividend, divisor) = (self.with_scale(scale), divisor.with_scale(scale));
        Ok(Self { digits: dividend.digits.divided(&divisor.digits).1, scale })
    }
}

impl Number {
    fn checked(value: Decimal) -> Result<Self, NumberError> {
        Decimal::checked(value.digits, value.scale).map(Self::Finite)
    }

    /// The sum.
    ///
    /// # Errors
    /// When it has too many digits.
    pub fn plus(&self, other: &Self) -> Result<Self, NumberError> {
        match (self, other) {
            (Self::Finite(one), Self::Finite(other)) => Self::checked(one.plus(other)),
            (Self::NaN, _) | (_, Self::NaN) => Ok(Self::NaN),
            (Self::Infinity { negative }, Self::Infinity { negative: others }) if negative != others => Ok(Self::NaN),
            (infinite @ Self::Infinity { .. }, _) | (_, infinite) => Ok(infinite.clone()),
        }
    }

    /// The difference.
    ///
    /// # Errors
    /// When it has too many digits.
    pub fn minus(&self, other: &Self) -> Result<Self, NumberError> {
        self.plus(&other.negated())
    }

    /// With the other sign.
    #[must_use]
    pub fn negated(&self) -> Self {
        match self {
            Self::NaN => Self::NaN,
            Self::Infinity { negative } => Self::Infinity { negative: !negative },
            Self::Finite(value) => Self::Finite(value.negated()),
        }
    }

    /// Without its sign.
    #[must_use]
    pub fn absolute(&self) -> Self {
        if self.sign() < 0 { self.negated() } else { self.clone() }
    }

    /// The product.
    ///
    /// # Errors
    /// When it has too many digits.
    pub fn times(&self, other: &Self) -> Result<Self, NumberError> {
        match (self, other) {
            (Self::Finite(one), Self::Finite(other)) => Self::checked(one.times(other)),
            (Self::NaN, _) | (_, Self::NaN) => Ok(Self::NaN),
            (one, other) => Ok(match one.sign() * other.sign() {
                0 => Self::NaN,
                sign => Self::Infinity { negative: sign < 0 },
            }),
        }
    }

    /// The quotient, rounded to as many digits as PostgreSQL has.
    ///
    /// # Errors
    /// When the divisor is zero, or the result has too many digits.
    pub fn divided(&self, divisor: &Self) -> Result<Self, NumberError> {
        match (self, divisor) {
            (Self::Finite(one), Self::Finite(other)) => Self::checked(one.divided(other, one.quotient_scale(other))?),
            (one, other) => one.divided_infinite(other),
        }
    }

    /// The quotient without its fraction.
    ///
    /// # Errors
    /// When the divisor is zero, or the result has too many digits.
    pub fn quotient(&self, divisor: &Self) -> Result<Self, NumberError> {
        match (self, divisor) {
            (Self::Finite(one), Self::Finite(other)) => Self::checked(one.quotient(other)?),
            (one, other) => one.divided_infinite(other),
        }
    }

    fn divided_infinite(&self, divisor: &Self) -> Result<Self, NumberError> {
        match (self, divisor) {
            (Self::NaN, _) | (_, Self::NaN) | (Self::Infinity { .. }, Self::Infinity { .. }) => Ok(Self::NaN),
            (Self::Infinity { negative }, divisor) => match divisor.sign() {
                0 => Err(NumberError::DivisionByZero),
                sign => Ok(Self::Infinity { negative: *negative != (sign < 0) }),
            },
            _ => Ok(Self::ZERO),
        }
    }

    /// The remainder of [`Number::quotient`], which has the sign of the dividend.
    ///
    /// # Errors
    /// When the divisor is zero.
    pub fn remainder(&self, divisor: &Self) -> Result<Self, NumberError> {
        match (self, divisor) {
            (Self::Finite(one), Self::Finite(other)) => one.remainder(other).map(Self::Finite),
            (Self::NaN, _) | (_, Self::NaN) => Ok(Self::NaN),
            (Self::Infinity { .. }, divisor) if divisor.sign() == 0 => Err(NumberError::DivisionByZero),
            (Self::Infinity { .. }, _) => Ok(Self::NaN),
            (one, _) => Ok(one.clone()),
        }
    }

    /// Which of `count` equal parts of what lies between two bounds it falls into, from 1; 0 and `count` + 1 are outside.
    ///
    /// # Errors
    /// When there are no such parts.
    pub fn bucket(&self, low: &Self, high: &Self, count: i32) -> Result<i32, NumberError> {
        if count <= 0 {
            return Err(NumberError::Bucket("count must be greater than zero"));
        }
        if [self, low, high].iter().any(|value| matches!(value, Self::NaN)) {
            return Err(NumberError::Bucket("operand, lower bound, and upper bound cannot be NaN"));
        }
        let (Self::Finite(first), Self::Finite(last)) = (low, high) else {
            return Err(NumberError::Bucket("lower and upper bounds must be finite"));
        };
        let above = || count.checked_add(1).ok_or(NumberError::Range("integer out of range"));
        let ascending = match low.compared(high) {
            Ordering::Equal => return Err(NumberError::Bucket("lower bound cannot equal upper bound")),
            order => order == Ordering::Less,
        };
        let (before, behind) = (self.compared(low), self.compared(high));
        let (before, behind) = if ascending { (before, behind) } else { (before.reverse(), behind.reverse()) };
        if before == Ordering::Less {
            return Ok(0);
        }
        let Self::Finite(value) = self else { return above() };
        if behind != Ordering::Less {
            return above();
        }
        let (part, whole) = (value.minus(first), last.minus(first));
        let Decimal { digits, .. } = part.times(&Decimal::new(count, 0)).quotient(&whole)?;
        let Digits::Small(bucket) = digits.plus(&Digits::Small(1)) else { return above() };
        i32::try_from(bucket).map_err(|_| NumberError::Range("integer out of range"))
    }
}
