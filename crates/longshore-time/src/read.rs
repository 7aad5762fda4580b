//! Values of their texts, in all forms that PostgreSQL takes.
//!
//! A text is cut into fields (`fields`), whose meaning depends on what stands before them (`date_time`, `interval`).
//! Not here: patterns that say which fields a text has (`pattern`).

mod date_time;
mod fields;
mod interval;
mod iso8601;
mod words;

use crate::calendar::{
    DATE_INFINITY, DATE_NEGATIVE_INFINITY, MICROS_PER_SECOND, TIMESTAMP_INFINITY, TIMESTAMP_NEGATIVE_INFINITY,
    date as checked_date, timestamp as checked_timestamp,
};
use crate::error::{Result, TimeError, TimeErrorKind};
use crate::interval::{Interval, IntervalType};
use crate::moment::TimeTz;
use crate::settings::{Context, IntervalStyle};
use date_time::{Moment, Wanted, decode};

/// Why a text is no value.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fault {
    Format,
    Field,
    /// A month or a day, which another `DateStyle` might take for something else.
    MonthOrDay,
    Zone,
    UnknownZone(String),
}

impl Fault {
    fn error(self, type_name: &str, text: &str) -> TimeError {
        let field =
            || TimeError::new(TimeErrorKind::OutOfRange, format!("date/time field value out of range: \"{text}\""));
        match self {
            Self::Format => TimeError::invalid_input(type_name, text),
            Self::Field => field(),
            Self::MonthOrDay => field().with_hint("Perhaps you need a different \"datestyle\" setting."),
            Self::Zone => TimeError::new(
                TimeErrorKind::ZoneDisplacement,
                format!("time zone displacement out of range: \"{text}\""),
            ),
            Self::UnknownZone(name) => TimeError::parameter(format!("time zone \"{name}\" not recognized")),
        }
    }
}

fn out_of_range(type_name: &str, text: &str) -> TimeError {
    TimeError::new(TimeErrorKind::OutOfRange, format!("{type_name} out of range: \"{text}\""))
}

/// A date in days since 1970-01-01. A time and a zone are taken, and do not count.
///
/// # Errors
///
/// A text that is no date, or none that there is.
pub fn date(text: &str, context: &Context<'_>) -> Result<i32> {
    match decode(text, Wanted::DateTime, context).map_err(|fault| fault.error("date", text))? {
        Moment::Infinity => Ok(DATE_INFINITY),
        Moment::NegativeInfinity => Ok(DATE_NEGATIVE_INFINITY),
        Moment::Epoch => Ok(0),
        Moment::Fields(fields) => checked_date(fields.days()).map_err(|_| out_of_range("date", text)),
    }
}

/// A timestamp without zone in microseconds since 1970-01-01. A zone is taken, and does not count.
///
/// # Errors
///
/// A text that is no timestamp, or none that there is.
pub fn timestamp(text: &str, context: &Context<'_>) -> Result<i64> {
    match decode(text, Wanted::DateTime, context).map_err(|fault| fault.error("timestamp", text))? {
        Moment::Infinity => Ok(TIMESTAMP_INFINITY),
        Moment::NegativeInfinity => Ok(TIMESTAMP_NEGATIVE_INFINITY),
        Moment::Epoch => Ok(0),
        Moment::Fields(fields) => checked_timestamp(fields.micros()).map_err(|_| out_of_range("timestamp", text)),
    }
}

/// A timestamp in microseconds since 1970-01-01 UTC; without a zone it is one of the session's.
///
/// # Errors
///
/// A text that is no timestamp, or none that there is.
pub fn timestamptz(text: &str, context: &Context<'_>) -> Result<i64> {
    let type_name = "timestamp with time zone";
    match decode(text, Wanted::DateTime, context).map_err(|fault| fault.error(type_name, text))? {
        Moment::Infinity => Ok(TIMESTAMP_INFINITY),
        Moment::NegativeInfinity => Ok(TIMESTAMP_NEGATIVE_INFINITY),
        Moment::Epoch => Ok(0),
        Moment::Fields(fields) => {
            let micros = fields.micros() + i128::from(fields.west) * i128::from(MICROS_PER_SECOND);
            checked_timestamp(micros).map_err(|_| out_of_range("timestamp", text))
        }
    }
}

/// A time of day in microseconds since midnight, at most 24:00.
///
/// # Errors
///
/// A text that is no time.
pub fn time(text: &str, context: &Context<'_>) -> Result<i64> {
    match decode(text, Wanted::Time, context).map_err(|fault| fault.error("time", text))? {
        Moment::Fields(fields) => Ok(fields.time()),
        _ => Err(TimeError::invalid_input("time", text)),
    }
}

/// A time of day with its zone; without one it is in the session's.
///
/// # Errors
///
/// A text that is no time.
pub fn timetz(text: &str, context: &Context<'_>) -> Result<TimeTz> {
    let type_name = "time with time zone";
    match decode(text, Wanted::Time, context).map_err(|fault| fault.error(type_name, text))? {
        Moment::Fields(fields) => Ok(TimeTz { micros: fields.time(), west: fields.west }),
        _ => Err(TimeError::invalid_input(type_name, text)),
    }
}

/// An interval of the type `kind`, whose fields tell what a number without a unit is.
///
/// # Errors
///
/// A text that is no interval, or none that there is.
pub fn interval(text: &str, kind: IntervalType, style: IntervalStyle) -> Result<Interval> {
    let read = match interval::decode(text, kind, style) {
        Err(Fault::Format) => iso8601::decode(text),
        other => other,
    };
    let read = read.map_err(|fault| match fault {
        Fault::Format => TimeError::invalid_input("interval", text),
        _ => TimeError::new(TimeErrorKind::IntervalField, format!("interval field value out of range: \"{text}\"")),
    })?;
    kind.adjusted(read.interval()?)
}

/// The offset that a text as `+02:30` says, in seconds west of UTC, as AT TIME ZONE and `make_timestamptz` take it.
///
/// # Errors
///
/// Offsets that are too large; `None` for what is no offset.
#[must_use]
pub fn numeric_zone(text: &str) -> Option<Result<i32>> {
    match date_time::numeric_zone(text) {
        Ok(west) => Some(Ok(west)),
        Err(Fault::Zone) => Some(Err(TimeError::new(
            TimeErrorKind::InvalidParameter,
            format!("numeric time zone \"{text}\" out of range"),
        ))),
        Err(_) => None,
    }
}
