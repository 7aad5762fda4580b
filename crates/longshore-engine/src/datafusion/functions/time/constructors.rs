//! Functions that make dates, times, timestamps and intervals of numbers, and that change zones.

use longshore_time::calendar::{
    MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, TIMESTAMP_INFINITY,
    TIMESTAMP_NEGATIVE_INFINITY, date, days_of, days_of_month, timestamp,
};
use longshore_time::error::{Result, TimeError};
use longshore_time::interval::Interval;
use longshore_time::moment::to_utc;
use longshore_time::read::numeric_zone;
use longshore_time::settings::to_local;
use longshore_time::zone::Zone;
use longshore_time::zone::abbreviations::Abbreviation;

use super::arithmetic::{date_and_time, date_and_timetz};
use super::kinds::Kind::{
    Date, Float, Int4, Interval as IntervalKind, Text, Time, TimeTz as TimeTzKind, Timestamp, TimestampTz,
};
use super::overloads::{Overload, overload};
use super::session::SessionTime;
use super::values::Value;

/// Functions by their names.
pub(super) const FUNCTIONS: &[(&str, &[Overload])] = &[
    ("make_date", &[overload(&[Int4, Int4, Int4], Date, |values, _| make_date(values).map(Value::Date))]),
    ("make_time", &[overload(&[Int4, Int4, Float], Time, |values, _| make_time(values).map(Value::Time))]),
    (
        "make_timestamp",
        &[overload(&[Int4, Int4, Int4, Int4, Int4, Float], Timestamp, |values, _| {
            make_timestamp(values).map(Value::Timestamp)
        })],
    ),
    (
        "make_timestamptz",
        &[
            overload(&[Int4, Int4, Int4, Int4, Int4, Float], TimestampTz, |values, session| {
                to_utc(&session.settings().zone, make_timestamp(values)?).map(Value::TimestampTz)
            }),
            overload(&[Int4, Int4, Int4, Int4, Int4, Float, Text], TimestampTz, |values, _| {
                let local = make_timestamp(values)?;
                let west = NamedZone::of(text(values, 6))?.west_of_local(local);
                timestamp(i128::from(local) + i128::from(west) * i128::from(MICROS_PER_SECOND)).map(Value::TimestampTz)
            }),
        ],
    ),
    ("make_interval", MAKE_INTERVAL),
    (
        "timestamptz",
        &[
            overload(&[Date, Time], TimestampTz, |values, session| match date_and_time(values, session)? {
                Value::Timestamp(local) => to_utc(&session.settings().zone, local).map(Value::TimestampTz),
                _ => Ok(Value::Null),
            }),
            overload(&[Date, TimeTzKind], TimestampTz, date_and_timetz),
        ],
    ),
    ("timezone", TIMEZONE),
];

/// `make_interval` with any number of arguments.
const MAKE_INTERVAL: &[Overload] = &[
    overload(&[], IntervalKind, make_interval),
    overload(&[Int4], IntervalKind, make_interval),
    overload(&[Int4, Int4], IntervalKind, make_interval),
    overload(&[Int4, Int4, Int4], IntervalKind, make_interval),
    overload(&[Int4, Int4, Int4, Int4], IntervalKind, make_interval),
    overload(&[Int4, Int4, Int4, Int4, Int4], IntervalKind, make_interval),
    overload(&[Int4, Int4, Int4, Int4, Int4, Int4], IntervalKind, make_interval),
    overload(&[Int4, Int4, Int4, Int4, Int4, Int4, Float], IntervalKind, make_interval),
];

fn int(values: &[Value<'_>], at: usize) -> i64 {
    if let Some(Value::Int(value)) = values.get(at) { *value } else { 0 }
}

fn float(values: &[Value<'_>], at: usize) -> f64 {
    if let Some(Value::Float(value)) = values.get(at) { *value } else { 0.0 }
}

fn text<'v>(values: &'v [Value<'_>], at: usize) -> &'v str {
    if let Some(Value::Text(text)) = values.get(at) { text } else { "" }
}

fn field_out_of_range(what: &str, fields: &str) -> TimeError {
    TimeError::out_of_range(what).about(format!("{what} field value out of range: {fields}"))
}

fn make_date(values: &[Value<'_>]) -> Result<i32> {
    let (year, month, day) = (int(values, 0), int(values, 1), int(values, 2));
    // Years before Christ are negative, and there is no year 0.
    let counted = if year < 0 { year + 1 } else { year };
    let exists = year != 0 && (1..=12).contains(&month) && (1..=days_of_month(counted, month)).contains(&day);
    let fields = || format!("{year}-{month:02}-{day:02}");
    if !exists {
        return Err(field_out_of_range("date", &fields()));
    }
    let out_of_range = |error: TimeError| error.about(format!("date out of range: {}", fields()));
    date(days_of(counted, month, day)).map_err(out_of_range)
}

fn make_time(values: &[Value<'_>]) -> Result<i64> {
    let (hour, minute, second) = (int(values, 0), int(values, 1), float(values, 2));
    let micros = (second * 1e6).round_ties_even();
    let is_in_range = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=6e7).contains(&micros);
    if is_in_range {
        let time = hour * MICROS_PER_HOUR + minute * MICROS_PER_MINUTE + micros as i64;
        if time <= MICROS_PER_DAY {
            return Ok(time);
        }
    }
    Err(field_out_of_range("time", &format!("{hour}:{minute:02}:{second:02}")))
}

fn make_timestamp(values: &[Value<'_>]) -> Result<i64> {
    let days = make_date(values)?;
    let time = make_time(&values[3..])?;
    timestamp(i128::from(days) * i128::from(MICROS_PER_DAY) + i128::from(time))
}

fn make_interval(values: &[Value<'_>], _: &SessionTime<'_>) -> Result<Value<'static>> {
    let out_of_range = || TimeError::out_of_range("interval");
    let seconds = float(values, 6);
    let micros = (seconds * 1e6).round_ties_even();
    if !micros.is_finite() || micros.abs() >= 9.3e18 {
        return Err(out_of_range());
    }
    let months = int(values, 0) * 12 + int(values, 1);
    let days = int(values, 2) * 7 + int(values, 3);
    let below = int(values, 4) * MICROS_PER_HOUR + int(values, 5) * MICROS_PER_MINUTE;
    match (i32::try_from(months), i32::try_from(days), below.checked_add(micros as i64)) {
        (Ok(months), Ok(days), Some(micros)) => Ok(Value::Interval(Interval::new(months, days, micros))),
        _ => Err(out_of_range()),
    }
}

/// `to_timestamp` of seconds since 1970.
pub(super) fn of_epoch(seconds: f64) -> Result<i64> {
    if seconds.is_infinite() {
        return Ok(if seconds > 0.0 { TIMESTAMP_INFINITY } else { TIMESTAMP_NEGATIVE_INFINITY });
    }
    if seconds.is_nan() {
        return Err(TimeError::out_of_range("timestamp").about("timestamp cannot be NaN"));
    }
    timestamp((seconds * 1e6).round_ties_even() as i128)
        .map_err(|error| error.about(format!("timestamp out of range: \"{seconds}\"")))
}

/// AT TIME ZONE, which is the function `timezone(zone, value)`.
const TIMEZONE: &[Overload] = &[
    overload(&[Text, TimestampTz], Timestamp, |values, _| match &values[1] {
        Value::TimestampTz(micros) => Ok(Value::Timestamp(NamedZone::of(text(values, 0))?.local(*micros)?)),
        _ => Ok(Value::Null),
    }),
    overload(&[Text, Timestamp], TimestampTz, |values, _| match &values[1] {
        Value::Timestamp(micros) => Ok(Value::TimestampTz(NamedZone::of(text(values, 0))?.utc(*micros)?)),
        _ => Ok(Value::Null),
    }),
    overload(&[Text, TimeTzKind], TimeTzKind, |values, session| match &values[1] {
        Value::TimeTz(time) => {
            let zone = NamedZone::of(text(values, 0))?;
            Ok(Value::TimeTz(time.at_offset(zone.west_at(session.context().now))))
        }
        _ => Ok(Value::Null),
    }),
    overload(&[IntervalKind, TimestampTz], Timestamp, |values, _| match values {
        [Value::Interval(offset), Value::TimestampTz(micros)] => {
            moved(*micros, offset_of(*offset)?).map(Value::Timestamp)
        }
        _ => Ok(Value::Null),
    }),
    overload(&[IntervalKind, Timestamp], TimestampTz, |values, _| match values {
        [Value::Interval(offset), Value::Timestamp(micros)] => {
            moved(*micros, -offset_of(*offset)?).map(Value::TimestampTz)
        }
        _ => Ok(Value::Null),
    }),
    overload(&[IntervalKind, TimeTzKind], TimeTzKind, |values, _| match values {
        [Value::Interval(offset), Value::TimeTz(time)] => {
            let west = -(offset_of(*offset)? / MICROS_PER_SECOND) as i32;
            Ok(Value::TimeTz(time.at_offset(west)))
        }
        _ => Ok(Value::Null),
    }),
];

/// A timestamp so many microseconds later; infinite ones stay.
fn moved(micros: i64, by: i64) -> Result<i64> {
    if !longshore_time::calendar::is_finite(micros) {
        return Ok(micros);
    }
    timestamp(i128::from(micros) + i128::from(by))
}

/// The offset that an interval is, in microseconds east of UTC.
fn offset_of(interval: Interval) -> Result<i64> {
    if interval.months != 0 || interval.days != 0 {
        let mut shown = String::new();
        longshore_time::write::interval(&mut shown, interval, longshore_time::settings::IntervalStyle::Postgres);
        return Err(TimeError::invalid_parameter(format!(
            "interval time zone \"{shown}\" must not include months or days"
        )));
    }
    Ok(interval.micros)
}

/// What AT TIME ZONE names.
enum NamedZone {
    Abbreviation(Abbreviation, String),
    Zone(Zone),
    /// Seconds west of UTC.
    Offset(i32),
}

impl NamedZone {
    fn of(name: &str) -> Result<Self> {
        if let Some(abbreviation) = Abbreviation::named(name) {
            return Ok(Self::Abbreviation(abbreviation, name.to_owned()));
        }
        if let Some(zone) = Zone::named(name) {
            return Ok(Self::Zone(zone));
        }
        match numeric_zone(name) {
            Some(west) => west.map(Self::Offset),
            None => Err(TimeError::invalid_parameter(format!("time zone \"{name}\" not recognized"))),
        }
    }

    fn local(&self, micros: i64) -> Result<i64> {
        match self {
            Self::Zone(zone) | Self::Abbreviation(Abbreviation::Of(zone), _) => Ok(to_local(zone, micros)),
            Self::Abbreviation(Abbreviation::Fixed { east, .. }, _) => {
                moved(micros, i64::from(*east) * MICROS_PER_SECOND)
            }
            Self::Offset(west) => moved(micros, -i64::from(*west) * MICROS_PER_SECOND),
        }
    }

    fn utc(&self, micros: i64) -> Result<i64> {
        if !longshore_time::calendar::is_finite(micros) {
            return Ok(micros);
        }
        moved(micros, i64::from(self.west_of_local(micros)) * MICROS_PER_SECOND)
    }

    /// Seconds west of UTC at a time of its own clock.
    fn west_of_local(&self, micros: i64) -> i32 {
        let seconds = micros.div_euclid(MICROS_PER_SECOND);
        match self {
            Self::Zone(zone) => -zone.offset_of_local(seconds),
            Self::Abbreviation(abbreviation, name) => -abbreviation.offset_of_local(name, seconds),
            Self::Offset(west) => *west,
        }
    }

    /// Seconds west of UTC at a moment.
    fn west_at(&self, micros: i64) -> i32 {
        let seconds = micros.div_euclid(MICROS_PER_SECOND);
        match self {
            Self::Zone(zone) | Self::Abbreviation(Abbreviation::Of(zone), _) => -zone.offset(seconds),
            Self::Abbreviation(Abbreviation::Fixed { east, .. }, _) => -east,
            Self::Offset(west) => *west,
        }
    }
}
