//! What the tests over the public API share: a text, taken apart by every kernel and by the slow twin.

#![allow(clippy::trivially_copy_pass_by_ref, reason = "as in the library")]
#![allow(clippy::unwrap_used, reason = "this is test code")]

use longshore_csv::reference::{RawRecord, ReferenceError, records};
use longshore_csv::{
    Dialect, Kernel, Marks, PADDING, Padded, QuoteState, Rows, Scanner, Shape, ShapeError, ShapeErrorKind, TextTraits,
    survey,
};
use longshore_testing::Random;

/// Fields of a row: start and end.
pub(crate) type Spans = Vec<(u32, u32)>;

/// What [`Rows::new`] and [`Rows::lenient`] are to find in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) rows: Vec<Spans>,
    pub(crate) consumed: usize,
    pub(crate) error: Option<ShapeError>,
}

pub(crate) const STATES: [QuoteState; 3] = [QuoteState::Outside, QuoteState::Inside, QuoteState::Escaped];

/// Comma and double quote, by doubling and with a backslash; pipes without and with quotes; other bytes altogether.
pub(crate) fn dialects() -> [Dialect; 5] {
    [
        Dialect::default(),
        dialect(b',', Some(b'"'), Some(b'\\')),
        dialect(b'|', None, None),
        dialect(b'|', Some(b'"'), None),
        dialect(b'a', Some(b'|'), Some(b',')),
    ]
}

pub(crate) fn dialect(delimiter: u8, quote: Option<u8>, escape: Option<u8>) -> Dialect {
    Dialect::new(delimiter, quote, escape).unwrap()
}

/// The text with padding that would be marks if anyone took it for text.
pub(crate) fn padded(text: &[u8]) -> Vec<u8> {
    let hostile = b"\"\n,\\\r|a\xFF".iter().copied().cycle();
    text.iter().copied().chain(hostile.take(PADDING)).collect()
}

/// Bytes out of the special ones of all [`dialects`] and some without meaning.
pub(crate) fn soup(random: &mut Random, len: usize) -> Vec<u8> {
    let alphabet = "\",\\|\n\r aé";
    let mut bytes: Vec<u8> = (0..len).map(|_| alphabet.as_bytes()[random.below(alphabet.len())]).collect();
    if random.once_in(3) {
        // Whole blocks without any special byte, or with one of them only.
        bytes.iter_mut().filter(|_| !random.once_in(50)).for_each(|byte| *byte = b'x');
    } else if random.once_in(2) {
        // With fewer line ends and quotes, structures get longer.
        let (rare, instead) = ([b'\n', b'"', b'\r'][random.below(3)], b'x');
        for byte in &mut bytes {
            if *byte == rare && !random.once_in(8) {
                *byte = instead;
            }
        }
    }
    bytes
}

/// Well-formed records of the given shape, sometimes with one byte changed or the end cut off.
pub(crate) fn table(random: &mut Random, dialect: &Dialect, shape: Shape, rows: usize) -> Vec<u8> {
    let mut text = Vec::new();
    let crlf = random.below(3);
    for _ in 0..rows {
        for column in 0..shape.fields {
            field(random, dialect, &mut text);
            if column + 1 < shape.fields || shape.trailing_delimiter {
                text.push(dialect.delimiter());
            }
        }
        if crlf == 1 || crlf == 2 && random.once_in(2) {
            text.push(b'\r');
        }
        text.push(b'\n');
    }
    if !text.is_empty() && random.once_in(3) {
        let at = random.below(text.len());
        text[at] = soup(random, 1)[0];
    }
    if random.once_in(3) {
        text.truncate(random.below(text.len() + 1));
    }
    text
}

fn field(random: &mut Random, dialect: &Dialect, text: &mut Vec<u8>) {
    let len = [0, 1, 3, 9, 40, 150][random.below(6)];
    let special = |byte: u8| {
        byte == b'\n'
            || byte == b'\r'
            || byte == dialect.delimiter()
            || Some(byte) == dialect.quote()
            || Some(byte) == dialect.escape()
    };
    let content = soup(random, len);
    let Some(quote) = dialect.quote().filter(|_| random.once_in(3)) else {
        text.extend(content.into_iter().filter(|&byte| !special(byte)));
        return;
    };
    text.push(quote);
    for byte in content {
        if byte == quote || Some(byte) == dialect.escape() {
            text.push(dialect.escape().unwrap_or(quote));
        }
        text.push(byte);
    }
    text.push(quote);
}

/// The records of a text whose stray carriage returns and open quote are forgiven, and where those carriage returns
/// are. An open quote ends the text.
fn forgiving(text: &[u8], dialect: &Dialect) -> (Vec<RawRecord>, Vec<usize>) {
    let mut text = text.to_vec();
    let mut strays = Vec::new();
    loop {
        match records(&text, dialect) {
            Ok(records) => return (records, strays),
            Err(ReferenceError::StrayCarriageReturn(at)) => {
                strays.push(at);
                text[at] = b'\0';
            }
            Err(ReferenceError::UnterminatedQuote(at)) => text.truncate(at),
        }
    }
}

/// The outcome that the slow twin expects of [`Rows::new`]: what stands before the first misshapen record.
pub(crate) fn expected(text: &[u8], dialect: &Dialect, shape: Shape) -> Outcome {
    let Lenient { mut rows, mut consumed, errors } = expected_of_all(text, dialect, shape);
    let error = errors.first().copied();
    if let Some(error) = error {
        rows.truncate(error.row);
        consumed = error.start as usize;
    }
    Outcome { rows, consumed, error }
}

/// What [`Rows::lenient`] is to find in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lenient {
    pub(crate) rows: Vec<Spans>,
    pub(crate) consumed: usize,
    pub(crate) errors: Vec<ShapeError>,
}

/// The outcome that the slow twin expects of [`Rows::lenient`].
pub(crate) fn expected_of_all(text: &[u8], dialect: &Dialect, shape: Shape) -> Lenient {
    let (records, strays) = forgiving(text, dialect);
    let mut outcome = Lenient::default();
    for record in &records {
        let line_end = if text[record.end..].starts_with(b"\n") {
            1
        } else if text[record.end..].starts_with(b"\r\n") {
            2
        } else {
            break;
        };
        outcome.consumed = record.end + line_end;
        let spans: Spans = record.fields.iter().map(|field| (field.start as u32, field.end as u32)).collect();
        let last_is_empty = spans.last().is_some_and(|(start, end)| start == end);
        let found = if shape.trailing_delimiter && last_is_empty { spans.len() - 1 } else { spans.len() };
        let stray = strays.iter().find(|at| (record.start..record.end).contains(at));
        let kind = if let Some(&at) = stray {
            ShapeErrorKind::StrayCarriageReturn { at: at as u32 }
        } else if found < shape.fields {
            ShapeErrorKind::MissingFields { expected: shape.fields, found }
        } else if found > shape.fields {
            ShapeErrorKind::ExtraFields { expected: shape.fields, found }
        } else if shape.trailing_delimiter && !last_is_empty {
            ShapeErrorKind::TrailingDelimiterMissing
        } else {
            outcome.rows.push(spans[..shape.fields].to_vec());
            continue;
        };
        let row = outcome.rows.len();
        outcome.errors.push(ShapeError { row, start: record.start as u32, end: record.end as u32, kind });
    }
    outcome
}

/// The outcome of a scan.
pub(crate) fn scanned(kernel: Kernel, text: &[u8], dialect: &Dialect, traits: TextTraits, shape: Shape) -> Outcome {
    let buffer = padded(text);
    let text = Padded::new(&buffer, text.len());
    let mut marks = Marks::new();
    Scanner::new(kernel, dialect, traits).scan(text, &mut marks);
    let records = Rows::new(text, &mut marks, shape, traits, dialect);
    let rows = records.rows;
    let spans = |row| (0..rows.fields()).map(|column| rows.field(row, column)).collect();
    Outcome { rows: (0..rows.count()).map(spans).collect(), consumed: records.consumed, error: records.error }
}

/// The outcome of a scan that goes on behind misshapen records.
pub(crate) fn scanned_leniently(
    kernel: Kernel,
    text: &[u8],
    dialect: &Dialect,
    traits: TextTraits,
    shape: Shape,
) -> Lenient {
    let buffer = padded(text);
    let text = Padded::new(&buffer, text.len());
    let mut marks = Marks::new();
    Scanner::new(kernel, dialect, traits).scan(text, &mut marks);
    let mut errors = Vec::new();
    let records = Rows::lenient(text, &mut marks, shape, traits, dialect, &mut errors);
    assert_eq!(records.error, None);
    let rows = records.rows;
    let spans = |row| (0..rows.fields()).map(|column| rows.field(row, column)).collect();
    Lenient { rows: (0..rows.count()).map(spans).collect(), consumed: records.consumed, errors }
}

/// Checks that every kernel, knowing what the text holds and not knowing it, finds what the slow twin finds.
pub(crate) fn check(text: &[u8], dialect: &Dialect, shape: Shape) -> Outcome {
    let expected = expected(text, dialect, shape);
    for kernel in Kernel::available() {
        for traits in [survey(kernel, dialect, text).traits, TextTraits::ALL] {
            let outcome = scanned(kernel, text, dialect, traits, shape);
            assert_eq!(
                outcome,
                expected,
                "kernel {kernel}, {dialect:?}, {shape:?}, {traits:?}, text {:?}",
                text.escape_ascii().to_string()
            );
            assert_eq!(
                scanned_leniently(kernel, text, dialect, traits, shape),
                expected_of_all(text, dialect, shape),
                "leniently, kernel {kernel}, {dialect:?}, {shape:?}, {traits:?}, text {:?}",
                text.escape_ascii().to_string()
            );
        }
    }
    expected
}

/// Checks a text as [`check`] does and returns the values of its rows, by unquoting each field on its own.
pub(crate) fn values(text: &[u8], dialect: &Dialect, shape: Shape) -> Vec<Vec<String>> {
    let outcome = check(text, dialect, shape);
    assert_eq!((outcome.error, outcome.consumed), (None, text.len()));
    let value = |&(start, end): &(u32, u32)| {
        let field = records(&text[start as usize..end as usize], dialect).unwrap();
        let value = field.into_iter().next().map_or_else(Vec::new, |record| record.fields[0].value.clone());
        String::from_utf8(value).unwrap()
    };
    outcome.rows.iter().map(|row| row.iter().map(value).collect()).collect()
}
