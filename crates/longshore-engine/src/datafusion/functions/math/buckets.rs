//! `width_bucket`: which of several equal stretches, or of stretches between given bounds, a value lies in.

use std::cmp::Ordering;

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::{Float64Type, Int64Type};

use crate::datafusion::functions::calls::Kind::{BigInt, BigInts, Double, Doubles, Int, Text, Texts};
use crate::datafusion::functions::calls::{Given, Overload, count, of};
use crate::{Error, ErrorKind};

pub(super) const OVERLOADS: &[Overload] = &[
    of("width_bucket", &[Double, Double, Double, Int], Int, |row| {
        equal(row.double(0), row.double(1), row.double(2), row.int(3))
    }),
    of("width_bucket", &[BigInt, BigInts], Int, |row| {
        let Some(bounds) = row.list(1) else { return Ok(Given::Null) };
        let value = row.bigint(0);
        without_null(bounds.as_ref())?;
        Ok(below(bounds.as_primitive::<Int64Type>().values().iter().map(|bound| bound.cmp(&value))))
    }),
    of("width_bucket", &[Double, Doubles], Int, |row| {
        let Some(bounds) = row.list(1) else { return Ok(Given::Null) };
        let value = row.double(0);
        without_null(bounds.as_ref())?;
        Ok(below(bounds.as_primitive::<Float64Type>().values().iter().map(|bound| compared(*bound, value))))
    }),
    of("width_bucket", &[Text, Texts], Int, |row| {
        let Some(bounds) = row.list(1) else { return Ok(Given::Null) };
        let value = row.text(0);
        without_null(bounds.as_ref())?;
        Ok(below(bounds.as_string_view().iter().flatten().map(|bound| bound.cmp(value))))
    }),
];

fn without_null(bounds: &dyn Array) -> Result<(), Error> {
    if bounds.null_count() > 0 {
        return Err(Error::new(ErrorKind::NullNotAllowed, "thresholds array must not contain NULLs"));
    }
    Ok(())
}

/// How many bounds, which are in order, are not above the value.
fn below(bounds: impl Iterator<Item = Ordering>) -> Given {
    count(bounds.filter(|bound| *bound != Ordering::Greater).count())
}

/// NaN is above all others.
fn compared(bound: f64, value: f64) -> Ordering {
    bound.partial_cmp(&value).unwrap_or_else(|| bound.is_nan().cmp(&value.is_nan()))
}

fn equal(value: f64, low: f64, high: f64, buckets: i32) -> Result<Given, Error> {
    let invalid = |message| Err(Error::new(ErrorKind::InvalidBucket, message));
    if buckets <= 0 {
        return invalid("count must be greater than zero");
    }
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return invalid("operand, lower bound, and upper bound cannot be NaN");
    }
    if low.is_infinite() || high.is_infinite() {
        return invalid("lower and upper bounds must be finite");
    }
    let above = || buckets.checked_add(1).ok_or_else(|| Error::new(ErrorKind::OutOfRange, "integer out of range"));
    let count = f64::from(buckets);
    let place = |from_start: f64, width: f64| {
        let place = if width.is_infinite() {
            // Half of each, so that nothing overflows.
            count * ((value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0))
        } else {
            count * (from_start / width)
        };
        (place as i32).saturating_add(1)
    };
    match low.partial_cmp(&high) {
        Some(Ordering::Less) => {
            if value < low {
                Ok(0.into())
            } else if value >= high {
                Ok(above()?.into())
            } else {
                Ok(place(value - low, high - low).into())
            }
        }
        Some(Ordering::Greater) => {
            if value > low {
                Ok(0.into())
            } else if value <= high {
                Ok(above()?.into())
            } else {
                Ok(place(low - value, low - high).into())
            }
        }
        _ => invalid("lower bound cannot equal upper bound"),
    }
}
