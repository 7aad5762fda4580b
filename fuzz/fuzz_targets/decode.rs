#![no_main]
//! The fast decoder of every type takes and refuses what the slow twin does, with the same value and reason.

use libfuzzer_sys::fuzz_target;
use longshore_csv::decode::{Decoder, FieldRule, Reason, ValueType, exact};
use longshore_csv::reference::{self, RawField};
use longshore_csv::{Kernel, Marks, Rows, Scanner, Shape, survey};
use longshore_fuzz::{Cell, Choices, PaddedText, decode};

const TYPES: [ValueType; 20] = [
    ValueType::Boolean,
    ValueType::Int16,
    ValueType::Int32,
    ValueType::Int64,
    ValueType::Float32,
    ValueType::Float64,
    ValueType::Decimal64 { precision: 15, scale: 2 },
    ValueType::Decimal64 { precision: 18, scale: 18 },
    ValueType::Decimal64 { precision: 5, scale: 0 },
    ValueType::Decimal128 { precision: 38, scale: 10 },
    ValueType::Decimal128 { precision: 19, scale: 2 },
    ValueType::Date,
    ValueType::Time,
    ValueType::Timestamp,
    ValueType::TimestampTz,
    ValueType::Text,
    ValueType::Varchar(5),
    ValueType::Char(5),
    ValueType::Uuid,
    ValueType::Bytea,
];

fuzz_target!(|input: &[u8]| {
    let mut choices = Choices::new(input);
    let dialect = choices.dialect();
    let flags = choices.byte();
    let rule = FieldRule {
        nullable: flags & 1 == 0,
        null_texts: vec![choices.pick::<&[u8]>(&[b"", b"\\N", b"NULL", b"0"]).into()],
        quoted_nulls: flags & 2 != 0,
        force_not_null: flags & 4 != 0,
        ..FieldRule::new(choices.pick(&TYPES))
    };
    let mut text = choices.rest().to_vec();
    text.push(b'\n');
    let Ok(records) = reference::records(&text, &dialect) else { return };

    let traits = survey(Kernel::Portable, &dialect, &text).traits;
    let padded = PaddedText::new(&text, b'7');
    let mut marks = Marks::new();
    Scanner::new(Kernel::Portable, &dialect, traits).scan(padded.padded(), &mut marks);
    let shape = Shape { fields: 1, trailing_delimiter: false };
    let rows = Rows::new(padded.padded(), &mut marks, shape, traits, &dialect).rows;

    let right: Result<Vec<Cell>, (usize, Reason)> = records[..rows.count()]
        .iter()
        .enumerate()
        .map(|(row, record)| {
            let raw = &text[record.fields[0].start..record.fields[0].end];
            value(&record.fields[0], raw, &rule).map_err(|reason| (row, reason))
        })
        .collect();
    for kernel in Kernel::available() {
        let decoder = Decoder::with_kernel(rule.clone(), &dialect, kernel);
        let found = decode(&decoder, &rows, 0).map_err(|error| (error.row, error.reason));
        assert_eq!(found, right, "{rule:?} {kernel}");
    }
});

/// What the twin makes of a field.
fn value(field: &RawField, raw: &[u8], rule: &FieldRule) -> Result<Cell, Reason> {
    let is_null = if field.quoted {
        rule.quoted_nulls && field.value == *rule.null_texts[0]
    } else {
        !rule.force_not_null && raw == &*rule.null_texts[0]
    };
    if is_null {
        return if rule.nullable { Ok(Cell::Null) } else { Err(Reason::Null) };
    }
    let bytes = field.value.as_slice();
    let number = |value: i64| Cell::Number(value.into());
    let string = |text: &str| Cell::Bytes(text.as_bytes().to_vec());
    match rule.value_type {
        ValueType::Boolean => exact::boolean(bytes).map(|value| number(value.into())),
        ValueType::Int16 => exact::int16(bytes).map(|value| number(value.into())),
        ValueType::Int32 => exact::int32(bytes).map(|value| number(value.into())),
        ValueType::Int64 => exact::int64(bytes).map(number),
        ValueType::Float32 => exact::float32(bytes).map(|value| number(value.to_bits().into())),
        ValueType::Float64 => exact::float64(bytes).map(|value| Cell::Number(value.to_bits().into())),
        ValueType::Decimal64 { precision, scale } => exact::decimal64(bytes, precision, scale).map(number),
        ValueType::Decimal128 { precision, scale } => exact::decimal128(bytes, precision, scale).map(Cell::Number),
        ValueType::Date => exact::date(bytes).map(|value| number(value.into())),
        ValueType::Time => exact::time(bytes).map(number),
        ValueType::Timestamp => exact::timestamp(bytes).map(number),
        ValueType::TimestampTz => exact::timestamptz(bytes).map(number),
        ValueType::Text => exact::text(bytes).map(string),
        ValueType::Varchar(characters) => exact::varchar(bytes, characters).map(string),
        ValueType::Char(characters) => exact::character(bytes, characters).map(string),
        ValueType::Uuid => exact::uuid(bytes).map(|uuid| Cell::Bytes(uuid.to_vec())),
        ValueType::Bytea => {
            let mut out = Vec::new();
            exact::bytea(bytes, &mut out).map(|()| Cell::Bytes(out))
        }
    }
}
