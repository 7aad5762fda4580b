//! Conversions between numbers as PostgreSQL makes them, where Arrow's cut off, come out beside the nearest value, or
//! lose an overflow.
//!
//! A float becomes an integer by rounding half to even, a decimal by rounding half away from zero; a decimal becomes the
//! nearest float; a float becomes a decimal by its first 15 digits (6 of a REAL), as PostgreSQL writes them; a double
//! that no REAL can hold is refused. What is out of range is an error that says so. Other conversions are Arrow's.

use std::fmt::LowerExp;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, Decimal128Array, PrimitiveArray};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type};
use datafusion::common::Result;

use super::text;
use crate::datafusion::errors::external;
use crate::datafusion::functions::numeric::convert;
use crate::datafusion::type_name::type_name;
use crate::{Error, ErrorKind};

/// Whole numbers up to here are doubles, and up to there REALs, without a change.
const DOUBLE_EXACT_MAX: u128 = 1 << 53;
const REAL_EXACT_MAX: u128 = 1 << 24;

/// Powers of ten up to these are doubles and REALs without a change.
const DOUBLE_POWER_MAX: u32 = 22;
const REAL_POWER_MAX: u32 = 10;

/// Digits of a float that its decimal has: those that every float keeps.
const DOUBLE_DIGITS: usize = 15;
const REAL_DIGITS: usize = 6;

const WHOLE: DataType = DataType::Decimal128(38, 0);

/// Whether values of the type `from` become others of the type `to` here than Arrow makes of them.
pub(in crate::datafusion) fn is_ours(from: &DataType, to: &DataType) -> bool {
    use DataType::{Decimal128, Decimal256, Float32, Float64};
    match (from, to) {
        (from, to) if convert::is_ours(from, to) || text::is_ours(from, to) => true,
        (Float32 | Float64 | Decimal128(_, 1..) | Decimal256(..), to) if to.is_integer() => true,
        (Decimal128(..) | Decimal256(..), Float32 | Float64)
        | (Float32 | Float64, Decimal128(_, 0..))
        | (Float64, Float32) => true,
        _ => false,
    }
}

/// The values of `array` in the type `to`. What does not fit is an error, never NULL.
pub(in crate::datafusion) fn convert(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    use DataType::{Decimal128, Decimal256, Float32, Float64};
    if convert::is_ours(array.data_type(), to) {
        return convert::convert(array, to, None);
    }
    if text::is_ours(array.data_type(), to) {
        return text::convert(array, to);
    }
    if !is_ours(array.data_type(), to) {
        return arrow(array, to);
    }
    match (array.data_type(), to) {
        (Float32, to) if to.is_integer() => {
            arrow(&mapped::<Float32Type>(array, |value| Ok(value.round_ties_even()))?, to)
        }
        (Float64, to) if to.is_integer() => {
            arrow(&mapped::<Float64Type>(array, |value| Ok(value.round_ties_even()))?, to)
        }
        (Decimal128(..) | Decimal256(..), to) if to.is_integer() => arrow(&arrow(array, &WHOLE)?, to),
        (Decimal128(_, scale), Float64) => {
            let scale = u32::from(scale.unsigned_abs());
            let decimals = array.as_primitive::<Decimal128Type>();
            Ok(Arc::new(decimals.unary::<_, Float64Type>(|digits| nearest_double(digits, scale))))
        }
        (Decimal128(_, scale), Float32) => {
            let scale = u32::from(scale.unsigned_abs());
            let decimals = array.as_primitive::<Decimal128Type>();
            Ok(Arc::new(decimals.unary::<_, Float32Type>(|digits| nearest_real(digits, scale))))
        }
        (Decimal256(..), Float64) => parsed::<Float64Type>(array, to),
        (Decimal256(..), Float32) => parsed::<Float32Type>(array, to),
        (Float64, Decimal128(precision, scale)) => {
            let floats = array.as_primitive::<Float64Type>();
            decimals(floats, *precision, *scale, |value| digits_of(value, DOUBLE_DIGITS))
        }
        (Float32, Decimal128(precision, scale)) => {
            let floats = array.as_primitive::<Float32Type>();
            decimals(floats, *precision, *scale, |value| digits_of(value, REAL_DIGITS))
        }
        _ => {
            let floats = array.as_primitive::<Float64Type>();
            let narrow = |value: f64| {
                let real = value as f32;
                let is_lost = (real.is_infinite() && value.is_finite()) || (real == 0.0 && value != 0.0);
                let edge = if real == 0.0 { "underflow" } else { "overflow" };
                let lost = || Error::new(ErrorKind::OutOfRange, format!("value out of range: {edge}"));
                if is_lost { Err(lost()) } else { Ok(real) }
            };
            Ok(Arc::new(floats.try_unary::<_, Float32Type, _>(narrow).map_err(external)?))
        }
    }
}

fn arrow(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    Ok(cast_with_options(array, to, &options)?)
}

fn mapped<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    map: impl Fn(T::Native) -> std::result::Result<T::Native, Error>,
) -> Result<ArrayRef> {
    Ok(Arc::new(array.as_primitive::<T>().try_unary::<_, T, _>(map).map_err(external)?))
}

fn out_of_range(value: &dyn std::fmt::Display, to: &DataType) -> Error {
    let message = match to {
        to if to.is_integer() => format!("{} out of range", type_name(to)),
        _ => format!("\"{value}\" is out of range for type {}", type_name(to)),
    };
    Error::new(ErrorKind::OutOfRange, message)
}

fn nearest_double(digits: i128, scale: u32) -> f64 {
    if digits.unsigned_abs() <= DOUBLE_EXACT_MAX && scale <= DOUBLE_POWER_MAX {
        // Both are exact, so that the quotient is the nearest one.
        return digits as f64 / 10_u128.pow(scale) as f64;
    }
    format!("{digits}e-{scale}").parse().unwrap_or(f64::NAN)
}

fn nearest_real(digits: i128, scale: u32) -> f32 {
    if digits.unsigned_abs() <= REAL_EXACT_MAX && scale <= REAL_POWER_MAX {
        return digits as f32 / 10_u128.pow(scale) as f32;
    }
    format!("{digits}e-{scale}").parse().unwrap_or(f32::NAN)
}

/// What is asked of a float.
trait Float {
    fn is_infinite(&self) -> bool;
    fn is_zero(&self) -> bool;
}

impl Float for f64 {
    fn is_infinite(&self) -> bool {
        f64::is_infinite(*self)
    }

    fn is_zero(&self) -> bool {
        *self == 0.0
    }
}

impl Float for f32 {
    fn is_infinite(&self) -> bool {
        f32::is_infinite(*self)
    }

    fn is_zero(&self) -> bool {
        *self == 0.0
    }
}

/// The floats that are nearest to wide decimals.
fn parsed<T: ArrowPrimitiveType<Native: std::str::FromStr + Float>>(
    array: &ArrayRef,
    to: &DataType,
) -> Result<ArrayRef> {
    let decimals = array.as_primitive::<Decimal256Type>();
    let value = |row: usize| {
        let text = decimals.value_as_string(row);
        let is_lost =
            |value: &T::Native| value.is_infinite() || (value.is_zero() && text.contains(|c| matches!(c, '1'..='9')));
        text.parse::<T::Native>().ok().filter(|value| !is_lost(value)).ok_or_else(|| external(out_of_range(&text, to)))
    };
    let values = (0..decimals.len()).map(|row| decimals.is_valid(row).then(|| value(row)).transpose());
    Ok(Arc::new(values.collect::<Result<PrimitiveArray<T>>>()?))
}

/// The first digits of a float as a whole number, and the power of ten that it is to be multiplied by; `None` if it is
/// not a number, or infinite.
fn digits_of(value: impl LowerExp, digits: usize) -> Option<(i128, i32)> {
    let text = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = text.split_once('e')?;
    let whole: i128 = mantissa.replace('.', "").parse().ok()?;
    Some((whole, exponent.parse::<i32>().ok()? - (digits as i32 - 1)))
}

fn decimals<T: ArrowPrimitiveType<Native: std::fmt::Display>>(
    floats: &PrimitiveArray<T>,
    precision: u8,
    scale: i8,
    digits: impl Fn(T::Native) -> Option<(i128, i32)>,
) -> Result<ArrayRef> {
    let to = DataType::Decimal128(precision, scale);
    let limit = 10_i128.pow(u32::from(precision));
    let convert = |value: T::Native| {
        let scaled = digits(value).and_then(|(digits, exponent)| scaled(digits, exponent + i32::from(scale)));
        scaled.filter(|scaled| -limit < *scaled && *scaled < limit).ok_or_else(|| out_of_range(&value, &to))
    };
    let decimals: Decimal128Array = floats.try_unary::<_, Decimal128Type, Error>(convert).map_err(external)?;
    Ok(Arc::new(decimals.with_precision_and_scale(precision, scale)?))
}

/// `digits` times ten to the power of `exponent`, rounded half away from zero.
fn scaled(digits: i128, exponent: i32) -> Option<i128> {
    if exponent >= 0 {
        return if digits == 0 { Some(0) } else { digits.checked_mul(10_i128.checked_pow(exponent.unsigned_abs())?) };
    }
    let Some(divisor) = 10_i128.checked_pow(exponent.unsigned_abs()) else { return Some(0) };
    let (quotient, rest) = (digits / divisor, digits % divisor);
    Some(if rest.abs() * 2 >= divisor { quotient + digits.signum() } else { quotient })
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Float32Array, Float64Array, Int32Array, Int64Array};

    use super::*;

    fn floats(values: &[f64]) -> ArrayRef {
        Arc::new(Float64Array::from(values.to_vec()))
    }

    #[test]
    fn floats_become_integers_half_to_even() {
        let values = floats(&[0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 2.7, -2.7, 2_147_483_647.4]);
        let integers = convert(&values, &DataType::Int32).unwrap();
        assert_eq!(*integers, Int32Array::from(vec![0, 2, 2, 0, -2, -2, 3, -3, i32::MAX]));
        for value in [2_147_483_647.5, 1e300, f64::NAN, f64::INFINITY] {
            assert!(convert(&floats(&[value]), &DataType::Int32).is_err(), "{value}");
        }
        assert!(convert(&floats(&[9_223_372_036_854_775_807.0]), &DataType::Int64).is_err());
        let least = convert(&floats(&[-9_223_372_036_854_775_808.0]), &DataType::Int64).unwrap();
        assert_eq!(*least, Int64Array::from(vec![i64::MIN]));
    }

    #[test]
    fn decimals_become_the_nearest_floats() {
        let decimal = |digits, scale| {
            let array = Decimal128Array::from(vec![digits]).with_precision_and_scale(38, scale).unwrap();
            Arc::new(array) as ArrayRef
        };
        let mut digits = 1_i128;
        for step in 0..5000_i128 {
            digits = (digits.wrapping_mul(6_364_136_223_846_793_005) + step) % 10_i128.pow(38);
            let scale = (step % 39) as i8;
            let array = decimal(digits >> (step % 120), scale);
            let text = array.as_primitive::<Decimal128Type>().value_as_string(0);
            let double = convert(&array, &DataType::Float64).unwrap();
            assert_eq!(*double, Float64Array::from(vec![text.parse::<f64>().unwrap()]), "{text}");
            let real = convert(&array, &DataType::Float32).unwrap();
            assert_eq!(*real, Float32Array::from(vec![text.parse::<f32>().unwrap()]), "{text}");
        }
    }

    #[test]
    fn floats_become_decimals_by_the_digits_that_they_keep() {
        for (value, scale, expected) in [
            (0.285, 2, Some(29)),
            (0.1, 20, Some(10_i128.pow(19))),
            (1e15, 0, Some(10_i128.pow(15))),
            (123_456_789_012_345_678.0, 0, Some(123_456_789_012_346_000)),
            (1e-300, 5, Some(0)),
            (-2.5, 0, Some(-3)),
            (1e38, 0, None),
            (f64::NAN, 0, None),
            (f64::NEG_INFINITY, 0, None),
        ] {
            let made = convert(&floats(&[value]), &DataType::Decimal128(38, scale));
            let made = made.ok().map(|array| array.as_primitive::<Decimal128Type>().value(0));
            assert_eq!(made, expected, "{value}");
        }
        let real: ArrayRef = Arc::new(Float32Array::from(vec![0.1_f32]));
        let made = convert(&real, &DataType::Decimal128(38, 10)).unwrap();
        assert_eq!(made.as_primitive::<Decimal128Type>().value(0), 10_i128.pow(9));
    }

    #[test]
    fn doubles_that_no_real_holds_are_refused() {
        assert!(convert(&floats(&[1e39]), &DataType::Float32).is_err());
        assert!(convert(&floats(&[1e-60]), &DataType::Float32).is_err());
        assert!(convert(&floats(&[f64::INFINITY, 0.0, 1e38]), &DataType::Float32).is_ok());
    }
}
