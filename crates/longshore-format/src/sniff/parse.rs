//! A sample as records of cells under any dialect: slow, forgiving, and telling what looks wrong.
//!
//! A quote opens where a field begins, blanks before it aside. One that stands elsewhere, or closes before something
//! other than a delimiter or a line end, is stray, and is counted. Not here: whether that speaks against the dialect
//! (`score`).

use std::collections::BTreeMap;

use crate::delimited::EscapeRule;
use crate::lines::LineEnds;

/// How lines end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineBreaks {
    /// With `\n`; whether there are some without and some with a `\r` before it.
    LineFeed { plain: bool, carriage_return: bool },
    /// With `\r` alone.
    CarriageReturn,
}

impl LineBreaks {
    /// Those of a sample, of which the user may say what ends a record.
    pub(super) fn new(sample: &[u8], given: Option<LineEnds>) -> LineBreaks {
        match (LineBreaks::of(sample), given) {
            (LineBreaks::CarriageReturn, Some(LineEnds::Standard)) => {
                LineBreaks::LineFeed { plain: false, carriage_return: false }
            }
            (found, _) => found,
        }
    }

    pub(super) fn of(sample: &[u8]) -> LineBreaks {
        let mut plain = false;
        let mut carriage_return = false;
        for at in memchr::memchr_iter(b'\n', sample) {
            if at > 0 && sample[at - 1] == b'\r' {
                carriage_return = true;
            } else {
                plain = true;
            }
        }
        if !plain && !carriage_return && memchr::memchr(b'\r', sample).is_some_and(|at| at + 1 < sample.len()) {
            return LineBreaks::CarriageReturn;
        }
        LineBreaks::LineFeed { plain, carriage_return }
    }

    pub(super) fn byte(self) -> u8 {
        if self == LineBreaks::CarriageReturn { b'\r' } else { b'\n' }
    }
}

/// A dialect to try.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    /// Empty: each line is one field.
    pub(super) delimiter: Vec<u8>,
    pub(super) quote: Option<u8>,
    /// Before a quote inside quotes; without a quote, before anything.
    pub(super) escape: Option<u8>,
    pub(super) comment: Option<Vec<u8>>,
    /// What the escape protects, where the user says it.
    pub(super) escape_rule: Option<EscapeRule>,
}

impl Style {
    /// Whether the escape protects anything, outside quotes too.
    fn escapes_anything(&self) -> bool {
        self.escape_rule.map_or(self.quote.is_none(), |rule| rule != EscapeRule::Quotes)
    }

    /// What the byte behind an escape stands for.
    fn protected(&self, byte: u8) -> u8 {
        match byte {
            b'n' if self.escape_rule == Some(EscapeRule::Letters) => b'\n',
            b't' if self.escape_rule == Some(EscapeRule::Letters) => b'\t',
            byte => byte,
        }
    }
}

/// A field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) content: Vec<u8>,
    pub(super) quoted: bool,
}

/// A record that is no comment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) cells: Vec<Cell>,
    /// Line that it begins in, from 0.
    pub(super) line: usize,
}

impl Record {
    /// Whether nothing stands in its line.
    pub(super) fn is_blank(&self) -> bool {
        matches!(&self.cells[..], [cell] if !cell.quoted && cell.content.trim_ascii().is_empty())
    }
}

/// A table: its records from the header or the first record of data on, each of as many cells as the table has columns.
pub(super) type Table = Vec<Vec<Cell>>;

/// The complete records of a sample.
#[derive(Clone, Debug, Default)]
pub(super) struct Parsed {
    pub(super) records: Vec<Record>,
    /// Fields with quotes around them.
    pub(super) quoted: usize,
    /// Quotes that neither open nor close a field, and characters behind one that closes. Apostrophes do not count.
    pub(super) stray: usize,
    /// Fields that begin with a quote, and go on behind the one that closes it.
    pub(super) broken: usize,
    /// Fields with a quote that do not begin with one.
    pub(super) inside: usize,
    /// Escapes that protect something.
    pub(super) escapes: usize,
    /// Whether the end of the text was reached inside quotes.
    pub(super) open: bool,
    /// Whether a stretch ends inside quotes and the text goes on behind it.
    pub(super) runs_on: bool,
    /// Lines that are comments.
    pub(super) comments: usize,
    /// The record at the end of the text that does not end there, where more follows.
    pub(super) rest: Option<Record>,
    /// Bytes that were looked at.
    pub(super) bytes: usize,
}

impl Parsed {
    /// Adds what another stretch of the text has.
    pub(super) fn join(&mut self, other: Parsed) {
        self.records.extend(other.records);
        self.quoted += other.quoted;
        self.stray += other.stray;
        self.broken += other.broken;
        self.inside += other.inside;
        self.escapes += other.escapes;
        self.open |= other.open;
        self.runs_on |= other.runs_on;
        self.comments += other.comments;
        self.rest = self.rest.take().or(other.rest);
    }

    /// What was counted of fields.
    fn counts(&self) -> [usize; 5] {
        [self.quoted, self.stray, self.broken, self.inside, self.escapes]
    }

    /// Forgets what was counted since.
    fn reset(&mut self, counts: [usize; 5]) {
        [self.quoted, self.stray, self.broken, self.inside, self.escapes] = counts;
    }
}

/// The number of fields that most records have; of two as frequent ones, the larger.
pub(super) fn usual_fields(records: &[&Record]) -> usize {
    let mut counts = BTreeMap::new();
    for record in records {
        *counts.entry(record.cells.len()).or_insert(0_usize) += 1;
    }
    let weigh = |fields: usize, count: usize| if fields == 1 { count } else { count * 2 };
    counts.into_iter().max_by_key(|&(fields, count)| (weigh(fields, count), fields)).map_or(0, |(fields, _)| fields)
}

/// Where line number `lines` of the text begins.
pub(super) fn behind_lines(text: &[u8], lines: usize, breaks: LineBreaks) -> usize {
    let ends = memchr::memchr_iter(breaks.byte(), text);
    if lines == 0 { 0 } else { ends.map(|at| at + 1).nth(lines - 1).unwrap_or(text.len()) }
}

/// How much of a text is taken apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Records at most.
    pub(super) records: usize,
    /// Bytes behind which no record begins, once there are `records_min`.
    pub(super) bytes: usize,
    /// Records that are read whatever they take.
    pub(super) records_min: usize,
}

/// Takes at most `records_max` records of `text` apart. The last one counts only if it ends, or with `at_end`.
pub(super) fn parse(text: &[u8], at_end: bool, style: &Style, breaks: LineBreaks, records_max: usize) -> Parsed {
    parse_within(text, at_end, style, breaks, Limits { records: records_max, bytes: usize::MAX, records_min: 0 })
}

/// The same within `limits`.
pub(super) fn parse_within(text: &[u8], at_end: bool, style: &Style, breaks: LineBreaks, limits: Limits) -> Parsed {
    let mut parser = Parser { text, at_end, at: 0, line: 0, style, line_end: breaks.byte(), parsed: Parsed::default() };
    let goes_on = |parser: &Parser<'_>| {
        let records = parser.parsed.records.len();
        parser.at < text.len() && records < limits.records && (parser.at < limits.bytes || records < limits.records_min)
    };
    while goes_on(&parser) {
        if parser.comment() {
            continue;
        }
        let begin = parser.parsed.counts();
        let (record, complete) = parser.record();
        if complete || at_end {
            parser.parsed.records.push(record);
        } else {
            // What is quoted up to the end tells of the quotes, if not of the record.
            parser.parsed.runs_on = std::mem::take(&mut parser.parsed.open);
            if !parser.parsed.runs_on {
                parser.parsed.reset(begin);
            }
            parser.parsed.rest = Some(record);
        }
    }
    parser.parsed.bytes = parser.at;
    parser.parsed
}

struct Parser<'a> {
    text: &'a [u8],
    /// Whether nothing follows the text.
    at_end: bool,
    at: usize,
    line: usize,
    style: &'a Style,
    line_end: u8,
    parsed: Parsed,
}

impl Parser<'_> {
    /// Reads over a line that is a comment.
    fn comment(&mut self) -> bool {
        let rest = &self.text[self.at..];
        if !self.style.comment.as_ref().is_some_and(|comment| rest.starts_with(comment)) {
            return false;
        }
        self.parsed.comments += 1;
        self.at += memchr::memchr(self.line_end, rest).map_or(rest.len(), |end| end + 1);
        self.line += 1;
        true
    }

    /// The next record, and whether it ends.
    fn record(&mut self) -> (Record, bool) {
        let mut record = Record { cells: Vec::new(), line: self.line };
        loop {
            let mut cell = Cell::default();
            let ending = self.field(&mut cell);
            record.cells.push(cell);
            match ending {
                Ending::Delimiter => {}
                Ending::Line => {
                    self.line += 1;
                    return (record, true);
                }
                Ending::Text => return (record, false),
            }
        }
    }

    fn field(&mut self, cell: &mut Cell) -> Ending {
        let blanks = self.text[self.at..].iter().take_while(|byte| **byte == b' ').count();
        let blanks = if self.style.delimiter.starts_with(b" ") { 0 } else { blanks };
        let opens = self.text.get(self.at + blanks).is_some_and(|byte| Some(*byte) == self.style.quote);
        if opens {
            cell.content.extend_from_slice(&self.text[self.at..self.at + blanks]);
            self.at += blanks + 1;
            cell.quoted = true;
            self.parsed.quoted += 1;
            if !self.quoted(cell) {
                self.parsed.open = true;
                return Ending::Text;
            }
        }
        self.unquoted(cell)
    }

    /// Reads up to and over the closing quote; whether there is one.
    fn quoted(&mut self, cell: &mut Cell) -> bool {
        let quote = self.style.quote;
        let escape = self.style.escape.or(quote);
        while let Some(&byte) = self.text.get(self.at) {
            let next = self.text.get(self.at + 1).copied();
            self.at += 1;
            let anything = self.style.escapes_anything() && self.style.escape.is_some();
            if Some(byte) == escape && next.is_some() && (next == quote || next == escape || anything) {
                cell.content.extend(next.map(|byte| self.style.protected(byte)));
                self.line += usize::from(next == Some(self.line_end));
                self.at += 1;
                self.parsed.escapes += 1;
            } else if Some(byte) == quote {
                // Another quote may follow behind the sample.
                return next.is_some() || self.at_end;
            } else {
                self.line += usize::from(byte == self.line_end);
                cell.content.push(byte);
            }
        }
        false
    }

    /// Reads up to and over the next delimiter or line end.
    fn unquoted(&mut self, cell: &mut Cell) -> Ending {
        let before = (self.parsed.stray, self.parsed.inside);
        let ending = self.outside(cell);
        if cell.quoted && self.parsed.stray > before.0 {
            self.parsed.broken += 1;
            self.parsed.inside = before.1;
        } else {
            self.parsed.inside = self.parsed.inside.min(before.1 + 1);
        }
        ending
    }

    /// The same, without counting fields.
    fn outside(&mut self, cell: &mut Cell) -> Ending {
        let Style { delimiter, quote, escape, .. } = self.style;
        let begin = self.at;
        while let Some(&byte) = self.text.get(self.at) {
            if byte == self.line_end {
                let end = self.at;
                self.at += 1;
                if byte == b'\n' && end > begin && self.text[end - 1] == b'\r' {
                    cell.content.pop();
                }
                return Ending::Line;
            }
            if !delimiter.is_empty() && self.text[self.at..].starts_with(delimiter) {
                self.at += delimiter.len();
                return Ending::Delimiter;
            }
            self.at += 1;
            if self.style.escapes_anything() && Some(byte) == *escape && self.at < self.text.len() {
                let protected = self.text[self.at];
                let special = protected == self.line_end || self.text[self.at..].starts_with(delimiter);
                self.parsed.escapes += usize::from(special || Some(protected) == *escape);
                self.line += usize::from(protected == self.line_end);
                cell.content.push(self.style.protected(protected));
                self.at += 1;
                continue;
            }
            let is_quote = Some(byte) == *quote;
            let is_apostrophe = is_quote
                && byte == b'\''
                && !cell.quoted
                && cell.content.last().is_some_and(|before| before.is_ascii_alphanumeric() || !before.is_ascii());
            let is_stray = is_quote && !is_apostrophe || cell.quoted && !byte.is_ascii_whitespace();
            self.parsed.stray += usize::from(is_stray);
            self.parsed.inside += usize::from(is_quote);
            cell.content.push(byte);
        }
        if self.text.len() > begin && self.text.ends_with(b"\r") {
            cell.content.pop();
        }
        Ending::Text
    }
}

/// What ends a field.
enum Ending {
    Delimiter,
    Line,
    Text,
}
