//! Whole numbers of any size: 128 bits where they suffice.

use std::borrow::Cow;
use std::cmp::Ordering;

use longshore_value::digits::POWERS_OF_TEN;
use num_bigint::BigInt;
use num_integer::Integer as _;
use num_traits::{Signed as _, ToPrimitive as _, Zero as _};

/// A whole number.
#[derive(Clone, Debug)]
pub(crate) enum Digits {
    Small(i128),
    /// One that may have more than 128 bits.
    Large(BigInt),
}

/// Ten to the power of `exponent`.
pub(crate) fn power_of_ten(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

/// The same in 128 bits.
pub(crate) fn small_power_of_ten(exponent: u32) -> Option<i128> {
    POWERS_OF_TEN.get(exponent as usize).copied()
}

/// The quotient and the remainder; `None` where there is none of 128 bits. Divisions of 64 bits take a fraction of the time.
#[inline]
fn small_division(one: i128, by: i128) -> Option<(i128, i128)> {
    if let (Ok(one), Ok(by)) = (i64::try_from(one), i64::try_from(by)) {
        return Some((one.checked_div(by)?.into(), one.checked_rem(by)?.into()));
    }
    Some((one.checked_div(by)?, one.checked_rem(by)?))
}

impl Digits {
    pub(crate) const ZERO: Self = Self::Small(0);

    /// Of the smallest form.
    pub(crate) fn of(value: BigInt) -> Self {
        value.to_i128().map_or(Self::Large(value), Self::Small)
    }

    pub(crate) fn big(&self) -> Cow<'_, BigInt> {
        match self {
            Self::Small(value) => Cow::Owned(BigInt::from(*value)),
            Self::Large(value) => Cow::Borrowed(value),
        }
    }

    pub(crate) fn sign(&self) -> i8 {
        match self {
            Self::Small(value) => value.signum() as i8,
            Self::Large(value) => value.signum().to_i8().unwrap_or(0),
        }
    }

    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Small(value) => *value == 0,
            Self::Large(value) => value.is_zero(),
        }
    }

    /// Without its sign, if that has 64 bits: with these, all is found in a few steps.
    #[inline]
    pub(crate) fn small_magnitude(&self) -> Option<u64> {
        if let Self::Small(value) = self { u64::try_from(value.unsigned_abs()).ok() } else { None }
    }

    /// How many decimal digits it has; none if it is zero.
    pub(crate) fn count(&self) -> u32 {
        match self {
            Self::Small(0) => 0,
            Self::Small(value) => match self.small_magnitude() {
                Some(small) => small.ilog10() + 1,
                None => value.unsigned_abs().ilog10() + 1,
            },
            Self::Large(value) => {
                // By log10(2) of its bits, which is one too few at most.
                let least = ((value.bits().saturating_sub(1)) as f64 * std::f64::consts::LOG10_2).floor() as u32;
                let value = value.abs();
                if value >= power_of_ten(least + 1) {
                    least + 2
                } else {
                    least + u32::from(value >= power_of_ten(least))
                }
            }
        }
    }

    pub(crate) fn negated(&self) -> Self {
        match self {
            Self::Small(value) => value.checked_neg().map_or_else(|| Self::Large(-BigInt::from(*value)), Self::Small),
            Self::Large(value) => Self::of(-value),
        }
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        if let (Self::Small(one), Self::Small(other)) = (self, other)
            && let Some(sum) = one.checked_add(*other)
        {
            return Self::Small(sum);
        }
        Self::of(self.big().as_ref() + other.big().as_ref())
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        if let (Self::Small(one), Self::Small(other)) = (self, other)
            && let Some(product) = one.checked_mul(*other)
        {
            return Self::Small(product);
        }
        Self::of(self.big().as_ref() * other.big().as_ref())
    }

    /// Times ten to the power of `exponent`.
    pub(crate) fn shifted(&self, exponent: u32) -> Self {
        if exponent == 0 || self.is_zero() {
            return self.clone();
        }
        if let Self::Small(value) = self
            && let Some(shifted) = small_power_of_ten(exponent).and_then(|power| value.checked_mul(power))
        {
            return Self::Small(shifted);
        }
        Self::of(self.big().as_ref() * power_of_ten(exponent))
    }

    /// The quotient without its fraction, and the remainder, which has the sign of the dividend.
    pub(crate) fn divided(&self, by: &Self) -> (Self, Self) {
        if let (Self::Small(one), Self::Small(by)) = (self, by)
            && let Some((quotient, rest)) = small_division(*one, *by)
        {
            return (Self::Small(quotient), Self::Small(rest));
        }
        let (by, one) = (by.big(), self.big());
        let (quotient, rest) = (one.as_ref() / by.as_ref(), one.as_ref() % by.as_ref());
        (Self::of(quotient), Self::of(rest))
    }

    /// The quotient, rounded to a whole number, halves away from zero.
    pub(crate) fn divided_rounding(&self, by: &Self) -> Self {
        if let (Self::Small(one), Self::Small(by)) = (self, by)
            && let Some((quotient, rest)) = small_division(*one, *by)
        {
            // The half of the divisor, rounded up, without a sum that may be too long.
            let is_less = rest.unsigned_abs() < by.unsigned_abs() - by.unsigned_abs() / 2;
            return if is_less {
                Self::Small(quotient)
            } else {
                Self::Small(quotient).plus(&Self::Small(one.signum() * by.signum()))
            };
        }
        let (quotient, rest) = self.divided(by);
        let half = rest.plus(&rest).absolute().compared(&by.absolute());
        if half == Ordering::Less {
            return quotient;
        }
        let sign = i128::from(self.sign()) * i128::from(by.sign());
        quotient.plus(&Self::Small(sign))
    }

    pub(crate) fn absolute(&self) -> Self {
        if self.sign() < 0 { self.negated() } else { self.clone() }
    }

    pub(crate) fn compared(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Small(one), Self::Small(other)) => one.cmp(other),
            (one, other) => one.big().cmp(&other.big()),
        }
    }

    pub(crate) fn greatest_common_divisor(&self, other: &Self) -> Self {
        Self::of(self.big().gcd(&other.big()))
    }
}
