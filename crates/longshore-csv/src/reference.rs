//! The slow, obvious twin of scan, rows and unquoting: one automaton, one byte at a time.
//!
//! Tests compare every kernel with it. It shares no code with them, so that a mistake must be made twice to go unseen.

use std::error::Error;
use std::fmt;
use std::mem::take;

use crate::Dialect;

/// A record of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawRecord {
    /// Position of its first byte.
    pub start: usize,
    /// Position behind its last byte, line end excluded.
    pub end: usize,
    /// Its fields, at least one.
    pub fields: Vec<RawField>,
}

/// A field of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawField {
    /// Position of its first byte, which may be a quote.
    pub start: usize,
    /// Position behind its last byte.
    pub end: usize,
    /// Its bytes without quotes and escapes.
    pub value: Vec<u8>,
    /// Whether it holds a quote that quotes.
    pub quoted: bool,
}

/// Why a text cannot be taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceError {
    /// An unquoted carriage return at this position is not part of a line end.
    StrayCarriageReturn(usize),
    /// The quote at this position is never closed.
    UnterminatedQuote(usize),
}

impl fmt::Display for ReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReferenceError::StrayCarriageReturn(at) => {
                write!(f, "the carriage return at byte {at} is neither quoted nor part of a line end")
            }
            ReferenceError::UnterminatedQuote(at) => write!(f, "the quote at byte {at} is never closed"),
        }
    }
}

impl Error for ReferenceError {}

/// A record that cannot be taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenRecord {
    /// Position of its first byte.
    pub start: usize,
    /// Position behind its last byte, line end excluded; the end of the text if a quote stays open.
    pub end: usize,
    /// What is wrong, in the order of the text; at least one. Only the last one can be an open quote.
    pub errors: Vec<ReferenceError>,
}

/// All records of a text that begins at a record start; the last one may lack its line end.
///
/// # Errors
/// If a carriage return is stray or a quote stays open; the first of these in the text.
pub fn records(text: &[u8], dialect: &Dialect) -> Result<Vec<RawRecord>, ReferenceError> {
    let records = lenient_records(text, dialect).into_iter();
    records.map(|record| record.map_err(|broken| broken.errors[0])).collect()
}

/// As [`records`], with what is wrong in place of each record that cannot be taken apart.
#[must_use]
pub fn lenient_records(text: &[u8], dialect: &Dialect) -> Vec<Result<RawRecord, BrokenRecord>> {
    let mut records = Vec::new();
    let mut record = RawRecord::default();
    let mut field = RawField::default();
    let mut errors = Vec::new();
    let mut open_quote = None;
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        let next = text.get(at + 1).copied();
        let is_quote = dialect.quote() == Some(byte);
        if open_quote.is_some() {
            let escape = dialect.escape().or(dialect.quote());
            let escapes = escape == Some(byte) && next.is_some() && (next == dialect.quote() || next == escape);
            if escapes {
                field.value.extend(next);
                at += 1;
            } else if is_quote {
                open_quote = None;
            } else {
                field.value.push(byte);
            }
        } else if is_quote {
            open_quote = Some(at);
            field.quoted = true;
        } else if byte == dialect.delimiter() {
            field.end = at;
            record.fields.push(take(&mut field));
            field.start = at + 1;
        } else if byte == b'\n' || (byte == b'\r' && matches!(next, Some(b'\n') | None)) {
            field.end = at;
            record.end = at;
            record.fields.push(take(&mut field));
            records.push(whole_or_broken(take(&mut record), take(&mut errors)));
            at += usize::from(byte == b'\r');
            field.start = at + 1;
            record.start = at + 1;
        } else {
            if byte == b'\r' {
                errors.push(ReferenceError::StrayCarriageReturn(at));
            }
            field.value.push(byte);
        }
        at += 1;
    }
    errors.extend(open_quote.map(ReferenceError::UnterminatedQuote));
    if record.start < text.len() {
        field.end = text.len();
        record.end = text.len();
        record.fields.push(field);
        records.push(whole_or_broken(record, errors));
    }
    records
}

fn whole_or_broken(record: RawRecord, errors: Vec<ReferenceError>) -> Result<RawRecord, BrokenRecord> {
    if errors.is_empty() { Ok(record) } else { Err(BrokenRecord { start: record.start, end: record.end, errors }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str, dialect: &Dialect) -> Vec<Vec<String>> {
        let text_of = |field: &RawField| String::from_utf8(field.value.clone()).unwrap();
        let records = records(text.as_bytes(), dialect).unwrap();
        records.iter().map(|record| record.fields.iter().map(text_of).collect()).collect()
    }

    #[test]
    fn doubled_quotes_are_literal() {
        let rows = values("a,\"b \"\"c\"\" d\"\n\"\"\"\",\"\"\n", &Dialect::default());
        assert_eq!(rows, [["a", "b \"c\" d"], ["\"", ""]]);
    }

    #[test]
    fn quotes_toggle_anywhere() {
        assert_eq!(values("ab\"c,d\"e,f", &Dialect::default()), [["abc,de", "f"]]);
    }

    #[test]
    fn an_escape_protects_quotes_and_itself_inside_quotes_only() {
        let dialect = Dialect::new(b',', Some(b'"'), Some(b'\\')).unwrap();
        let rows = values("\"a\\\"b\\\\\",\\\n\"\\n\",\"\"\"x\"\n", &dialect);
        assert_eq!(rows, [["a\"b\\", "\\"], ["\\n", "x"]]);
    }

    #[test]
    fn positions_include_quotes_and_exclude_line_ends() {
        let records = records(b"\"a\",b\r\nc", &Dialect::default()).unwrap();
        let spans: Vec<_> = records.iter().map(|record| (record.start, record.end)).collect();
        assert_eq!(spans, [(0, 5), (7, 8)]);
        assert_eq!((records[0].fields[0].start, records[0].fields[0].end), (0, 3));
        assert!(records[0].fields[0].quoted && !records[0].fields[1].quoted);
    }

    #[test]
    fn errors_name_the_first_position() {
        let error = |text: &[u8]| records(text, &Dialect::default()).unwrap_err();
        assert_eq!(error(b"a\rb\n"), ReferenceError::StrayCarriageReturn(1));
        assert_eq!(error(b"a\r\r\n"), ReferenceError::StrayCarriageReturn(1));
        assert_eq!(error(b"a,\"b\"\"\n"), ReferenceError::UnterminatedQuote(2));
    }

    #[test]
    fn broken_records_stand_among_the_others() {
        let text = b"a\rb,\rc\nd\r\n\re,\"f\n";
        let records = lenient_records(text, &Dialect::default());
        let broken = |start, end, errors| Err(BrokenRecord { start, end, errors });
        let strays = [1, 4].map(ReferenceError::StrayCarriageReturn).to_vec();
        assert_eq!(records[0], broken(0, 6, strays));
        assert_eq!(records[1].as_ref().map(|record| (record.start, record.end)), Ok((7, 8)));
        let last = vec![ReferenceError::StrayCarriageReturn(10), ReferenceError::UnterminatedQuote(13)];
        assert_eq!(records[2..], [broken(10, 16, last)]);
    }
}
