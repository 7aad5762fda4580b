//! What is computed with dates, times and timestamps: sums with intervals, differences, ages, and changes of zone.

use std::cmp::Ordering;

use longshore_value::times::{self, TIMETZ_BYTES};

use crate::calendar::{
    DATE_INFINITY, DATE_NEGATIVE_INFINITY, MICROS_PER_DAY, MICROS_PER_SECOND, TIMESTAMP_INFINITY,
    TIMESTAMP_NEGATIVE_INFINITY, civil, date, days_of, days_of_month, is_finite, is_finite_date, split, timestamp,
    timestamp_of,
};
use crate::error::{Result, TimeError, TimeErrorKind};
use crate::interval::Interval;
use crate::settings::to_local;
use crate::zone::Zone;

/// A time of day with the offset of its zone. Compared by the moment in UTC, then by the zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeTz {
    /// Microseconds since midnight of its own clock.
    pub micros: i64,
    /// Seconds west of UTC.
    pub west: i32,
}

impl TimeTz {
    /// Microseconds since midnight in UTC, perhaps outside of the day.
    #[must_use]
    pub fn utc(self) -> i64 {
        self.micros + i64::from(self.west) * MICROS_PER_SECOND
    }

    /// Bytes that are in the order of such times.
    #[must_use]
    pub fn to_key(self) -> [u8; TIMETZ_BYTES] {
        times::timetz_key(self.micros, self.west)
    }

    /// The time of a key; `None` if it is none.
    #[must_use]
    pub fn of_key(key: &[u8]) -> Option<Self> {
        let (micros, west) = times::timetz_of_key(key)?;
        Some(Self { micros, west })
    }

    /// The same moment of the day with another offset.
    #[must_use]
    pub fn at_offset(self, west: i32) -> Self {
        let micros = (self.utc() - i64::from(west) * MICROS_PER_SECOND).rem_euclid(MICROS_PER_DAY);
        Self { micros, west }
    }
}

impl PartialOrd for TimeTz {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TimeTz {
    fn cmp(&self, other: &Self) -> Ordering {
        self.utc().cmp(&other.utc()).then(self.west.cmp(&other.west))
    }
}

/// A timestamp without zone as the moment of `zone` that it names.
///
/// # Errors
///
/// "timestamp out of range".
pub fn to_utc(zone: &Zone, local: i64) -> Result<i64> {
    if !is_finite(local) {
        return Ok(local);
    }
    let east = zone.offset_of_local(local.div_euclid(MICROS_PER_SECOND));
    timestamp(i128::from(local) - i128::from(east) * i128::from(MICROS_PER_SECOND))
}

/// The beginning of a date; of `infinity` the same.
///
/// # Errors
///
/// Dates that no timestamp reaches.
pub fn midnight(days: i32) -> Result<i64> {
    if !is_finite_date(days) {
        let is_late = days == DATE_INFINITY;
        return Ok(if is_late { TIMESTAMP_INFINITY } else { TIMESTAMP_NEGATIVE_INFINITY });
    }
    let out_of_range = |_| TimeError::new(TimeErrorKind::OutOfRange, "date out of range for timestamp");
    timestamp_of(days.into(), 0).map_err(out_of_range)
}

/// The date of a timestamp.
///
/// # Errors
///
/// "date out of range".
pub fn date_of(micros: i64) -> Result<i32> {
    match micros {
        TIMESTAMP_INFINITY => Ok(DATE_INFINITY),
        TIMESTAMP_NEGATIVE_INFINITY => Ok(DATE_NEGATIVE_INFINITY),
        micros => date(split(micros).0),
    }
}

/// A timestamp and an interval: months first, the day at most the last one of its month, then days, then the rest.
///
/// # Errors
///
/// "timestamp out of range".
pub fn plus(micros: i64, interval: Interval) -> Result<i64> {
    if !is_finite(micros) {
        return Ok(micros);
    }
    let (mut days, of_day) = split(micros);
    if interval.months != 0 {
        days = months_later(days, interval.months);
    }
    days += i64::from(interval.days);
    let moment = timestamp_of(days, of_day)?;
    timestamp(i128::from(moment) + i128::from(interval.micros))
}

/// A timestamp of a zone and an interval: months and days by the clock of the zone.
///
/// # Errors
///
/// "timestamp out of range".
pub fn plus_in(zone: &Zone, micros: i64, interval: Interval) -> Result<i64> {
    if !is_finite(micros) {
        return Ok(micros);
    }
    let mut moment = micros;
    for step in [Interval::new(interval.months, 0, 0), Interval::new(0, interval.days, 0)] {
        if step.months != 0 || step.days != 0 {
            moment = to_utc(zone, plus(to_local(zone, moment), step)?)?;
        }
    }
    timestamp(i128::from(moment) + i128::from(interval.micros))
}

fn months_later(days: i64, months: i32) -> i64 {
    let (year, month, day) = civil(days);
    let month = year * 12 + month - 1 + i64::from(months);
    let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
    days_of(year, month, day.min(days_of_month(year, month)))
}

/// The time between two timestamps, in days and below.
///
/// # Errors
///
/// Infinite timestamps, and "interval out of range".
pub fn minus(left: i64, right: i64) -> Result<Interval> {
    if !is_finite(left) || !is_finite(right) {
        return Err(TimeError::new(TimeErrorKind::OutOfRange, "cannot subtract infinite timestamps"));
    }
    let micros = i128::from(left) - i128::from(right);
    let day = i128::from(MICROS_PER_DAY);
    let days = i32::try_from(micros / day).map_err(|_| TimeError::out_of_range("interval"))?;
    Ok(Interval::new(0, days, (micros % day) as i64))
}

/// `age`: the time between two timestamps in years, months, days and below.
///
/// # Errors
///
/// Infinite timestamps.
pub fn age(later: i64, earlier: i64) -> Result<Interval> {
    if !is_finite(later) || !is_finite(earlier) {
        return Err(TimeError::out_of_range("timestamp"));
    }
    let is_reverse = later < earlier;
    let (from, to) = if is_reverse { (later, earlier) } else { (earlier, later) };
    let ((from_days, from_micros), (to_days, to_micros)) = (split(from), split(to));
    let ((from_year, from_month, from_day), (to_year, to_month, to_day)) = (civil(from_days), civil(to_days));
    let mut micros = to_micros - from_micros;
    let mut days = to_day - from_day;
    let mut months = (to_year - from_year) * 12 + to_month - from_month;
    if micros < 0 {
        micros += MICROS_PER_DAY;
        days -= 1;
    }
    while days < 0 {
        // Days of the month that the earlier one lies in.
        days += days_of_month(from_year, from_month);
        months -= 1;
    }
    let age = Interval::new(months as i32, days as i32, micros);
    if is_reverse { age.negated() } else { Ok(age) }
}

/// A time of day so much later or earlier; days do not count.
#[must_use]
pub fn time_plus(micros: i64, interval: Interval) -> i64 {
    (i128::from(micros) + i128::from(interval.micros)).rem_euclid(i128::from(MICROS_PER_DAY)) as i64
}

/// Whether two spans of time, each given by two ends in any order, have a moment in common; `OVERLAPS`. Spans are half
/// open, unless they have one moment only. `None` for SQL's NULL.
#[must_use]
pub fn overlaps<T: Ord + Copy>(first: (Option<T>, Option<T>), second: (Option<T>, Option<T>)) -> Option<bool> {
    let ordered = |(start, end): (Option<T>, Option<T>)| match (start, end) {
        (Some(start), Some(end)) => Some((start.min(end), Some(start.max(end)))),
        (Some(one), None) | (None, Some(one)) => Some((one, None)),
        (None, None) => None,
    };
    let ((start1, end1), (start2, end2)) = (ordered(first)?, ordered(second)?);
    match start1.cmp(&start2) {
        Ordering::Greater => within(start1, end1, end2),
        Ordering::Less => within(start2, end2, end1),
        Ordering::Equal => (end1.is_some() && end2.is_some()).then_some(true),
    }
}

/// Whether a span that starts later than another one starts before `end`, the other's end.
fn within<T: Ord + Copy>(start: T, own_end: Option<T>, end: Option<T>) -> Option<bool> {
    match end {
        Some(end) if start < end => Some(true),
        Some(_) if own_end.is_some() => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::MICROS_PER_HOUR;

    fn at(year: i64, month: i64, day: i64) -> i64 {
        timestamp_of(days_of(year, month, day), 0).unwrap()
    }

    #[test]
    fn months_end_with_their_last_day() {
        assert_eq!(plus(at(2024, 1, 31), Interval::new(1, 0, 0)), Ok(at(2024, 2, 29)));
        assert_eq!(plus(at(2024, 3, 31), Interval::new(-1, 1, 0)), Ok(at(2024, 3, 1)));
        assert_eq!(plus(TIMESTAMP_INFINITY, Interval::new(1, 0, 0)), Ok(TIMESTAMP_INFINITY));
        assert!(plus(at(2024, 1, 31), Interval::new(0, i32::MAX, 0)).is_err());
    }

    #[test]
    fn days_of_a_zone_have_23_to_25_hours() {
        let york = Zone::named("America/New_York").unwrap();
        let noon = to_utc(&york, at(2024, 3, 9) + 12 * MICROS_PER_HOUR).unwrap();
        assert_eq!(plus_in(&york, noon, Interval::new(0, 1, 0)), Ok(noon + 23 * MICROS_PER_HOUR));
        assert_eq!(plus_in(&york, noon, Interval::new(0, 0, MICROS_PER_DAY)), Ok(noon + MICROS_PER_DAY));
    }

    #[test]
    fn ages_count_in_years() {
        let is = |later, earlier, months, days| {
            let age = age(later, earlier).unwrap();
            assert_eq!((age.months, age.days), (months, days));
        };
        is(at(2001, 4, 10), at(1957, 6, 13), 43 * 12 + 9, 27);
        is(at(1957, 6, 13), at(2001, 4, 10), -(43 * 12 + 9), -27);
        is(at(2024, 3, 1), at(2024, 1, 31), 1, 1);
    }

    #[test]
    fn keys_of_times_are_in_order() {
        let times = [
            TimeTz { micros: 0, west: -3600 },
            TimeTz { micros: 0, west: 0 },
            TimeTz { micros: MICROS_PER_HOUR, west: 0 },
            TimeTz { micros: 0, west: 3600 },
        ];
        for pair in times.windows(2) {
            assert!(pair[0].to_key() < pair[1].to_key(), "{pair:?}");
        }
        assert!(times.iter().all(|time| TimeTz::of_key(&time.to_key()) == Some(*time)));
    }
}
