//! Texts of values: dates and times in the styles of `DateStyle`, intervals in those of `IntervalStyle`.

mod interval;

use crate::calendar::{
    DATE_INFINITY, DATE_NEGATIVE_INFINITY, DAYS, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, MONTHS,
    TIMESTAMP_INFINITY, TIMESTAMP_NEGATIVE_INFINITY, civil, day_of_week, split,
};
use crate::moment::TimeTz;
use crate::settings::{DateOrder, DateStyle, Settings, to_local};

pub use interval::interval;

/// Appends a number of at least two digits.
fn two(out: &mut String, value: i64) {
    padded(out, value, 2);
}

/// Appends a number that is not negative with zeros in front up to `width` digits.
fn padded(out: &mut String, value: i64, width: usize) {
    let mut digits = [b'0'; 20];
    let (mut rest, mut start) = (value.unsigned_abs(), digits.len());
    while rest > 0 || digits.len() - start < width {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend(digits[start..].iter().map(|digit| char::from(*digit)));
}

/// A year as it is counted: there is none of the number 0.
fn counted(year: i64) -> i64 {
    if year > 0 { year } else { 1 - year }
}

fn infinite(out: &mut String, is_late: bool) {
    out.push_str(if is_late { "infinity" } else { "-infinity" });
}

/// Appends a date.
pub fn date(out: &mut String, days: i32, settings: &Settings) {
    if days == DATE_INFINITY || days == DATE_NEGATIVE_INFINITY {
        return infinite(out, days == DATE_INFINITY);
    }
    let (year, month, day) = civil(days.into());
    numbers_of_date(out, (year, month, day), settings);
    if year <= 0 {
        out.push_str(" BC");
    }
}

fn numbers_of_date(out: &mut String, (year, month, day): (i64, i64, i64), settings: &Settings) {
    let delimiter = match settings.style {
        DateStyle::Iso => {
            padded(out, counted(year), 4);
            out.push('-');
            two(out, month);
            out.push('-');
            return two(out, day);
        }
        DateStyle::Postgres => '-',
        DateStyle::Sql => '/',
        DateStyle::German => '.',
    };
    let is_day_first = settings.style == DateStyle::German || settings.order == DateOrder::Dmy;
    let (first, second) = if is_day_first { (day, month) } else { (month, day) };
    two(out, first);
    out.push(delimiter);
    two(out, second);
    out.push(delimiter);
    padded(out, counted(year), 4);
}

/// Appends a time of day in microseconds since midnight.
pub fn time(out: &mut String, micros: i64) {
    two(out, micros / MICROS_PER_HOUR);
    out.push(':');
    two(out, micros / MICROS_PER_MINUTE % 60);
    out.push(':');
    seconds(out, micros / MICROS_PER_SECOND % 60, micros % MICROS_PER_SECOND);
}

/// Appends seconds with two digits, and as much of a fraction as there is.
fn seconds(out: &mut String, seconds: i64, micros: i64) {
    two(out, seconds);
    fraction(out, micros);
}

fn fraction(out: &mut String, micros: i64) {
    if micros != 0 {
        out.push('.');
        padded(out, micros, 6);
        out.truncate(out.trim_end_matches('0').len());
    }
}

/// Appends the offset of a zone, with as many parts as it has.
pub fn offset(out: &mut String, west: i32) {
    out.push(if west <= 0 { '+' } else { '-' });
    let seconds = i64::from(west).abs();
    two(out, seconds / 3600);
    if seconds % 3600 != 0 {
        out.push(':');
        two(out, seconds / 60 % 60);
    }
    if seconds % 60 != 0 {
        out.push(':');
        two(out, seconds % 60);
    }
}

/// Appends a time with its zone.
pub fn timetz(out: &mut String, value: TimeTz) {
    time(out, value.micros);
    offset(out, value.west);
}

/// Appends a timestamp without zone.
pub fn timestamp(out: &mut String, micros: i64, settings: &Settings) {
    if micros == TIMESTAMP_INFINITY || micros == TIMESTAMP_NEGATIVE_INFINITY {
        return infinite(out, micros == TIMESTAMP_INFINITY);
    }
    let is_before_christ = date_and_time(out, micros, settings);
    if is_before_christ {
        out.push_str(" BC");
    }
}

/// Appends a timestamp in UTC as the session's zone shows it.
pub fn timestamptz(out: &mut String, micros: i64, settings: &Settings) {
    if micros == TIMESTAMP_INFINITY || micros == TIMESTAMP_NEGATIVE_INFINITY {
        return infinite(out, micros == TIMESTAMP_INFINITY);
    }
    let zone = &settings.zone;
    let is_before_christ = date_and_time(out, to_local(zone, micros), settings);
    let moment = micros.div_euclid(MICROS_PER_SECOND);
    if settings.style == DateStyle::Iso {
        offset(out, -zone.offset(moment));
    } else {
        out.push(' ');
        out.push_str(&zone.local(moment).abbreviation);
    }
    if is_before_christ {
        out.push_str(" BC");
    }
}

/// Appends date and time, and returns whether the year is one before Christ.
fn date_and_time(out: &mut String, micros: i64, settings: &Settings) -> bool {
    let (days, of_day) = split(micros);
    let (year, month, day) = civil(days);
    if settings.style == DateStyle::Postgres {
        out.push_str(&DAYS[day_of_week(days) as usize][..3]);
        out.push(' ');
        let name = &MONTHS[month as usize - 1][..3];
        if settings.order == DateOrder::Dmy {
            two(out, day);
            out.push(' ');
            out.push_str(name);
        } else {
            out.push_str(name);
            out.push(' ');
            two(out, day);
        }
        out.push(' ');
        time(out, of_day);
        out.push(' ');
        padded(out, counted(year), 4);
    } else {
        numbers_of_date(out, (year, month, day), settings);
        out.push(' ');
        time(out, of_day);
    }
    year <= 0
}
