//! Which values a column takes, and how it stores them: the rules of `buffer/batch.rs`, for one value at a time.
//!
//! Not here: whose column it is, in the words of errors (`table`).

use std::borrow::Cow;

use arrow_schema::DataType;
use longshore_value::numeric::{self, Limit, Numeric};
use longshore_value::text::{fit_char, fit_varchar};
use longshore_value::uuid::Uuid;
use longshore_value::{decimal, times};

use crate::datum::{Datum, datum_of_bits};
use crate::lists;
use crate::types::{Column, ColumnType, Physical, TimeType};

/// Characters of a value that an error shows.
const SHOWN_CHARACTERS_MAX: usize = 40;

/// A value as a column stores it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Input<'a> {
    Null,
    /// The lower bits are those of the value.
    Bits(u128),
    Text(Cow<'a, [u8]>),
}

impl Input<'_> {
    /// The same, with memory of its own.
    pub(crate) fn into_owned(self) -> Input<'static> {
        match self {
            Input::Null => Input::Null,
            Input::Bits(bits) => Input::Bits(bits),
            Input::Text(text) => Input::Text(Cow::Owned(text.into_owned())),
        }
    }

    /// The value, of a column of a type.
    pub(crate) fn datum(&self, column_type: ColumnType) -> Datum<'_> {
        match self {
            Input::Null => Datum::Null,
            Input::Bits(bits) => datum_of_bits(column_type, *bits),
            Input::Text(text) if column_type.is_bytes() => Datum::Bytes(text),
            // SAFETY: a column of text is given text only.
            Input::Text(text) => Datum::Text(unsafe { std::str::from_utf8_unchecked(text) }),
        }
    }
}

/// What a column is given to store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored<'a> {
    Null,
    /// The lower bits are those of the value.
    Bits(u128),
    /// A text or bytes.
    Text(&'a [u8]),
}

/// A value that a column stores as it is.
pub(crate) trait StoredValue {
    /// What is stored of it.
    fn stored(&self) -> Stored<'_>;

    /// The value, of a column of a type.
    fn datum(&self, column_type: ColumnType) -> Datum<'_>;
}

impl StoredValue for Input<'_> {
    #[inline]
    fn stored(&self) -> Stored<'_> {
        match self {
            Input::Null => Stored::Null,
            Input::Bits(bits) => Stored::Bits(*bits),
            Input::Text(text) => Stored::Text(text),
        }
    }

    fn datum(&self, column_type: ColumnType) -> Datum<'_> {
        Input::datum(self, column_type)
    }
}

/// One that [`is_plain`].
impl StoredValue for Datum<'_> {
    #[inline]
    fn stored(&self) -> Stored<'_> {
        match *self {
            Datum::I16(value) => Stored::Bits(value as u128),
            Datum::I32(value) => Stored::Bits(value as u128),
            Datum::I64(value) => Stored::Bits(value as u128),
            Datum::Uuid(value) => Stored::Bits(value.stored() as u128),
            Datum::Text(text) => Stored::Text(text.as_bytes()),
            Datum::Null => Stored::Null,
            other => unreachable!("{other:?} is no value that a column stores as it is"),
        }
    }

    #[inline]
    fn datum(&self, _: ColumnType) -> Datum<'_> {
        *self
    }
}

/// Whether a column takes a value and stores it without any change, as is so of most: then it need not become an
/// [`Input`].
#[inline]
pub(crate) fn is_plain(column: &Column, datum: Datum<'_>) -> bool {
    match (column.column_type, datum) {
        (_, Datum::Null) => column.nullable,
        (ColumnType::BigInt | ColumnType::Timestamp, Datum::I64(_))
        | (ColumnType::Integer | ColumnType::Date, Datum::I32(_))
        | (ColumnType::SmallInt, Datum::I16(_))
        | (ColumnType::Uuid, Datum::Uuid(_))
        | (ColumnType::Text, Datum::Text(_)) => true,
        // Every character has at least a byte.
        (ColumnType::Varchar(length), Datum::Text(value)) => value.len() <= length as usize,
        (ColumnType::Char(length), Datum::Text(value)) => value.len() <= length as usize && !value.ends_with(' '),
        (ColumnType::Decimal { precision, .. }, Datum::I64(value)) => decimal::fits(value.into(), precision),
        _ => false,
    }
}

/// A column does not take a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ValueError {
    /// NULL for a column that is NOT NULL.
    NotNull,
    /// A value of another type, which is named.
    Type { found: &'static str },
    /// A text of more characters than the column may hold.
    TooLong {
        /// The text, shortened for display.
        value: String,
        /// Its characters.
        length: usize,
    },
    /// A value that the column's type cannot represent.
    Invalid {
        /// The value, shortened for display.
        value: String,
    },
}

/// A value as a column stores it, if it may.
#[inline]
pub(crate) fn input<'a>(column: &Column, datum: Datum<'a>) -> Result<Input<'a>, ValueError> {
    if !is_plain(column, datum) {
        return any_input(column, datum);
    }
    Ok(match datum {
        Datum::Text(text) => Input::Text(text.as_bytes().into()),
        _ => match datum.stored() {
            Stored::Bits(bits) => Input::Bits(bits),
            Stored::Null | Stored::Text(_) => Input::Null,
        },
    })
}

fn any_input<'a>(column: &Column, datum: Datum<'a>) -> Result<Input<'a>, ValueError> {
    let column_type = column.column_type;
    let physical = column_type.physical();
    #[allow(clippy::match_same_arms, reason = "the values have different types")]
    Ok(match (physical, datum) {
        (_, Datum::Null) if column.nullable => Input::Null,
        (_, Datum::Null) => {
            return Err(ValueError::NotNull);
        }
        (Physical::U8, Datum::Bool(value)) => Input::Bits(value.into()),
        (Physical::I16, Datum::I16(value)) => Input::Bits(value as u128),
        (Physical::I32, Datum::I32(value)) => Input::Bits(value as u128),
        (Physical::I32, Datum::I16(value)) => Input::Bits(value as u128),
        (Physical::I64, Datum::I64(value)) if let ColumnType::Rounded(of, digits) = column_type => {
            Input::Bits(of.round(value, digits).ok_or_else(|| invalid(&value.to_string()))? as u128)
        }
        (Physical::I64, Datum::I64(value)) => Input::Bits(digits(column, value.into())?),
        (Physical::I64, Datum::I32(value)) => Input::Bits(digits(column, value.into())?),
        (Physical::I64, Datum::I16(value)) => Input::Bits(digits(column, value.into())?),
        (_, Datum::Uuid(value)) if column_type == ColumnType::Uuid => Input::Bits(value.stored() as u128),
        (_, Datum::Text(value)) if column_type == ColumnType::Uuid => {
            let value = Uuid::parse(value.as_bytes()).map_err(|_| invalid(value))?;
            Input::Bits(value.stored() as u128)
        }
        (_, datum) if column_type == ColumnType::Uuid => return Err(ValueError::Type { found: datum.kind() }),
        (Physical::I128, Datum::I128(value)) => Input::Bits(digits(column, value)?),
        (Physical::I128, Datum::I64(value)) => Input::Bits(digits(column, value.into())?),
        (Physical::F32, Datum::F32(value)) => Input::Bits(value.to_bits().into()),
        (Physical::F64, Datum::F64(value)) => Input::Bits(value.to_bits().into()),
        (Physical::F64, Datum::F32(value)) => Input::Bits(f64::from(value).to_bits().into()),
        (Physical::View, Datum::Bytes(value)) if column_type == ColumnType::Bytea => Input::Text(value.into()),
        (Physical::View, Datum::Bytes(value)) if let DataType::List(item) = column_type.arrow() => {
            if !lists::is_sound(value, item.data_type()) {
                return Err(invalid("bytes of no array"));
            }
            Input::Text(value.into())
        }
        (Physical::View, Datum::Bytes(value)) if let ColumnType::Numeric(limit) = column_type => {
            let mut room = Vec::new();
            numeric(value, limit, &mut room).map_err(|shown| invalid(&shown))?;
            Input::Text(if room.is_empty() { value.into() } else { Cow::Owned(room) })
        }
        (Physical::View, Datum::Bytes(value)) if column_type.time_type().is_some() => {
            Input::Text(time(value, column_type).ok_or_else(|| invalid(NO_TIME))?)
        }
        (Physical::View, Datum::Text(value)) if !column_type.is_bytes() => text(column, value)?,
        (_, datum) => {
            return Err(ValueError::Type { found: datum.kind() });
        }
    })
}

/// The bits of an integer, which must have no more digits than a decimal column may hold.
fn digits(column: &Column, value: i128) -> Result<u128, ValueError> {
    if let ColumnType::Decimal { precision, .. } = column.column_type
        && !decimal::fits(value, precision)
    {
        return Err(invalid(&value.to_string()));
    }
    Ok(value as u128)
}

/// The bytes of a NUMERIC as its column stores them: in `room`, if they are others. On an error, the value as a text.
pub(crate) fn numeric<'a>(bytes: &'a [u8], limit: Option<Limit>, room: &'a mut Vec<u8>) -> Result<&'a [u8], String> {
    room.clear();
    let value = Numeric::of(bytes).ok_or("bytes of no number")?;
    let Some(limit) = limit else { return Ok(bytes) };
    numeric::limited(value, limit, &mut |byte| room.push(byte)).map_err(|_| value.to_string())?;
    Ok(room)
}

/// What is said of bytes that are neither a time of a zone nor an interval.
pub(crate) const NO_TIME: &str = "bytes of no time";

/// The bytes of a TIMETZ or an INTERVAL as its column stores them; `None` of others.
pub(crate) fn time(bytes: &[u8], column_type: ColumnType) -> Option<Cow<'_, [u8]>> {
    let (of, digits) = column_type.time_type()?;
    let is_rounded = matches!(column_type, ColumnType::Rounded(..));
    if of == TimeType::TimeTz {
        let (micros, west) = times::timetz_of_key(bytes)?;
        let key = || Some(times::timetz_key(of.round(micros, digits)?, west).to_vec());
        return if is_rounded { key().map(Cow::Owned) } else { Some(bytes.into()) };
    }
    let (months, days, micros) = times::interval_of_key(bytes)?;
    let key = || Some(times::interval_key(months, days, of.round(micros, digits)?).to_vec());
    if is_rounded { key().map(Cow::Owned) } else { Some(bytes.into()) }
}

/// A text as its column stores it.
fn text<'a>(column: &Column, text: &'a str) -> Result<Input<'a>, ValueError> {
    let stored = match column.column_type {
        ColumnType::Char(n) => fit_char(text, n),
        ColumnType::Varchar(n) => fit_varchar(text, n),
        _ => Some(text),
    };
    match stored {
        Some(stored) => Ok(Input::Text(stored.as_bytes().into())),
        None => Err(ValueError::TooLong { value: shown(text), length: text.chars().count() }),
    }
}

/// A value, shortened for display.
pub(crate) fn shown(value: &str) -> String {
    match value.char_indices().nth(SHOWN_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}...", &value[..end]),
        None => value.to_owned(),
    }
}

fn invalid(value: &str) -> ValueError {
    ValueError::Invalid { value: shown(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_plain_is_stored_as_it_would_be_otherwise() {
        let types = [
            ColumnType::Boolean,
            ColumnType::SmallInt,
            ColumnType::Integer,
            ColumnType::BigInt,
            ColumnType::Real,
            ColumnType::Double,
            ColumnType::Date,
            ColumnType::Timestamp,
            ColumnType::Decimal { precision: 4, scale: 2 },
            ColumnType::Decimal { precision: 30, scale: 2 },
            ColumnType::Text,
            ColumnType::Varchar(3),
            ColumnType::Char(3),
            ColumnType::Uuid,
            ColumnType::Bytea,
            ColumnType::Numeric(None),
        ];
        let values = [
            Datum::Null,
            Datum::Bool(true),
            Datum::I16(-3),
            Datum::I32(-70_000),
            Datum::I64(9_999),
            Datum::I64(-10_000),
            Datum::I64(i64::MIN),
            Datum::I128(-1),
            Datum::F32(1.5),
            Datum::F64(-0.0),
            Datum::Text(""),
            Datum::Text("abc"),
            Datum::Text("ab "),
            Datum::Text("abcd"),
            Datum::Text("\u{e4}\u{f6}\u{fc}"),
            Datum::Text("0b0e0d7c-3a52-4b4b-9f3e-0123456789ab"),
            Datum::Uuid(Uuid([0x8B; 16])),
            Datum::Bytes(b"ab"),
        ];
        let mut plain = 0;
        for nullable in [false, true] {
            for (at, &column_type) in types.iter().enumerate() {
                let column = Column::new(format!("c{at}"), column_type, nullable);
                for value in values.iter().filter(|&&value| is_plain(&column, value)) {
                    plain += 1;
                    let stored = any_input(&column, *value);
                    assert_eq!(stored, input(&column, *value), "{value:?} as {column_type}");
                    let stored = stored.expect("it is taken");
                    assert_eq!(stored.stored(), value.stored());
                }
            }
        }
        assert!(plain > 2 * types.len());
    }
}
