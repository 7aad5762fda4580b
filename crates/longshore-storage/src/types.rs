//! Decides which types a column may have, how each is stored, and what Arrow type its readers see.
//!
//! The stored ([`Physical`]) layout is Arrow's own except in three places, where another one pays during a load: a
//! BOOLEAN takes a byte instead of a bit, a DECIMAL of up to 18 digits takes 64 bits instead of 128, and a UUID takes 16
//! bytes where readers get a text of 36. They are converted batch by batch when they are read (`chunk/array.rs`).
//!
//! Not here: the SQL spelling of types beyond their display (the engine parses), conversion between types.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::{DataType, Field, Fields, TimeUnit};
use longshore_value::numeric::Limit;

mod schema;
mod time_type;

pub use schema::{Column, Schema};
pub use time_type::TimeType;

/// The digits that a DECIMAL stored in 64 bits may have.
pub(crate) const DECIMAL64_PRECISION_MAX: u8 = 18;

/// The digits that any DECIMAL may have.
const DECIMAL_PRECISION_MAX: u8 = 38;

/// The SQL type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// BOOLEAN.
    Boolean,
    /// SMALLINT, 16 bits.
    SmallInt,
    /// INTEGER, 32 bits.
    Integer,
    /// BIGINT, 64 bits.
    BigInt,
    /// REAL, a 32-bit float.
    Real,
    /// DOUBLE PRECISION, a 64-bit float.
    Double,
    /// DECIMAL(precision, scale).
    Decimal {
        /// Digits altogether, 1 to 38.
        precision: u8,
        /// Digits behind the point, at most the precision.
        scale: u8,
    },
    /// CHAR(n): up to n characters, stored without trailing blanks.
    Char(u32),
    /// VARCHAR(n): up to n characters.
    Varchar(u32),
    /// TEXT.
    Text,
    /// DATE, days since 1970-01-01.
    Date,
    /// TIME, microseconds since midnight.
    Time,
    /// TIMESTAMP, microseconds since 1970-01-01T00:00:00 of no particular zone.
    Timestamp,
    /// TIMESTAMP WITH TIME ZONE, microseconds since 1970-01-01T00:00:00 UTC.
    TimestampTz,
    /// UUID, stored as `longshore_value::uuid` says; readers see 36 characters of lower-case text.
    Uuid,
    /// TIME WITH TIME ZONE; stored as `longshore_value::times` says, as is INTERVAL.
    TimeTz,
    /// INTERVAL.
    Interval,
    /// A type of times whose values are rounded to less than 6 digits of fractions of a second.
    Rounded(TimeType, u8),
    /// BYTEA.
    Bytea,
    /// NUMERIC without a precision, or of more digits than a DECIMAL here has; stored as `longshore_value::numeric` says.
    Numeric(Option<Limit>),
    /// JSON: a text as it was written.
    Json,
    /// JSONB: a text of JSON in its normal form.
    Jsonb,
    /// An array of so many dimensions, of a type that is none; stored as `lists` says.
    Array(&'static ColumnType, u8),
}

/// How the values of a column lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Physical {
    /// One byte, 0 or 1.
    U8,
    /// 16-bit integer.
    I16,
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
    /// 128-bit integer.
    I128,
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
    /// A 128-bit view in Arrow's layout: length, then up to 12 bytes inline, or a prefix of 4 bytes, the data buffer
    /// (always 0: a chunk has one heap) and the offset in it.
    View,
}

impl Physical {
    /// Bytes per value.
    #[must_use]
    pub fn width(self) -> usize {
        match self {
            Physical::U8 => 1,
            Physical::I16 => 2,
            Physical::I32 | Physical::F32 => 4,
            Physical::I64 | Physical::F64 => 8,
            Physical::I128 | Physical::View => 16,
        }
    }
}

impl ColumnType {
    /// The Arrow type of the arrays that readers get, and of the batches that are appended.
    #[must_use]
    pub fn arrow(&self) -> DataType {
        match *self {
            ColumnType::Boolean => DataType::Boolean,
            ColumnType::SmallInt => DataType::Int16,
            ColumnType::Integer => DataType::Int32,
            ColumnType::BigInt => DataType::Int64,
            ColumnType::Real => DataType::Float32,
            ColumnType::Double => DataType::Float64,
            ColumnType::Decimal { precision, scale } => DataType::Decimal128(precision, scale as i8),
            ColumnType::Char(_) | ColumnType::Varchar(_) | ColumnType::Text | ColumnType::Uuid => DataType::Utf8View,
            ColumnType::Date => DataType::Date32,
            ColumnType::Time => DataType::Time64(TimeUnit::Microsecond),
            ColumnType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            ColumnType::TimestampTz => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            ColumnType::TimeTz => wrapped(TIMETZ, DataType::BinaryView),
            ColumnType::Interval => wrapped(INTERVAL, DataType::BinaryView),
            ColumnType::Rounded(of, _) => of.column_type().arrow(),
            ColumnType::Bytea => DataType::BinaryView,
            ColumnType::Numeric(_) => wrapped(NUMERIC, DataType::BinaryView),
            ColumnType::Json => wrapped(JSON, DataType::Utf8View),
            ColumnType::Jsonb => wrapped(JSONB, DataType::Utf8View),
            ColumnType::Array(element, dimensions) => (0..dimensions)
                .fold(element.arrow(), |item, _| DataType::List(Arc::new(Field::new_list_field(item, true)))),
        }
    }

    /// The type of the arrays that are wrapped where Arrow has no type for this one: a struct whose only field has the name of
    /// the type is confused with nothing. `None` where Arrow has one.
    #[must_use]
    pub fn unwrapped(&self) -> Option<DataType> {
        match self.unrounded() {
            ColumnType::Numeric(_) | ColumnType::Array(..) | ColumnType::TimeTz | ColumnType::Interval => {
                Some(DataType::BinaryView)
            }
            ColumnType::Json | ColumnType::Jsonb => Some(DataType::Utf8View),
            _ => None,
        }
    }

    /// The type of arrays of this one; of an array, that of one more dimension. `None` where there are no more.
    #[must_use]
    pub fn array(self) -> Option<ColumnType> {
        if let ColumnType::Array(element, dimensions) = self {
            return (dimensions < DIMENSIONS_MAX).then_some(ColumnType::Array(element, dimensions + 1));
        }
        let mut elements = ELEMENTS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = elements.iter().copied().find(|element| **element == self);
        let element = known.unwrap_or_else(|| {
            let element: &'static ColumnType = Box::leak(Box::new(self));
            elements.push(element);
            element
        });
        Some(ColumnType::Array(element, 1))
    }

    /// Whether texts are read as this type only where they are inserted, and not where they are loaded.
    #[must_use]
    pub fn is_inserted(&self) -> bool {
        matches!(
            self.unrounded(),
            ColumnType::Json | ColumnType::Jsonb | ColumnType::Array(..) | ColumnType::TimeTz | ColumnType::Interval
        )
    }

    /// Whether values are bytes, and no text.
    #[must_use]
    pub fn is_bytes(&self) -> bool {
        matches!(
            self.unrounded(),
            ColumnType::Bytea
                | ColumnType::Numeric(_)
                | ColumnType::Array(..)
                | ColumnType::TimeTz
                | ColumnType::Interval
        )
    }

    /// How values of this type are stored.
    #[must_use]
    pub fn physical(&self) -> Physical {
        match *self {
            ColumnType::Boolean => Physical::U8,
            ColumnType::SmallInt => Physical::I16,
            ColumnType::Integer | ColumnType::Date => Physical::I32,
            ColumnType::BigInt | ColumnType::Time | ColumnType::Timestamp | ColumnType::TimestampTz => Physical::I64,
            ColumnType::Real => Physical::F32,
            ColumnType::Double => Physical::F64,
            ColumnType::Decimal { precision, .. } if precision <= DECIMAL64_PRECISION_MAX => Physical::I64,
            ColumnType::Decimal { .. } | ColumnType::Uuid => Physical::I128,
            ColumnType::Char(_)
            | ColumnType::Varchar(_)
            | ColumnType::Text
            | ColumnType::TimeTz
            | ColumnType::Interval
            | ColumnType::Bytea
            | ColumnType::Numeric(_)
            | ColumnType::Json
            | ColumnType::Jsonb
            | ColumnType::Array(..) => Physical::View,
            ColumnType::Rounded(of, _) => of.column_type().physical(),
        }
    }

    /// Whether values of this type are valid values of another one as they are stored: not where bytes would become text.
    /// Which of them the other type has (lengths, precisions) is another question.
    #[must_use]
    pub fn is_stored_as(&self, other: ColumnType) -> bool {
        let is_numeric = |column_type| matches!(column_type, ColumnType::Numeric(_));
        self.physical() == other.physical()
            && (*self == ColumnType::Uuid) == (other == ColumnType::Uuid)
            && (!self.is_bytes() || other.is_bytes())
            && is_numeric(*self) == is_numeric(other)
            && (self.unwrapped().is_none() && other.unwrapped().is_none()
                || is_numeric(other)
                || self.unrounded() == other.unrounded())
    }

    /// The column type that holds every value of an Arrow type, for tables made from a query's result. Times finer
    /// than a microsecond lose the rest. `None` for types that have no counterpart here (structs, Arrow's intervals).
    #[must_use]
    pub fn from_arrow(data_type: &DataType) -> Option<ColumnType> {
        Some(match data_type {
            DataType::Boolean => ColumnType::Boolean,
            DataType::Int8 | DataType::UInt8 | DataType::Int16 => ColumnType::SmallInt,
            DataType::UInt16 | DataType::Int32 => ColumnType::Integer,
            DataType::UInt32 | DataType::Int64 => ColumnType::BigInt,
            DataType::UInt64 => ColumnType::Decimal { precision: 20, scale: 0 },
            DataType::Float16 | DataType::Float32 => ColumnType::Real,
            DataType::Float64 => ColumnType::Double,
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale)
            | DataType::Decimal256(precision, scale) => {
                let scale = u8::try_from(*scale).ok()?;
                if *precision > DECIMAL_PRECISION_MAX || scale > *precision {
                    return None;
                }
                ColumnType::Decimal { precision: *precision, scale }
            }
            DataType::Null | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ColumnType::Text,
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
                ColumnType::Bytea
            }
            DataType::Date32 => ColumnType::Date,
            DataType::Date64 | DataType::Timestamp(_, None) => ColumnType::Timestamp,
            DataType::Timestamp(_, Some(_)) => ColumnType::TimestampTz,
            DataType::Time32(_) | DataType::Time64(_) => ColumnType::Time,
            DataType::Struct(fields) if is_wrapped(fields, TIMETZ) => ColumnType::TimeTz,
            DataType::Struct(fields) if is_wrapped(fields, INTERVAL) => ColumnType::Interval,
            DataType::Struct(fields) if is_wrapped(fields, NUMERIC) => ColumnType::Numeric(None),
            DataType::Struct(fields) if is_wrapped(fields, JSON) => ColumnType::Json,
            DataType::Struct(fields) if is_wrapped(fields, JSONB) => ColumnType::Jsonb,
            DataType::List(item) => ColumnType::from_arrow(item.data_type())?.array()?,
            DataType::Dictionary(_, values) => ColumnType::from_arrow(values)?,
            _ => return None,
        })
    }
}

/// The names of the only field of arrays of types that Arrow has not.
const NUMERIC: &str = "$numeric";
const TIMETZ: &str = "$timetz";
const INTERVAL: &str = "$interval";
const JSON: &str = "$json";
const JSONB: &str = "$jsonb";

/// Dimensions of an array, at most; as in PostgreSQL.
const DIMENSIONS_MAX: u8 = 6;

/// The types that arrays have elements of. There are as many as columns were declared with, and they stay.
static ELEMENTS: Mutex<Vec<&'static ColumnType>> = Mutex::new(Vec::new());

fn wrapped(name: &str, values: DataType) -> DataType {
    DataType::Struct(Fields::from(vec![Field::new(name, values, true)]))
}

fn is_wrapped(fields: &Fields, name: &str) -> bool {
    matches!(fields.as_ref(), [field] if field.name() == name)
}

/// The SQL spelling, for instance `DECIMAL(15,2)`.
impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ColumnType::Boolean => f.write_str("BOOLEAN"),
            ColumnType::SmallInt => f.write_str("SMALLINT"),
            ColumnType::Integer => f.write_str("INTEGER"),
            ColumnType::BigInt => f.write_str("BIGINT"),
            ColumnType::Real => f.write_str("REAL"),
            ColumnType::Double => f.write_str("DOUBLE PRECISION"),
            ColumnType::Decimal { precision, scale } => write!(f, "DECIMAL({precision},{scale})"),
            ColumnType::Char(length) => write!(f, "CHAR({length})"),
            ColumnType::Varchar(length) => write!(f, "VARCHAR({length})"),
            ColumnType::Text => f.write_str("TEXT"),
            ColumnType::Date => f.write_str("DATE"),
            ColumnType::Time => f.write_str("TIME"),
            ColumnType::Timestamp => f.write_str("TIMESTAMP"),
            ColumnType::TimestampTz => f.write_str("TIMESTAMP WITH TIME ZONE"),
            ColumnType::TimeTz => f.write_str("TIME WITH TIME ZONE"),
            ColumnType::Interval => f.write_str("INTERVAL"),
            ColumnType::Rounded(of, digits) => of.write(digits, f),
            ColumnType::Uuid => f.write_str("UUID"),
            ColumnType::Bytea => f.write_str("BYTEA"),
            ColumnType::Json => f.write_str("JSON"),
            ColumnType::Jsonb => f.write_str("JSONB"),
            ColumnType::Array(element, dimensions) => {
                write!(f, "{element}{}", "[]".repeat(dimensions.into()))
            }
            ColumnType::Numeric(None) => f.write_str("NUMERIC"),
            ColumnType::Numeric(Some(Limit { precision, scale })) => write!(f, "NUMERIC({precision},{scale})"),
        }
    }
}

impl ColumnType {
    /// The type as PostgreSQL names it in messages, where that is longer.
    pub(crate) fn long_name(&self) -> String {
        match self {
            Self::Char(length) => format!("character({length})"),
            Self::Varchar(length) => format!("character varying({length})"),
            other => other.to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
