//! What the writer appends for a value is read as that value: any text in any dialect, any number, any moment.

use crate::{Cell, Choices, PaddedText, decoded};
use longshore_csv::decode::{Decoder, FieldRule, ValueType};
use longshore_csv::{Dialect, Kernel, Marks, Rows, Scanner, Shape, survey, write};

/// Microseconds of the years 1 to 9999, from the first midnight.
const MICROS_MIN: i64 = -62_135_596_800_000_000;
const MICROS_MAX: i64 = 253_402_300_799_999_999;
const DAY_MICROS: i64 = 86_400_000_000;

/// What must hold for any bytes.
///
/// # Panics
///
/// When it does not.
pub fn check_input(input: &[u8]) {
    let mut choices = Choices::new(input);
    let dialect = choices.dialect();
    let null = choices.pick::<&[u8]>(&[b"", b"\\N", b"NULL", b"7"]);
    let quoting = write::Quoting::new(&dialect, null, choices.byte() & 1 == 1);
    let kind = choices.byte();
    let rest = choices.rest();
    let mut wide = [0; 16];
    let taken = rest.len().min(16);
    wide[..taken].copy_from_slice(&rest[..taken]);
    let wide = i128::from_le_bytes(wide);
    let long = wide as i64;
    let micros = MICROS_MIN + long.rem_euclid(MICROS_MAX - MICROS_MIN + 1);

    let number = |value: i64| Cell::Number(value.into());
    let mut out = Vec::new();
    let (value_type, cell) = match kind % 10 {
        0 => {
            write::integer(&mut out, long);
            (ValueType::Int64, number(long))
        }
        1 => {
            let value = wide % 10_i128.pow(38);
            write::decimal(&mut out, value, 7);
            (ValueType::Decimal128 { precision: 38, scale: 7 }, Cell::Number(value))
        }
        2 => {
            let value = f64::from_bits(long as u64);
            write::float64(&mut out, value);
            // The sign and the rest of a NaN are not kept.
            let bits = if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
            (ValueType::Float64, Cell::Number(bits.into()))
        }
        3 => {
            let value = f32::from_bits(long as u32);
            write::float32(&mut out, value);
            let bits = if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() };
            (ValueType::Float32, Cell::Number(bits.into()))
        }
        4 => {
            let days = micros.div_euclid(DAY_MICROS) as i32;
            write::date(&mut out, days);
            (ValueType::Date, number(days.into()))
        }
        5 => {
            let time = micros.rem_euclid(DAY_MICROS);
            write::time(&mut out, time);
            (ValueType::Time, number(time))
        }
        6 => {
            write::timestamp(&mut out, micros);
            (ValueType::Timestamp, number(micros))
        }
        7 => {
            write::timestamptz(&mut out, micros);
            (ValueType::TimestampTz, number(micros))
        }
        8 => {
            write::bytea(&mut out, rest);
            (ValueType::Bytea, Cell::Bytes(rest.to_vec()))
        }
        _ => {
            let Ok(text) = std::str::from_utf8(rest) else { return };
            let mut out = Vec::new();
            if quoting.text(&mut out, text.as_bytes()).is_ok() {
                read_back(&out, ValueType::Text, &dialect, null, &Cell::Bytes(rest.to_vec()));
            }
            return;
        }
    };
    if quoting.protect(&mut out, 0).is_ok() {
        read_back(&out, value_type, &dialect, null, &cell);
    }
}

fn read_back(field: &[u8], value_type: ValueType, dialect: &Dialect, null: &[u8], right: &Cell) {
    let mut text = field.to_vec();
    text.push(b'\n');
    let traits = survey(Kernel::best(), dialect, &text).traits;
    let padded = PaddedText::new(&text, b'"');
    let mut marks = Marks::new();
    Scanner::new(Kernel::best(), dialect, traits).scan(padded.padded(), &mut marks);
    let shape = Shape { fields: 1, trailing_delimiter: false };
    let records = Rows::new(padded.padded(), &mut marks, shape, traits, dialect);
    let shown = text.escape_ascii();
    assert!(records.error.is_none() && records.rows.count() == 1, "{shown} is not one field");
    let rule = FieldRule { null_texts: vec![null.into()], ..FieldRule::new(value_type) };
    let found = decoded(&Decoder::new(rule, dialect), &records.rows, 0);
    assert_eq!(found.as_deref(), Ok(std::slice::from_ref(right)), "{shown} as {value_type:?}");
}
