//! `date_trunc` and `date_bin`: the beginning of the unit, or of the stride, that a value lies in.

use crate::calendar::{
    MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, civil, days_of, is_finite, iso_week,
    iso_year_start, split, timestamp, timestamp_of,
};
use crate::error::{Result, TimeError, TimeErrorKind};
use crate::interval::Interval;
use crate::moment::to_utc;
use crate::part::Source;
use crate::settings::to_local;
use crate::unit::{Unit, not_recognized, not_supported};
use crate::zone::Zone;

/// The unit that a word names, if values of the type can be cut to it.
///
/// # Errors
///
/// Words that are no units, and units that cannot be cut to.
pub fn unit(word: &str, source: Source) -> Result<Unit> {
    let unit = Unit::of_interval(&word.to_ascii_lowercase()).ok_or_else(|| not_recognized(word, source.type_name()))?;
    let is_cut = match unit {
        Unit::Week => source != Source::Interval,
        Unit::Zone | Unit::ZoneHour | Unit::ZoneMinute => false,
        _ => true,
    };
    if is_cut { Ok(unit) } else { Err(not_supported(word, source.type_name())) }
}

/// `date_trunc` of a timestamp without zone.
///
/// # Errors
///
/// "timestamp out of range".
pub fn of_timestamp(unit: Unit, micros: i64) -> Result<i64> {
    if !is_finite(micros) {
        return Ok(micros);
    }
    let length = match unit {
        Unit::Microsecond => return Ok(micros),
        Unit::Millisecond => 1000,
        Unit::Second => MICROS_PER_SECOND,
        Unit::Minute => MICROS_PER_MINUTE,
        Unit::Hour => MICROS_PER_HOUR,
        Unit::Day => MICROS_PER_DAY,
        unit => return timestamp_of(start(unit, split(micros).0), 0),
    };
    Ok(micros - micros.rem_euclid(length))
}

/// The first day of the unit that a day lies in.
fn start(unit: Unit, days: i64) -> i64 {
    let (year, month, _) = civil(days);
    let down = |length: i64| {
        // Centuries and millennia begin with the year 1, or 1 BC ends one.
        if year > 0 {
            (year + length - 1) / length * length - length + 1
        } else {
            -((length - year) / length) * length + 1
        }
    };
    match unit {
        Unit::Week => {
            let (year, week) = iso_week(days);
            iso_year_start(year) + (week - 1) * 7
        }
        Unit::Month => days_of(year, month, 1),
        Unit::Quarter => days_of(year, (month - 1) / 3 * 3 + 1, 1),
        Unit::Decade => days_of(year.div_euclid(10) * 10, 1, 1),
        Unit::Century => days_of(down(100), 1, 1),
        Unit::Millennium => days_of(down(1000), 1, 1),
        _ => days_of(year, 1, 1),
    }
}

/// `date_trunc` of a timestamp in UTC by the clock of `zone`.
///
/// # Errors
///
/// "timestamp out of range".
pub fn of_timestamptz(unit: Unit, micros: i64, zone: &Zone) -> Result<i64> {
    if !is_finite(micros) {
        return Ok(micros);
    }
    let local = to_local(zone, micros);
    let cut = of_timestamp(unit, local)?;
    let is_below_day = matches!(unit, Unit::Microsecond | Unit::Millisecond | Unit::Second | Unit::Minute | Unit::Hour);
    if is_below_day {
        // The offset is the same: where an hour comes twice, it stays in its own.
        return timestamp(i128::from(micros) - i128::from(local - cut));
    }
    to_utc(zone, cut)
}

/// `date_trunc` of an interval.
///
/// # Errors
///
/// "interval out of range".
pub fn of_interval(unit: Unit, interval: Interval) -> Result<Interval> {
    let Interval { months, days, micros } = interval;
    let of_months = |length: i32| Interval::new(months / length * length, 0, 0);
    let of_micros = |length: i64| Interval::new(months, days, micros / length * length);
    Ok(match unit {
        Unit::Millennium => of_months(12_000),
        Unit::Century => of_months(1200),
        Unit::Decade => of_months(120),
        Unit::Year => of_months(12),
        Unit::Quarter => of_months(3),
        Unit::Month => of_months(1),
        Unit::Day => Interval::new(months, days, 0),
        Unit::Hour => of_micros(MICROS_PER_HOUR),
        Unit::Minute => of_micros(MICROS_PER_MINUTE),
        Unit::Second => of_micros(MICROS_PER_SECOND),
        Unit::Millisecond => of_micros(1000),
        _ => interval,
    })
}

/// `date_bin`: the last moment not after `micros` that is a whole number of strides from `origin`.
///
/// # Errors
///
/// Strides with months, or not above zero; values out of range.
pub fn bin(stride: Interval, micros: i64, origin: i64) -> Result<i64> {
    let wrong = |message: &str| Err(TimeError::new(TimeErrorKind::OutOfRange, message));
    if !is_finite(micros) {
        return Ok(micros);
    }
    if !is_finite(origin) {
        return wrong("origin out of range");
    }
    if stride.months != 0 {
        return Err(TimeError::unsupported("timestamps cannot be binned into intervals containing months or years"));
    }
    let length = i64::try_from(stride.total()).map_err(|_| TimeError::out_of_range("interval"))?;
    if length <= 0 {
        return wrong("stride must be greater than zero");
    }
    let distance = micros.checked_sub(origin).ok_or_else(|| TimeError::out_of_range("interval"))?;
    timestamp(i128::from(origin) + i128::from(distance.div_euclid(length)) * i128::from(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_begin_where_postgresql_begins_them() {
        let cut = |unit, year| civil(start(unit, days_of(year, 5, 5))).0;
        for (unit, year, expected) in [
            (Unit::Millennium, 1970, 1001),
            (Unit::Millennium, 2000, 1001),
            (Unit::Millennium, 2001, 2001),
            (Unit::Millennium, 0, -999),
            (Unit::Century, 2004, 2001),
            (Unit::Century, 1900, 1801),
            (Unit::Century, 0, -99),
            (Unit::Century, -54, -99),
            (Unit::Decade, 1993, 1990),
            (Unit::Decade, 4, 0),
            (Unit::Decade, -1, -10),
        ] {
            assert_eq!(cut(unit, year), expected, "{unit:?} of {year}");
        }
    }
}
