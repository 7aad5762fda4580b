//! The proleptic Gregorian calendar: days and years, Julian days, ISO weeks, and which days and timestamps there are.

use crate::error::{Result, TimeError};

/// Microseconds of a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Microseconds of a minute.
pub const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
/// Microseconds of an hour.
pub const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;
/// Microseconds of a day.
pub const MICROS_PER_DAY: i64 = 24 * MICROS_PER_HOUR;

/// The Julian day of 1970-01-01.
pub const EPOCH_JULIAN: i64 = 2_440_588;

/// The date `infinity`, and the date `-infinity`.
pub const DATE_INFINITY: i32 = i32::MAX;
/// The date `-infinity`.
pub const DATE_NEGATIVE_INFINITY: i32 = i32::MIN;
/// The timestamp `infinity`.
pub const TIMESTAMP_INFINITY: i64 = i64::MAX;
/// The timestamp `-infinity`.
pub const TIMESTAMP_NEGATIVE_INFINITY: i64 = i64::MIN;

/// The first date there is, 4714-11-24 BC.
pub const DATE_FIRST: i32 = -(EPOCH_JULIAN as i32);
/// The last date there is, 5874897-12-31.
pub const DATE_LAST: i32 = (2_147_483_493 - EPOCH_JULIAN) as i32;
/// The first timestamp there is.
pub const TIMESTAMP_FIRST: i64 = DATE_FIRST as i64 * MICROS_PER_DAY;
/// The last timestamp there is.
pub const TIMESTAMP_LAST: i64 = i64::MAX - 1;

/// Names of the months.
pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Names of the days, from Sunday.
pub(crate) const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Whether a date is neither `infinity` nor `-infinity`.
#[must_use]
pub const fn is_finite_date(days: i32) -> bool {
    days != DATE_INFINITY && days != DATE_NEGATIVE_INFINITY
}

/// Whether a timestamp is neither `infinity` nor `-infinity`.
#[must_use]
pub const fn is_finite(micros: i64) -> bool {
    micros != TIMESTAMP_INFINITY && micros != TIMESTAMP_NEGATIVE_INFINITY
}

/// Whether a year has a 29 February.
#[must_use]
pub const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days of a month, 1 to 12.
#[must_use]
pub const fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date; month and day may lie outside of their ranges, which moves the date on. Year 0 is
/// 1 BC. After Howard Hinnant's "chrono-compatible low-level date algorithms".
#[must_use]
pub const fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year + (month - 1).div_euclid(12);
    let month = (month - 1).rem_euclid(12) + 1;
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year + day - 1 - 719_468
}

/// Year, month and day of so many days since 1970-01-01: the inverse of [`days_of`].
#[must_use]
pub const fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + if month <= 2 { 1 } else { 0 }, month, day)
}

/// The day of the week, 0 for Sunday.
#[must_use]
pub const fn day_of_week(days: i64) -> i64 {
    (days + 4).rem_euclid(7)
}

/// The day of its year, from 1.
#[must_use]
pub const fn day_of_year(days: i64) -> i64 {
    days - days_of(civil(days).0, 1, 1) + 1
}

/// The first day of the first ISO week of a year.
#[must_use]
pub const fn iso_year_start(year: i64) -> i64 {
    let fourth = days_of(year, 1, 4);
    fourth - (day_of_week(fourth) + 6) % 7
}

/// ISO year and week of a day.
#[must_use]
pub const fn iso_week(days: i64) -> (i64, i64) {
    let year = civil(days).0;
    let year = if days >= iso_year_start(year + 1) {
        year + 1
    } else if days >= iso_year_start(year) {
        year
    } else {
        year - 1
    };
    (year, (days - iso_year_start(year)) / 7 + 1)
}

/// The day as a date, if there is one.
///
/// # Errors
///
/// "date out of range".
pub fn date(days: i64) -> Result<i32> {
    match i32::try_from(days) {
        Ok(date) if (DATE_FIRST..=DATE_LAST).contains(&date) => Ok(date),
        _ => Err(TimeError::out_of_range("date")),
    }
}

/// The microseconds as a timestamp, if there is one.
///
/// # Errors
///
/// "timestamp out of range".
pub fn timestamp(micros: i128) -> Result<i64> {
    match i64::try_from(micros) {
        Ok(micros) if (TIMESTAMP_FIRST..=TIMESTAMP_LAST).contains(&micros) => Ok(micros),
        _ => Err(TimeError::out_of_range("timestamp")),
    }
}

/// The timestamp at so many microseconds of a day.
///
/// # Errors
///
/// "timestamp out of range".
pub fn timestamp_of(days: i64, micros: i64) -> Result<i64> {
    timestamp(i128::from(days) * i128::from(MICROS_PER_DAY) + i128::from(micros))
}

/// Days since 1970-01-01 and microseconds of the day.
#[must_use]
pub const fn split(micros: i64) -> (i64, i64) {
    (micros.div_euclid(MICROS_PER_DAY), micros.rem_euclid(MICROS_PER_DAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_016, (2000, 2, 29)),
            (i64::from(DATE_FIRST), (-4713, 11, 24)),
            (i64::from(DATE_LAST), (5_874_897, 12, 31)),
        ] {
            assert_eq!(civil(days), date);
            assert_eq!(days_of(date.0, date.1, date.2), days);
        }
        assert_eq!(days_of(2000, 13, 1), days_of(2001, 1, 1));
        assert_eq!(days_of(2000, 0, 1), days_of(1999, 12, 1));
        assert_eq!(iso_week(days_of(2005, 1, 1)), (2004, 53));
        assert_eq!(iso_week(days_of(2008, 12, 29)), (2009, 1));
        assert_eq!(day_of_week(0), 4);
    }
}
