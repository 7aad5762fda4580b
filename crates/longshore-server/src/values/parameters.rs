//! Values of parameters, as clients send them.
//!
//! A value in the text format is a text, which means what the same text in quotes would mean in the statement. One in the binary
//! format is what its type says; values of types that a [`Datum`] has no form for become the text that PostgreSQL writes them as.

use bytes::{Buf, Bytes};
use longshore_engine::{BuiltinType, Malformed, binary_text};
use longshore_storage::Datum;

use crate::errors::Told;
use crate::protocol::frontend::Format;

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    I16(i16),
    I32(i32),
    I64(i64),
    F32(f32),
    F64(f64),
    Text(Text),
    Bytes(Bytes),
}

/// Bytes that are UTF-8.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text(Bytes);

impl Text {
    fn new(bytes: Bytes) -> Result<Self, Malformed> {
        match std::str::from_utf8(&bytes) {
            // PostgreSQL's texts have no such character.
            Ok(text) if text.contains('\0') => Err(Malformed::Encoding),
            Ok(_) => Ok(Self(bytes)),
            Err(_) => Err(Malformed::Encoding),
        }
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl Value {
    /// The value of the type `oid` in a message.
    pub(crate) fn read(bytes: Option<&Bytes>, format: Format, oid: u32) -> Result<Self, Malformed> {
        match (bytes, format) {
            (None, _) => Ok(Self::Null),
            (Some(bytes), Format::Text) => text(bytes.clone(), oid),
            (Some(bytes), Format::Binary) => binary(bytes, oid),
        }
    }

    /// The same to be given to a statement.
    pub(crate) fn datum(&self) -> Datum<'_> {
        match self {
            Self::Null => Datum::Null,
            Self::Bool(value) => Datum::Bool(*value),
            Self::I16(value) => Datum::I16(*value),
            Self::I32(value) => Datum::I32(*value),
            Self::I64(value) => Datum::I64(*value),
            Self::F32(value) => Datum::F32(*value),
            Self::F64(value) => Datum::F64(*value),
            Self::Text(text) => Datum::Text(text.as_str()),
            Self::Bytes(bytes) => Datum::Bytes(bytes),
        }
    }
}

fn named(oid: u32) -> Option<&'static str> {
    BuiltinType::of_oid(oid).filter(|(_, is_array)| !is_array).map(|(builtin, _)| builtin.name)
}

/// Why the value of the parameter at this place, from 0, was not read.
pub(crate) fn malformed_parameter(malformed: Malformed, at: usize) -> Told {
    let number = at + 1;
    match malformed {
        Malformed::Encoding => {
            Told::error("22021", format!("invalid byte sequence for encoding \"UTF8\" in parameter ${number}"))
        }
        Malformed::Range(of) => Told::error("22008", format!("{of} out of range in parameter ${number}")),
        Malformed::Binary => Told::error("22P03", format!("incorrect binary data format in bind parameter {number}")),
        Malformed::Type(oid) => Told::error(
            "0A000",
            format!("parameter ${number}: the binary format of type {oid} is not known; send it as text"),
        ),
    }
}

fn text(bytes: Bytes, oid: u32) -> Result<Value, Malformed> {
    let text = Text::new(bytes)?;
    // Their hexadecimal form only; the statement reads others.
    if named(oid) == Some("bytea")
        && let Some(digits) = text.as_str().strip_prefix("\\x")
        && let Some(bytes) = hexadecimal(digits)
    {
        return Ok(Value::Bytes(bytes));
    }
    Ok(Value::Text(text))
}

fn hexadecimal(digits: &str) -> Option<Bytes> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = digits.as_bytes().chunks(2);
    let bytes = pairs.map(|pair| match pair {
        [high, low] => Some((digit(*high)? << 4 | digit(*low)?) as u8),
        _ => None,
    });
    bytes.collect::<Option<Vec<u8>>>().map(Bytes::from)
}

fn binary(bytes: &Bytes, oid: u32) -> Result<Value, Malformed> {
    let mut rest = bytes.clone();
    let Some((builtin, false)) = BuiltinType::of_oid(oid) else { return made(bytes, oid) };
    Ok(match (builtin.name, bytes.len()) {
        (_, 4) if builtin.is_oid() => Value::I64(rest.get_u32().into()),
        ("bool", 1) => Value::Bool(bytes[0] != 0),
        ("int2", 2) => Value::I16(rest.get_i16()),
        ("int4", 4) => Value::I32(rest.get_i32()),
        ("int8", 8) => Value::I64(rest.get_i64()),
        ("float4", 4) => Value::F32(rest.get_f32()),
        ("float8", 8) => Value::F64(rest.get_f64()),
        ("bytea", _) => Value::Bytes(bytes.clone()),
        ("text" | "varchar", _) => Value::Text(Text::new(bytes.clone())?),
        _ => return made(bytes, oid),
    })
}

/// A value as its text.
fn made(bytes: &[u8], oid: u32) -> Result<Value, Malformed> {
    binary_text(bytes, oid).map(|text| Value::Text(Text(text.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_values_are_numbers_and_texts() {
        let read = |oid: u32, bytes: &'static [u8]| Value::read(Some(&Bytes::from_static(bytes)), Format::Binary, oid);
        assert_eq!(read(23, &[0, 0, 0, 7]), Ok(Value::I32(7)));
        assert_eq!(read(26, &[0xFF, 0, 0, 7]), Ok(Value::I64(0xFF00_0007)));
        assert_eq!(read(1082, &[0; 4]), Ok(Value::Text(Text(Bytes::from_static(b"2000-01-01")))));
        assert_eq!(read(23, &[0, 0, 1]), Err(Malformed::Binary));
        assert_eq!(read(25, b"\xFF"), Err(Malformed::Encoding));
    }
}
