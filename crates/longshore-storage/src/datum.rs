//! Decides what a single value is called: where rows are worked on one by one, not column by column.
//!
//! A [`Datum`] has the physical representation of its column: a DATE is `I32`, a TIMESTAMP `I64`, a DECIMAL of up to 18
//! digits `I64` without the point.
//!
//! Not here: values of a column (`values`), values of statistics (`statistics::Value`), what a column takes (`typed`).

use std::fmt;

use longshore_value::uuid::Uuid;

use crate::types::{ColumnType, Physical};

/// A value, or NULL, in the representation that its column is stored in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Datum<'a> {
    /// NULL of any type.
    Null,
    /// BOOLEAN.
    Bool(bool),
    /// SMALLINT.
    I16(i16),
    /// INTEGER, and the days of a DATE.
    I32(i32),
    /// BIGINT, the microseconds of a TIME or TIMESTAMP, a DECIMAL of up to 18 digits without the point.
    I64(i64),
    /// A DECIMAL of more digits, without the point.
    I128(i128),
    /// REAL.
    F32(f32),
    /// DOUBLE PRECISION.
    F64(f64),
    /// UUID.
    Uuid(Uuid),
    /// CHAR, VARCHAR, TEXT, and what a UUID is written from.
    Text(&'a str),
    /// BYTEA.
    Bytes(&'a [u8]),
}

impl Datum<'_> {
    /// What kind of value it is, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Datum::Null => "NULL",
            Datum::Bool(_) => "a boolean",
            Datum::I16(_) => "an integer of 16 bits",
            Datum::I32(_) => "an integer of 32 bits",
            Datum::I64(_) => "an integer of 64 bits",
            Datum::I128(_) => "an integer of 128 bits",
            Datum::F32(_) => "a float of 32 bits",
            Datum::F64(_) => "a float of 64 bits",
            Datum::Uuid(_) => "a UUID",
            Datum::Text(_) => "a text",
            Datum::Bytes(_) => "a string of bytes",
        }
    }
}

impl fmt::Display for Datum<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Datum::Null => f.write_str("NULL"),
            Datum::Bool(value) => value.fmt(f),
            Datum::I16(value) => value.fmt(f),
            Datum::I32(value) => value.fmt(f),
            Datum::I64(value) => value.fmt(f),
            Datum::I128(value) => value.fmt(f),
            Datum::F32(value) => value.fmt(f),
            Datum::F64(value) => value.fmt(f),
            Datum::Uuid(value) => write!(f, "'{value}'"),
            Datum::Text(value) => write!(f, "'{value}'"),
            Datum::Bytes(value) => {
                f.write_str("\\x")?;
                value.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

/// The value of the bits that a column of a type, which is none of text, stores.
pub(crate) fn datum_of_bits(column_type: ColumnType, bits: u128) -> Datum<'static> {
    match column_type.physical() {
        Physical::U8 => Datum::Bool(bits as u8 != 0),
        Physical::I16 => Datum::I16(bits as i16),
        Physical::I32 => Datum::I32(bits as i32),
        Physical::I64 => Datum::I64(bits as i64),
        Physical::I128 if column_type == ColumnType::Uuid => Datum::Uuid(Uuid::of_stored(bits as i128)),
        Physical::I128 | Physical::View => Datum::I128(bits as i128),
        Physical::F32 => Datum::F32(f32::from_bits(bits as u32)),
        Physical::F64 => Datum::F64(f64::from_bits(bits as u64)),
    }
}

macro_rules! datum_from {
    ($($variant:ident: $type:ty),*) => {$(
        impl<'a> From<$type> for Datum<'a> {
            fn from(value: $type) -> Datum<'a> {
                Datum::$variant(value)
            }
        }
    )*};
}
datum_from!(Bool: bool, I16: i16, I32: i32, I64: i64, I128: i128, F32: f32, F64: f64, Uuid: Uuid, Text: &'a str, Bytes: &'a [u8]);

impl<'a> From<&'a String> for Datum<'a> {
    fn from(value: &'a String) -> Datum<'a> {
        Datum::Text(value)
    }
}

impl<'a, T: Into<Datum<'a>>> From<Option<T>> for Datum<'a> {
    fn from(value: Option<T>) -> Datum<'a> {
        value.map_or(Datum::Null, Into::into)
    }
}

/// The values of a key or of a row: `key!(warehouse, district)` is a slice of [`Datum`]s.
#[macro_export]
macro_rules! key {
    ($($value:expr),* $(,)?) => {
        &[$($crate::Datum::from($value)),*] as &[$crate::Datum<'_>]
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_datums() {
        assert_eq!(Datum::from(7_i16), Datum::I16(7));
        assert_eq!(Datum::from(Some("x")), Datum::Text("x"));
        assert_eq!(Datum::from(None::<i64>), Datum::Null);
    }
}
