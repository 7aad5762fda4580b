//! What reading and writing depends on beside the value: `TimeZone`, `DateStyle`, `IntervalStyle`, and the time that it is.

use std::fmt;

use crate::calendar::{MICROS_PER_SECOND, is_finite};
use crate::zone::Zone;

/// How dates and timestamps are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DateStyle {
    /// `1997-12-17 07:37:16-08`
    #[default]
    Iso,
    /// `Wed Dec 17 07:37:16 1997 PST`
    Postgres,
    /// `12/17/1997 07:37:16.00 PST`
    Sql,
    /// `17.12.1997 07:37:16.00 PST`
    German,
}

/// The order of the fields of a date of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DateOrder {
    /// Month, day, year.
    #[default]
    Mdy,
    /// Day, month, year.
    Dmy,
    /// Year, month, day.
    Ymd,
}

/// How intervals are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum IntervalStyle {
    /// `1 year 2 mons 3 days 04:05:06`
    #[default]
    Postgres,
    /// `@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs`
    PostgresVerbose,
    /// `+1-2 +3 +4:05:06`
    SqlStandard,
    /// `P1Y2M3DT4H5M6S`
    Iso8601,
}

/// The settings of a session that are about time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Settings {
    /// The session's zone.
    pub zone: Zone,
    /// How dates are written.
    pub style: DateStyle,
    /// How dates of numbers are read, and written in some styles.
    pub order: DateOrder,
    /// How intervals are written.
    pub interval_style: IntervalStyle,
}

/// Settings, and when the transaction began: what texts such as `now` and `today` mean.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The settings.
    pub settings: &'a Settings,
    /// Microseconds since 1970-01-01 UTC.
    pub now: i64,
}

impl Settings {
    /// Takes what `SET DateStyle` says: a style, an order, or both. `None` if it says neither.
    #[must_use]
    pub fn with_date_style(mut self, text: &str) -> Option<Self> {
        for word in text.split(',') {
            match word.trim().to_ascii_lowercase().as_str() {
                "iso" => self.style = DateStyle::Iso,
                "sql" => self.style = DateStyle::Sql,
                "german" => {
                    self.style = DateStyle::German;
                    if !text.contains(',') {
                        self.order = DateOrder::Dmy;
                    }
                }
                word if word.starts_with("postgres") => self.style = DateStyle::Postgres,
                "ymd" => self.order = DateOrder::Ymd,
                "dmy" => self.order = DateOrder::Dmy,
                word if word.starts_with("euro") => self.order = DateOrder::Dmy,
                "mdy" | "us" => self.order = DateOrder::Mdy,
                word if word.starts_with("noneuro") => self.order = DateOrder::Mdy,
                "default" => (self.style, self.order) = (DateStyle::Iso, DateOrder::Mdy),
                _ => return None,
            }
        }
        Some(self)
    }

    /// `DateStyle` as it is shown.
    #[must_use]
    pub fn date_style(&self) -> String {
        let style = match self.style {
            DateStyle::Iso => "ISO",
            DateStyle::Postgres => "Postgres",
            DateStyle::Sql => "SQL",
            DateStyle::German => "German",
        };
        let order = match self.order {
            DateOrder::Mdy => "MDY",
            DateOrder::Dmy => "DMY",
            DateOrder::Ymd => "YMD",
        };
        format!("{style}, {order}")
    }

    /// A timestamp in UTC as the clock of the session's zone shows it.
    #[must_use]
    pub fn local(&self, micros: i64) -> i64 {
        to_local(&self.zone, micros)
    }
}

/// A timestamp in UTC as the clock of `zone` shows it.
#[must_use]
pub fn to_local(zone: &Zone, micros: i64) -> i64 {
    if !is_finite(micros) {
        return micros;
    }
    micros.saturating_add(i64::from(zone.offset(micros.div_euclid(MICROS_PER_SECOND))) * MICROS_PER_SECOND)
}

impl IntervalStyle {
    /// The style of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name.trim().to_ascii_lowercase().as_str() {
            "postgres" => Self::Postgres,
            "postgres_verbose" => Self::PostgresVerbose,
            "sql_standard" => Self::SqlStandard,
            "iso_8601" => Self::Iso8601,
            _ => return None,
        })
    }
}

impl fmt::Display for IntervalStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Postgres => "postgres",
            Self::PostgresVerbose => "postgres_verbose",
            Self::SqlStandard => "sql_standard",
            Self::Iso8601 => "iso_8601",
        })
    }
}
