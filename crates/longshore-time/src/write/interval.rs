//! Texts of intervals.

use std::fmt::Write as _;

use super::{fraction, two};
use crate::interval::{Interval, Parts};
use crate::settings::IntervalStyle;

/// Appends an interval in a style.
pub fn interval(out: &mut String, interval: Interval, style: IntervalStyle) {
    let parts = interval.parts();
    match style {
        IntervalStyle::Postgres => postgres(out, &parts),
        IntervalStyle::PostgresVerbose => verbose(out, &parts),
        IntervalStyle::SqlStandard => sql_standard(out, &parts),
        IntervalStyle::Iso8601 => iso_8601(out, &parts),
    }
}

/// Appends a number with what follows it; writing to a string cannot fail.
fn number(out: &mut String, value: i64, behind: &str) {
    let _ = write!(out, "{value}{behind}");
}

/// Appends seconds and their fraction without a sign.
fn seconds(out: &mut String, parts: &Parts, is_padded: bool) {
    if is_padded {
        two(out, parts.seconds.abs());
    } else {
        number(out, parts.seconds.abs(), "");
    }
    fraction(out, parts.micros.abs());
}

fn has_time(parts: &Parts) -> bool {
    parts.hours != 0 || parts.minutes != 0 || parts.seconds != 0 || parts.micros != 0
}

fn has_negative_time(parts: &Parts) -> bool {
    parts.hours < 0 || parts.minutes < 0 || parts.seconds < 0 || parts.micros < 0
}

fn postgres(out: &mut String, parts: &Parts) {
    // A sign stands before what follows something negative.
    let (mut is_zero, mut was_negative) = (true, false);
    for (value, unit) in [(parts.years, "year"), (parts.months, "mon"), (parts.days, "day")] {
        if value == 0 {
            continue;
        }
        let space = if is_zero { "" } else { " " };
        let sign = if was_negative && value > 0 { "+" } else { "" };
        let plural = if value == 1 { "" } else { "s" };
        let _ = write!(out, "{space}{sign}{value} {unit}{plural}");
        (is_zero, was_negative) = (false, value < 0);
    }
    if is_zero || has_time(parts) {
        if !is_zero {
            out.push(' ');
        }
        if has_negative_time(parts) {
            out.push('-');
        } else if was_negative {
            out.push('+');
        }
        two(out, parts.hours.abs());
        out.push(':');
        two(out, parts.minutes.abs());
        out.push(':');
        seconds(out, parts, true);
    }
}

fn verbose(out: &mut String, parts: &Parts) {
    out.push('@');
    // The first part decides whether all of it is "ago".
    let (mut is_zero, mut is_ago) = (true, false);
    let units = [
        (parts.years, "year"),
        (parts.months, "mon"),
        (parts.days, "day"),
        (parts.hours, "hour"),
        (parts.minutes, "min"),
    ];
    for (value, unit) in units {
        if value == 0 {
            continue;
        }
        if is_zero {
            is_ago = value < 0;
        }
        let value = if is_ago { -value } else { value };
        let plural = if value == 1 { "" } else { "s" };
        let _ = write!(out, " {value} {unit}{plural}");
        is_zero = false;
    }
    if parts.seconds != 0 || parts.micros != 0 {
        out.push(' ');
        if parts.seconds < 0 || parts.micros < 0 {
            if is_zero {
                is_ago = true;
            } else if !is_ago {
                out.push('-');
            }
        } else if is_ago {
            out.push('-');
        }
        seconds(out, parts, false);
        out.push_str(if parts.seconds.abs() == 1 && parts.micros == 0 { " sec" } else { " secs" });
        is_zero = false;
    }
    if is_zero {
        out.push_str(" 0");
    }
    if is_ago {
        out.push_str(" ago");
    }
}

fn iso_8601(out: &mut String, parts: &Parts) {
    if parts.years == 0 && parts.months == 0 && parts.days == 0 && !has_time(parts) {
        out.push_str("PT0S");
        return;
    }
    let part = |out: &mut String, value: i64, unit: &str| {
        if value != 0 {
            number(out, value, unit);
        }
    };
    out.push('P');
    part(out, parts.years, "Y");
    part(out, parts.months, "M");
    part(out, parts.days, "D");
    if has_time(parts) {
        out.push('T');
    }
    part(out, parts.hours, "H");
    part(out, parts.minutes, "M");
    if parts.seconds != 0 || parts.micros != 0 {
        if parts.seconds < 0 || parts.micros < 0 {
            out.push('-');
        }
        seconds(out, parts, false);
        out.push('S');
    }
}

fn sql_standard(out: &mut String, parts: &Parts) {
    let has_months = parts.years != 0 || parts.months != 0;
    let has_day = parts.days != 0;
    let has_time = has_time(parts);
    let is_negative = parts.years < 0 || parts.months < 0 || parts.days < 0 || has_negative_time(parts);
    let is_positive = parts.years > 0
        || parts.months > 0
        || parts.days > 0
        || parts.hours > 0
        || parts.minutes > 0
        || parts.seconds > 0
        || parts.micros > 0;
    let time = |out: &mut String| {
        number(out, parts.hours.abs(), ":");
        two(out, parts.minutes.abs());
        out.push(':');
        seconds(out, parts, true);
    };
    if !is_negative && !is_positive {
        out.push('0');
        return;
    }
    // The standard knows years and months, or days and times, and one sign.
    if is_negative && is_positive || has_months && (has_day || has_time) {
        let sign = |is_negative: bool| if is_negative { '-' } else { '+' };
        out.push(sign(parts.years < 0 || parts.months < 0));
        let _ = write!(out, "{}-{} ", parts.years.abs(), parts.months.abs());
        out.push(sign(parts.days < 0));
        number(out, parts.days.abs(), " ");
        out.push(sign(has_negative_time(parts)));
        time(out);
        return;
    }
    if is_negative {
        out.push('-');
    }
    if has_months {
        let _ = write!(out, "{}-{}", parts.years.abs(), parts.months.abs());
        return;
    }
    if has_day {
        number(out, parts.days.abs(), " ");
    }
    time(out);
}
