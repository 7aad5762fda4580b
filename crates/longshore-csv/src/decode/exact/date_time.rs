//! Dates, times and timestamps.

use longshore_value::digits::rounded;

mod beyond;

use super::{Expected, Reader, Reason};

/// Microseconds of a day.
pub(crate) const MICROSECONDS_PER_DAY: i64 = 86_400_000_000;

/// 0001-01-01 in days since 1970-01-01.
pub const DATE_MIN: i32 = days_from_civil(1, 1, 1);

/// 9999-12-31 in days since 1970-01-01.
pub const DATE_MAX: i32 = days_from_civil(9999, 12, 31);

/// Days from 1970-01-01 to a date of the Gregorian calendar. Counts years from March, so that the leap day is
/// the last of its year, in cycles of 400 years.
#[must_use]
pub const fn days_from_civil(year: i32, month: u32, day: u32) -> i32 {
    let year = if month <= 2 { year - 1 } else { year };
    let cycle = year.div_euclid(400);
    let year_of_cycle = year.rem_euclid(400);
    let month_from_march = (month as i32 + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day as i32 - 1;
    let day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    cycle * 146_097 + day_of_cycle - 719_468
}

/// Year, month and day of a number of days since 1970-01-01: the inverse of [`days_from_civil`].
#[must_use]
pub const fn civil_from_days(days: i32) -> (i32, u32, u32) {
    let days = days as i64 + 719_468;
    let cycle = days.div_euclid(146_097);
    let day_of_cycle = days.rem_euclid(146_097);
    let year_of_cycle = (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 } as u32;
    let year = year_of_cycle + cycle * 400 + (month <= 2) as i64;
    (year as i32, month, day)
}

/// Days of a month, 1 to 12.
pub(crate) fn days_of_month(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn read_date(reader: &mut Reader<'_>) -> Result<i32, Reason> {
    let year = reader.number(4, 4)?;
    reader.byte(b'-')?;
    let month = reader.number(1, 2)?;
    reader.byte(b'-')?;
    let day = reader.number(1, 2)?;
    if year == 0 {
        return Err(Reason::Year);
    }
    if !(1..=12).contains(&month) {
        return Err(Reason::Month);
    }
    if !(1..=days_of_month(year, month)).contains(&day) {
        return Err(Reason::Day);
    }
    Ok(days_from_civil(year as i32, month, day))
}

/// Reads a time and rounds it to microseconds, perhaps up to midnight.
pub(super) fn read_time(reader: &mut Reader<'_>) -> Result<i64, Reason> {
    let hours = reader.number(1, 2)?;
    reader.byte(b':')?;
    let minutes = reader.number(1, 2)?;
    let mut seconds = 0;
    let mut micros = 0;
    if reader.take(|byte| byte == b':').is_some() {
        seconds = reader.number(1, 2)?;
        if reader.take(|byte| byte == b'.').is_some() {
            let digits = reader.digits();
            if digits.is_empty() {
                return Err(reader.missing(Expected::Digit));
            }
            micros = rounded(digits.iter().copied(), 6) as i64;
        }
    }
    if hours > 23 || minutes > 59 || seconds > 59 {
        return Err(Reason::Time);
    }
    Ok(i64::from(hours * 3600 + minutes * 60 + seconds) * 1_000_000 + micros)
}

/// Takes `Z` or `+HH[:MM[:SS]]`, the colons perhaps missing; hours have `hour_digits_min` to 2 digits. Seconds east of
/// UTC.
pub(crate) fn zone_offset(reader: &mut Reader<'_>, hour_digits_min: usize) -> Result<i64, Reason> {
    if reader.take(|byte| matches!(byte, b'Z' | b'z')).is_some() {
        return Ok(0);
    }
    let sign = reader.take(|byte| matches!(byte, b'+' | b'-')).ok_or_else(|| reader.missing(Expected::Offset))?;
    let mut parts = [reader.number(hour_digits_min, 2)?, 0, 0];
    for part in &mut parts[1..] {
        let colon = reader.take(|byte| byte == b':').is_some();
        if !colon && !reader.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            break;
        }
        *part = reader.number(2, 2)?;
    }
    let [hours, minutes, seconds] = parts;
    if hours > 15 || minutes > 59 || seconds > 59 {
        return Err(Reason::Offset);
    }
    let offset = i64::from(hours * 3600 + minutes * 60 + seconds);
    Ok(if sign == b'-' { -offset } else { offset })
}

/// Reads date and time, or a date alone; returns whether there was a time.
fn read_timestamp(reader: &mut Reader<'_>) -> Result<(i64, bool), Reason> {
    let midnight = i64::from(read_date(reader)?) * MICROSECONDS_PER_DAY;
    if reader.peek().is_none() {
        return Ok((midnight, false));
    }
    if reader.take(|byte| matches!(byte, b' ' | b'T' | b't')).is_none() {
        return Err(reader.missing(Expected::TimeSeparator));
    }
    Ok((midnight + read_time(reader)?, true))
}

/// Refuses times outside the years 1 to 9999.
pub(crate) fn within_range(micros: i64) -> Result<i64, Reason> {
    let days = micros.div_euclid(MICROSECONDS_PER_DAY);
    if (i64::from(DATE_MIN)..=i64::from(DATE_MAX)).contains(&days) { Ok(micros) } else { Err(Reason::Year) }
}

/// A date `YYYY-MM-DD` in days since 1970-01-01; month and day may have one digit. Dates before Christ, of longer years and
/// infinite ones are read as they are written.
///
/// # Errors
///
/// If the field is anything else, or there is no such day.
pub fn date(bytes: &[u8]) -> Result<i32, Reason> {
    usual_date(bytes).or_else(|reason| beyond::date(bytes).ok_or(reason))
}

fn usual_date(bytes: &[u8]) -> Result<i32, Reason> {
    let mut reader = Reader::trimmed(bytes)?;
    let days = read_date(&mut reader)?;
    reader.end()?;
    Ok(days)
}

/// A time `HH:MM[:SS[.ffffff]]` in microseconds since midnight; further digits are rounded.
///
/// # Errors
///
/// If the field is anything else, or (rounded) outside 00:00:00 to 23:59:59.999999, and not 24:00:00.
pub fn time(bytes: &[u8]) -> Result<i64, Reason> {
    usual_time(bytes).or_else(|reason| beyond::time(bytes).ok_or(reason))
}

fn usual_time(bytes: &[u8]) -> Result<i64, Reason> {
    let mut reader = Reader::trimmed(bytes)?;
    let micros = read_time(&mut reader)?;
    reader.end()?;
    if micros < MICROSECONDS_PER_DAY { Ok(micros) } else { Err(Reason::Time) }
}

/// A date, or date and [`time`] with a space or `T` between, in microseconds since 1970-01-01 00:00:00.
///
/// # Errors
///
/// If the field is anything else, or has a zone offset.
pub fn timestamp(bytes: &[u8]) -> Result<i64, Reason> {
    usual_timestamp(bytes).or_else(|reason| beyond::timestamp(bytes, false).ok_or(reason))
}

fn usual_timestamp(bytes: &[u8]) -> Result<i64, Reason> {
    let mut reader = Reader::trimmed(bytes)?;
    let (micros, timed) = read_timestamp(&mut reader)?;
    while timed && reader.take(|byte| byte == b' ').is_some() {}
    if timed && matches!(reader.peek(), Some(b'Z' | b'z' | b'+' | b'-')) {
        return Err(Reason::UnwantedOffset);
    }
    reader.end()?;
    within_range(micros)
}

/// A [`timestamp`] with an optional zone offset `Z` or `+HH[:MM[:SS]]` behind its time, in microseconds since
/// 1970-01-01 00:00:00 UTC. Without an offset it is in UTC.
///
/// # Errors
///
/// If the field is anything else, or in UTC outside the range of timestamps.
pub fn timestamptz(bytes: &[u8]) -> Result<i64, Reason> {
    usual_timestamptz(bytes).or_else(|reason| beyond::timestamp(bytes, true).ok_or(reason))
}

fn usual_timestamptz(bytes: &[u8]) -> Result<i64, Reason> {
    let mut reader = Reader::trimmed(bytes)?;
    let (micros, timed) = read_timestamp(&mut reader)?;
    while timed && reader.take(|byte| byte == b' ').is_some() {}
    let offset = if timed && reader.peek().is_some() { zone_offset(&mut reader, 1)? } else { 0 };
    reader.end()?;
    within_range(micros - offset * 1_000_000)
}
