//! The text format of PostgreSQL's `COPY`.
//!
//! Fields are separated by one byte and never quoted; a backslash protects the byte behind it, a line end as well, or
//! begins an escape. The NULL text is looked for before escapes are taken away, so that `\N` is NULL and `\\N` the text
//! `\N`. A line `\.` ends the data. The rules are those of `CopyReadLineText` and `CopyReadAttributesText`
//! (`copyfromparse.c`, version 18), with two differences: `\n` and `\r\n` may be mixed, and a NUL byte is a character
//! like any other.
//! Not here: the binary format.

mod escape;
pub mod reference;

use std::cmp::Ordering;
use std::error::Error;
use std::fmt;

use longshore_csv::{Defect, DefectKind, FirstRecord, RECORD_BYTES_MAX, RecordFormat, RowText, ShapeErrorKind};
use memchr::{memchr, memchr2, memmem};

use crate::ahead::Ahead;
use crate::lines::{Fault, Line, LineEnds};

/// What can be said about the format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresTextOptions {
    /// The byte between two fields.
    pub delimiter: u8,
    /// Fields that are one of these before their escapes are taken away are left as they are, for the decoders to find
    /// their NULL texts.
    pub null_texts: Vec<Box<[u8]>>,
    /// What ends a record; where `\r` alone does not, it is a defect unless a backslash stands before it.
    pub line_ends: LineEnds,
    /// The most bytes that a record may take.
    pub record_bytes_max: usize,
}

impl Default for PostgresTextOptions {
    fn default() -> PostgresTextOptions {
        PostgresTextOptions {
            delimiter: b'\t',
            null_texts: vec![b"\\N".as_slice().into()],
            line_ends: LineEnds::Standard,
            record_bytes_max: RECORD_BYTES_MAX,
        }
    }
}

/// Bytes that mean something behind a backslash, as PostgreSQL lists them.
const NO_DELIMITERS: &[u8] = b"\\.abcdefghijklmnopqrstuvwxyz0123456789\0\r\n";

/// Why options do not make a [`PostgresText`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostgresTextError {
    /// A byte that cannot be told from others, or is a part of a longer character.
    Delimiter(u8),
    /// A NULL text that no field can be.
    NullText(Box<[u8]>),
}

impl fmt::Display for PostgresTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PostgresTextError::Delimiter(byte) => write!(
                f,
                "DELIMITER cannot be '{}' in the text format; choose an ASCII character other than a small letter, a \
                 digit, a period, a backslash, NUL and the line ends",
                byte.escape_ascii()
            ),
            PostgresTextError::NullText(text) => write!(
                f,
                "NULL cannot be '{}' in the text format; choose a text without the delimiter and line ends",
                text.escape_ascii()
            ),
        }
    }
}

impl Error for PostgresTextError {}

/// The text format of PostgreSQL's `COPY`.
#[derive(Clone)]
pub struct PostgresText {
    options: PostgresTextOptions,
    /// Bytes that end a field or mean something, here or in rows of plain CSV.
    stops: Box<[bool; 256]>,
}

/// How a record ends.
enum Ended {
    At(Line),
    /// The line `\.` ends the data.
    Data,
}

impl PostgresText {
    /// The format that `options` describe.
    ///
    /// # Errors
    /// If they do not go together.
    pub fn new(options: PostgresTextOptions) -> Result<PostgresText, PostgresTextError> {
        let delimiter = options.delimiter;
        if NO_DELIMITERS.contains(&delimiter) || !delimiter.is_ascii() {
            return Err(PostgresTextError::Delimiter(delimiter));
        }
        let is_bad = |text: &[u8]| text.iter().any(|byte| *byte == delimiter || matches!(byte, b'\n' | b'\r'));
        if let Some(text) = options.null_texts.iter().find(|text| is_bad(text)) {
            return Err(PostgresTextError::NullText(text.clone()));
        }
        let mut stops = Box::new([false; 256]);
        for byte in [delimiter, b'\\', b'\r', b'\n', b'"', 0x1F] {
            stops[usize::from(byte)] = true;
        }
        Ok(PostgresText { options, stops })
    }

    /// The byte between two fields.
    #[must_use]
    pub fn delimiter(&self) -> u8 {
        self.options.delimiter
    }

    /// The line that begins at `start`, protected line ends read over.
    fn record(&self, text: &[u8], start: usize) -> Ended {
        let ends = self.options.line_ends;
        let mut from = start;
        loop {
            let line = ends.line(text, from);
            let has_end = line.next > line.end;
            if !has_end || !is_protected(&text[start..line.end]) {
                let line = Line { start, ..line };
                return if &text[start..line.end] == b"\\." { Ended::Data } else { Ended::At(line) };
            }
            // The backslash protects one byte; the line feed behind a carriage return ends the line all the same.
            from = line.end + 1;
            if text.get(line.end) == Some(&b'\r') && text.get(from) == Some(&b'\n') {
                let line = Line { start, end: from, next: from + 1 };
                return Ended::At(line);
            }
        }
    }

    /// Reads a record with backslashes or carriage returns.
    fn read_record(&self, text: &[u8], line: Line, rows: &mut RowText) -> Result<(), Fault> {
        let expected = rows.fields();
        let mut found = 0;
        let mut from = line.start;
        loop {
            let length = text[from..line.end].iter().position(|byte| self.stops[usize::from(*byte)]);
            let simple = length.map_or(line.end, |length| from + length);
            let is_simple = simple == line.end || text[simple] == self.options.delimiter;
            let (to, is_last) =
                if is_simple { (simple, simple == line.end) } else { self.field_end(text, from, line.end)? };
            if found < expected && is_simple {
                rows.push_clean_part(text, from, to);
            } else if found < expected {
                self.push(&text[from..to], from as u32, rows);
            }
            found += 1;
            if is_last {
                return check(found, expected);
            }
            from = to + 1;
        }
    }

    /// The end of the field that begins at `start` of the record that ends at `end`, and whether it is the last one.
    fn field_end(&self, text: &[u8], start: usize, end: usize) -> Result<(usize, bool), Fault> {
        let mut at = start;
        loop {
            let Some(offset) = memchr::memchr3(self.options.delimiter, b'\\', b'\r', &text[at..end]) else {
                return Ok((end, true));
            };
            at += offset;
            match text[at] {
                b'\\' if text[at..end].starts_with(b"\\.") => return Err(misplaced_end()),
                b'\\' => at = (at + 2).min(end),
                b'\r' => return Err(stray_return()),
                _ => return Ok((at, false)),
            }
        }
    }

    fn push(&self, raw: &[u8], origin: u32, rows: &mut RowText) {
        if memchr(b'\\', raw).is_none() || self.is_null(raw) {
            rows.push_bare(raw, origin);
            return;
        }
        rows.open_quoted();
        escape::content(raw, &mut |part| rows.extend_quoted(part));
        rows.close_quoted(origin);
    }

    fn is_null(&self, raw: &[u8]) -> bool {
        self.options.null_texts.iter().any(|null| **null == *raw)
    }
}

/// Whether a backslash protects what stands behind `line`.
fn is_protected(line: &[u8]) -> bool {
    line.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

fn check(found: usize, expected: usize) -> Result<(), Fault> {
    let (defect, kind) = match found.cmp(&expected) {
        Ordering::Equal => return Ok(()),
        Ordering::Less => (DefectKind::MissingFields, ShapeErrorKind::MissingFields { expected, found }),
        Ordering::Greater => (DefectKind::ExtraFields, ShapeErrorKind::ExtraFields { expected, found }),
    };
    let remedy = "check DELIMITER, write a delimiter inside a field with a backslash before it, or list the columns that \
                  the file holds";
    Err(Fault::new(defect, kind.reason(), remedy))
}

fn misplaced_end() -> Fault {
    Fault::new(
        DefectKind::Syntax,
        "has the end-of-copy marker \\. beside other text",
        "write a backslash in a field as \\\\, or put the marker on a line of its own",
    )
}

fn stray_return() -> Fault {
    Fault::new(
        DefectKind::LineEnd,
        "found a carriage return that is not part of a line end",
        "write it as \\r, or set LINE_ENDS any if it ends a line",
    )
}

impl fmt::Debug for PostgresText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.options.fmt(f)
    }
}

impl RecordFormat for PostgresText {
    fn complete(&self, text: &[u8], at_end: bool) -> usize {
        let mut complete = text.len();
        if at_end {
            return complete;
        }
        loop {
            complete = self.options.line_ends.complete(&text[..complete]);
            let line = &text[..complete];
            let Some(end) = line.strip_suffix(b"\n").or_else(|| line.strip_suffix(b"\r")) else { return 0 };
            // Behind a protected carriage return a line feed is a line end of its own.
            if !is_protected(end) {
                return complete;
            }
            complete -= 1;
        }
    }

    fn read(&self, text: &[u8], rows: &mut RowText, defects: &mut Vec<Defect>) -> usize {
        let first_row = rows.count();
        let (mut special, mut unclean) = (Ahead::NOTHING, Ahead::NOTHING);
        let mut at = 0;
        while at < text.len() {
            let line = match self.record(text, at) {
                Ended::At(line) => line,
                Ended::Data => return text.len(),
            };
            at = line.next;
            let bytes = line.end - line.start;
            let outcome = if bytes > self.options.record_bytes_max {
                Err(Fault::too_long(bytes, self.options.record_bytes_max))
            } else if special.is_free(text, line.start, line.end, |text| memchr2(b'\\', b'\r', text))
                && unclean.is_free(text, line.start, line.end, |text| memchr2(b'"', 0x1F, text))
            {
                let record = &text[line.start..line.end];
                match rows.push_record(record, self.options.delimiter, line.start as u32) {
                    Ok(()) if rows.is_full() => return at,
                    Ok(()) => continue,
                    Err(found) => check(found, rows.fields()),
                }
            } else {
                self.read_record(text, line, rows)
            };
            line.end_record(outcome, first_row, rows, defects);
            if rows.is_full() {
                return at;
            }
        }
        at
    }

    fn first_record(&self, text: &[u8], at_end: bool) -> Option<FirstRecord> {
        let complete = self.complete(text, at_end);
        let text = &text[..complete];
        if text.is_empty() {
            return None;
        }
        let Ended::At(line) = self.record(text, 0) else { return None };
        let mut fields = Vec::new();
        let mut from = 0;
        loop {
            // What cannot be taken apart is one field: what follows says so, if it is a record and no header.
            let (to, is_last) = self.field_end(text, from, line.end).unwrap_or((line.end, true));
            let mut content = Vec::new();
            escape::content(&text[from..to], &mut |part| content.extend_from_slice(part));
            fields.push(content);
            if is_last {
                return Some(FirstRecord { bytes: line.next, fields });
            }
            from = to + 1;
        }
    }

    fn end_of_data(&self, records: &[u8]) -> Option<usize> {
        memmem::find_iter(records, b"\\.").find_map(|at| {
            let before = &records[..at];
            let begins = match before.split_last() {
                None => true,
                Some((b'\n', line)) => line.ends_with(b"\r") || !is_protected(line),
                Some((b'\r', line)) => self.options.line_ends == LineEnds::Any && !is_protected(line),
                Some(_) => false,
            };
            let line = self.options.line_ends.line(records, at);
            (begins && line.end == at + 2).then_some(line.next)
        })
    }
}
