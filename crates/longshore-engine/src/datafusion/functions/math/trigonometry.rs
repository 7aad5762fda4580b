//! Trigonometric and hyperbolic functions. Those in degrees give exact results where there are any, as PostgreSQL's do.

use std::f64::consts::PI;

use crate::datafusion::functions::calls::Kind::Double;
use crate::datafusion::functions::calls::{Overload, Row, of};
use crate::{Error, ErrorKind};

const RADIANS_PER_DEGREE: f64 = PI / 180.0;

macro_rules! functions {
    ($($name:literal: $check:ident, $function:expr;)*) => {
        &[$(of($name, &[Double], Double, |row: &Row<'_>| {
            let value = row.double(0);
            $check(value)?;
            let function: fn(f64) -> f64 = $function;
            Ok(function(value).into())
        })),*,
        of("atan2", &[Double, Double], Double, |row: &Row<'_>| Ok(row.double(0).atan2(row.double(1)).into())),
        of("atan2d", &[Double, Double], Double, |row: &Row<'_>| {
            Ok((row.double(0).atan2(row.double(1)) / 1.0_f64.atan() * 45.0).into())
        })]
    };
}

pub(super) const OVERLOADS: &[Overload] = functions! {
    "degrees": any, |value| value / RADIANS_PER_DEGREE;
    "radians": any, |value| value * RADIANS_PER_DEGREE;
    "sin": finite, f64::sin;
    "cos": finite, f64::cos;
    "tan": finite, f64::tan;
    "cot": finite, |value| 1.0 / value.tan();
    "asin": up_to_one, f64::asin;
    "acos": up_to_one, f64::acos;
    "atan": any, f64::atan;
    "sinh": any, f64::sinh;
    "cosh": any, f64::cosh;
    "tanh": any, f64::tanh;
    "asinh": any, asinh;
    "acosh": from_one, f64::acosh;
    "atanh": up_to_one, atanh;
    "sind": finite, sind;
    "cosd": finite, cosd;
    "tand": finite, |value| quotient(value, |angle| sine(angle) / cosine(angle));
    "cotd": finite, |value| quotient(value, |angle| cosine(angle) / sine(angle));
    "asind": up_to_one, |value| if value < 0.0 { -arc_sine(-value) } else { arc_sine(value) };
    "acosd": up_to_one, |value| if value < 0.0 { 90.0 + arc_sine(-value) } else { arc_cosine(value) };
    "atand": any, |value| value.atan() / 1.0_f64.atan() * 45.0;
};

fn out_of_range() -> Error {
    Error::new(ErrorKind::OutOfRange, "input is out of range")
}

#[expect(clippy::unnecessary_wraps, reason = "it stands where others check")]
fn any(_: f64) -> Result<(), Error> {
    Ok(())
}

fn finite(value: f64) -> Result<(), Error> {
    if value.is_infinite() { Err(out_of_range()) } else { Ok(()) }
}

fn up_to_one(value: f64) -> Result<(), Error> {
    if value.abs() > 1.0 { Err(out_of_range()) } else { Ok(()) }
}

fn from_one(value: f64) -> Result<(), Error> {
    if value < 1.0 { Err(out_of_range()) } else { Ok(()) }
}

fn asinh(value: f64) -> f64 {
    if value == 0.0 || value.is_infinite() { value } else { value.asinh() }
}

fn atanh(value: f64) -> f64 {
    // What is out of range has been refused.
    if value.abs() >= 1.0 { value * f64::INFINITY } else { value.atanh() }
}

/// The sine of up to 30 degrees.
fn small_sine(degrees: f64) -> f64 {
    (degrees * RADIANS_PER_DEGREE).sin() / (30.0 * RADIANS_PER_DEGREE).sin() / 2.0
}

/// The cosine of up to 60 degrees.
fn small_cosine(degrees: f64) -> f64 {
    let below_one = 1.0 - (degrees * RADIANS_PER_DEGREE).cos();
    1.0 - below_one / (1.0 - (60.0 * RADIANS_PER_DEGREE).cos()) / 2.0
}

/// The sine of up to 90 degrees.
fn sine(degrees: f64) -> f64 {
    if degrees <= 30.0 { small_sine(degrees) } else { small_cosine(90.0 - degrees) }
}

/// The cosine of up to 90 degrees.
fn cosine(degrees: f64) -> f64 {
    if degrees <= 60.0 { small_cosine(degrees) } else { small_sine(90.0 - degrees) }
}

fn sind(degrees: f64) -> f64 {
    let (mut angle, mut sign) = (degrees % 360.0, 1.0);
    if angle < 0.0 {
        (angle, sign) = (-angle, -sign);
    }
    if angle > 180.0 {
        (angle, sign) = (360.0 - angle, -sign);
    }
    sign * sine(if angle > 90.0 { 180.0 - angle } else { angle })
}

fn cosd(degrees: f64) -> f64 {
    let mut angle = (degrees % 360.0).abs();
    if angle > 180.0 {
        angle = 360.0 - angle;
    }
    if angle > 90.0 { -cosine(180.0 - angle) } else { cosine(angle) }
}

/// What changes its sign with each quarter of the circle, and is 1 at 45 degrees.
fn quotient(degrees: f64, of_quarter: fn(f64) -> f64) -> f64 {
    let (mut angle, mut sign) = (degrees % 360.0, 1.0);
    if angle < 0.0 {
        (angle, sign) = (-angle, -sign);
    }
    if angle > 180.0 {
        (angle, sign) = (360.0 - angle, -sign);
    }
    if angle > 90.0 {
        (angle, sign) = (180.0 - angle, -sign);
    }
    let value = sign * (of_quarter(angle) / of_quarter(45.0));
    if value == 0.0 { 0.0 } else { value }
}

fn arc_sine(value: f64) -> f64 {
    if value <= 0.5 { value.asin() / 0.5_f64.asin() * 30.0 } else { 90.0 - value.acos() / 0.5_f64.acos() * 60.0 }
}

fn arc_cosine(value: f64) -> f64 {
    if value <= 0.5 { 90.0 - value.asin() / 0.5_f64.asin() * 30.0 } else { value.acos() / 0.5_f64.acos() * 60.0 }
}
