//! Values of parameters, as clients send them.
//!
//! A value in the text format is a text, which means what the same text in quotes would mean in the statement. One in the binary
//! format is what its type says; values of types that a [`Datum`] has no form for become the text that PostgreSQL writes them as.

use bytes::{Buf, Bytes};
use longshore_csv::write;
use longshore_engine::BuiltinType;
use longshore_storage::Datum;

use super::{DAYS_TO_2000, MICROS_TO_2000};
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

/// What is wrong with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// A text that is no UTF-8.
    Encoding,
    /// Bytes that are no value of their type.
    Binary,
    /// A type whose binary format is not known here.
    Type(u32),
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
    let Some((builtin, is_array)) = BuiltinType::of_oid(oid) else {
        // Enumerations and domains over texts are sent as texts.
        return Text::new(bytes.clone()).map(Value::Text);
    };
    if is_array {
        return array(bytes.clone()).map(made);
    }
    let mut rest = bytes.clone();
    let value = match (builtin.name, bytes.len()) {
        ("bool", 1) => Value::Bool(bytes[0] != 0),
        ("int2", 2) => Value::I16(rest.get_i16()),
        ("int4", 4) => Value::I32(rest.get_i32()),
        ("int8", 8) => Value::I64(rest.get_i64()),
        ("oid" | "regclass" | "regtype" | "regproc" | "xid", 4) => Value::I64(rest.get_u32().into()),
        ("float4", 4) => Value::F32(rest.get_f32()),
        ("float8", 8) => Value::F64(rest.get_f64()),
        ("bytea", _) => Value::Bytes(bytes.clone()),
        ("text" | "varchar" | "bpchar" | "name" | "unknown" | "json" | "char", _) => {
            Value::Text(Text::new(bytes.clone())?)
        }
        ("jsonb" | "jsonpath", 1..) if bytes[0] == 1 => Value::Text(Text::new(bytes.slice(1..))?),
        ("date", 4) => made(date(rest.get_i32())),
        ("time", 8) => made(time(rest.get_i64())?),
        ("timestamp", 8) => made(timestamp(rest.get_i64(), false)),
        ("timestamptz", 8) => made(timestamp(rest.get_i64(), true)),
        ("timetz", 12) => {
            let (micros, west) = (rest.get_i64(), rest.get_i32());
            let mut text = time(micros)?;
            text.extend(zone(west));
            made(text)
        }
        ("interval", 16) => {
            let (micros, days, months) = (rest.get_i64(), rest.get_i32(), rest.get_i32());
            made(format!("{months} months {days} days {micros} microseconds").into_bytes())
        }
        ("uuid", 16) => made(uuid(bytes)),
        ("numeric", 8..) => made(numeric(rest)?),
        (
            "bool" | "int2" | "int4" | "int8" | "oid" | "float4" | "float8" | "jsonb" | "date" | "time" | "timestamp"
            | "timestamptz" | "timetz" | "interval" | "uuid" | "numeric",
            _,
        ) => return Err(Malformed::Binary),
        _ => return Err(Malformed::Type(oid)),
    };
    Ok(value)
}

/// A text that was made here.
fn made(text: Vec<u8>) -> Value {
    Value::Text(Text(text.into()))
}

fn date(days: i32) -> Vec<u8> {
    let mut text = Vec::new();
    let is_infinite = days == i32::MIN || days == i32::MAX;
    write::date(&mut text, if is_infinite { days } else { days.saturating_add(DAYS_TO_2000) });
    text
}

fn time(micros: i64) -> Result<Vec<u8>, Malformed> {
    if !(0..=86_400_000_000).contains(&micros) {
        return Err(Malformed::Binary);
    }
    let mut text = Vec::new();
    write::time(&mut text, micros);
    Ok(text)
}

fn timestamp(micros: i64, is_zoned: bool) -> Vec<u8> {
    let mut text = Vec::new();
    let is_infinite = micros == i64::MIN || micros == i64::MAX;
    let micros = if is_infinite { micros } else { micros.saturating_add(MICROS_TO_2000) };
    if is_zoned {
        write::timestamptz(&mut text, micros);
    } else {
        write::timestamp(&mut text, micros);
    }
    text
}

/// The offset of a clock that is so many seconds west of UTC.
fn zone(west: i32) -> Vec<u8> {
    let (sign, seconds) = if west > 0 { ('-', west.unsigned_abs()) } else { ('+', west.unsigned_abs()) };
    format!("{sign}{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60).into_bytes()
}

fn uuid(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push(b'-');
        }
        text.extend(format!("{byte:02x}").into_bytes());
    }
    text
}

/// A number in digits of four decimal digits each.
fn numeric(mut bytes: Bytes) -> Result<Vec<u8>, Malformed> {
    let (count, weight, sign, scale) = (bytes.get_u16(), bytes.get_i16(), bytes.get_u16(), bytes.get_u16());
    if bytes.len() != usize::from(count) * 2 || scale > 0x3FFF {
        return Err(Malformed::Binary);
    }
    let digits: Vec<u16> = (0..count).map(|_| bytes.get_u16()).collect();
    if digits.iter().any(|digit| *digit >= 10_000) {
        return Err(Malformed::Binary);
    }
    let mut text = Vec::new();
    match sign {
        0 => {}
        0x4000 => text.push(b'-'),
        0xC000 => return Ok(b"NaN".to_vec()),
        0xD000 => return Ok(b"Infinity".to_vec()),
        0xF000 => return Ok(b"-Infinity".to_vec()),
        _ => return Err(Malformed::Binary),
    }
    let digit = |place: i32| usize::try_from(place).ok().and_then(|place| digits.get(place)).copied().unwrap_or(0);
    let weight = i32::from(weight);
    if weight < 0 {
        text.push(b'0');
    }
    for place in 0..=weight {
        let digit = digit(place);
        text.extend(if place == 0 { digit.to_string() } else { format!("{digit:04}") }.into_bytes());
    }
    if scale > 0 {
        text.push(b'.');
        let end = text.len() + usize::from(scale);
        let mut place = weight + 1;
        let mut zeros = -(weight + 1);
        while text.len() < end {
            // Digits between the point and the first one that is there.
            let digit = if weight < -1 && zeros > 0 {
                zeros -= 1;
                0
            } else {
                let place_now = if weight < 0 { place - (weight + 1) } else { place };
                place += 1;
                digit(place_now)
            };
            text.extend(format!("{digit:04}").into_bytes());
        }
        text.truncate(end);
    }
    Ok(text)
}

/// An array as its text: `{1,NULL,"a b"}`.
fn array(mut bytes: Bytes) -> Result<Vec<u8>, Malformed> {
    let int = |bytes: &mut Bytes| if bytes.len() < 4 { Err(Malformed::Binary) } else { Ok(bytes.get_i32()) };
    let (dimensions, _, element) = (int(&mut bytes)?, int(&mut bytes)?, int(&mut bytes)? as u32);
    if !(0..=6).contains(&dimensions) {
        return Err(Malformed::Binary);
    }
    let mut lengths = Vec::new();
    for _ in 0..dimensions {
        lengths.push(usize::try_from(int(&mut bytes)?).map_err(|_| Malformed::Binary)?);
        if int(&mut bytes)? != 1 {
            // Arrays here begin at 1.
            return Err(Malformed::Binary);
        }
    }
    let count =
        lengths.iter().try_fold(1_usize, |count, length| count.checked_mul(*length)).ok_or(Malformed::Binary)?;
    if dimensions == 0 || count == 0 {
        return Ok(b"{}".to_vec());
    }
    if count > bytes.len() / 4 {
        return Err(Malformed::Binary);
    }
    let mut text = Vec::new();
    for at in 0..count {
        // Braces of the dimensions that begin and end here.
        let begun = starts(&lengths, at);
        if at > 0 {
            text.extend(std::iter::repeat_n(b'}', begun));
            text.push(b',');
        }
        text.extend(std::iter::repeat_n(b'{', if at == 0 { lengths.len() } else { begun }));
        match int(&mut bytes)? {
            -1 => text.extend_from_slice(b"NULL"),
            length => {
                let length = usize::try_from(length).map_err(|_| Malformed::Binary)?;
                if bytes.len() < length {
                    return Err(Malformed::Binary);
                }
                push_element(&binary(&bytes.split_to(length), element)?, &mut text);
            }
        }
    }
    text.extend(std::iter::repeat_n(b'}', lengths.len()));
    if bytes.is_empty() { Ok(text) } else { Err(Malformed::Binary) }
}

/// How many dimensions, the outermost left out, begin anew at an element.
fn starts(lengths: &[usize], at: usize) -> usize {
    let mut size = 1;
    let sizes = lengths.iter().skip(1).rev().take_while(|length| {
        size *= **length;
        at.is_multiple_of(size)
    });
    sizes.count()
}

fn push_element(value: &Value, text: &mut Vec<u8>) {
    let quoted = match value {
        Value::Null => return text.extend_from_slice(b"NULL"),
        Value::Bool(value) => return text.push(if *value { b't' } else { b'f' }),
        Value::I16(value) => return text.extend(value.to_string().into_bytes()),
        Value::I32(value) => return text.extend(value.to_string().into_bytes()),
        Value::I64(value) => return text.extend(value.to_string().into_bytes()),
        Value::F32(value) => return write::float32(text, *value),
        Value::F64(value) => return write::float64(text, *value),
        Value::Text(value) => value.as_str().as_bytes().to_vec(),
        Value::Bytes(bytes) => {
            let mut digits = Vec::new();
            write::bytea(&mut digits, bytes);
            digits
        }
    };
    text.push(b'"');
    for byte in quoted {
        if matches!(byte, b'"' | b'\\') {
            text.push(b'\\');
        }
        text.push(byte);
    }
    text.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(oid: u32, bytes: &[u8]) -> Result<String, Malformed> {
        let value = Value::read(Some(&Bytes::copy_from_slice(bytes)), Format::Binary, oid)?;
        Ok(match value {
            Value::Text(text) => text.as_str().to_owned(),
            other => format!("{other:?}"),
        })
    }

    fn words(words: &[u16]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn binary_values_mean_what_they_mean_in_postgresql() {
        for (digits, expected) in [
            (&[0, 0, 0, 0][..], "0"),
            (&[0, 0, 0, 2], "0.00"),
            (&[1, 0, 0, 0, 1], "1"),
            (&[1, 1, 0, 0, 1], "10000"),
            (&[3, 1, 0, 3, 1, 2345, 6780], "12345.678"),
            (&[1, 0xFFFF, 0x4000, 4, 1], "-0.0001"),
            (&[1, 0xFFFE, 0, 5, 1000], "0.00001"),
            (&[1, 0xFFFD, 0, 9, 1000], "0.000000001"),
            (&[2, 0, 0, 2, 100, 5000], "100.50"),
            (&[0, 0, 0xC000, 0], "NaN"),
        ] {
            assert_eq!(read(1700, &words(digits)).as_deref(), Ok(expected));
        }
        assert_eq!(read(1082, &0_i32.to_be_bytes()).as_deref(), Ok("2000-01-01"));
        assert_eq!(read(1114, &1_500_000_i64.to_be_bytes()).as_deref(), Ok("2000-01-01 00:00:01.5"));
        let uuid = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
        let bytes: Vec<u8> = hexadecimal(&uuid.replace('-', "")).expect("digits").to_vec();
        assert_eq!(read(2950, &bytes).as_deref(), Ok(uuid));
        assert_eq!(read(23, &[0, 0, 1]), Err(Malformed::Binary));
        assert_eq!(read(25, b"\xFF"), Err(Malformed::Encoding));
    }

    #[test]
    fn arrays_become_their_text() {
        let mut bytes = Vec::new();
        for int in [2_i32, 1, 23, 2, 1, 2, 1] {
            bytes.extend(int.to_be_bytes());
        }
        for value in [1_i32, 2, 3] {
            bytes.extend(4_i32.to_be_bytes());
            bytes.extend(value.to_be_bytes());
        }
        bytes.extend((-1_i32).to_be_bytes());
        assert_eq!(read(1007, &bytes).as_deref(), Ok("{{1,2},{3,NULL}}"));
        for length in 0..bytes.len() {
            assert!(read(1007, &bytes[..length]).is_err(), "{length} bytes");
        }
    }
}
