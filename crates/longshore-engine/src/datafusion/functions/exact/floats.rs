//! Functions of DOUBLE PRECISION that fail where PostgreSQL's do, rather than give infinity or NaN.

use longshore_numeric::NumberError;

const OVERFLOW: NumberError = NumberError::Range("value out of range: overflow");
const UNDERFLOW: NumberError = NumberError::Range("value out of range: underflow");

/// A result that is infinite, or zero, only if `may_be` says so.
fn checked(result: f64, may_be_infinite: bool, may_be_zero: bool) -> Result<f64, NumberError> {
    if result.is_infinite() && !may_be_infinite {
        return Err(OVERFLOW);
    }
    if result == 0.0 && !may_be_zero { Err(UNDERFLOW) } else { Ok(result) }
}

/// -1, 0 or 1; NaN of NaN.
pub(super) fn sign(value: f64) -> f64 {
    if value > 0.0 {
        1.0
    } else if value < 0.0 {
        -1.0
    } else {
        value
    }
}

pub(super) fn root(value: f64) -> Result<f64, NumberError> {
    if value < 0.0 {
        return Err(NumberError::Power("cannot take square root of a negative number"));
    }
    Ok(value.sqrt())
}

pub(super) fn exponential(value: f64) -> Result<f64, NumberError> {
    checked(value.exp(), value.is_infinite(), value.is_infinite())
}

pub(super) fn logarithm(value: f64, logarithm: fn(f64) -> f64) -> Result<f64, NumberError> {
    if value == 0.0 {
        return Err(NumberError::Logarithm("cannot take logarithm of zero"));
    }
    if value < 0.0 {
        return Err(NumberError::Logarithm("cannot take logarithm of a negative number"));
    }
    Ok(logarithm(value))
}

pub(super) fn power(base: f64, exponent: f64) -> Result<f64, NumberError> {
    if base == 0.0 && exponent < 0.0 {
        return Err(NumberError::Power("zero raised to a negative power is undefined"));
    }
    if base < 0.0 && exponent.is_finite() && exponent.fract() != 0.0 {
        return Err(NumberError::Power("a negative number raised to a non-integer power yields a complex result"));
    }
    let is_special = base.is_infinite() || exponent.is_infinite();
    checked(base.powf(exponent), is_special, is_special || base == 0.0)
}

/// Which of `count` equal parts of what lies between two bounds a value falls into, from 1; 0 and `count` + 1 are outside.
#[expect(clippy::float_cmp, reason = "only bounds that are exactly equal have nothing between them")]
pub(super) fn bucket(value: f64, low: f64, high: f64, count: i32) -> Result<i32, NumberError> {
    if count <= 0 {
        return Err(NumberError::Bucket("count must be greater than zero"));
    }
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return Err(NumberError::Bucket("operand, lower bound, and upper bound cannot be NaN"));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(NumberError::Bucket("lower and upper bounds must be finite"));
    }
    if low == high {
        return Err(NumberError::Bucket("lower bound cannot equal upper bound"));
    }
    let above = || count.checked_add(1).ok_or(NumberError::Range("integer out of range"));
    let (before, behind) = if low < high { (value < low, value >= high) } else { (value > low, value <= high) };
    if before {
        return Ok(0);
    }
    if behind {
        return above();
    }
    // Halves, so that the difference of large bounds is not infinite.
    let part = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
    let bucket = (part * f64::from(count)) as i32;
    Ok(bucket.min(count - 1) + 1)
}
