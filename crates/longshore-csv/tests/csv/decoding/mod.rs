//! Columns of fields, decoded by every kernel, and what the exact twins say of them.

pub(crate) mod memo;
pub(crate) mod seeds;

use std::mem::MaybeUninit;

use longshore_csv::decode::exact;
use longshore_csv::reference;
use longshore_csv::{
    Decoder, Dialect, FieldError, FieldRule, Heap, Kernel, Marks, PADDING, Padded, Reason, Rows, Scanner, Shape, Slot,
    Target, Validity, ValueType, Values, survey,
};
use longshore_testing::Random;
use longshore_value::numeric::{self, Limit};

/// A decoded field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cell {
    Null,
    /// Any integer, date, time or decimal.
    Number(i128),
    /// The bits of a float.
    Bits(u64),
    /// Text or bytes.
    Bytes(Vec<u8>),
}

/// Changes a few bytes of `content`.
pub(crate) fn mutate(content: &[u8], random: &mut Random) -> Vec<u8> {
    const LIKELY: &[u8] = b"0123456789+-.:eE TZx,|\"'\\\t\n\r\0azAZ{}/\xA0";
    let mut bytes = content.to_vec();
    for _ in 0..=random.below(3) {
        let byte = if random.below(4) == 0 { random.byte() } else { random.pick(LIKELY) };
        let at = random.below(bytes.len() + 1);
        match random.below(4) {
            0 => bytes.insert(at, byte),
            1 if at < bytes.len() => {
                bytes.remove(at);
            }
            2 if !bytes.is_empty() => {
                let (from, len) = (random.below(bytes.len()), random.below(20));
                let piece = bytes[from..(from + len).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            _ if at < bytes.len() => bytes[at] = byte,
            _ => {}
        }
    }
    bytes
}

/// Dialects, some of which have special bytes that are parts of values.
pub(crate) fn dialects() -> Vec<Dialect> {
    vec![
        Dialect::default(),
        Dialect::new(b'|', None, None).unwrap(),
        Dialect::new(b'\t', Some(b'\''), Some(b'\\')).unwrap(),
        Dialect::new(b';', Some(b'"'), Some(b'1')).unwrap(),
        Dialect::new(b'.', Some(b'0'), None).unwrap(),
        Dialect::new(b'-', Some(b' '), Some(b'x')).unwrap(),
        Dialect::new(b'1', Some(b'\\'), None).unwrap(),
    ]
}

/// NULL texts.
pub(crate) fn nulls(texts: &[&[u8]]) -> Vec<Box<[u8]>> {
    texts.iter().map(|text| (*text).into()).collect()
}

/// What a field means, by the exact twins.
pub(crate) fn expected(rule: &FieldRule, dialect: &Dialect, field: &Field) -> Result<Cell, Reason> {
    if rule.trim {
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t') && dialect.quote() != Some(*byte);
        let from = field.raw.iter().take_while(|byte| blank(byte)).count();
        let len = field.raw[from..].iter().rev().skip_while(|byte| blank(byte)).count();
        let trimmed = Field::from_raw(&field.raw[from..from + len], dialect).expect("it was one with blanks around");
        return expected(&FieldRule { trim: false, ..rule.clone() }, dialect, &trimmed);
    }
    let content = &*field.content;
    let may_be_null = if field.quoted { rule.quoted_nulls } else { !rule.force_not_null };
    if may_be_null && rule.null_texts.iter().any(|text| content == &**text) {
        return if rule.nullable { Ok(Cell::Null) } else { Err(Reason::Null) };
    }
    let separators = exact::Separators { decimal: rule.decimal_separator, thousands: rule.thousands_separator };
    let number = |is_integer: bool, read: &dyn Fn(&[u8]) -> Result<Cell, Reason>| {
        let is_plain = if is_integer { rule.thousands_separator.is_none() } else { rule.has_plain_numbers() };
        if is_plain {
            read(content)
        } else {
            read(&separators.plain(content)?).map_err(|error| separators.reason(error))
        }
    };
    let format = rule.date_time_format.as_ref().filter(|format| !format.is_iso());
    match rule.value_type {
        ValueType::Boolean => boolean(rule, content).map(|value| Cell::Number(value.into())),
        ValueType::Int16 => number(true, &|text| exact::int16(text).map(|value| Cell::Number(value.into()))),
        ValueType::Int32 => number(true, &|text| exact::int32(text).map(|value| Cell::Number(value.into()))),
        ValueType::Int64 => number(true, &|text| exact::int64(text).map(|value| Cell::Number(value.into()))),
        ValueType::Float32 => {
            number(false, &|text| exact::float32(text).map(|value| Cell::Bits(value.to_bits().into())))
        }
        ValueType::Float64 => number(false, &|text| exact::float64(text).map(|value| Cell::Bits(value.to_bits()))),
        ValueType::Decimal64 { precision, scale } => {
            number(false, &|text| exact::decimal64(text, precision, scale).map(|value| Cell::Number(value.into())))
        }
        ValueType::Decimal128 { precision, scale } => {
            number(false, &|text| exact::decimal128(text, precision, scale).map(Cell::Number))
        }
        ValueType::Date => format
            .map_or_else(|| exact::date(content), |format| format.date(content))
            .map(|days| Cell::Number(days.into())),
        ValueType::Time => time(format.map_or_else(|| exact::time(content), |format| format.time(content))),
        ValueType::Timestamp => {
            time(format.map_or_else(|| exact::timestamp(content), |format| format.timestamp(content)))
        }
        ValueType::TimestampTz => {
            time(format.map_or_else(|| exact::timestamptz(content), |format| format.timestamptz(content)))
        }
        ValueType::Text => exact::text(content).map(|value| Cell::Bytes(value.into())),
        ValueType::Varchar(length) => exact::varchar(content, length).map(|value| Cell::Bytes(value.into())),
        ValueType::Char(length) => exact::character(content, length).map(|value| Cell::Bytes(value.into())),
        ValueType::Uuid => exact::uuid(content).map(|value| Cell::Number(value.stored())),
        ValueType::Bytea => {
            let mut bytes = Vec::new();
            exact::bytea(content, &mut bytes).map(|()| Cell::Bytes(bytes))
        }
        ValueType::Numeric(limit) => number(false, &|text| numeric_cell(text, limit)),
    }
}

/// A NUMERIC; one of no more digits than a decimal has must be what that is.
fn numeric_cell(text: &[u8], limit: Option<Limit>) -> Result<Cell, Reason> {
    let mut bytes = Vec::new();
    let found = exact::numeric(text, limit, &mut |byte| bytes.push(byte)).map(|()| bytes);
    if let Some(Limit { precision: precision @ 0..=38, scale: scale @ 0..=38 }) = limit {
        let shown = String::from_utf8_lossy(text);
        match exact::decimal128(text, precision as u8, scale as u8) {
            Ok(units) => {
                let (sign, width) = (if units < 0 { "-" } else { "" }, scale as usize + 1);
                let digits = format!("{:0width$}", units.unsigned_abs());
                let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
                let mut same = Vec::new();
                let plain = format!("{sign}{whole}.{fraction}");
                numeric::read(plain.as_bytes(), None, &mut |byte| same.push(byte)).expect("it is a number");
                assert_eq!(found, Ok(same), "{shown} as NUMERIC({precision},{scale})");
            }
            Err(Reason::TooManyDigits { .. }) => assert_eq!(found, Err(Reason::OutOfRange), "{shown}"),
            Err(_) => {}
        }
    }
    found.map(Cell::Bytes)
}

fn time(micros: Result<i64, Reason>) -> Result<Cell, Reason> {
    micros.map(|micros| Cell::Number(micros.into()))
}

/// A boolean by the rule's words.
fn boolean(rule: &FieldRule, content: &[u8]) -> Result<bool, Reason> {
    let words = &rule.boolean_words;
    if words.is_default() {
        return exact::boolean(content);
    }
    let word =
        String::from_utf8_lossy(content).trim_matches([' ', '\t', '\n', '\x0B', '\x0C', '\r']).to_ascii_lowercase();
    let is = |list: &Option<Vec<Box<[u8]>>>, value: bool| match list {
        Some(list) => list.iter().any(|listed| String::from_utf8_lossy(listed).to_ascii_lowercase() == word),
        None => exact::boolean(content) == Ok(value),
    };
    match (is(&words.truths, true), is(&words.falsehoods, false)) {
        (true, _) => Ok(true),
        (_, true) => Ok(false),
        _ if word.is_empty() => Err(Reason::Empty),
        _ => Err(Reason::Boolean),
    }
}

/// Decodes a column of rows that may hold bad fields: after each of them, decoding goes on with the next row. No
/// more than some rows are decoded at once, or those behind a bad field would be allocated for again and again.
/// Lenient decoding of the same rows must give the same.
pub(crate) fn decode(decoder: &Decoder, rows: Rows<'_>, column: usize) -> Vec<Result<Cell, Reason>> {
    let mut cells = Vec::new();
    let mut rest = rows;
    while !rest.is_empty() {
        let some = rest.truncated(rest.count().min(100));
        let (mut good, errors) = decode_once(decoder, some, column, false);
        if let Some((row, reason)) = errors.first() {
            good.truncate(*row);
            cells.extend(good.into_iter().map(Ok));
            cells.push(Err(*reason));
        } else {
            cells.extend(good.into_iter().map(Ok));
        }
        rest = rest.split_at(errors.first().map_or(some.count(), |(row, _)| row + 1)).1;
    }
    assert!(decode_leniently(decoder, rows, column) == cells, "lenient decoding of {:?}", decoder.rule());
    if decoder.rule().value_type.slot() == Slot::View {
        memo::check(decoder, rows, column, &cells);
    }
    cells
}

/// Decodes a column in one go.
fn decode_leniently(decoder: &Decoder, rows: Rows<'_>, column: usize) -> Vec<Result<Cell, Reason>> {
    let (cells, errors) = decode_once(decoder, rows, column, true);
    assert!(errors.is_sorted_by_key(|(row, _)| *row));
    let mut cells: Vec<_> = cells.into_iter().map(Ok).collect();
    for (row, reason) in errors {
        let cell = cells[row].as_ref().expect("one error per row");
        assert!(is_zero(cell), "the slot of a bad field holds {cell:?}");
        cells[row] = Err(reason);
    }
    cells
}

/// Whether a cell is what stands in the slots of NULLs and bad fields.
fn is_zero(cell: &Cell) -> bool {
    match cell {
        Cell::Number(number) => *number == 0,
        Cell::Bits(bits) => *bits == 0,
        Cell::Bytes(bytes) => bytes.is_empty(),
        Cell::Null => false,
    }
}

/// The cells, only those before the first bad field being of use if decoding was not lenient; rows and reasons of the
/// bad ones.
fn decode_once(decoder: &Decoder, rows: Rows<'_>, column: usize, lenient: bool) -> (Vec<Cell>, Vec<(usize, Reason)>) {
    const USED: usize = 5;
    let count = rows.count();
    let mut bits = vec![0xFF_u8; count / 8 + 2];
    let growth = count * decoder.rule().value_type.growth_max();
    let mut memory = vec![MaybeUninit::<u8>::uninit(); USED + rows.text_bytes() + growth + PADDING];
    let (mut errors, mut nulls) = (Vec::new(), 0);
    macro_rules! slots {
        ($variant:ident, $zero:expr, |$value:ident, $heap:ident| $cell:expr) => {{
            let mut slots = vec![MaybeUninit::new($zero); count];
            let mut heap = Heap::new(&mut memory, USED);
            let validity = Validity::new(&mut bits, 3);
            let mut target = Target { values: Values::$variant(&mut slots), validity, heap: &mut heap, coded: None };
            if lenient {
                decoder.decode_lenient(&rows, column, &mut target, &mut errors);
            } else {
                errors.extend(decoder.decode(&rows, column, &mut target).err());
            }
            nulls += target.validity.nulls();
            let good = if lenient { count } else { errors.first().map_or(count, |error| error.row) };
            let $heap = &memory;
            slots[..good]
                .iter()
                .map(|slot| {
                    // SAFETY: all slots began with a value.
                    let $value = unsafe { slot.assume_init() };
                    $cell
                })
                .collect::<Vec<Cell>>()
        }};
    }
    let mut cells = match decoder.rule().value_type {
        ValueType::Boolean => slots!(U8, 9_u8, |value, _heap| Cell::Number(value.into())),
        ValueType::Int16 => slots!(I16, 9_i16, |value, _heap| Cell::Number(value.into())),
        ValueType::Int32 | ValueType::Date => slots!(I32, 9_i32, |value, _heap| Cell::Number(value.into())),
        ValueType::Int64
        | ValueType::Decimal64 { .. }
        | ValueType::Time
        | ValueType::Timestamp
        | ValueType::TimestampTz => slots!(I64, 9_i64, |value, _heap| Cell::Number(value.into())),
        ValueType::Decimal128 { .. } | ValueType::Uuid => slots!(I128, 9_i128, |value, _heap| Cell::Number(value)),
        ValueType::Float32 => slots!(F32, 9.0_f32, |value, _heap| Cell::Bits(value.to_bits().into())),
        ValueType::Float64 => slots!(F64, 9.0_f64, |value, _heap| Cell::Bits(value.to_bits())),
        _ => slots!(Views, 9_u128, |value, heap| Cell::Bytes(viewed(value, heap))),
    };
    let mut cleared = 0;
    for (row, cell) in cells.iter_mut().enumerate() {
        if bits[(row + 3) / 8] & 1 << ((row + 3) % 8) == 0 {
            assert!(is_zero(cell), "the slot of a NULL holds {cell:?}");
            *cell = Cell::Null;
            cleared += 1;
        }
    }
    assert_eq!(cleared, nulls);
    let reason = |error: &FieldError| {
        assert_eq!((error.start, error.end), rows.field(error.row, column));
        (error.row, error.reason)
    };
    (cells, errors.iter().map(reason).collect())
}

/// The bytes of a view, whose form is checked.
fn viewed(view: u128, heap: &[MaybeUninit<u8>]) -> Vec<u8> {
    let bytes = view.to_le_bytes();
    let len = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
    if len <= 12 {
        assert!(bytes[4 + len..].iter().all(|byte| *byte == 0), "bytes behind an inline string");
        return bytes[4..4 + len].to_vec();
    }
    assert_eq!(&bytes[8..12], [0; 4], "the buffer index");
    let offset = u32::from_le_bytes(bytes[12..].try_into().unwrap()) as usize;
    let long: Vec<u8> = heap[offset..offset + len]
        .iter()
        .map(|byte| {
            // SAFETY: a view points to bytes that were written.
            unsafe { byte.assume_init() }
        })
        .collect();
    assert_eq!(&bytes[4..8], &long[..4], "the prefix");
    long
}

/// A field as it stands in a text, with its content and whether it is quoted.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) raw: Vec<u8>,
    pub(crate) content: Vec<u8>,
    pub(crate) quoted: bool,
}

impl Field {
    /// The field of that spelling, if a field before others can be spelled so.
    pub(crate) fn from_raw(raw: &[u8], dialect: &Dialect) -> Option<Field> {
        let text = [raw, &[dialect.delimiter(), b'_', b'\n']].concat();
        let [record] = &*reference::records(&text, dialect).ok()? else {
            return None;
        };
        let [field, _] = &*record.fields else { return None };
        (field.end == raw.len() && field.start == 0).then(|| Field {
            raw: raw.to_vec(),
            content: field.value.clone(),
            quoted: field.quoted,
        })
    }

    /// The content in quotes.
    pub(crate) fn quoted(content: &[u8], dialect: &Dialect) -> Field {
        let mut raw = Vec::new();
        longshore_csv::write::Quoting::new(dialect, b"", true).text(&mut raw, content).unwrap();
        Field { raw, content: content.to_vec(), quoted: true }
    }
}

/// Decodes the fields by every kernel, in the first and in the last column, and compares with the exact twins.
/// Returns how many are values.
pub(crate) fn check(rule: &FieldRule, dialect: &Dialect, fields: &[Field]) -> usize {
    let expected: Vec<_> = fields.iter().map(|field| expected(rule, dialect, field)).collect();
    for kernel in Kernel::available() {
        for first in [true, false] {
            // A carriage return at the end of a line would not belong to the field.
            if !first && fields.iter().any(|field| field.raw.ends_with(b"\r")) {
                continue;
            }
            let mut text = Vec::new();
            for field in fields {
                if first {
                    text.extend_from_slice(&field.raw);
                    text.extend_from_slice(&[dialect.delimiter(), b'_']);
                } else {
                    text.extend_from_slice(&[b'_', dialect.delimiter()]);
                    text.extend_from_slice(&field.raw);
                }
                text.push(b'\n');
            }
            let len = text.len();
            // What is behind the text must not matter: let it look like more of it.
            text.extend_from_slice(&[b'7'; PADDING]);
            let traits = survey(kernel, dialect, &text[..len]).traits;
            let padded = Padded::new(&text, len);
            let mut marks = Marks::new();
            Scanner::new(kernel, dialect, traits).scan(padded, &mut marks);
            let shape = Shape { fields: 2, trailing_delimiter: false };
            let records = Rows::new(padded, &mut marks, shape, traits, dialect);
            assert_eq!((records.error, records.consumed), (None, len));
            assert_eq!(records.rows.count(), fields.len());
            let decoder = Decoder::with_kernel(rule.clone(), dialect, kernel);
            let cells = decode(&decoder, records.rows, usize::from(!first));
            for ((cell, expected), field) in cells.iter().zip(&expected).zip(fields) {
                assert_eq!(cell, expected, "{kernel}, {:?}, field {:?}", rule, field.raw.escape_ascii().to_string());
            }
            assert_eq!(cells.len(), fields.len());
        }
    }
    expected.iter().filter(|cell| cell.is_ok()).count()
}
