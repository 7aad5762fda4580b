//! Intervals of ISO 8601: `P1Y2M3DT4H5M6S`, `P0001-02-03T04:05:06`, `P00010203T040506`.

use super::Fault;
use super::interval::Sum;
use crate::calendar::{MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};

/// Numbers beyond this are not exact.
const NUMBER_MAX: f64 = 1e15;

/// A number: its whole part, its fraction, and how many digits the whole part has.
struct Number {
    whole: i64,
    fraction: f64,
    width: usize,
}

/// Reads such an interval.
pub(super) fn decode(text: &str) -> Result<Sum, Fault> {
    let mut rest = text.strip_prefix('P').filter(|rest| !rest.is_empty()).ok_or(Fault::Format)?;
    let mut sum = Sum::default();
    let (mut is_date, mut has_field) = (true, false);
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix('T') {
            (is_date, has_field) = (false, false);
            rest = time;
            continue;
        }
        let number = number(&mut rest)?;
        let unit = rest.chars().next();
        if is_date && matches!(unit, None | Some('T' | '-')) {
            // Years, months and days without their letters.
            if has_field {
                return Err(Fault::Format);
            }
            date(&number, &mut rest, &mut sum)?;
            continue;
        }
        if !is_date && matches!(unit, None | Some(':')) {
            if has_field {
                return Err(Fault::Format);
            }
            return time(&number, rest, &mut sum).map(|()| sum);
        }
        let Number { whole, fraction, .. } = number;
        match (is_date, unit) {
            (true, Some('Y')) => sum.add_years(whole, fraction, 1)?,
            (true, Some('M')) => sum.add_months(whole, fraction)?,
            (true, Some('W')) => sum.add_days(whole, fraction, 7)?,
            (true, Some('D')) => sum.add_days(whole, fraction, 1)?,
            (false, Some('H')) => sum.add_micros(whole, fraction, MICROS_PER_HOUR)?,
            (false, Some('M')) => sum.add_micros(whole, fraction, MICROS_PER_MINUTE)?,
            (false, Some('S')) => sum.add_micros(whole, fraction, MICROS_PER_SECOND)?,
            _ => return Err(Fault::Format),
        }
        rest = &rest[1..];
        has_field = true;
    }
    Ok(sum)
}

/// A date of one number of eight digits, or of numbers with `-` between. What follows is empty or the time.
fn date(first: &Number, rest: &mut &str, sum: &mut Sum) -> Result<(), Fault> {
    if first.width == 8 && !rest.starts_with('-') {
        sum.add_years(first.whole / 10_000, 0.0, 1)?;
        sum.add_months(first.whole / 100 % 100, 0.0)?;
        sum.add_days(first.whole % 100, 0.0, 1)?;
        return sum.add_fraction(first.fraction, MICROS_PER_DAY);
    }
    sum.add_years(first.whole, first.fraction, 1)?;
    for is_month in [true, false] {
        let Some(behind) = rest.strip_prefix('-') else { break };
        *rest = behind;
        let Number { whole, fraction, .. } = number(rest)?;
        if is_month { sum.add_months(whole, fraction)? } else { sum.add_days(whole, fraction, 1)? }
    }
    if rest.is_empty() || rest.starts_with('T') { Ok(()) } else { Err(Fault::Format) }
}

/// A time of one number of six digits, or of numbers with `:` between.
fn time(first: &Number, mut rest: &str, sum: &mut Sum) -> Result<(), Fault> {
    if first.width == 6 && rest.is_empty() {
        sum.add_micros(first.whole / 10_000, 0.0, MICROS_PER_HOUR)?;
        sum.add_micros(first.whole / 100 % 100, 0.0, MICROS_PER_MINUTE)?;
        sum.add_micros(first.whole % 100, 0.0, MICROS_PER_SECOND)?;
        return sum.add_fraction(first.fraction, 1);
    }
    sum.add_micros(first.whole, first.fraction, MICROS_PER_HOUR)?;
    for unit in [MICROS_PER_MINUTE, MICROS_PER_SECOND] {
        let Some(behind) = rest.strip_prefix(':') else { break };
        rest = behind;
        let Number { whole, fraction, .. } = number(&mut rest)?;
        sum.add_micros(whole, fraction, unit)?;
    }
    if rest.is_empty() { Ok(()) } else { Err(Fault::Format) }
}

/// Takes a number off the front, with a sign, a point and an exponent.
fn number(rest: &mut &str) -> Result<Number, Fault> {
    let bytes = rest.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(bytes.first() == Some(&b'-'));
    let width = digits(sign);
    let mut end = sign + width;
    let mut fraction = 0;
    if bytes.get(end) == Some(&b'.') {
        fraction = digits(end + 1);
        end += 1 + fraction;
    }
    if width + fraction == 0 {
        return Err(Fault::Format);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = if end + 1 + sign <= bytes.len() { digits(end + 1 + sign) } else { 0 };
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    let value: f64 = rest[..end].parse().map_err(|_| Fault::Format)?;
    if value.is_nan() || value.abs() > NUMBER_MAX {
        return Err(Fault::Field);
    }
    *rest = &rest[end..];
    Ok(Number { whole: value as i64, fraction: value - value.trunc(), width })
}
