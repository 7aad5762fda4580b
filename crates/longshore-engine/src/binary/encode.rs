//! Values in the binary format: as PostgreSQL's `typsend` functions write them.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use longshore_value::text::blanks_behind;
use longshore_value::times::{interval_of_key, timetz_of_key};
use longshore_value::uuid::Uuid;

use super::texts::{Texts, is_null};
use super::{DAYS_TO_2000, INFINITY, JSONB_VERSION, MICROS_TO_2000, NAN, NEGATIVE, NEGATIVE_INFINITY};
use crate::{BuiltinType, TypeId};

const UUID: u32 = 2950;
/// Decimal digits of a digit of NUMERIC's format.
const DIGITS: usize = 4;
/// Such digits of a decimal of 128 bits, at most.
const DIGITS_MAX: usize = 11;

/// A column of a batch whose values can be written in binary.
pub struct Binaries<'a> {
    kind: Kind<'a>,
    /// To how many characters they are padded.
    width: usize,
}

enum Kind<'a> {
    Boolean(&'a BooleanArray),
    I8(&'a PrimitiveArray<Int8Type>),
    U8(&'a PrimitiveArray<UInt8Type>),
    U16(&'a PrimitiveArray<UInt16Type>),
    U32(&'a PrimitiveArray<UInt32Type>),
    I16(&'a PrimitiveArray<Int16Type>),
    I32(&'a PrimitiveArray<Int32Type>),
    I64(&'a PrimitiveArray<Int64Type>),
    /// Numbers of objects, which have 32 bits.
    Oid(&'a PrimitiveArray<Int64Type>),
    F32(&'a PrimitiveArray<Float32Type>),
    F64(&'a PrimitiveArray<Float64Type>),
    Decimal(&'a PrimitiveArray<Decimal128Type>, u8),
    Date(&'a PrimitiveArray<Date32Type>),
    Time(&'a PrimitiveArray<Time64MicrosecondType>),
    Timestamp(&'a PrimitiveArray<TimestampMicrosecondType>),
    TimeTz(&'a BinaryViewArray),
    Interval(&'a BinaryViewArray),
    Bytes(&'a BinaryArray),
    BytesView(&'a BinaryViewArray),
    Uuid(Texts<'a>),
    /// Digits as text.
    Numeric(Texts<'a>),
    /// Texts are their own bytes.
    Text(Texts<'a>),
    Jsonb(Texts<'a>),
    List(&'a ArrayRef, u32),
    Row(Vec<(u32, &'a ArrayRef)>),
}

/// Whether values of a type are numbers of objects, which the engine keeps in 64 bits.
fn is_oid(oid: u32) -> bool {
    BuiltinType::of_oid(oid).is_some_and(|(known, is_array)| !is_array && known.is_oid())
}

impl<'a> Binaries<'a> {
    /// Readies `array`, whose values are of the type `oid`; `None` if its type is none that results have.
    #[must_use]
    pub fn new(array: &'a ArrayRef, oid: u32) -> Option<Self> {
        Kind::new(array, oid).map(|kind| Self { kind, width: 0 })
    }

    /// The same of a type, with its modifier: values of CHAR(n) are padded.
    #[must_use]
    pub fn of_type(array: &'a ArrayRef, id: &TypeId) -> Option<Self> {
        Self::new(array, id.oid).map(|own| Self { width: id.char_width(), ..own })
    }

    /// Appends the bytes of a value that is not NULL, behind their number.
    #[inline]
    pub fn write(&self, row: usize, out: &mut Vec<u8>) {
        self.kind.write(row, self.width, out);
    }

    /// Appends a value behind its length, or the length of NULL.
    pub(super) fn write_field(&self, array: &ArrayRef, row: usize, out: &mut Vec<u8>) {
        if is_null(array, row) {
            out.extend_from_slice(&(-1_i32).to_be_bytes());
        } else {
            self.write(row, out);
        }
    }
}

impl<'a> Kind<'a> {
    fn new(array: &'a ArrayRef, oid: u32) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Boolean => Self::Boolean(array.as_boolean()),
            // What PostgreSQL has no type for is sent as the next larger one.
            DataType::Int8 => Self::I8(array.as_primitive()),
            DataType::UInt8 => Self::U8(array.as_primitive()),
            DataType::UInt16 => Self::U16(array.as_primitive()),
            DataType::UInt32 => Self::U32(array.as_primitive()),
            DataType::Int16 => Self::I16(array.as_primitive()),
            DataType::Int32 => Self::I32(array.as_primitive()),
            DataType::Int64 if is_oid(oid) => Self::Oid(array.as_primitive()),
            DataType::Int64 => Self::I64(array.as_primitive()),
            DataType::Float32 => Self::F32(array.as_primitive()),
            DataType::Float64 => Self::F64(array.as_primitive()),
            DataType::Decimal128(_, scale @ 0..) => Self::Decimal(array.as_primitive(), scale.unsigned_abs()),
            DataType::Date32 => Self::Date(array.as_primitive()),
            DataType::Time64(TimeUnit::Microsecond) => Self::Time(array.as_primitive()),
            DataType::Timestamp(TimeUnit::Microsecond, _) => Self::Timestamp(array.as_primitive()),
            DataType::Binary => Self::Bytes(array.as_binary()),
            DataType::BinaryView => Self::BytesView(array.as_binary_view()),
            DataType::Utf8 | DataType::Utf8View if oid == UUID => Self::Uuid(Texts::new(array)?),
            DataType::UInt64 => Self::Numeric(Texts::new(array)?),
            DataType::List(field) => {
                let told = BuiltinType::of_oid(oid).filter(|(_, is_array)| *is_array).map(|(element, _)| element.oid);
                Self::List(array, told.unwrap_or_else(|| TypeId::of_values(field.data_type()).oid))
            }
            DataType::Struct(fields) => match fields.as_ref() {
                [field] => match field.name().as_str() {
                    "$numeric" => Self::Numeric(Texts::new(array)?),
                    "$timetz" => Self::TimeTz(array.as_struct().column(0).as_binary_view_opt()?),
                    "$interval" => Self::Interval(array.as_struct().column(0).as_binary_view_opt()?),
                    "$jsonb" | "$jsonpath" => Self::Jsonb(Texts::new(array)?),
                    name if name.starts_with('$') => Self::Text(Texts::new(array)?),
                    _ => Self::row(array),
                },
                _ => Self::row(array),
            },
            _ => Self::Text(Texts::new(array)?),
        })
    }

    fn row(array: &'a ArrayRef) -> Self {
        let columns = array.as_struct().columns().iter();
        Self::Row(columns.map(|column| (TypeId::of_values(column.data_type()).oid, column)).collect())
    }

    /// A value behind the number of its bytes; a text is padded to `width` characters.
    #[inline]
    fn write(&self, row: usize, width: usize, out: &mut Vec<u8>) {
        match self {
            Self::Boolean(array) => cell(out, [array.value(row).into()]),
            Self::I8(array) => cell(out, i16::from(array.value(row)).to_be_bytes()),
            Self::U8(array) => cell(out, i16::from(array.value(row)).to_be_bytes()),
            Self::U16(array) => cell(out, i32::from(array.value(row)).to_be_bytes()),
            Self::U32(array) => cell(out, i64::from(array.value(row)).to_be_bytes()),
            Self::I16(array) => cell(out, array.value(row).to_be_bytes()),
            Self::I32(array) => cell(out, array.value(row).to_be_bytes()),
            Self::I64(array) => cell(out, array.value(row).to_be_bytes()),
            Self::Oid(array) => cell(out, (array.value(row) as u32).to_be_bytes()),
            Self::F32(array) => cell(out, array.value(row).to_be_bytes()),
            Self::F64(array) => cell(out, array.value(row).to_be_bytes()),
            Self::Decimal(array, scale) => decimal(array.value(row), *scale, out),
            Self::Date(array) => cell(out, date(array.value(row)).to_be_bytes()),
            Self::Time(array) => cell(out, array.value(row).to_be_bytes()),
            Self::Timestamp(array) => cell(out, timestamp(array.value(row)).to_be_bytes()),
            Self::Text(texts) => match texts.as_they_are(row) {
                Some(text) => padded(text, width, out),
                None => framed(out, |out| texts.write(row, out)),
            },
            Self::Bytes(array) => framed(out, |out| out.extend_from_slice(array.value(row))),
            Self::BytesView(array) => framed(out, |out| out.extend_from_slice(array.value(row))),
            Self::TimeTz(array) => framed(out, |out| {
                let (micros, west) = timetz_of_key(array.value(row)).unwrap_or_default();
                out.extend_from_slice(&micros.to_be_bytes());
                out.extend_from_slice(&west.to_be_bytes());
            }),
            Self::Interval(array) => framed(out, |out| {
                let (months, days, micros) = interval_of_key(array.value(row)).unwrap_or_default();
                out.extend_from_slice(&micros.to_be_bytes());
                out.extend_from_slice(&days.to_be_bytes());
                out.extend_from_slice(&months.to_be_bytes());
            }),
            Self::Uuid(texts) => framed(out, |out| {
                let mut text = Vec::new();
                texts.write(row, &mut text);
                uuid(&text, out);
            }),
            Self::Numeric(texts) => framed(out, |out| {
                let mut text = Vec::new();
                texts.write(row, &mut text);
                numeric(&text, out);
            }),
            Self::Jsonb(texts) => framed(out, |out| {
                out.push(JSONB_VERSION);
                texts.write(row, out);
            }),
            Self::List(array, element) => {
                framed(out, |out| list(&array.as_list::<i32>().value(row), *element, out));
            }
            Self::Row(columns) => framed(out, |out| {
                out.extend_from_slice(&(columns.len() as i32).to_be_bytes());
                for (oid, column) in columns {
                    out.extend_from_slice(&oid.to_be_bytes());
                    value(column, row, *oid, out);
                }
            }),
        }
    }
}

/// Appends a text behind the number of its bytes, with blanks up to `width` characters.
#[inline]
fn padded(text: &[u8], width: usize, out: &mut Vec<u8>) {
    let blanks = blanks_behind(text, width);
    out.reserve(4 + text.len() + blanks);
    out.extend_from_slice(&((text.len() + blanks) as u32).to_be_bytes());
    out.extend_from_slice(text);
    if blanks > 0 {
        out.resize(out.len() + blanks, b' ');
    }
}

/// Appends a value of a fixed number of bytes behind their number.
#[inline]
fn cell<const N: usize>(out: &mut Vec<u8>, value: [u8; N]) {
    const { assert!(N <= 8) };
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&(N as u32).to_be_bytes());
    bytes[4..4 + N].copy_from_slice(&value);
    out.extend_from_slice(&bytes[..4 + N]);
}

/// Appends what `write` appends behind the number of its bytes.
fn framed(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// A date as days since 2000; the infinite ones, which are the least and the greatest number, stay.
fn date(days: i32) -> i32 {
    if days == i32::MIN || days == i32::MAX { days } else { days.saturating_sub(DAYS_TO_2000) }
}

fn timestamp(micros: i64) -> i64 {
    if micros == i64::MIN || micros == i64::MAX { micros } else { micros.saturating_sub(MICROS_TO_2000) }
}

fn uuid(text: &[u8], out: &mut Vec<u8>) {
    match Uuid::parse(text) {
        Ok(uuid) => out.extend(uuid.0),
        // What a UNION or COALESCE of UUIDs and texts gives is told as UUIDs; the client refuses such a value.
        Err(_) => out.extend(text),
    }
}

/// A decimal without its point, in digits of four decimal digits each, behind the number of bytes.
#[inline]
fn decimal(units: i128, scale: u8, out: &mut Vec<u8>) {
    // The last digits are filled up to four, so that the point stands between two.
    let padding = (DIGITS - usize::from(scale) % DIGITS) % DIGITS;
    let fraction = (usize::from(scale) + padding) / DIGITS;
    let mut rest = units.unsigned_abs();
    let mut digits = [0_u16; DIGITS_MAX];
    let mut count = 0;
    let last = 10_u64.pow((DIGITS - padding) as u32);
    let mut push = |digit: u16| {
        digits[count] = digit;
        count += 1;
    };
    if padding > 0 {
        // Most numbers are small, and numbers of 128 bits are divided slowly.
        let (digit, left) = match u64::try_from(rest) {
            Ok(small) => (small % last, u128::from(small / last)),
            Err(_) => ((rest % u128::from(last)) as u64, rest / u128::from(last)),
        };
        push(digit as u16 * 10_u16.pow(padding as u32));
        rest = left;
    }
    while rest > 0 {
        if rest <= u128::from(u64::MAX) {
            let mut small = rest as u64;
            while small > 0 {
                push((small % 10_000) as u16);
                small /= 10_000;
            }
            break;
        }
        push((rest % 10_000) as u16);
        rest /= 10_000;
    }
    // From the first digit that is not zero to the last.
    let mut digits = &digits[..count];
    let weight = digits.len() as i16 - fraction as i16 - 1;
    let mut weight = weight;
    while let [rest @ .., 0] = digits {
        digits = rest;
        weight -= 1;
    }
    while let [0, rest @ ..] = digits {
        digits = rest;
    }
    let weight = if digits.is_empty() { 0 } else { weight };
    let sign = if units < 0 { NEGATIVE } else { 0 };
    let mut bytes = [0; 12 + 2 * DIGITS_MAX];
    let length = 8 + 2 * digits.len();
    bytes[..4].copy_from_slice(&(length as u32).to_be_bytes());
    bytes[4..12].copy_from_slice(&head(digits.len(), weight, sign, scale.into()));
    for (place, digit) in bytes[12..].chunks_exact_mut(2).zip(digits.iter().rev()) {
        place.copy_from_slice(&digit.to_be_bytes());
    }
    out.extend_from_slice(&bytes[..4 + length]);
}

/// What stands before the digits of a NUMERIC.
fn head(digits: usize, weight: i16, sign: u16, scale: u16) -> [u8; 8] {
    let ([a, b], [c, d]) = ((digits as u16).to_be_bytes(), weight.to_be_bytes());
    let ([e, f], [g, h]) = (sign.to_be_bytes(), scale.to_be_bytes());
    [a, b, c, d, e, f, g, h]
}

/// A number that is written in digits.
fn numeric(text: &[u8], out: &mut Vec<u8>) {
    let (sign, text) = match text {
        b"NaN" => return out.extend_from_slice(&head(0, 0, NAN, 0)),
        b"Infinity" => return out.extend_from_slice(&head(0, 0, INFINITY, 0)),
        b"-Infinity" => return out.extend_from_slice(&head(0, 0, NEGATIVE_INFINITY, 0)),
        [b'-', rest @ ..] => (NEGATIVE, rest),
        text => (0, text),
    };
    let point = text.iter().position(|byte| *byte == b'.').unwrap_or(text.len());
    let (whole, fraction) = (&text[..point], text.get(point + 1..).unwrap_or_default());
    let digit = |digits: &[u8]| digits.iter().fold(0_u16, |value, byte| value * 10 + u16::from(byte - b'0'));
    let first = whole.len() % DIGITS;
    let mut digits: Vec<u16> = Vec::with_capacity(text.len() / DIGITS + 2);
    if first > 0 {
        digits.push(digit(&whole[..first]));
    }
    digits.extend(whole[first..].chunks(DIGITS).map(digit));
    let mut weight = digits.len() as i16 - 1;
    for part in fraction.chunks(DIGITS) {
        digits.push(digit(part) * 10_u16.pow((DIGITS - part.len()) as u32));
    }
    let leading = digits.iter().take_while(|digit| **digit == 0).count();
    weight -= leading as i16;
    let mut digits = &digits[leading..];
    while let [rest @ .., 0] = digits {
        digits = rest;
    }
    let weight = if digits.is_empty() { 0 } else { weight };
    out.extend_from_slice(&head(digits.len(), weight, sign, fraction.len() as u16));
    for digit in digits {
        out.extend_from_slice(&digit.to_be_bytes());
    }
}

/// A value behind its length, or the length of NULL.
fn value(array: &ArrayRef, row: usize, oid: u32, out: &mut Vec<u8>) {
    match Binaries::new(array, oid) {
        Some(binaries) => binaries.write_field(array, row, out),
        None => out.extend_from_slice(&(-1_i32).to_be_bytes()),
    }
}

/// An array: its dimensions, and its elements one after the other.
fn list(elements: &ArrayRef, element: u32, out: &mut Vec<u8>) {
    // Arrays of arrays are arrays of several dimensions.
    let (mut lengths, mut flat) = (vec![elements.len()], elements.clone());
    while let DataType::List(_) = flat.data_type() {
        let inner = flat.as_list::<i32>();
        let (from, to) = (inner.value_offsets()[0], inner.value_offsets()[inner.len()]);
        lengths.push(if inner.is_empty() { 0 } else { inner.value(0).len() });
        flat = inner.values().slice(from as usize, (to - from) as usize);
    }
    let element = match BuiltinType::of_oid(element) {
        Some((builtin, _)) => builtin.oid,
        None => element,
    };
    let dimensions = if flat.is_empty() { 0 } else { lengths.len() };
    out.extend_from_slice(&(dimensions as i32).to_be_bytes());
    out.extend_from_slice(&i32::from(flat.null_count() > 0).to_be_bytes());
    out.extend_from_slice(&element.to_be_bytes());
    for length in lengths.iter().take(dimensions) {
        out.extend_from_slice(&(*length as i32).to_be_bytes());
        // The first index.
        out.extend_from_slice(&1_i32.to_be_bytes());
    }
    (0..flat.len()).for_each(|at| value(&flat, at, element, out));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(write: impl FnOnce(&mut Vec<u8>)) -> Vec<i16> {
        let mut out = Vec::new();
        write(&mut out);
        out.chunks(2).map(|pair| i16::from_be_bytes([pair[0], pair[1]])).collect()
    }

    #[test]
    fn numbers_have_the_digits_of_postgresql() {
        // What `numeric_send` of PostgreSQL 15 gives.
        for (text, units, scale, expected) in [
            ("0", 0_i128, 0, &[0_i16, 0, 0, 0][..]),
            ("0.00", 0, 2, &[0, 0, 0, 2]),
            ("1", 1, 0, &[1, 0, 0, 0, 1]),
            ("10000", 10_000, 0, &[1, 1, 0, 0, 1]),
            ("12345.678", 12_345_678, 3, &[3, 1, 0, 3, 1, 2345, 6780]),
            ("-0.0001", -1, 4, &[1, -1, 0x4000, 4, 1]),
            ("0.00001", 1, 5, &[1, -2, 0, 5, 1000]),
            ("100.50", 10_050, 2, &[2, 0, 0, 2, 100, 5000]),
            (
                "99999999999999999999.9",
                999_999_999_999_999_999_999,
                1,
                &[6, 4, 0, 1, 9999, 9999, 9999, 9999, 9999, 9000],
            ),
        ] {
            let written = of(|out| decimal(units, scale, out));
            assert_eq!(written[..2], [0, 2 * expected.len() as i16], "{text}");
            assert_eq!(written[2..], *expected, "{text}");
            assert_eq!(of(|out| numeric(text.as_bytes(), out)), expected, "{text}");
        }
        assert_eq!(of(|out| numeric(b"NaN", out)), [0, 0, 0xC000_u16 as i16, 0]);
    }
}
