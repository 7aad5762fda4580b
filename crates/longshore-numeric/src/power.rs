//! Square roots, exponentials, logarithms and powers, with the scales that PostgreSQL chooses for them.
//!
//! The digits are those of the exact result, rounded: a few more are computed than are shown.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};

use crate::arithmetic::{CHOSEN_SCALE_MAX, GROUP_DIGITS, SIGNIFICANT_DIGITS_MIN};
use crate::digits::Digits;
use crate::error::NumberError;
use crate::fixed::Fixed;
use crate::number::{Decimal, Number};

/// log10(e).
const DIGITS_PER_E: f64 = std::f64::consts::LOG10_E;
/// Exponents of e up to which there may be a result.
const EXPONENT_MAX: f64 = 6000.0;
/// Digits that are computed beyond those that are shown.
const SPARE_DIGITS: i64 = 12;
/// Digits before the point beyond which a power need not be computed.
const POINT_MAX: f64 = 400_000.0;

const NEGATIVE_LOGARITHM: NumberError = NumberError::Logarithm("cannot take logarithm of a negative number");
const LOGARITHM_OF_ZERO: NumberError = NumberError::Logarithm("cannot take logarithm of zero");
const COMPLEX_POWER: NumberError =
    NumberError::Power("a negative number raised to a non-integer power yields a complex result");
const UNDEFINED_POWER: NumberError = NumberError::Power("zero raised to a negative power is undefined");

fn chosen(scale: i64) -> u32 {
    scale.clamp(0, CHOSEN_SCALE_MAX) as u32
}

impl Decimal {
    fn one() -> Self {
        Self::new(1, 0)
    }

    fn is_whole(&self) -> bool {
        self.scale_min() == 0
    }

    fn is_odd(&self) -> bool {
        let (_, rest) = self.with_scale(0).digits.divided(&Digits::Small(2));
        self.is_whole() && !rest.is_zero()
    }

    /// The root, rounded to this scale.
    pub(crate) fn root(&self, scale: u32) -> Self {
        // One digit more, by which it is rounded.
        let wanted = 2 * (i64::from(scale) + 1);
        let shift = wanted - i64::from(self.scale);
        let by = shift.unsigned_abs() as u32;
        let digits =
            if shift >= 0 { self.digits.shifted(by) } else { self.digits.divided(&Digits::Small(1).shifted(by)).0 };
        let root = BigInt::from_biguint(Sign::Plus, BigUint::sqrt(digits.big().magnitude()));
        Self { digits: Digits::of(root), scale: scale + 1 }.rounded(scale.into())
    }

    /// About how many digits stand before the point of the logarithm, less one.
    fn logarithm_weight(&self) -> i64 {
        let near =
            self.compared(&Self::new(9, 1)) != Ordering::Less && self.compared(&Self::new(11, 1)) != Ordering::Greater;
        if near {
            let difference = self.minus(&Self::one());
            if difference.is_zero() {
                return 0;
            }
            let (weight, first) = difference.first_group();
            return weight * GROUP_DIGITS + (first as f64).log10() as i64;
        }
        let (weight, first) = self.first_group();
        let (mut digits, mut exponent) = (first, weight * GROUP_DIGITS);
        let first_digits = (self.point() - exponent) as u32;
        if self.digits.count() > first_digits && !self.minus_leading(first_digits) {
            digits = self.leading(first_digits + GROUP_DIGITS as u32) as i64;
            exponent -= GROUP_DIGITS;
        }
        let logarithm = (digits as f64).ln() + exponent as f64 * std::f64::consts::LN_10;
        logarithm.abs().log10() as i64
    }

    /// Whether nothing but zeros follows the first so many digits.
    fn minus_leading(&self, digits: u32) -> bool {
        let count = self.digits.count();
        count <= digits || self.digits.divided(&Digits::Small(1).shifted(count - digits)).1.is_zero()
    }

    /// The natural logarithm of a number greater than zero, with so many digits behind the point that are right.
    fn logarithm(&self, digits: i64) -> (Fixed, BigInt) {
        let fixed = Fixed::of_digits(digits);
        let divisor = Digits::Small(1).shifted(self.scale);
        let logarithm = fixed.logarithm(&self.digits.big(), &divisor.big());
        (fixed, logarithm)
    }

    fn checked_positive(&self) -> Result<(), NumberError> {
        match self.digits.sign() {
            0 => Err(LOGARITHM_OF_ZERO),
            1 => Ok(()),
            _ => Err(NEGATIVE_LOGARITHM),
        }
    }

    /// e to the power of a fixed-point number, rounded to this scale; `about` is the exponent, roughly.
    fn exponential(exponent: &BigInt, fixed: Fixed, about: f64, scale: u32) -> Result<Self, NumberError> {
        if about.abs() >= EXPONENT_MAX {
            return if about > 0.0 { Err(NumberError::Overflow) } else { Ok(Self::new(0, scale)) };
        }
        let (value, power) = fixed.exponential(exponent);
        let shift = power - fixed.bits as i64;
        let scaled = value * crate::digits::power_of_ten(scale);
        let digits = if shift >= 0 {
            Digits::of(scaled << shift)
        } else {
            Digits::of(scaled).divided_rounding(&Digits::of(BigInt::from(1) << -shift))
        };
        Ok(Self { digits, scale })
    }

    fn power_of_whole(&self, exponent: i32) -> Result<Self, NumberError> {
        let scale = chosen(SIGNIFICANT_DIGITS_MIN.max(self.scale.into()));
        match exponent {
            0 => return Ok(Self::one().with_scale(scale)),
            1 => return Ok(self.rounded(scale.into())),
            -1 => return Self::one().divided(self, scale),
            2 => return Ok(self.times(self).rounded(scale.into())),
            _ if self.is_zero() && exponent < 0 => return Err(NumberError::DivisionByZero),
            _ if self.is_zero() => return Ok(Self::new(0, scale)),
            _ => {}
        }
        let leading = self.leading(17) as f64;
        let size = f64::from(exponent) * (leading.log10() + (self.point() - 17) as f64);
        if size > POINT_MAX {
            return Err(NumberError::Overflow);
        }
        if size + 1.0 < -f64::from(scale) {
            return Ok(Self::new(0, scale));
        }
        // As many digits as the result has, and those that the multiplications may cost.
        let digits = size.max(0.0) as i64 + i64::from(scale) + f64::from(exponent).abs().log10() as i64 + SPARE_DIGITS;
        let mut power = Floating::of(self);
        let mut result = Floating::of(&Self::one());
        let mut left = exponent.unsigned_abs();
        loop {
            if left & 1 == 1 {
                result = result.times(&power, digits);
            }
            left >>= 1;
            if left == 0 {
                break;
            }
            power = power.times(&power, digits);
        }
        Ok(result.decimal(exponent < 0, scale))
    }

    fn power(&self, exponent: &Self) -> Result<Self, NumberError> {
        if exponent.is_whole()
            && let Digits::Small(whole) = exponent.with_scale(0).digits
            && let Ok(whole) = i32::try_from(whole)
        {
            return self.power_of_whole(whole);
        }
        if self.is_zero() {
            return Ok(Self::new(0, SIGNIFICANT_DIGITS_MIN as u32));
        }
        let negative = self.digits.sign() < 0;
        if negative && !exponent.is_whole() {
            return Err(COMPLEX_POWER);
        }
        let base = Self { digits: self.digits.absolute(), scale: self.scale };
        let weight = base.logarithm_weight();
        let (fixed, logarithm) = base.logarithm(SPARE_DIGITS - weight);
        let about = fixed.decimal(&logarithm, (SPARE_DIGITS - weight).max(0) as u32).times(exponent).about();
        if about.abs() > 2000.0 * 3.01 {
            return if about > 0.0 { Err(NumberError::Overflow) } else { Ok(Self::new(0, CHOSEN_SCALE_MAX as u32)) };
        }
        let size = about * DIGITS_PER_E;
        let scale = SIGNIFICANT_DIGITS_MIN - size as i64;
        let scale = chosen(scale.max(base.scale.into()).max(exponent.scale.into()));
        let digits = (i64::from(scale) + size as i64).max(0) + SPARE_DIGITS;
        let (fixed, logarithm) = base.logarithm(digits - weight.min(0) + exponent.point().max(0) + SPARE_DIGITS);
        let product = &logarithm * exponent.digits.big().as_ref() / crate::digits::power_of_ten(exponent.scale);
        let power = Self::exponential(&product, fixed, about, scale)?;
        Ok(if negative && exponent.is_odd() { power.negated() } else { power })
    }
}

/// A number of which the first digits are kept.
struct Floating {
    digits: Digits,
    /// The number is the digits times ten to the power of this.
    exponent: i64,
}

impl Floating {
    fn of(value: &Decimal) -> Self {
        Self { digits: value.digits.clone(), exponent: -i64::from(value.scale) }
    }

    fn times(&self, other: &Self, digits: i64) -> Self {
        let product = Self { digits: self.digits.times(&other.digits), exponent: self.exponent + other.exponent };
        let surplus = i64::from(product.digits.count()) - digits;
        if surplus <= 0 {
            return product;
        }
        let digits = product.digits.divided_rounding(&Digits::Small(1).shifted(surplus as u32));
        Self { digits, exponent: product.exponent + surplus }
    }

    /// It, or one divided by it, with this scale.
    fn decimal(&self, inverted: bool, scale: u32) -> Decimal {
        let (shift, places) = (self.exponent.unsigned_abs() as u32, i64::from(scale));
        if inverted {
            let whole = Decimal { digits: self.digits.clone(), scale: 0 };
            // 1 / (digits * 10^exponent)
            let surplus = places - self.exponent;
            if surplus < 0 {
                return Decimal::new(0, scale);
            }
            let digits = Digits::Small(1).shifted(surplus as u32).divided_rounding(&whole.digits);
            return Decimal { digits, scale };
        }
        if self.exponent >= 0 {
            return Decimal { digits: self.digits.shifted(shift), scale: 0 }.with_scale(scale);
        }
        Decimal { digits: self.digits.clone(), scale: shift }.rounded(places)
    }
}

impl Number {
    fn checked_result(value: Decimal) -> Result<Self, NumberError> {
        Decimal::checked(value.digits, value.scale).map(Self::Finite)
    }

    /// The square root.
    ///
    /// # Errors
    /// When the number is negative.
    pub fn root(&self) -> Result<Self, NumberError> {
        if self.sign() < 0 {
            return Err(NumberError::Power("cannot take square root of a negative number"));
        }
        let Self::Finite(value) = self else { return Ok(self.clone()) };
        let (weight, _) = value.first_group();
        let root_weight = (weight + 1) * GROUP_DIGITS / 2 - 1;
        let scale = SIGNIFICANT_DIGITS_MIN - root_weight;
        Self::checked_result(value.root(chosen(scale.max(value.scale.into()))))
    }

    /// e to the power of the number.
    ///
    /// # Errors
    /// When the result has too many digits.
    pub fn exponential(&self) -> Result<Self, NumberError> {
        let value = match self {
            Self::Finite(value) => value,
            Self::Infinity { negative: true } => return Ok(Self::ZERO),
            special => return Ok(special.clone()),
        };
        let about = value.about();
        let size = (about * DIGITS_PER_E).clamp(-2000.0, 2000.0) as i64;
        let scale = chosen((SIGNIFICANT_DIGITS_MIN - size).max(value.scale.into()));
        if about.abs() >= EXPONENT_MAX {
            return if about > 0.0 { Err(NumberError::Overflow) } else { Ok(Self::new(0, scale)) };
        }
        let fixed = Fixed::of_digits(i64::from(scale) + size.max(0) + SPARE_DIGITS);
        Self::checked_result(Decimal::exponential(&fixed.of(value), fixed, about, scale)?)
    }

    /// The natural logarithm.
    ///
    /// # Errors
    /// When the number is not greater than zero.
    pub fn logarithm(&self) -> Result<Self, NumberError> {
        let value = match self {
            Self::Finite(value) => value,
            Self::Infinity { negative: true } => return Err(NEGATIVE_LOGARITHM),
            special => return Ok(special.clone()),
        };
        value.checked_positive()?;
        let scale = chosen((SIGNIFICANT_DIGITS_MIN - value.logarithm_weight()).max(value.scale.into()));
        let (fixed, logarithm) = value.logarithm(i64::from(scale) + SPARE_DIGITS);
        Self::checked_result(fixed.decimal(&logarithm, scale))
    }

    /// The logarithm to this base.
    ///
    /// # Errors
    /// When one of them is not greater than zero, or the base is 1.
    pub fn logarithm_to(&self, base: &Self) -> Result<Self, NumberError> {
        let (Self::Finite(value), Self::Finite(base)) = (self, base) else { return self.infinite_logarithm_to(base) };
        base.checked_positive()?;
        value.checked_positive()?;
        let (base_weight, weight) = (base.logarithm_weight(), value.logarithm_weight());
        let scale = SIGNIFICANT_DIGITS_MIN - (weight - base_weight);
        let scale = chosen(scale.max(base.scale.into()).max(value.scale.into()));
        let digits = i64::from(scale) + 2 * SPARE_DIGITS;
        let digits = digits + (weight - base_weight).max(0) - base_weight.min(0) - weight.min(0);
        let (fixed, divisor) = base.logarithm(digits);
        let (_, dividend) = value.logarithm(digits);
        if divisor == BigInt::from(0) {
            return Err(NumberError::DivisionByZero);
        }
        Self::checked_result(fixed.decimal(&fixed.divided(&dividend, &divisor), scale))
    }

    fn infinite_logarithm_to(&self, base: &Self) -> Result<Self, NumberError> {
        if matches!(self, Self::NaN) || matches!(base, Self::NaN) {
            return Ok(Self::NaN);
        }
        if self.sign() < 0 || base.sign() < 0 {
            return Err(NEGATIVE_LOGARITHM);
        }
        if self.sign() == 0 || base.sign() == 0 {
            return Err(LOGARITHM_OF_ZERO);
        }
        Ok(match (self, base) {
            (Self::Infinity { .. }, Self::Infinity { .. }) => Self::NaN,
            (_, Self::Infinity { .. }) => Self::ZERO,
            _ => Self::Infinity { negative: false },
        })
    }

    /// To the power of another.
    ///
    /// # Errors
    /// When there is no such power, or it has too many digits.
    pub fn power(&self, exponent: &Self) -> Result<Self, NumberError> {
        let (Self::Finite(base), Self::Finite(to)) = (self, exponent) else { return self.infinite_power(exponent) };
        if base.is_zero() && to.digits.sign() < 0 {
            return Err(UNDEFINED_POWER);
        }
        Self::checked_result(base.power(to)?)
    }

    fn infinite_power(&self, exponent: &Self) -> Result<Self, NumberError> {
        let one = Self::new(1, 0);
        let is = |value: &Self, number: &Self| matches!(value, Self::Finite(_)) && value == number;
        match (self, exponent) {
            (Self::NaN, exponent) => return Ok(if is(exponent, &Self::ZERO) { one } else { Self::NaN }),
            (base, Self::NaN) => return Ok(if is(base, &one) { one } else { Self::NaN }),
            _ => {}
        }
        let (sign, power_sign) = (self.sign(), exponent.sign());
        if sign == 0 && power_sign < 0 {
            return Err(UNDEFINED_POWER);
        }
        if sign < 0 && matches!(exponent, Self::Finite(value) if !value.is_whole()) {
            return Err(COMPLEX_POWER);
        }
        if is(self, &one) || power_sign == 0 {
            return Ok(one);
        }
        if sign == 0 {
            return Ok(Self::ZERO);
        }
        let infinity = Self::Infinity { negative: false };
        if matches!(exponent, Self::Infinity { .. }) {
            if is(self, &Self::new(-1, 0)) {
                return Ok(one);
            }
            let is_greater = self.absolute().compared(&one) == Ordering::Greater;
            return Ok(if is_greater == (power_sign > 0) { infinity } else { Self::ZERO });
        }
        if power_sign < 0 {
            return Ok(Self::ZERO);
        }
        let is_odd = matches!(exponent, Self::Finite(value) if value.is_odd());
        Ok(if sign < 0 && is_odd { Self::Infinity { negative: true } } else { infinity })
    }
}
