//! Intervals: months, days and microseconds, of which none is made of another unless asked for. They are compared as if a
//! month had 30 days and a day 24 hours, so that `1 mon` equals `30 days`.

use std::cmp::Ordering;

use longshore_value::times::{self, INTERVAL_BYTES};

use crate::calendar::{MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};
use crate::error::{Result, TimeError, TimeErrorKind};

const MONTHS_PER_YEAR: i64 = 12;
const DAYS_PER_MONTH: i32 = 30;
const SECONDS_PER_DAY: f64 = 86_400.0;

/// An interval.
#[derive(Debug, Clone, Copy, Default)]
pub struct Interval {
    /// Months, with years.
    pub months: i32,
    /// Days, with weeks.
    pub days: i32,
    /// Everything below.
    pub micros: i64,
}

/// An interval with its parts by name: years and months of its months, hours to microseconds of its microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parts {
    /// Years.
    pub years: i64,
    /// Months of the year.
    pub months: i64,
    /// Days.
    pub days: i64,
    /// Hours.
    pub hours: i64,
    /// Minutes of the hour.
    pub minutes: i64,
    /// Seconds of the minute.
    pub seconds: i64,
    /// Microseconds of the second.
    pub micros: i64,
}

impl PartialEq for Interval {
    fn eq(&self, other: &Self) -> bool {
        self.total() == other.total()
    }
}

impl Eq for Interval {}

impl PartialOrd for Interval {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Interval {
    fn cmp(&self, other: &Self) -> Ordering {
        self.total().cmp(&other.total())
    }
}

fn out_of_range() -> TimeError {
    TimeError::out_of_range("interval")
}

impl Interval {
    /// An interval of these parts.
    #[must_use]
    pub const fn new(months: i32, days: i32, micros: i64) -> Self {
        Self { months, days, micros }
    }

    /// Microseconds, if a month has 30 days and a day 24 hours.
    #[must_use]
    pub fn total(self) -> i128 {
        times::interval_total(self.months, self.days, self.micros)
    }

    /// Bytes that are in the order of intervals: the total, then what tells equal ones apart.
    #[must_use]
    pub fn to_key(self) -> [u8; INTERVAL_BYTES] {
        times::interval_key(self.months, self.days, self.micros)
    }

    /// The interval of a key; `None` if it is none.
    #[must_use]
    pub fn of_key(key: &[u8]) -> Option<Self> {
        let (months, days, micros) = times::interval_of_key(key)?;
        Some(Self::new(months, days, micros))
    }

    /// Its parts by name.
    #[must_use]
    pub fn parts(self) -> Parts {
        let months = i64::from(self.months);
        Parts {
            years: months / MONTHS_PER_YEAR,
            months: months % MONTHS_PER_YEAR,
            days: self.days.into(),
            hours: self.micros / MICROS_PER_HOUR,
            minutes: self.micros / MICROS_PER_MINUTE % 60,
            seconds: self.micros / MICROS_PER_SECOND % 60,
            micros: self.micros % MICROS_PER_SECOND,
        }
    }

    /// The interval of parts by name.
    ///
    /// # Errors
    ///
    /// "interval out of range".
    pub fn of_parts(parts: &Parts) -> Result<Self> {
        let months = parts.years.checked_mul(MONTHS_PER_YEAR).and_then(|years| years.checked_add(parts.months));
        let micros = parts.hours.checked_mul(MICROS_PER_HOUR).and_then(|micros| {
            let below = parts.minutes * MICROS_PER_MINUTE + parts.seconds * MICROS_PER_SECOND + parts.micros;
            micros.checked_add(below)
        });
        let months = months.and_then(|months| i32::try_from(months).ok());
        match (months, i32::try_from(parts.days).ok(), micros) {
            (Some(months), Some(days), Some(micros)) => Ok(Self::new(months, days, micros)),
            _ => Err(out_of_range()),
        }
    }

    /// The sum.
    ///
    /// # Errors
    ///
    /// "interval out of range".
    pub fn plus(self, other: Self) -> Result<Self> {
        let months = self.months.checked_add(other.months);
        let days = self.days.checked_add(other.days);
        Self::checked(months, days, self.micros.checked_add(other.micros))
    }

    /// The difference.
    ///
    /// # Errors
    ///
    /// "interval out of range".
    pub fn minus(self, other: Self) -> Result<Self> {
        let months = self.months.checked_sub(other.months);
        let days = self.days.checked_sub(other.days);
        Self::checked(months, days, self.micros.checked_sub(other.micros))
    }

    /// The opposite.
    ///
    /// # Errors
    ///
    /// "interval out of range".
    pub fn negated(self) -> Result<Self> {
        Self::checked(self.months.checked_neg(), self.days.checked_neg(), self.micros.checked_neg())
    }

    /// The interval of parts that may be too large for one.
    ///
    /// # Errors
    ///
    /// "interval out of range".
    pub fn of_wide(months: i128, days: i128, micros: i128) -> Result<Self> {
        Self::checked(months.try_into().ok(), days.try_into().ok(), micros.try_into().ok())
    }

    fn checked(months: Option<i32>, days: Option<i32>, micros: Option<i64>) -> Result<Self> {
        match (months, days, micros) {
            (Some(months), Some(days), Some(micros)) => Ok(Self::new(months, days, micros)),
            _ => Err(out_of_range()),
        }
    }

    /// So many times the interval. Fractions of months become days, those of days microseconds.
    ///
    /// # Errors
    ///
    /// "interval out of range".
    pub fn times(self, factor: f64) -> Result<Self> {
        self.scaled(|part| part * factor)
    }

    /// The interval divided by a number.
    ///
    /// # Errors
    ///
    /// Division by zero, and "interval out of range".
    pub fn divided(self, divisor: f64) -> Result<Self> {
        if divisor == 0.0 {
            return Err(TimeError::new(TimeErrorKind::DivisionByZero, "division by zero"));
        }
        self.scaled(|part| part / divisor)
    }

    fn scaled(self, scale: impl Fn(f64) -> f64) -> Result<Self> {
        let whole = |value: f64| {
            let fits = value >= f64::from(i32::MIN) && value < -f64::from(i32::MIN);
            if fits { Ok(value as i32) } else { Err(out_of_range()) }
        };
        let (months, days) = (scale(f64::from(self.months)), scale(f64::from(self.days)));
        let (whole_months, mut whole_days) = (whole(months)?, whole(days)?);
        // What is lost of whole numbers by binary fractions comes back by rounding to microseconds.
        let rounded = |value: f64| (value * 1e6).round_ties_even() / 1e6;
        let rest_days = rounded((months - f64::from(whole_months)) * f64::from(DAYS_PER_MONTH));
        let mut rest_seconds =
            rounded((days - f64::from(whole_days) + rest_days - rest_days.trunc()) * SECONDS_PER_DAY);
        if rest_seconds.abs() >= SECONDS_PER_DAY {
            let more = (rest_seconds / SECONDS_PER_DAY).trunc();
            whole_days = whole_days.checked_add(more as i32).ok_or_else(out_of_range)?;
            rest_seconds -= more * SECONDS_PER_DAY;
        }
        whole_days = whole_days.checked_add(rest_days as i32).ok_or_else(out_of_range)?;
        let micros = (scale(self.micros as f64) + rest_seconds * 1e6).round_ties_even();
        if !(micros >= i64::MIN as f64 && micros < -(i64::MIN as f64)) {
            return Err(out_of_range());
        }
        Ok(Self::new(whole_months, whole_days, micros as i64))
    }

    /// `justify_hours`: each 24 hours become a day.
    ///
    /// # Errors
    ///
    /// "interval out of range".
    pub fn justify_hours(self) -> Result<Self> {
        let days = i64::from(self.days) + self.micros / MICROS_PER_DAY;
        let days = i32::try_from(days).map_err(|_| out_of_range())?;
        Ok(Self { days, micros: self.micros % MICROS_PER_DAY, ..self }.with_days_and_micros_of_one_sign())
    }

    /// `justify_days`: each 30 days become a month.
    ///
    /// # Errors
    ///
    /// "interval out of range".
    pub fn justify_days(self) -> Result<Self> {
        let months = self.months.checked_add(self.days / DAYS_PER_MONTH).ok_or_else(out_of_range)?;
        let mut result = Self { months, days: self.days % DAYS_PER_MONTH, ..self };
        if result.months > 0 && result.days < 0 {
            result.days += DAYS_PER_MONTH;
            result.months -= 1;
        } else if result.months < 0 && result.days > 0 {
            result.days -= DAYS_PER_MONTH;
            result.months += 1;
        }
        Ok(result)
    }

    /// `justify_interval`: both, and all parts get one sign.
    ///
    /// # Errors
    ///
    /// "interval out of range".
    pub fn justify_interval(self) -> Result<Self> {
        let days = i64::from(self.days) + self.micros / MICROS_PER_DAY;
        let months = i64::from(self.months) + days / i64::from(DAYS_PER_MONTH);
        let months = i32::try_from(months).map_err(|_| out_of_range())?;
        let days = (days % i64::from(DAYS_PER_MONTH)) as i32;
        let mut result = Self::new(months, days, self.micros % MICROS_PER_DAY);
        let below = (result.days, result.micros);
        if result.months > 0 && below < (0, 0) {
            result.days += DAYS_PER_MONTH;
            result.months -= 1;
        } else if result.months < 0 && below > (0, 0) {
            result.days -= DAYS_PER_MONTH;
            result.months += 1;
        }
        Ok(result.with_days_and_micros_of_one_sign())
    }

    fn with_days_and_micros_of_one_sign(mut self) -> Self {
        if self.days > 0 && self.micros < 0 {
            self.micros += MICROS_PER_DAY;
            self.days -= 1;
        } else if self.days < 0 && self.micros > 0 {
            self.micros -= MICROS_PER_DAY;
            self.days += 1;
        }
        self
    }
}

/// Which fields a type `interval` keeps: `interval year to month`, `interval(3)`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct IntervalType {
    /// The first and the last field; without them all.
    pub fields: Option<(IntervalField, IntervalField)>,
    /// Digits of fractions of a second.
    pub precision: Option<u8>,
}

/// A field of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IntervalField {
    /// Years.
    Year,
    /// Months.
    Month,
    /// Days.
    Day,
    /// Hours.
    Hour,
    /// Minutes.
    Minute,
    /// Seconds.
    Second,
}

impl IntervalType {
    /// The interval without the fields that the type has not, and with rounded seconds.
    ///
    /// # Errors
    ///
    /// "interval out of range".
    pub fn adjusted(self, interval: Interval) -> Result<Interval> {
        let Interval { months, days, micros } = interval;
        let whole = |unit: i64| micros / unit * unit;
        let cut = match self.fields.map(|(_, last)| last) {
            Some(IntervalField::Year) => Interval::new(months / 12 * 12, 0, 0),
            Some(IntervalField::Month) => Interval::new(months, 0, 0),
            Some(IntervalField::Day) => Interval::new(months, days, 0),
            Some(IntervalField::Hour) => Interval::new(months, days, whole(MICROS_PER_HOUR)),
            Some(IntervalField::Minute) => Interval::new(months, days, whole(MICROS_PER_MINUTE)),
            Some(IntervalField::Second) | None => interval,
        };
        let Some(precision) = self.precision.filter(|precision| *precision < 6) else { return Ok(cut) };
        let micros = times::rounded(cut.micros, precision).ok_or_else(out_of_range)?;
        Ok(Interval { micros, ..cut })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_intervals() {
        let all = [
            Interval::new(i32::MIN, i32::MIN, i64::MIN),
            Interval::new(-1, 0, 0),
            Interval::new(0, -1, 5),
            Interval::new(0, 0, 0),
            Interval::new(0, 0, 1),
            Interval::new(0, 29, 0),
            Interval::new(1, 0, 0),
            Interval::new(1, 0, 1),
            Interval::new(i32::MAX, i32::MAX, i64::MAX),
        ];
        for pair in all.windows(2) {
            assert!(pair[0].to_key() < pair[1].to_key(), "{pair:?}");
            assert!(pair[0] < pair[1], "{pair:?}");
        }
        for interval in all {
            let back = Interval::of_key(&interval.to_key()).unwrap();
            assert_eq!((back.months, back.days, back.micros), (interval.months, interval.days, interval.micros));
        }
        assert_eq!(Interval::new(1, 0, 0), Interval::new(0, 30, 0));
    }

    #[test]
    fn intervals_are_justified() {
        let justified = Interval::new(0, 29, 26 * MICROS_PER_HOUR).justify_interval().unwrap();
        assert_eq!((justified.months, justified.days, justified.micros), (1, 0, 2 * MICROS_PER_HOUR));
        let justified = Interval::new(1, -1, MICROS_PER_HOUR).justify_interval().unwrap();
        assert_eq!((justified.months, justified.days, justified.micros), (0, 29, MICROS_PER_HOUR));
    }
}
