//! The fast decoder of every type takes and refuses what the slow twin does, with the same value and reason.

use crate::{Cell, Choices, PaddedText, decoded};
use longshore_csv::decode::{BooleanWords, DateTimeFormat, Decoder, FieldRule, Reason, ValueType, exact};
use longshore_csv::reference::{self, RawField};
use longshore_csv::{Dialect, Kernel, Marks, Rows, Scanner, Shape, survey};

const TYPES: [ValueType; 21] = [
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
    ValueType::Numeric(None),
];

/// What must hold for any bytes.
///
/// # Panics
///
/// When it does not.
pub fn check_input(input: &[u8]) {
    let mut choices = Choices::new(input);
    let dialect = choices.dialect();
    let value_type = choices.pick(&TYPES);
    let rule = rule(value_type, &mut choices);
    let Ok(()) = rule.check(&dialect) else { return };
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
            value(&record.fields[0], raw, &rule, &dialect).map_err(|reason| (row, reason))
        })
        .collect();
    for kernel in Kernel::available() {
        let decoder = Decoder::with_kernel(rule.clone(), &dialect, kernel);
        let found = decoded(&decoder, &rows, 0).map_err(|error| (error.row, error.reason));
        assert_eq!(found, right, "{rule:?} {kernel}");
        if let Err((row, reason)) = found {
            let (start, end) = rows.field(row, 0);
            let advice = decoder.advice(&text[start as usize..end as usize], reason);
            assert!(!advice.reason.is_empty() && !advice.remedy.is_empty());
        }
    }
}

/// A rule of the type: the default one, one of usual deviations, or a format of any bytes.
fn rule(value_type: ValueType, choices: &mut Choices<'_>) -> FieldRule {
    let boxed = |texts: &[&[u8]]| texts.iter().map(|text| (*text).into()).collect::<Vec<Box<[u8]>>>();
    let flags = choices.byte();
    let nulls: &[&[u8]] =
        choices.pick(&[&[b""], &[b"\\N"], &[b"NULL"], &[b"0"], &[b"", b"NA", b"-"], &[b"1", b"01.01.2000", b"t"]]);
    let mut rule = FieldRule {
        nullable: flags & 1 == 0,
        null_texts: boxed(nulls),
        quoted_nulls: flags & 2 != 0,
        force_not_null: flags & 4 != 0,
        trim: flags & 8 != 0,
        ..FieldRule::new(value_type)
    };
    if flags & 16 == 0 {
        return rule;
    }
    (rule.decimal_separator, rule.thousands_separator) =
        choices.pick(&[(b'.', Some(',')), (b',', Some('.')), (b',', None), (b',', Some(' ')), (b'.', Some('\''))]);
    let truths: Option<&[&[u8]]> = choices.pick(&[None, Some(&[b"ja", b"x"]), Some(&[b"T", b""])]);
    rule.boolean_words = BooleanWords { truths: truths.map(boxed), falsehoods: None };
    let format = match choices.pick(&[0_u8, 1, 2, 3]) {
        0 => DateTimeFormat::new(&[choices.pick(&["us", "eu", "epoch", "epoch_ms"])]).ok(),
        1 => DateTimeFormat::new(&["eu", "iso", "us"]).ok(),
        2 => {
            let candidates = DateTimeFormat::candidates();
            Some(candidates[choices.below(candidates.len())].clone())
        }
        _ => {
            let len = choices.below(24);
            let text: Vec<u8> = (0..len).map(|_| choices.byte()).collect();
            std::str::from_utf8(&text).ok().and_then(|text| DateTimeFormat::new(&[text]).ok())
        }
    };
    rule.date_time_format = format.filter(|format| format.check(value_type).is_ok());
    rule
}

/// What the twin makes of a field.
fn value(field: &RawField, raw: &[u8], rule: &FieldRule, dialect: &Dialect) -> Result<Cell, Reason> {
    if rule.trim {
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let start = raw.iter().take_while(|byte| blank(byte)).count();
        let len = raw[start..].iter().rev().skip_while(|byte| blank(byte)).count();
        let trimmed = [&raw[start..start + len], b"\n"].concat();
        let records = reference::records(&trimmed, dialect).expect("it was one with blanks around");
        let rule = FieldRule { trim: false, ..rule.clone() };
        return value(&records[0].fields[0], &trimmed[..len], &rule, dialect);
    }
    let is_null_text = |content: &[u8]| rule.null_texts.iter().any(|text| **text == *content);
    let is_null = if field.quoted {
        rule.quoted_nulls && is_null_text(&field.value)
    } else {
        !rule.force_not_null && is_null_text(raw)
    };
    if is_null {
        return if rule.nullable { Ok(Cell::Null) } else { Err(Reason::Null) };
    }
    let separators = exact::Separators { decimal: rule.decimal_separator, thousands: rule.thousands_separator };
    let is_integer = matches!(rule.value_type, ValueType::Int16 | ValueType::Int32 | ValueType::Int64);
    let has_separators = if is_integer { rule.thousands_separator.is_some() } else { !rule.has_plain_numbers() };
    if rule.value_type.is_number() && has_separators {
        let plain = separators.plain(&field.value)?;
        return of_type(&plain, rule).map_err(|reason| separators.reason(reason));
    }
    of_type(&field.value, rule)
}

/// What the twin makes of a field that is not NULL.
fn of_type(bytes: &[u8], rule: &FieldRule) -> Result<Cell, Reason> {
    let format = rule.date_time_format.as_ref();
    let number = |value: i64| Cell::Number(value.into());
    let string = |text: &str| Cell::Bytes(text.as_bytes().to_vec());
    match rule.value_type {
        ValueType::Boolean => boolean(rule, bytes).map(|value| number(value.into())),
        ValueType::Int16 => exact::int16(bytes).map(|value| number(value.into())),
        ValueType::Int32 => exact::int32(bytes).map(|value| number(value.into())),
        ValueType::Int64 => exact::int64(bytes).map(number),
        ValueType::Float32 => exact::float32(bytes).map(|value| number(value.to_bits().into())),
        ValueType::Float64 => exact::float64(bytes).map(|value| Cell::Number(value.to_bits().into())),
        ValueType::Decimal64 { precision, scale } => exact::decimal64(bytes, precision, scale).map(number),
        ValueType::Decimal128 { precision, scale } => exact::decimal128(bytes, precision, scale).map(Cell::Number),
        ValueType::Date => {
            format.map_or_else(|| exact::date(bytes), |format| format.date(bytes)).map(|value| number(value.into()))
        }
        ValueType::Time => format.map_or_else(|| exact::time(bytes), |format| format.time(bytes)).map(number),
        ValueType::Timestamp => {
            format.map_or_else(|| exact::timestamp(bytes), |format| format.timestamp(bytes)).map(number)
        }
        ValueType::TimestampTz => {
            format.map_or_else(|| exact::timestamptz(bytes), |format| format.timestamptz(bytes)).map(number)
        }
        ValueType::Text => exact::text(bytes).map(string),
        ValueType::Varchar(characters) => exact::varchar(bytes, characters).map(string),
        ValueType::Char(characters) => exact::character(bytes, characters).map(string),
        ValueType::Uuid => exact::uuid(bytes).map(|uuid| Cell::Number(uuid.stored())),
        ValueType::Bytea => {
            let mut out = Vec::new();
            exact::bytea(bytes, &mut out).map(|()| Cell::Bytes(out))
        }
        ValueType::Numeric(limit) => {
            let mut out = Vec::new();
            exact::numeric(bytes, limit, &mut |byte| out.push(byte)).map(|()| Cell::Bytes(out))
        }
    }
}

/// A boolean by the words of the rule, of which those for false are PostgreSQL's.
fn boolean(rule: &FieldRule, bytes: &[u8]) -> Result<bool, Reason> {
    let Some(truths) = &rule.boolean_words.truths else { return exact::boolean(bytes) };
    // PostgreSQL's white space has the vertical tab, which Rust's has not.
    let space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let start = bytes.iter().take_while(|byte| space(byte)).count();
    let len = bytes[start..].iter().rev().skip_while(|byte| space(byte)).count();
    let word = &bytes[start..start + len];
    match exact::boolean(bytes) {
        _ if truths.iter().any(|truth| truth.eq_ignore_ascii_case(word)) => Ok(true),
        Ok(true) => Err(Reason::Boolean),
        other => other,
    }
}
