//! Decides how a refused field is explained: the reason, and the remedy for the one who reads it.
//!
//! A reason completes the sentence "the field is not valid: ...". Position, column and value are added by
//! the caller, who knows the file (`longshore-load`).

use std::error::Error;
use std::fmt;

use super::ValueType;

/// Why a field is not a value of its column's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The field is NULL but the column is NOT NULL.
    Null,
    /// The field is empty, and empty is not NULL here.
    Empty,
    /// A byte that the type's syntax does not allow there.
    Unexpected {
        /// The byte.
        found: u8,
        /// What is expected instead.
        expected: Expected,
    },
    /// The field ends too early.
    Ends {
        /// What is expected.
        expected: Expected,
    },
    /// The value does not fit the type.
    OutOfRange,
    /// A decimal has more digits before its point than the type holds.
    TooManyDigits {
        /// How many the type holds.
        digits: u8,
    },
    /// A float is not zero but rounds to zero.
    Underflow,
    /// A year outside 0001 to 9999.
    Year,
    /// A month outside 1 to 12.
    Month,
    /// A day that the month does not have.
    Day,
    /// A time outside 00:00:00 to 23:59:59.999999.
    Time,
    /// An hour of a half day outside 1 to 12.
    HourOfTwelve,
    /// A fraction of a second of more than nine digits.
    Fraction,
    /// A day of the year outside 1 to 365, or 366 in leap years.
    DayOfYear,
    /// A date on another day of the week.
    Weekday,
    /// A time other than midnight in a DATE.
    TimeOfDay,
    /// Digits that are not grouped by three.
    Grouping,
    /// A zone offset of 16 hours or more, or with more than 59 minutes or seconds.
    Offset,
    /// A zone offset in a TIMESTAMP without time zone.
    UnwantedOffset,
    /// Not a boolean word, or the beginning of more than one.
    Boolean,
    /// A BYTEA that does not begin with `\x`.
    NotHexadecimal,
    /// A string of more characters than the type allows.
    TooLong {
        /// The type's length.
        characters: u32,
    },
    /// Bytes that are not UTF-8.
    InvalidUtf8 {
        /// Offset of the first such byte within the value (without its quotes).
        at: u32,
    },
}

/// What a field's syntax asks for at some place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// A decimal digit.
    Digit,
    /// A hexadecimal digit.
    HexDigit,
    /// A number, perhaps with a sign.
    Number,
    /// A certain byte.
    Byte(u8),
    /// A space or `T` between date and time.
    TimeSeparator,
    /// `Z`, `+` or `-`.
    Offset,
    /// The name of a month.
    MonthName,
    /// The name of a day of the week.
    WeekdayName,
    /// `AM` or `PM`.
    Meridiem,
    /// `UTC`, `GMT` or `Z`.
    Utc,
    /// The end of the field.
    End,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Digit => f.write_str("a digit"),
            Expected::HexDigit => f.write_str("a hexadecimal digit"),
            Expected::Number => f.write_str("a number"),
            Expected::Byte(byte) => write!(f, "'{}'", char::from(*byte)),
            Expected::TimeSeparator => f.write_str("' ' or 'T'"),
            Expected::Offset => f.write_str("'Z', '+' or '-'"),
            Expected::MonthName => f.write_str("the name of a month"),
            Expected::WeekdayName => f.write_str("the name of a weekday"),
            Expected::Meridiem => f.write_str("AM or PM"),
            Expected::Utc => f.write_str("UTC, GMT or Z"),
            Expected::End => f.write_str("the end"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Reason::Null => f.write_str("is NULL but the column is NOT NULL"),
            Reason::Empty => f.write_str("is empty"),
            Reason::Unexpected { found, expected } if found.is_ascii_graphic() || found == b' ' => {
                write!(f, "found '{}' where {expected} is expected", char::from(found))
            }
            Reason::Unexpected { found, expected } => {
                write!(f, "found byte 0x{found:02X} where {expected} is expected")
            }
            Reason::Ends { expected } => write!(f, "ends where {expected} is expected"),
            Reason::OutOfRange => f.write_str("out of range"),
            Reason::TooManyDigits { digits } => {
                write!(f, "out of range: more than {digits} digits before the decimal point")
            }
            Reason::Underflow => f.write_str("out of range: too close to zero"),
            Reason::Year => f.write_str("the year is not within 0001 to 9999"),
            Reason::Month => f.write_str("the month is not within 1 to 12"),
            Reason::Day => f.write_str("the month has no such day"),
            Reason::Time => f.write_str("the time is not within 00:00:00 to 23:59:59.999999"),
            Reason::HourOfTwelve => f.write_str("the hour is not within 1 to 12"),
            Reason::Fraction => f.write_str("the fraction of a second has more than nine digits"),
            Reason::DayOfYear => f.write_str("the year has no such day"),
            Reason::Weekday => f.write_str("the date is not that day of the week"),
            Reason::TimeOfDay => f.write_str("has a time of day"),
            Reason::Grouping => f.write_str("digits are not in groups of three"),
            Reason::Offset => f.write_str("the zone offset is not within -15:59:59 to +15:59:59"),
            Reason::UnwantedOffset => f.write_str("has a zone offset"),
            Reason::Boolean => f.write_str("neither true, yes, on, 1 nor false, no, off, 0"),
            Reason::NotHexadecimal => f.write_str("does not begin with \\x"),
            Reason::TooLong { characters } => write!(f, "longer than {characters} characters"),
            Reason::InvalidUtf8 { at } => write!(f, "not UTF-8 at byte {at} of the value"),
        }
    }
}

impl Error for Reason {}

impl Reason {
    /// What the user can do about it, as an imperative without a final full stop.
    #[must_use]
    pub fn remedy(&self, value_type: &ValueType) -> String {
        match *self {
            Reason::Null => "give a value, drop NOT NULL, or set the option NULL to another text".to_owned(),
            Reason::Empty => {
                "give a value, or list the column in FORCE_NULL if quoted empty fields mean NULL".to_owned()
            }
            Reason::Unexpected { found: b',', expected: _ } if value_type.is_number() => {
                "write a point before the fraction and no thousands separators, or set DELIMITER ','".to_owned()
            }
            Reason::Unexpected { found: b' ' | b'\t', expected: _ } if *value_type == ValueType::Uuid => {
                "set TRIM true if blanks stand around UUIDs, or declare the column TEXT".to_owned()
            }
            Reason::Unexpected { .. } | Reason::Ends { .. } => syntax_remedy(value_type),
            Reason::OutOfRange | Reason::TooManyDigits { .. } | Reason::Underflow => range_remedy(value_type),
            Reason::Year | Reason::Month | Reason::Day | Reason::DayOfYear | Reason::Weekday => {
                "write dates as YYYY-MM-DD, or declare the column TEXT".to_owned()
            }
            Reason::HourOfTwelve | Reason::Fraction => "correct the time, or declare the column TEXT".to_owned(),
            Reason::TimeOfDay => "declare the column TIMESTAMP, or cut the time".to_owned(),
            Reason::Grouping => {
                "set THOUSANDS_SEPARATOR to what groups the digits, or declare the column TEXT".to_owned()
            }
            Reason::Time => "write times as HH:MM:SS, up to 23:59:59.999999".to_owned(),
            Reason::Offset => "write the offset as +HH:MM".to_owned(),
            Reason::UnwantedOffset => "declare the column TIMESTAMP WITH TIME ZONE, or cut the offset".to_owned(),
            Reason::Boolean => "write true or false, or declare the column TEXT".to_owned(),
            Reason::NotHexadecimal => {
                "write the bytes in hexadecimal behind \\x, or declare the column TEXT".to_owned()
            }
            Reason::TooLong { .. } => "raise the length of the type, or declare the column TEXT".to_owned(),
            Reason::InvalidUtf8 { .. } => {
                "say what the text is in, as in ENCODING 'latin1', or set ENCODING_ERRORS replace".to_owned()
            }
        }
    }
}

/// The form that a type's values have.
fn syntax_remedy(value_type: &ValueType) -> String {
    match value_type {
        ValueType::Int16 | ValueType::Int32 | ValueType::Int64 => {
            "write a whole number, or declare the column DECIMAL, DOUBLE PRECISION or TEXT"
        }
        ValueType::Float32
        | ValueType::Float64
        | ValueType::Decimal64 { .. }
        | ValueType::Decimal128 { .. }
        | ValueType::Numeric(_) => "write a number such as -12.5 or 1e3, or declare the column TEXT",
        ValueType::Date => "write dates as YYYY-MM-DD, or declare the column TEXT",
        ValueType::Time => "write times as HH:MM:SS.ffffff, or declare the column TEXT",
        ValueType::Timestamp => "write timestamps as YYYY-MM-DD HH:MM:SS.ffffff, or declare the column TEXT",
        ValueType::TimestampTz => "write timestamps as YYYY-MM-DD HH:MM:SS.ffffff+HH:MM, or declare the column TEXT",
        ValueType::Uuid => "write UUIDs as 8-4-4-4-12 hexadecimal digits, or declare the column TEXT",
        ValueType::Bytea => "write an even number of hexadecimal digits behind \\x, or declare the column TEXT",
        ValueType::Boolean | ValueType::Text | ValueType::Varchar(_) | ValueType::Char(_) => "declare the column TEXT",
    }
    .to_owned()
}

/// The next larger type.
fn range_remedy(value_type: &ValueType) -> String {
    match *value_type {
        ValueType::Int16 => "declare the column INTEGER or BIGINT".to_owned(),
        ValueType::Int32 => "declare the column BIGINT".to_owned(),
        ValueType::Int64 => "declare the column DECIMAL(38,0)".to_owned(),
        ValueType::Float32 => "declare the column DOUBLE PRECISION".to_owned(),
        ValueType::Decimal64 { precision, scale } | ValueType::Decimal128 { precision, scale } if precision < 38 => {
            format!("raise the precision of the type, at most to DECIMAL(38,{scale})")
        }
        _ => "declare the column TEXT".to_owned(),
    }
}
