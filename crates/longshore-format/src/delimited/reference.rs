//! The slow, obvious twin of [`Delimited`](super::Delimited): one automaton, one byte at a time.
//!
//! Tests and fuzz targets compare the format with it. It shares no code with it, so that a mistake must be made twice to
//! go unseen.

use longshore_csv::DefectKind;

use super::{DelimitedOptions, EscapeRule, LongRecords, NulBytes, ShortRecords, StrayQuotes};
use crate::Quoting;
use crate::lines::LineEnds;

/// A record of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Position of its first byte.
    pub start: usize,
    /// Behind its last byte, line end excluded.
    pub end: usize,
    /// Behind its line end.
    pub next: usize,
    /// Its fields, at least one.
    pub fields: Vec<Field>,
    /// What is wrong with it, whatever the number of its fields.
    pub fault: Option<DefectKind>,
}

/// A field of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// Position of its first byte, blanks and quotes included.
    pub start: usize,
    /// Its bytes without blanks, quotes and escapes where these mean something.
    pub value: Vec<u8>,
    /// Whether it is a value whatever it looks like: something in it is quoted or protected.
    pub quoted: bool,
    /// Whether it is a NULL text with its escapes; then `value` holds these.
    pub null: bool,
}

/// What becomes of a record of `fields` fields: its fields, `None` where one is missing, or what is wrong.
///
/// # Errors
/// The kind of defect that the record is.
pub fn row(record: &Record, options: &DelimitedOptions, fields: usize) -> Result<Vec<Option<Field>>, DefectKind> {
    if let Some(fault) = record.fault {
        return Err(fault);
    }
    let mut row: Vec<Option<Field>> = record.fields.iter().cloned().map(Some).collect();
    let last = &record.fields[record.fields.len() - 1];
    if options.trailing_delimiter && row.len() <= fields + 1 && !last.quoted && last.value.is_empty() {
        row.pop();
    }
    if row.len() < fields && options.short_records == ShortRecords::Reject {
        return Err(DefectKind::MissingFields);
    }
    let is_empty = |field: &Option<Field>| field.as_ref().is_none_or(|field| !field.quoted && field.value.is_empty());
    let is_long = row.len() > fields && !row[fields..].iter().all(is_empty);
    if row.len() > fields && options.long_records == LongRecords::Reject
        || is_long && options.long_records == LongRecords::TruncateEmpty
    {
        return Err(DefectKind::ExtraFields);
    }
    row.resize(fields, None);
    Ok(row)
}

/// A byte of a field, or nothing where a quote opens, and whether it stood inside quotes or behind an escape.
type Char = (Option<u8>, bool);

/// All records of a text that begins where a record begins; the last one may lack its line end.
#[must_use]
pub fn records(text: &[u8], options: &DelimitedOptions) -> Vec<Record> {
    let twin = Twin { text, options };
    let mut records = Vec::new();
    let mut at = 0;
    while at < text.len() {
        if let Some(comment) = &options.comment
            && text[at..].starts_with(comment.as_bytes())
        {
            at = twin.behind_line(at);
            continue;
        }
        let (mut record, is_blank) = twin.record(at);
        at = record.next;
        if record.fault.is_none() && twin.is_doubtful(&record) {
            record.fault = Some(DefectKind::Dialect);
        }
        if !(options.skip_blank_lines && is_blank) {
            records.push(record);
        }
    }
    records
}

struct Twin<'a> {
    text: &'a [u8],
    options: &'a DelimitedOptions,
}

impl Twin<'_> {
    /// Whether a field of the record speaks against what quotes were taken for.
    fn is_doubtful(&self, record: &Record) -> bool {
        let delimiter = self.options.delimiter.as_bytes();
        let quote = self.options.quote;
        let escape = self.options.escape.map(|escape| escape.byte).filter(|escape| Some(*escape) != quote);
        let quoting = Quoting { quote: quote.unwrap_or(b'"'), escape, delimiter };
        let starts = record.fields.iter().map(|field| field.start);
        let ends = record.fields.iter().skip(1).map(|field| field.start - delimiter.len()).chain([record.end]);
        let mut raw = starts.zip(ends).map(|(start, end)| &self.text[start..end]);
        raw.any(|field| self.options.quote_check.is_contradicted(field, &quoting))
    }

    fn line_end(&self, at: usize) -> usize {
        match (self.text[at], self.text.get(at + 1)) {
            (b'\n', _) | (b'\r', None) => 1,
            (b'\r', Some(b'\n')) => 2,
            (b'\r', _) if self.options.line_ends == LineEnds::Any => 1,
            _ => 0,
        }
    }

    fn behind_line(&self, mut at: usize) -> usize {
        while at < self.text.len() {
            let line_end = self.line_end(at);
            if line_end > 0 {
                return at + line_end;
            }
            at += 1;
        }
        at
    }

    fn is_trimmed(&self, (byte, protected): Char) -> bool {
        self.options.trim && !protected && matches!(byte, Some(b' ' | b'\t'))
    }

    fn closes(&self, mut at: usize) -> bool {
        let delimiter = self.options.delimiter.as_bytes();
        loop {
            if at == self.text.len() || self.text[at..].starts_with(delimiter) || self.line_end(at) > 0 {
                return true;
            }
            if !self.is_trimmed((Some(self.text[at]), false)) {
                return false;
            }
            at += 1;
        }
    }

    /// How many bytes the escape at `at` protects; none if it is no escape.
    fn protected(&self, at: usize, inside: bool) -> usize {
        let quote = self.options.quote;
        let Some(escape) = self.options.escape.filter(|escape| Some(escape.byte) != quote) else { return 0 };
        let behind = &self.text[at + 1..];
        if self.text[at] != escape.byte || behind.is_empty() {
            return 0;
        }
        match escape.rule {
            EscapeRule::Quotes => usize::from(inside && (Some(behind[0]) == quote || behind[0] == escape.byte)),
            _ if !inside && behind.starts_with(b"\r\n") => 2,
            _ => 1,
        }
    }

    fn meaning(&self, byte: u8) -> u8 {
        if self.options.escape.is_none_or(|escape| escape.rule != EscapeRule::Letters) {
            return byte;
        }
        match byte {
            b'0' => 0,
            b'b' => 8,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'Z' => 0x1A,
            other => other,
        }
    }

    /// The record at `start`, and whether it is an empty line.
    fn record(&self, start: usize) -> (Record, bool) {
        let (text, options) = (self.text, self.options);
        let doubles = options.escape.is_none_or(|escape| Some(escape.byte) == options.quote);
        let mut record = Record { start, ..Record::default() };
        let (mut stray_return, mut stray_quote, mut nul) = (false, false, false);
        let (mut field_start, mut chars) = (start, Vec::<Char>::new());
        let (mut inside, mut closed, mut protects) = (false, false, false);
        let mut at = start;
        loop {
            let is_end = at == text.len();
            let is_delimiter = !is_end && !inside && text[at..].starts_with(options.delimiter.as_bytes());
            let line_end = if is_end || inside { 0 } else { self.line_end(at) };
            if is_end || is_delimiter || line_end > 0 {
                let raw = &text[field_start..at];
                let quoted = closed || inside;
                nul |= raw.contains(&0);
                record.fields.push(self.field(field_start, raw, &chars, quoted, protects));
                if !is_delimiter {
                    record.end = at;
                    record.next = at + line_end;
                    break;
                }
                at += options.delimiter.len();
                field_start = at;
                chars.clear();
                (closed, protects) = (false, false);
                continue;
            }
            let byte = text[at];
            let is_quote = Some(byte) == options.quote;
            let protected = self.protected(at, inside);
            if protected > 0 {
                protects = true;
                stray_quote |= closed && !inside;
                let is_line_end = protected == 2;
                let meant = text[at + 1..=at + protected].iter();
                chars.extend(meant.map(|byte| (Some(if is_line_end { *byte } else { self.meaning(*byte) }), true)));
                at += protected;
            } else if inside && is_quote && doubles && text.get(at + 1) == Some(&byte) {
                chars.push((Some(byte), true));
                at += 1;
            } else if inside && is_quote && (options.stray_quotes != StrayQuotes::Literal || self.closes(at + 1)) {
                inside = false;
                closed = true;
            } else if inside {
                chars.push((Some(byte), true));
            } else if is_quote {
                let begins = !closed && chars.iter().all(|char| self.is_trimmed(*char));
                stray_quote |= !begins;
                if begins || options.stray_quotes != StrayQuotes::Literal {
                    inside = true;
                    chars.push((None, true));
                } else {
                    chars.push((Some(byte), false));
                }
            } else {
                stray_return |= byte == b'\r';
                stray_quote |= closed && !self.is_trimmed((Some(byte), false));
                chars.push((Some(byte), false));
            }
            at += 1;
        }
        let is_blank =
            !inside && record.fields.len() == 1 && !record.fields[0].quoted && record.fields[0].value.is_empty();
        record.fault = if record.end - start > options.record_bytes_max {
            Some(DefectKind::TooLong)
        } else if stray_return {
            Some(DefectKind::LineEnd)
        } else if inside || stray_quote && options.stray_quotes == StrayQuotes::Error {
            Some(DefectKind::Quote)
        } else if nul && options.nul == NulBytes::Error {
            Some(DefectKind::Encoding)
        } else {
            None
        };
        (record, is_blank && record_is_empty(&text[start..at], options))
    }

    fn field(&self, start: usize, raw: &[u8], chars: &[Char], quoted: bool, protects: bool) -> Field {
        let mut chars = chars;
        while let [first, rest @ ..] = chars
            && self.is_trimmed(*first)
        {
            chars = rest;
        }
        while let [rest @ .., last] = chars
            && self.is_trimmed(*last)
        {
            chars = rest;
        }
        let raw = if self.options.trim { trim(raw) } else { raw };
        let null = !quoted && protects && self.options.null_texts.iter().any(|null| **null == *raw);
        if null {
            return Field { start, value: raw.to_vec(), quoted: false, null };
        }
        let is_kept = |byte: &u8| self.options.nul != NulBytes::Strip || *byte != 0;
        let value = chars.iter().filter_map(|(byte, _)| *byte).filter(is_kept).collect();
        Field { start, value, quoted: quoted || protects, null }
    }
}

/// Without the blanks around it; a NULL text with its escapes has no blank at its end.
fn trim(raw: &[u8]) -> &[u8] {
    let is_value = |byte: &u8| *byte != b' ' && *byte != b'\t';
    let start = raw.iter().position(is_value).unwrap_or(raw.len());
    let end = raw.iter().rposition(is_value).map_or(start, |last| last + 1);
    &raw[start..end]
}

/// Whether a line holds nothing, or blanks that are trimmed.
fn record_is_empty(line: &[u8], options: &DelimitedOptions) -> bool {
    line.iter().all(|byte| matches!(byte, b'\r' | b'\n') || options.trim && matches!(byte, b' ' | b'\t'))
}
