//! Integers, decimals and floats.

use std::fmt::Debug;
use std::str::FromStr;

use longshore_value::decimal;
use longshore_value::numeric::{self, Limit, NumericError};

use super::{Expected, Reader, Reason, trim};

/// A whole number with an optional sign.
fn whole(bytes: &[u8]) -> Result<i128, Reason> {
    let mut reader = Reader::trimmed(bytes)?;
    let sign = reader.take(|byte| matches!(byte, b'+' | b'-'));
    let digits = reader.digits();
    if digits.is_empty() {
        return Err(reader.missing(if sign.is_some() { Expected::Digit } else { Expected::Number }));
    }
    if let Some(found) = reader.peek() {
        return Err(Reason::Unexpected { found, expected: Expected::Digit });
    }
    let mut number = 0_i128;
    for digit in digits {
        number = number * 10 + i128::from(digit - b'0');
        if number > i128::from(u64::MAX) {
            return Err(Reason::OutOfRange);
        }
    }
    Ok(if sign == Some(b'-') { -number } else { number })
}

/// A 16-bit integer: digits with an optional sign.
///
/// # Errors
///
/// If the field is anything else, or out of range.
pub fn int16(bytes: &[u8]) -> Result<i16, Reason> {
    i16::try_from(whole(bytes)?).map_err(|_| Reason::OutOfRange)
}

/// A 32-bit integer: digits with an optional sign.
///
/// # Errors
///
/// If the field is anything else, or out of range.
pub fn int32(bytes: &[u8]) -> Result<i32, Reason> {
    i32::try_from(whole(bytes)?).map_err(|_| Reason::OutOfRange)
}

/// A 64-bit integer: digits with an optional sign.
///
/// # Errors
///
/// If the field is anything else, or out of range.
pub fn int64(bytes: &[u8]) -> Result<i64, Reason> {
    i64::try_from(whole(bytes)?).map_err(|_| Reason::OutOfRange)
}

/// A number as it is written: sign, digits before and behind the point, and exponent.
struct Written<'a> {
    negative: bool,
    integer: &'a [u8],
    fraction: &'a [u8],
    /// Clamped to plus or minus a billion, which no field's digits can make up for.
    exponent: i64,
}

impl<'a> Written<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Reason> {
        let sign = reader.take(|byte| matches!(byte, b'+' | b'-'));
        let integer = reader.digits();
        let point = reader.take(|byte| byte == b'.');
        let fraction = if point.is_some() { reader.digits() } else { &[] };
        if integer.is_empty() && fraction.is_empty() {
            let expected = if sign.is_none() && point.is_none() { Expected::Number } else { Expected::Digit };
            return Err(reader.missing(expected));
        }
        let mut exponent = 0_i64;
        if reader.take(|byte| matches!(byte, b'e' | b'E')).is_some() {
            let sign = reader.take(|byte| matches!(byte, b'+' | b'-'));
            let digits = reader.digits();
            if digits.is_empty() {
                return Err(reader.missing(Expected::Digit));
            }
            for digit in digits {
                exponent = (exponent * 10 + i64::from(digit - b'0')).min(1_000_000_000);
            }
            if sign == Some(b'-') {
                exponent = -exponent;
            }
        }
        if let Some(found) = reader.peek() {
            return Err(Reason::Unexpected { found, expected: Expected::Digit });
        }
        Ok(Written { negative: sign == Some(b'-'), integer, fraction, exponent })
    }

    fn is_zero(&self) -> bool {
        self.integer.iter().chain(self.fraction).all(|digit| *digit == b'0')
    }
}

/// A decimal in units of 10 to the power of minus `scale`. Surplus digits behind the point are rounded, halves
/// away from zero.
///
/// # Errors
///
/// If the field is not a number, or needs more than `precision` digits.
pub fn decimal128(bytes: &[u8], precision: u8, scale: u8) -> Result<i128, Reason> {
    let written = Written::read(&mut Reader::trimmed(bytes)?)?;
    let units = decimal::units(written.integer, written.fraction, written.exponent, precision, scale);
    let units = units.ok_or(Reason::TooManyDigits { digits: precision.saturating_sub(scale) })?;
    Ok(if written.negative { -units } else { units })
}

/// [`decimal128`] for a `precision` of at most 18.
///
/// # Errors
///
/// As [`decimal128`].
pub fn decimal64(bytes: &[u8], precision: u8, scale: u8) -> Result<i64, Reason> {
    let wide = decimal128(bytes, precision, scale)?;
    i64::try_from(wide).map_err(|_| Reason::TooManyDigits { digits: precision.saturating_sub(scale) })
}

/// Gives the bytes of a NUMERIC, rounded as `limit` says, to `push` (`longshore_value::numeric`).
///
/// # Errors
///
/// If the field is not a number, or has more digits than `limit` or any NUMERIC has.
pub fn numeric(bytes: &[u8], limit: Option<Limit>, push: &mut impl FnMut(u8)) -> Result<(), Reason> {
    numeric::read(trim(bytes), limit, push).map_err(|error| match error {
        NumericError::Range | NumericError::Limit => Reason::OutOfRange,
        // As the other types of numbers tell it.
        NumericError::Syntax => float64(bytes).err().unwrap_or(Reason::Ends { expected: Expected::Number }),
    })
}

/// What a float's text says, before it is rounded.
enum Float<'a> {
    Nan,
    Infinity {
        negative: bool,
    },
    /// The text, which Rust's `FromStr` reads too, and whether it is zero.
    Finite(&'a str, bool),
}

fn float(bytes: &[u8]) -> Result<Float<'_>, Reason> {
    let bytes = trim(bytes);
    let (negative, name) = match bytes.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, bytes),
    };
    if name.eq_ignore_ascii_case(b"infinity") || name.eq_ignore_ascii_case(b"inf") {
        return Ok(Float::Infinity { negative });
    }
    if bytes.eq_ignore_ascii_case(b"nan") {
        return Ok(Float::Nan);
    }
    let written = Written::read(&mut Reader::trimmed(bytes)?)?;
    let text = std::str::from_utf8(bytes).expect("digits, signs, points and exponents are ASCII");
    Ok(Float::Finite(text, written.is_zero()))
}

/// What Rust makes of a number whose syntax was checked.
fn parse<F: FromStr<Err: Debug>>(text: &str) -> F {
    text.parse().expect("Rust reads what `Written` reads")
}

/// A double precision number, `NaN`, or `Infinity` with an optional sign; rounded to nearest.
///
/// # Errors
///
/// If the field is anything else, too large, or not zero but rounded to it.
pub fn float64(bytes: &[u8]) -> Result<f64, Reason> {
    match float(bytes)? {
        Float::Nan => Ok(f64::NAN),
        Float::Infinity { negative } => Ok(if negative { f64::NEG_INFINITY } else { f64::INFINITY }),
        Float::Finite(text, zero) => {
            let number = parse::<f64>(text);
            if number.is_infinite() {
                Err(Reason::OutOfRange)
            } else if number == 0.0 && !zero {
                Err(Reason::Underflow)
            } else {
                Ok(number)
            }
        }
    }
}

/// A single precision number, as [`float64`].
///
/// # Errors
///
/// As [`float64`].
pub fn float32(bytes: &[u8]) -> Result<f32, Reason> {
    match float(bytes)? {
        Float::Nan => Ok(f32::NAN),
        Float::Infinity { negative } => Ok(if negative { f32::NEG_INFINITY } else { f32::INFINITY }),
        Float::Finite(text, zero) => {
            let number = parse::<f32>(text);
            if number.is_infinite() {
                Err(Reason::OutOfRange)
            } else if number == 0.0 && !zero {
                Err(Reason::Underflow)
            } else {
                Ok(number)
            }
        }
    }
}
