//! The slow, obvious twin of [`PostgresText`](super::PostgresText): one automaton, one byte at a time.
//!
//! Tests and fuzz targets compare the format with it. It shares no code with it, so that a mistake must be made twice to
//! go unseen.

use longshore_csv::DefectKind;

use super::PostgresTextOptions;
use crate::lines::LineEnds;

/// A record of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Position of its first byte.
    pub start: usize,
    /// Behind its last byte, line end excluded.
    pub end: usize,
    /// Its fields, or what is wrong with it whatever their number.
    pub fields: Result<Vec<Field>, DefectKind>,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Position of its first byte.
    pub start: usize,
    /// Its bytes without escapes; a NULL text keeps them.
    pub value: Vec<u8>,
    /// Whether it is a value whatever it looks like.
    pub quoted: bool,
}

/// All records of a text that begins where a record begins, up to the mark that ends the data.
#[must_use]
pub fn records(text: &[u8], options: &PostgresTextOptions) -> Vec<Record> {
    let line_end = |at: usize| match (text[at], text.get(at + 1)) {
        (b'\n', _) | (b'\r', None) => 1,
        (b'\r', Some(b'\n')) => 2,
        (b'\r', _) if options.line_ends == LineEnds::Any => 1,
        _ => 0,
    };
    let mut records = Vec::new();
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with(b"\\.") && (at + 2 == text.len() || line_end(at + 2) > 0) {
            break;
        }
        let start = at;
        let mut fault = None;
        let mut fields = Vec::new();
        let mut field = start;
        let mut next = text.len();
        while at < text.len() {
            if text[at] == b'\\' {
                if text.get(at + 1) == Some(&b'.') {
                    fault = fault.or(Some(DefectKind::Syntax));
                }
                at += 2;
            } else if line_end(at) > 0 {
                next = at + line_end(at);
                break;
            } else {
                if text[at] == b'\r' {
                    fault = fault.or(Some(DefectKind::LineEnd));
                }
                if text[at] == options.delimiter {
                    fields.push(of(text, field, at, options));
                    field = at + 1;
                }
                at += 1;
            }
        }
        let end = at.min(text.len());
        fields.push(of(text, field, end, options));
        if end - start > options.record_bytes_max {
            fault = Some(DefectKind::TooLong);
        }
        records.push(Record { start, end, fields: fault.map_or(Ok(fields), Err) });
        at = next;
    }
    records
}

fn of(text: &[u8], start: usize, end: usize, options: &PostgresTextOptions) -> Field {
    let raw = &text[start..end];
    if !raw.contains(&b'\\') || options.null_texts.iter().any(|null| **null == *raw) {
        return Field { start, value: raw.to_vec(), quoted: false };
    }
    let mut value = Vec::new();
    let mut at = 0;
    while at < raw.len() {
        let byte = raw[at];
        at += 1;
        if byte != b'\\' {
            value.push(byte);
            continue;
        }
        let Some(&escaped) = raw.get(at) else { break };
        at += 1;
        value.push(match escaped {
            b'0'..=b'7' => {
                let mut number = u32::from(escaped - b'0');
                for _ in 0..2 {
                    if let Some(digit @ b'0'..=b'7') = raw.get(at) {
                        number = number * 8 + u32::from(digit - b'0');
                        at += 1;
                    } else {
                        break;
                    }
                }
                (number & 0xFF) as u8
            }
            b'x' if raw.get(at).is_some_and(u8::is_ascii_hexdigit) => {
                let digits = raw[at..].iter().take(2).take_while(|byte| byte.is_ascii_hexdigit()).count();
                let digits = String::from_utf8_lossy(&raw[at..at + digits]).into_owned();
                at += digits.len();
                u8::from_str_radix(&digits, 16).unwrap_or_default()
            }
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            other => other,
        });
    }
    Field { start, value, quoted: true }
}
