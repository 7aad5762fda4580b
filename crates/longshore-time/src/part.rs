//! `extract` and `date_part`: fields of dates, times, timestamps and intervals.

use crate::calendar::{
    EPOCH_JULIAN, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, civil, day_of_week,
    day_of_year, is_finite, is_finite_date, iso_week, split,
};
use crate::error::Result;
use crate::interval::Interval;
use crate::moment::TimeTz;
use crate::settings::to_local;
use crate::unit::{Unit, not_recognized, not_supported};
use crate::zone::Zone;

/// Digits behind the point of a Julian day with a time.
const JULIAN_SCALE: u8 = 20;

/// A field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// `value / 10^scale`.
    Number {
        /// All digits.
        value: i128,
        /// How many of them stand behind the point.
        scale: u8,
    },
    /// Of `infinity` or `-infinity`.
    Infinite {
        /// Whether it is `-infinity`.
        is_negative: bool,
    },
    /// A field that infinite values have not.
    Null,
}

/// What a field is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A date.
    Date,
    /// A timestamp without zone.
    Timestamp,
    /// A timestamp with a zone.
    TimestampTz,
    /// A time.
    Time,
    /// A time with a zone.
    TimeTz,
    /// An interval.
    Interval,
}

impl Source {
    /// What PostgreSQL calls the type.
    #[must_use]
    pub const fn type_name(self) -> &'static str {
        match self {
            Self::Date => "date",
            Self::Timestamp => "timestamp without time zone",
            Self::TimestampTz => "timestamp with time zone",
            Self::Time => "time without time zone",
            Self::TimeTz => "time with time zone",
            Self::Interval => "interval",
        }
    }

    /// The unit that a word names, if this type has it.
    ///
    /// # Errors
    ///
    /// Words that are no units, and units that the type has not.
    pub fn unit(self, word: &str) -> Result<Unit> {
        use Unit::{
            Century, Day, DayOfWeek, DayOfYear, Decade, Epoch, Hour, IsoDayOfWeek, IsoYear, Julian, Microsecond,
            Millennium, Millisecond, Minute, Month, Quarter, Second, Week, Year, Zone, ZoneHour, ZoneMinute,
        };
        let unit = Unit::of_field(word).ok_or_else(|| not_recognized(word, self.type_name()))?;
        let is_below_day = matches!(unit, Microsecond | Millisecond | Second | Minute | Hour);
        let is_of_date = matches!(
            unit,
            Day | Week
                | Month
                | Quarter
                | Year
                | Decade
                | Century
                | Millennium
                | DayOfWeek
                | DayOfYear
                | IsoDayOfWeek
                | IsoYear
                | Julian
        );
        let is_zone = matches!(unit, Zone | ZoneHour | ZoneMinute);
        let has = unit == Epoch
            || match self {
                Self::Date => is_of_date,
                Self::Timestamp => is_of_date || is_below_day,
                Self::TimestampTz => is_of_date || is_below_day || is_zone,
                Self::Time => is_below_day,
                Self::TimeTz => is_below_day || is_zone,
                Self::Interval => {
                    is_below_day || matches!(unit, Day | Month | Quarter | Year | Decade | Century | Millennium)
                }
            };
        if has {
            return Ok(unit);
        }
        let is_reserved = matches!(unit, Unit::Infinity | Unit::NegativeInfinity | Unit::Reserved);
        let error = if is_reserved && matches!(self, Self::Time | Self::TimeTz | Self::Interval) {
            not_recognized
        } else {
            not_supported
        };
        Err(error(word, self.type_name()))
    }

    /// Digits behind the point that a unit has in this type.
    #[must_use]
    pub const fn scale(self, unit: Unit) -> u8 {
        match unit {
            Unit::Epoch if matches!(self, Self::Date) => 0,
            Unit::Second | Unit::Epoch => 6,
            Unit::Millisecond => 3,
            Unit::Julian if !matches!(self, Self::Date) => JULIAN_SCALE,
            _ => 0,
        }
    }
}

fn whole(value: i64) -> Part {
    Part::Number { value: value.into(), scale: 0 }
}

fn of_infinite(unit: Unit, is_negative: bool) -> Part {
    match unit {
        Unit::Year | Unit::Decade | Unit::Century | Unit::Millennium | Unit::Julian | Unit::IsoYear | Unit::Epoch => {
            Part::Infinite { is_negative }
        }
        _ => Part::Null,
    }
}

/// A field of a date, which [`Source::unit`] knows.
#[must_use]
pub fn of_date(unit: Unit, days: i32) -> Part {
    if !is_finite_date(days) {
        return of_infinite(unit, days < 0);
    }
    match unit {
        Unit::Epoch => whole(i64::from(days) * 86_400),
        Unit::Julian => whole(i64::from(days) + EPOCH_JULIAN),
        unit => whole(of_days(unit, days.into())),
    }
}

fn of_days(unit: Unit, days: i64) -> i64 {
    let (year, month, day) = civil(days);
    match unit {
        Unit::Day => day,
        Unit::Month => month,
        Unit::Quarter => (month - 1) / 3 + 1,
        Unit::Year => counted(year),
        Unit::Week => iso_week(days).1,
        Unit::IsoYear => counted(iso_week(days).0),
        Unit::Decade => year.div_euclid(10),
        Unit::Century => upwards(year, 100),
        Unit::Millennium => upwards(year, 1000),
        Unit::DayOfWeek => day_of_week(days),
        Unit::IsoDayOfWeek => (day_of_week(days) + 6) % 7 + 1,
        Unit::DayOfYear => day_of_year(days),
        _ => 0,
    }
}

/// Years before Christ are negative, and there is no year 0.
fn counted(year: i64) -> i64 {
    if year > 0 { year } else { year - 1 }
}

/// The century or the millennium, of which there is no number 0 either.
fn upwards(year: i64, length: i64) -> i64 {
    if year > 0 { (year + length - 1) / length } else { -((length - 1 - (year - 1)) / length) }
}

fn of_micros(unit: Unit, micros: i64) -> Part {
    let in_minute = micros % MICROS_PER_MINUTE;
    match unit {
        Unit::Second => Part::Number { value: in_minute.into(), scale: 6 },
        Unit::Millisecond => Part::Number { value: in_minute.into(), scale: 3 },
        Unit::Microsecond => whole(in_minute),
        Unit::Minute => whole(micros / MICROS_PER_MINUTE % 60),
        _ => whole(micros / MICROS_PER_HOUR),
    }
}

fn is_below_day(unit: Unit) -> bool {
    matches!(unit, Unit::Microsecond | Unit::Millisecond | Unit::Second | Unit::Minute | Unit::Hour)
}

/// A field of a timestamp without zone, which [`Source::unit`] knows.
#[must_use]
pub fn of_timestamp(unit: Unit, micros: i64) -> Part {
    if !is_finite(micros) {
        return of_infinite(unit, micros < 0);
    }
    let (days, of_day) = split(micros);
    match unit {
        unit if is_below_day(unit) => of_micros(unit, of_day),
        Unit::Epoch => Part::Number { value: micros.into(), scale: 6 },
        Unit::Julian => {
            // Each part of a day to its last digit, rounded half up as numeric division does.
            let scale = 10_i128.pow(JULIAN_SCALE.into());
            let day = i128::from(MICROS_PER_DAY);
            let (whole_part, numerator) =
                (i128::from(of_day) * (scale / 1000) / day, i128::from(of_day) * (scale / 1000) % day);
            let below = (numerator * 1000 + day / 2) / day;
            let value = i128::from(days + EPOCH_JULIAN) * scale + whole_part * 1000 + below;
            Part::Number { value, scale: JULIAN_SCALE }
        }
        unit => whole(of_days(unit, days)),
    }
}

/// A field of a timestamp in UTC as `zone` sees it, which [`Source::unit`] knows.
#[must_use]
pub fn of_timestamptz(unit: Unit, micros: i64, zone: &Zone) -> Part {
    if !is_finite(micros) {
        return of_infinite(unit, micros < 0);
    }
    match unit {
        Unit::Epoch => Part::Number { value: micros.into(), scale: 6 },
        Unit::Zone | Unit::ZoneHour | Unit::ZoneMinute => {
            of_offset(unit, zone.offset(micros.div_euclid(MICROS_PER_SECOND)))
        }
        unit => of_timestamp(unit, to_local(zone, micros)),
    }
}

fn of_offset(unit: Unit, east: i32) -> Part {
    let east = i64::from(east);
    whole(match unit {
        Unit::Zone => east,
        Unit::ZoneHour => east / 3600,
        _ => east / 60 % 60,
    })
}

/// A field of a time, which [`Source::unit`] knows.
#[must_use]
pub fn of_time(unit: Unit, micros: i64) -> Part {
    match unit {
        Unit::Epoch => Part::Number { value: micros.into(), scale: 6 },
        unit => of_micros(unit, micros),
    }
}

/// A field of a time with a zone, which [`Source::unit`] knows.
#[must_use]
pub fn of_timetz(unit: Unit, time: TimeTz) -> Part {
    match unit {
        Unit::Epoch => Part::Number { value: time.utc().into(), scale: 6 },
        Unit::Zone | Unit::ZoneHour | Unit::ZoneMinute => of_offset(unit, -time.west),
        unit => of_micros(unit, time.micros),
    }
}

/// A field of an interval, which [`Source::unit`] knows.
#[must_use]
pub fn of_interval(unit: Unit, interval: Interval) -> Part {
    let parts = interval.parts();
    match unit {
        unit if is_below_day(unit) => of_micros(unit, interval.micros),
        Unit::Epoch => {
            // A year has 365.25 days, a month 30.
            let (years, months) = (i128::from(interval.months / 12), i128::from(interval.months % 12));
            let quarter_days = 1461 * years + 120 * months + 4 * i128::from(interval.days);
            let seconds = quarter_days * (86_400 / 4);
            Part::Number { value: seconds * i128::from(MICROS_PER_SECOND) + i128::from(interval.micros), scale: 6 }
        }
        Unit::Day => whole(parts.days),
        Unit::Month => whole(parts.months),
        Unit::Quarter => whole(parts.months / 3 + 1),
        Unit::Decade => whole(parts.years / 10),
        Unit::Century => whole(parts.years / 100),
        Unit::Millennium => whole(parts.years / 1000),
        _ => whole(parts.years),
    }
}

impl Part {
    /// The value as a double precision number; `None` for NULL.
    #[must_use]
    pub fn to_f64(self) -> Option<f64> {
        match self {
            Self::Number { value, scale: 0 } => Some(value as f64),
            Self::Number { value, scale: scale @ ..=6 } => Some(value as f64 / 10_f64.powi(scale.into())),
            Self::Number { value, scale } => {
                let unit = 10_i128.pow(scale.into());
                Some((value / unit) as f64 + (value % unit) as f64 / unit as f64)
            }
            Self::Infinite { is_negative } => Some(if is_negative { f64::NEG_INFINITY } else { f64::INFINITY }),
            Self::Null => None,
        }
    }
}
