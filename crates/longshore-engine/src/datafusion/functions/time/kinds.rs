//! The types that functions of time know, and how Arrow has them.
//!
//! INTERVAL and TIMETZ are structs of one field, whose bytes are in the order of the values. So they pass whatever does
//! not look at values, and are confused with nothing.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{DataType, Field, Fields, TimeUnit};

use crate::datafusion::functions::numeric::is_exact;

/// The field of an INTERVAL.
pub(in crate::datafusion) const INTERVAL: &str = "$interval";
/// The field of a TIME WITH TIME ZONE.
pub(in crate::datafusion) const TIMETZ: &str = "$timetz";

/// A type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::datafusion) enum Kind {
    Bool,
    /// INTEGER.
    Int4,
    /// BIGINT, and any whole number.
    Int,
    Float,
    /// A decimal number, as the text of its digits.
    Decimal,
    Text,
    Date,
    Time,
    TimeTz,
    Timestamp,
    TimestampTz,
    Interval,
}

static INTERVAL_FIELDS: LazyLock<Fields> = LazyLock::new(|| fields(INTERVAL));
static TIMETZ_FIELDS: LazyLock<Fields> = LazyLock::new(|| fields(TIMETZ));

fn fields(name: &str) -> Fields {
    Fields::from(vec![Field::new(name, DataType::BinaryView, true)])
}

impl Kind {
    /// The kind of a type of Arrow's; `None` for one that no function of time takes.
    pub(in crate::datafusion) fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Boolean => Self::Bool,
            DataType::Int32 => Self::Int4,
            data_type if data_type.is_integer() => Self::Int,
            data_type if is_exact(data_type) => Self::Decimal,
            data_type if data_type.is_floating() => Self::Float,
            data_type if data_type.is_string() => Self::Text,
            DataType::Date32 => Self::Date,
            DataType::Time32(_) | DataType::Time64(_) => Self::Time,
            DataType::Timestamp(_, None) | DataType::Date64 => Self::Timestamp,
            DataType::Timestamp(_, Some(_)) => Self::TimestampTz,
            DataType::Interval(_) | DataType::Duration(_) => Self::Interval,
            DataType::Struct(fields) if fields.len() == 1 => match fields[0].name().as_str() {
                INTERVAL => Self::Interval,
                TIMETZ => Self::TimeTz,
                _ => return None,
            },
            DataType::Dictionary(_, values) => return Self::of(values),
            _ => return None,
        })
    }

    /// Whether it is a date, a time or an interval.
    pub(in crate::datafusion) fn is_time(self) -> bool {
        !matches!(self, Self::Bool | Self::Int4 | Self::Int | Self::Float | Self::Decimal | Self::Text)
    }

    /// The type that values of it have here.
    pub(in crate::datafusion) fn data_type(self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::Int4 => DataType::Int32,
            Self::Int => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Text | Self::Decimal => DataType::Utf8View,
            Self::Date => DataType::Date32,
            Self::Time => DataType::Time64(TimeUnit::Microsecond),
            Self::TimeTz => DataType::Struct(TIMETZ_FIELDS.clone()),
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::TimestampTz => DataType::Timestamp(TimeUnit::Microsecond, Some(Arc::from("UTC"))),
            Self::Interval => DataType::Struct(INTERVAL_FIELDS.clone()),
        }
    }

    /// The fields of the struct that it is.
    pub(super) fn fields(self) -> Fields {
        if self == Self::TimeTz { TIMETZ_FIELDS.clone() } else { INTERVAL_FIELDS.clone() }
    }

    /// What PostgreSQL calls it.
    pub(in crate::datafusion) fn name(self) -> &'static str {
        match self {
            Self::Bool => "boolean",
            Self::Int4 => "integer",
            Self::Int => "bigint",
            Self::Float => "double precision",
            Self::Decimal => "numeric",
            Self::Text => "text",
            Self::Date => "date",
            Self::Time => "time without time zone",
            Self::TimeTz => "time with time zone",
            Self::Timestamp => "timestamp without time zone",
            Self::TimestampTz => "timestamp with time zone",
            Self::Interval => "interval",
        }
    }
}

/// The kind of a type that is a date, a time or an interval.
pub(in crate::datafusion) fn time_kind(data_type: &DataType) -> Option<Kind> {
    Kind::of(data_type).filter(|kind| kind.is_time())
}

/// Whether values are times, or arrays or rows with times in them.
pub(in crate::datafusion) fn has_times(data_type: &DataType) -> bool {
    match data_type {
        _ if time_kind(data_type).is_some() => true,
        DataType::List(item) => has_times(item.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_times(field.data_type())),
        _ => false,
    }
}
