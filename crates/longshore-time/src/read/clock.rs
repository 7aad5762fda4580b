//! Times with colons, fractions, and offsets of zones as numbers.

use super::Fault;
use crate::calendar::MICROS_PER_SECOND;

/// Hours, minutes, seconds and microseconds of a text with colons.
pub(super) struct Clock {
    pub(super) hours: i64,
    pub(super) minutes: i64,
    pub(super) seconds: i64,
    pub(super) micros: i64,
}

/// Reads `hh:mm`, `hh:mm:ss.ffffff` or `mm:ss.ffffff`; two numbers are minutes and seconds if `is_minutes` says so.
pub(super) fn clock(text: &str, is_minutes: bool) -> Result<Clock, Fault> {
    let (text, fraction) = text.split_once('.').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
    let micros = fraction.map_or(Ok(0), fraction_of_second)?;
    let parts: Vec<&str> = text.split(':').collect();
    let long = |digits: &str| -> Result<i64, Fault> {
        if digits.is_empty() {
            return Ok(0);
        }
        digits.parse().map_err(|_| Fault::Field)
    };
    let short = |digits: &str| long(digits).and_then(|value| i32::try_from(value).map_err(|_| Fault::Field));
    let (hours, minutes, seconds) = match parts[..] {
        [first, second] if is_minutes || fraction.is_some() => (0, i64::from(short(first)?), i64::from(short(second)?)),
        [hours, minutes] => (long(hours)?, i64::from(short(minutes)?), 0),
        [hours, minutes, seconds] => (long(hours)?, i64::from(short(minutes)?), i64::from(short(seconds)?)),
        _ => return Err(Fault::Format),
    };
    if minutes > 59 || seconds > 60 || micros > MICROS_PER_SECOND {
        return Err(Fault::Field);
    }
    Ok(Clock { hours, minutes, seconds, micros })
}

/// A whole number as PostgreSQL's fields have it.
pub(super) fn whole(digits: &str) -> Result<i64, Fault> {
    if digits.is_empty() {
        return Ok(0);
    }
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::Format);
    }
    digits.parse::<i32>().map(i64::from).map_err(|_| Fault::Field)
}

/// The number 0.digits.
pub(super) fn fraction_of_one(digits: &str) -> Result<f64, Fault> {
    if digits.is_empty() {
        return Ok(0.0);
    }
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::Format);
    }
    format!("0.{digits}").parse().map_err(|_| Fault::Format)
}

pub(super) fn fraction_of_second(digits: &str) -> Result<i64, Fault> {
    Ok((fraction_of_one(digits)? * 1e6).round_ties_even() as i64)
}

/// The number at the start of a text, its digits, and what follows.
fn leading_number(text: &str) -> Result<(i64, usize, &str), Fault> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, behind) = text.split_at(end);
    let value = if digits.is_empty() { 0 } else { digits.parse::<i32>().map_err(|_| Fault::Zone)? };
    Ok((value.into(), end, behind))
}

/// An offset as `+02`, `-8:30` or `+0530`, in seconds west of UTC.
pub(super) fn numeric_zone(text: &str) -> Result<i32, Fault> {
    let (is_east, rest) = match text.as_bytes() {
        [b'+', ..] => (true, &text[1..]),
        [b'-', ..] => (false, &text[1..]),
        _ => return Err(Fault::Format),
    };
    let (mut hours, width, mut rest) = leading_number(rest)?;
    let (mut minutes, mut seconds) = (0, 0);
    if let Some(behind) = rest.strip_prefix(':') {
        (minutes, _, rest) = leading_number(behind)?;
        if let Some(behind) = rest.strip_prefix(':') {
            (seconds, _, rest) = leading_number(behind)?;
        }
    } else if rest.is_empty() && width > 2 {
        (hours, minutes) = (hours / 100, hours % 100);
    }
    if hours > 15 || minutes > 59 || seconds > 59 {
        return Err(Fault::Zone);
    }
    if !rest.is_empty() {
        return Err(Fault::Format);
    }
    let east = (hours * 3600 + minutes * 60 + seconds) as i32;
    Ok(if is_east { -east } else { east })
}
