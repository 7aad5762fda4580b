//! Values in the binary format as the texts that PostgreSQL writes them as.

use bytes::Buf;
use longshore_csv::write;
use longshore_storage::Uuid;

use super::{DAYS_TO_2000, INFINITY, JSONB_VERSION, MICROS_TO_2000, NAN, NEGATIVE, NEGATIVE_INFINITY, SCALE_MAX};
use crate::BuiltinType;

/// Dimensions of an array, at most.
const DIMENSIONS_MAX: i32 = 6;
/// The dates and the times that PostgreSQL has, in days and in microseconds from 2000-01-01 on.
const DAYS: std::ops::Range<i32> = -2_451_545..2_145_031_949;
const MICROS: std::ops::Range<i64> = -211_813_488_000_000_000..9_223_371_331_200_000_000;
/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// What is wrong with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// A text that is no UTF-8.
    Encoding,
    /// Bytes that are no value of their type.
    Binary,
    /// A date or time beyond those that there are; its type.
    Range(&'static str),
    /// A type whose binary format is not known here.
    Type(u32),
}

/// The text of a value of the type `oid`, in the form that casts of texts read; of a type that is not built in, it is the bytes.
///
/// # Errors
/// What is wrong with the bytes.
pub fn binary_text(mut bytes: &[u8], oid: u32) -> Result<Vec<u8>, Malformed> {
    let Some((builtin, is_array)) = BuiltinType::of_oid(oid) else { return utf8(bytes) };
    if is_array {
        return array(bytes);
    }
    let mut text = Vec::new();
    match (builtin.name, bytes.len()) {
        (_, 4) if builtin.is_oid() => write::unsigned(&mut text, bytes.get_u32().into()),
        ("bool", 1) => text.push(if bytes[0] == 0 { b'f' } else { b't' }),
        ("int2", 2) => write::integer(&mut text, bytes.get_i16().into()),
        ("int4", 4) => write::integer(&mut text, bytes.get_i32().into()),
        ("int8", 8) => write::integer(&mut text, bytes.get_i64()),
        ("float4", 4) => write::float32(&mut text, bytes.get_f32()),
        ("float8", 8) => write::float64(&mut text, bytes.get_f64()),
        ("bytea", _) => write::bytea(&mut text, bytes),
        ("text" | "varchar" | "bpchar" | "name" | "unknown" | "json" | "char", _) => return utf8(bytes),
        ("jsonb" | "jsonpath", 1..) if bytes[0] == JSONB_VERSION => return utf8(&bytes[1..]),
        ("date", 4) => write::date(&mut text, date(bytes.get_i32())?),
        ("time", 8) => write::time(&mut text, time(bytes.get_i64())?),
        ("timestamp", 8) => write::timestamp(&mut text, timestamp(bytes.get_i64())?),
        ("timestamptz", 8) => write::timestamptz(&mut text, timestamp(bytes.get_i64())?),
        ("timetz", 12) => {
            write::time(&mut text, time(bytes.get_i64())?);
            text.extend(zone(bytes.get_i32()));
        }
        ("interval", 16) => {
            let (micros, days, months) = (bytes.get_i64(), bytes.get_i32(), bytes.get_i32());
            text.extend(format!("{months} months {days} days {micros} microseconds").into_bytes());
        }
        ("uuid", 16) => text.extend(Uuid(bytes.try_into().map_err(|_| Malformed::Binary)?).text()),
        ("numeric", 8..) => return numeric(bytes),
        ("tid" | "refcursor" | "record" | "void" | "int2vector" | "oidvector", _) => return Err(Malformed::Type(oid)),
        _ => return Err(Malformed::Binary),
    }
    Ok(text)
}

/// Bytes that are a text: PostgreSQL's have no NUL.
pub(super) fn text(bytes: &[u8]) -> Result<&str, Malformed> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => Ok(text),
        _ => Err(Malformed::Encoding),
    }
}

fn utf8(bytes: &[u8]) -> Result<Vec<u8>, Malformed> {
    text(bytes).map(|text| text.as_bytes().to_vec())
}

/// A date as days since 1970; the infinite ones, which are the least and the greatest number, stay.
pub(super) fn date(days: i32) -> Result<i32, Malformed> {
    match days {
        i32::MIN | i32::MAX => Ok(days),
        days if DAYS.contains(&days) => days.checked_add(DAYS_TO_2000).ok_or(Malformed::Range("date")),
        _ => Err(Malformed::Range("date")),
    }
}

/// A time as microseconds since midnight.
pub(super) fn time(micros: i64) -> Result<i64, Malformed> {
    if (0..=DAY).contains(&micros) { Ok(micros) } else { Err(Malformed::Range("time")) }
}

/// A time of a day as microseconds since 1970; the infinite ones stay.
pub(super) fn timestamp(micros: i64) -> Result<i64, Malformed> {
    match micros {
        i64::MIN | i64::MAX => Ok(micros),
        micros if MICROS.contains(&micros) => micros.checked_add(MICROS_TO_2000).ok_or(Malformed::Range("timestamp")),
        _ => Err(Malformed::Range("timestamp")),
    }
}

/// The offset of a clock that is so many seconds west of UTC.
fn zone(west: i32) -> Vec<u8> {
    let (sign, seconds) = if west > 0 { ('-', west.unsigned_abs()) } else { ('+', west.unsigned_abs()) };
    format!("{sign}{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60).into_bytes()
}

/// The head of a number in NUMERIC's format, and its digits of four decimal digits each.
pub(super) struct Digits<'a> {
    pub(super) weight: i32,
    pub(super) sign: u16,
    scale: u16,
    /// Two bytes each.
    bytes: &'a [u8],
}

impl<'a> Digits<'a> {
    pub(super) fn read(mut bytes: &'a [u8]) -> Result<Self, Malformed> {
        if bytes.len() < 8 {
            return Err(Malformed::Binary);
        }
        let (count, weight, sign, scale) = (bytes.get_u16(), bytes.get_i16(), bytes.get_u16(), bytes.get_u16());
        let read = Self { weight: weight.into(), sign, scale, bytes };
        let is_sound = bytes.len() == usize::from(count) * 2
            && scale <= SCALE_MAX
            && matches!(sign, 0 | NEGATIVE | NAN | INFINITY | NEGATIVE_INFINITY)
            && read.iter().all(|digit| digit < 10_000);
        if is_sound { Ok(read) } else { Err(Malformed::Binary) }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u16> {
        self.bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
    }

    /// The digit `place` digits behind the first one, 0 where there is none.
    fn at(&self, place: i32) -> u16 {
        let pair = usize::try_from(place).ok().and_then(|place| self.bytes.get(place * 2..place * 2 + 2));
        pair.map_or(0, |pair| u16::from_be_bytes([pair[0], pair[1]]))
    }
}

fn numeric(bytes: &[u8]) -> Result<Vec<u8>, Malformed> {
    let number = Digits::read(bytes)?;
    let mut text = Vec::new();
    match number.sign {
        NEGATIVE => text.push(b'-'),
        NAN => return Ok(b"NaN".to_vec()),
        INFINITY => return Ok(b"Infinity".to_vec()),
        NEGATIVE_INFINITY => return Ok(b"-Infinity".to_vec()),
        _ => {}
    }
    // The places of digits before the point are 0 to the weight.
    if number.weight < 0 {
        text.push(b'0');
    }
    for place in 0..=number.weight {
        let digit = number.at(place);
        text.extend(if place == 0 { digit.to_string() } else { format!("{digit:04}") }.into_bytes());
    }
    if number.scale > 0 {
        text.push(b'.');
        let end = text.len() + usize::from(number.scale);
        let mut place = number.weight + 1;
        // Of a number below 0.0001 digits between the point and the first one are not there.
        let mut missing = -(number.weight + 1);
        while text.len() < end {
            let digit = if missing > 0 {
                missing -= 1;
                0
            } else {
                let digit = number.at(place.max(0));
                place = place.max(0) + 1;
                digit
            };
            text.extend(format!("{digit:04}").into_bytes());
        }
        text.truncate(end);
    }
    Ok(text)
}

/// An array as its text: `{1,NULL,"a b"}`.
fn array(mut bytes: &[u8]) -> Result<Vec<u8>, Malformed> {
    fn int(bytes: &mut &[u8]) -> Result<i32, Malformed> {
        if bytes.len() < 4 { Err(Malformed::Binary) } else { Ok(bytes.get_i32()) }
    }
    let (dimensions, _, element) = (int(&mut bytes)?, int(&mut bytes)?, int(&mut bytes)? as u32);
    // An array of arrays is one of more dimensions: so none nests in another.
    if !(0..=DIMENSIONS_MAX).contains(&dimensions) || BuiltinType::of_oid(element).is_some_and(|(_, nests)| nests) {
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
        return if bytes.is_empty() { Ok(b"{}".to_vec()) } else { Err(Malformed::Binary) };
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
                let (value, rest) = bytes.split_at_checked(length).ok_or(Malformed::Binary)?;
                bytes = rest;
                push_element(&binary_text(value, element)?, &mut text);
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

fn push_element(value: &[u8], text: &mut Vec<u8>) {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.' | b'_' | b':');
    if !value.is_empty() && value.iter().all(is_plain) && !value.eq_ignore_ascii_case(b"NULL") {
        return text.extend_from_slice(value);
    }
    text.push(b'"');
    for byte in value {
        if matches!(byte, b'"' | b'\\') {
            text.push(b'\\');
        }
        text.push(*byte);
    }
    text.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(oid: u32, bytes: &[u8]) -> Result<String, Malformed> {
        binary_text(bytes, oid).map(|text| String::from_utf8(text).expect("a text"))
    }

    fn words(words: &[u16]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn values_mean_what_they_mean_in_postgresql() {
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
        assert_eq!(read(1082, &2_145_031_949_i32.to_be_bytes()), Err(Malformed::Range("date")));
        assert_eq!(read(1114, &1_500_000_i64.to_be_bytes()).as_deref(), Ok("2000-01-01 00:00:01.5"));
        assert_eq!(read(1114, &(i64::MAX - 1).to_be_bytes()), Err(Malformed::Range("timestamp")));
        let uuid = (0..16).collect::<Vec<u8>>();
        assert_eq!(read(2950, &uuid).as_deref(), Ok("00010203-0405-0607-0809-0a0b0c0d0e0f"));
        assert_eq!(read(23, &[0, 0, 1]), Err(Malformed::Binary));
        assert_eq!(read(25, b"\xFF"), Err(Malformed::Encoding));
        assert_eq!(read(25, b"a\0"), Err(Malformed::Encoding));
        assert_eq!(read(27, &[0; 6]), Err(Malformed::Type(27)));
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
        let mut texts = Vec::new();
        for int in [1_i32, 0, 25, 3, 1] {
            texts.extend(int.to_be_bytes());
        }
        for text in ["", "null", "a\"b"] {
            texts.extend((text.len() as i32).to_be_bytes());
            texts.extend(text.as_bytes());
        }
        assert_eq!(read(1009, &texts).as_deref(), Ok(r#"{"","null","a\"b"}"#));
    }
}
