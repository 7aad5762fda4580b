//! Numbers with the scale that they are shown with, NaN and infinite values: their bytes and texts, and how they compare.

use std::cmp::Ordering;
use std::fmt;

use longshore_value::numeric::{self, Limit, Numeric, NumericError, SCALE_MAX, WHOLE_DIGITS_MAX};
use num_bigint::{BigInt, BigUint, Sign};

use crate::digits::{Digits, small_power_of_ten};
use crate::error::NumberError;

/// Pairs of digits that 128 bits have, less one.
const SMALL_PAIRS_MAX: usize = 18;
/// The same of 64 bits.
const TINY_PAIRS_MAX: usize = 9;
const TEN_TO_18: u128 = 1_000_000_000_000_000_000;

/// A NUMERIC.
#[derive(Clone, Debug)]
pub enum Number {
    /// Not a number; equal to itself, and greater than all others.
    NaN,
    /// Greater than all numbers, or less.
    Infinity {
        /// Whether it is less.
        negative: bool,
    },
    /// A number.
    Finite(Decimal),
}

/// A number with the scale that it is shown with.
#[derive(Clone, Debug)]
pub struct Decimal {
    /// The number is this times ten to the power of minus the scale.
    pub(crate) digits: Digits,
    /// Digits behind the point.
    pub(crate) scale: u32,
}

impl Decimal {
    /// A number, unless it has too many digits; those behind the last that may be shown are rounded.
    pub(crate) fn checked(digits: Digits, scale: u32) -> Result<Self, NumberError> {
        let value = Self { digits, scale };
        let value = if scale as usize > SCALE_MAX { value.rounded(SCALE_MAX as i64) } else { value };
        if value.point() > WHOLE_DIGITS_MAX as i64 { Err(NumberError::Overflow) } else { Ok(value) }
    }

    pub(crate) fn new(digits: impl Into<i128>, scale: u32) -> Self {
        Self { digits: Digits::Small(digits.into()), scale }
    }

    /// Digits before the point; negative if zeros follow it. Meaningless for zero.
    pub(crate) fn point(&self) -> i64 {
        i64::from(self.digits.count()) - i64::from(self.scale)
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.digits.is_zero()
    }

    /// The same number with this scale, which is not less than the least that shows all digits.
    pub(crate) fn with_scale(&self, scale: u32) -> Self {
        let digits = if scale >= self.scale {
            self.digits.shifted(scale - self.scale)
        } else {
            self.digits.divided(&Digits::Small(1).shifted(self.scale - scale)).0
        };
        Self { digits, scale }
    }

    /// How many digits behind the point it needs.
    #[must_use]
    pub fn scale_min(&self) -> u32 {
        if self.is_zero() {
            return 0;
        }
        let mut scale = self.scale;
        let mut digits = self.digits.clone();
        let ten = Digits::Small(10);
        while scale > 0 {
            let (quotient, rest) = digits.divided(&ten);
            if !rest.is_zero() {
                break;
            }
            digits = quotient;
            scale -= 1;
        }
        scale
    }

    pub(crate) fn compared(&self, other: &Self) -> Ordering {
        let scale = self.scale.max(other.scale);
        self.with_scale(scale).digits.compared(&other.with_scale(scale).digits)
    }
}

impl Number {
    /// Zero without a digit behind the point.
    pub const ZERO: Self = Self::Finite(Decimal { digits: Digits::ZERO, scale: 0 });

    /// `digits` times ten to the power of minus `scale`.
    #[must_use]
    #[inline]
    pub fn new(digits: i128, scale: u32) -> Self {
        Self::Finite(Decimal { digits: Digits::Small(digits), scale })
    }

    /// The number that its bytes stand for; `None` if they are those of no number.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let finite = match Numeric::of(bytes)? {
            Numeric::NaN => return Some(Self::NaN),
            Numeric::Infinity { negative } => return Some(Self::Infinity { negative }),
            Numeric::Finite(finite) => finite,
        };
        let pairs = finite.pairs();
        let scale = u32::from(finite.scale);
        // What the digits are to be multiplied by; -1 where the last one is a zero behind the scale.
        let exponent = 2 * (i64::from(finite.exponent) - pairs.len() as i64) + i64::from(scale);
        if pairs.len() <= TINY_PAIRS_MAX
            && let Some(power) = u32::try_from(exponent).ok().and_then(|exponent| 10_u64.checked_pow(exponent))
            && let Some(digits) =
                pairs.clone().fold(0, |digits, pair| digits * 100 + u64::from(pair)).checked_mul(power)
        {
            let digits = i128::from(digits);
            return Some(Self::new(if finite.negative { -digits } else { digits }, scale));
        }
        if pairs.len() <= SMALL_PAIRS_MAX {
            let digits = pairs.clone().fold(0_i128, |digits, pair| digits * 100 + i128::from(pair));
            let shifted = match u32::try_from(exponent) {
                Ok(exponent) if digits != 0 => small_power_of_ten(exponent).and_then(|power| digits.checked_mul(power)),
                Ok(_) => Some(0),
                Err(_) => Some(digits / 10),
            };
            if let Some(digits) = shifted {
                return Some(Self::new(if finite.negative { -digits } else { digits }, scale));
            }
        }
        let pairs: Vec<u8> = pairs.collect();
        let magnitude = BigUint::from_radix_be(&pairs, 100)?;
        let digits = BigInt::from_biguint(if finite.negative { Sign::Minus } else { Sign::Plus }, magnitude);
        let digits = match u32::try_from(exponent) {
            Ok(exponent) => Digits::of(digits).shifted(exponent),
            Err(_) => Digits::of(digits / 10),
        };
        Some(Self::Finite(Decimal { digits, scale }))
    }

    /// Appends the bytes of the number.
    pub fn push_bytes(&self, out: &mut Vec<u8>) {
        let mut push = |byte| out.push(byte);
        match self {
            Self::NaN => numeric::push_nan(&mut push),
            Self::Infinity { negative } => numeric::push_infinity(*negative, &mut push),
            Self::Finite(Decimal { digits: Digits::Small(digits), scale }) => push_small(*digits, *scale, out),
            Self::Finite(Decimal { digits: Digits::Large(digits), scale }) => {
                let odd = scale % 2;
                let whole = if odd == 1 { digits * 10 } else { digits.clone() };
                let pairs = whole.magnitude().to_radix_be(100);
                let kept = pairs.iter().rposition(|pair| *pair != 0).map_or(0, |last| last + 1);
                let exponent = pairs.len() as i32 - scale.div_ceil(2) as i32;
                let negative = digits.sign() == Sign::Minus;
                numeric::push_pairs(negative, exponent, pairs[..kept].iter().copied(), *scale as u16, &mut push);
            }
        }
    }

    /// The number that a text spells.
    ///
    /// # Errors
    /// When it spells none, or one with too many digits.
    pub fn parse(text: &str) -> Result<Self, NumberError> {
        let mut bytes = Vec::new();
        match numeric::read(text.as_bytes(), None, &mut |byte| bytes.push(byte)) {
            Ok(()) => Self::from_bytes(&bytes).ok_or(NumberError::Syntax),
            Err(NumericError::Syntax) => Err(NumberError::Syntax),
            Err(NumericError::Range | NumericError::Limit) => Err(NumberError::Overflow),
        }
    }

    /// The number rounded to the digits that `limit` allows.
    ///
    /// # Errors
    /// When there are more before the point.
    pub fn limited(&self, limit: Limit) -> Result<Self, NumberError> {
        let Self::Finite(value) = self else {
            return if matches!(self, Self::NaN) { Ok(Self::NaN) } else { Err(NumberError::Field) };
        };
        let rounded = value.rounded(limit.scale.into());
        let whole_max = i64::from(limit.precision) - i64::from(limit.scale);
        if !rounded.is_zero() && rounded.point() > whole_max {
            return Err(NumberError::Field);
        }
        Ok(Self::Finite(rounded))
    }

    /// Digits times ten to the power of minus `scale`, if 128 bits and this scale hold the number as it is.
    #[must_use]
    pub fn to_units(&self, scale: u32) -> Option<i128> {
        let Self::Finite(value) = self else { return None };
        if value.scale_min() > scale {
            return None;
        }
        match value.with_scale(scale).digits {
            Digits::Small(digits) => Some(digits),
            Digits::Large(_) => None,
        }
    }

    /// Digits behind the point that are shown; `None` of NaN and infinite values.
    #[must_use]
    pub fn scale(&self) -> Option<u32> {
        if let Self::Finite(value) = self { Some(value.scale) } else { None }
    }

    /// Digits behind the point that are needed; `None` of NaN and infinite values.
    #[must_use]
    pub fn scale_min(&self) -> Option<u32> {
        if let Self::Finite(value) = self { Some(value.scale_min()) } else { None }
    }

    /// The number with no more digits behind the point than it needs.
    #[must_use]
    pub fn trimmed(&self) -> Self {
        match self {
            Self::Finite(value) => Self::Finite(value.with_scale(value.scale_min())),
            special => special.clone(),
        }
    }

    /// -1, 0 or 1; 1 for NaN.
    #[must_use]
    pub fn sign(&self) -> i8 {
        match self {
            Self::NaN => 1,
            Self::Infinity { negative } => {
                if *negative {
                    -1
                } else {
                    1
                }
            }
            Self::Finite(value) => value.digits.sign(),
        }
    }

    /// How it compares with another: as PostgreSQL sorts, whatever the scales.
    #[must_use]
    pub fn compared(&self, other: &Self) -> Ordering {
        let rank = |value: &Self| match value {
            Self::Infinity { negative: true } => 0,
            Self::Finite(_) => 1,
            Self::Infinity { negative: false } => 2,
            Self::NaN => 3,
        };
        match (self, other) {
            (Self::Finite(one), Self::Finite(other)) => one.compared(other),
            (one, other) => rank(one).cmp(&rank(other)),
        }
    }
}

/// Appends the bytes of a number of 128 bits.
fn push_small(digits: i128, scale: u32, out: &mut Vec<u8>) {
    let mut pairs = [0_u8; SMALL_PAIRS_MAX + 2];
    let mut first = pairs.len();
    let magnitude = digits.unsigned_abs();
    // Divisions of 64 bits take a fraction of the time that those of 128 take.
    let mut rest = if let Ok(small) = u64::try_from(magnitude) {
        if scale % 2 == 1 {
            first -= 1;
            pairs[first] = (small % 10) as u8 * 10;
            small / 10
        } else {
            small
        }
    } else {
        let mut magnitude = magnitude;
        if scale % 2 == 1 {
            first -= 1;
            pairs[first] = (magnitude % 10) as u8 * 10;
            magnitude /= 10;
        }
        while magnitude >= TEN_TO_18 {
            let mut part = (magnitude % TEN_TO_18) as u64;
            magnitude /= TEN_TO_18;
            for _ in 0..9 {
                first -= 1;
                pairs[first] = (part % 100) as u8;
                part /= 100;
            }
        }
        magnitude as u64
    };
    while rest > 0 {
        first -= 1;
        pairs[first] = (rest % 100) as u8;
        rest /= 100;
    }
    while first < pairs.len() && pairs[first] == 0 {
        first += 1;
    }
    let mut end = pairs.len();
    while end > first && pairs[end - 1] == 0 {
        end -= 1;
    }
    let exponent = (pairs.len() - first) as i32 - scale.div_ceil(2) as i32;
    let pairs = pairs[first..end].iter().copied();
    numeric::push_pairs(digits < 0, exponent, pairs, scale as u16, &mut |byte| out.push(byte));
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.compared(other) == Ordering::Equal
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::new();
        self.push_bytes(&mut bytes);
        Numeric::of(&bytes).map_or(Err(fmt::Error), |value| value.fmt(f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_lead_back_to_the_number() {
        let mut digits = 1_u128;
        for step in 0..4000_u128 {
            digits = digits.wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645).wrapping_add(step * 2 + 1);
            let small = (digits >> (step % 128)) as i128;
            for scale in [0, 1, 2, 5, 18, 37, 300, 301] {
                let number = Number::new(small, scale);
                let mut bytes = Vec::new();
                number.push_bytes(&mut bytes);
                let again = Number::from_bytes(&bytes).unwrap();
                assert_eq!(again, number, "{small} {scale}");
                assert_eq!(again.scale(), Some(scale));
                let large = Number::Finite(Decimal { digits: Digits::Large(BigInt::from(small)), scale });
                let mut same = Vec::new();
                large.push_bytes(&mut same);
                assert_eq!(same, bytes, "{small} {scale}");
                assert_eq!(Number::parse(&number.to_string()).unwrap().to_string(), number.to_string());
            }
        }
    }
}
