//! Decides which types of times may have a precision, and how their stored values are rounded to it.

use std::fmt;

use longshore_value::times;

use super::ColumnType;

/// A type of times that may have a precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeType {
    /// TIME.
    Time,
    /// TIME WITH TIME ZONE.
    TimeTz,
    /// TIMESTAMP.
    Timestamp,
    /// TIMESTAMP WITH TIME ZONE.
    TimestampTz,
    /// INTERVAL.
    Interval,
}

impl TimeType {
    /// The type, with so many digits of fractions of a second.
    #[must_use]
    pub fn rounded(self, digits: u8) -> ColumnType {
        if digits < times::DIGITS_MAX { ColumnType::Rounded(self, digits) } else { self.column_type() }
    }

    /// The type, without a precision.
    pub(super) fn column_type(self) -> ColumnType {
        match self {
            Self::Time => ColumnType::Time,
            Self::TimeTz => ColumnType::TimeTz,
            Self::Timestamp => ColumnType::Timestamp,
            Self::TimestampTz => ColumnType::TimestampTz,
            Self::Interval => ColumnType::Interval,
        }
    }

    /// A stored number with so many digits of fractions of a second; `None` beyond 64 bits.
    pub(crate) fn round(self, micros: i64, digits: u8) -> Option<i64> {
        match self {
            Self::Timestamp | Self::TimestampTz => times::rounded_timestamp(micros, digits),
            Self::Time | Self::TimeTz | Self::Interval => times::rounded(micros, digits),
        }
    }

    /// Writes the SQL spelling with so many digits.
    pub(super) fn write(self, digits: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time => write!(f, "TIME({digits})"),
            Self::TimeTz => write!(f, "TIME({digits}) WITH TIME ZONE"),
            Self::Timestamp => write!(f, "TIMESTAMP({digits})"),
            Self::TimestampTz => write!(f, "TIMESTAMP({digits}) WITH TIME ZONE"),
            Self::Interval => write!(f, "INTERVAL({digits})"),
        }
    }
}

impl ColumnType {
    /// The type without the precision that it has, if it is one of times.
    #[must_use]
    pub fn unrounded(self) -> ColumnType {
        if let ColumnType::Rounded(of, _) = self { of.column_type() } else { self }
    }

    /// The type of times that it is, and its digits of fractions of a second.
    #[must_use]
    pub fn time_type(self) -> Option<(TimeType, u8)> {
        let of = match self {
            ColumnType::Rounded(of, digits) => return Some((of, digits)),
            ColumnType::Time => TimeType::Time,
            ColumnType::TimeTz => TimeType::TimeTz,
            ColumnType::Timestamp => TimeType::Timestamp,
            ColumnType::TimestampTz => TimeType::TimestampTz,
            ColumnType::Interval => TimeType::Interval,
            _ => return None,
        };
        Some((of, times::DIGITS_MAX))
    }
}
