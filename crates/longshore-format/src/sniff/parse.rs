//! A sample as records of cells under any dialect: slow, forgiving, and telling what looks wrong.
//!
//! A quote opens where a field begins, blanks before it aside. One that stands elsewhere, or closes before something
//! other than a delimiter or a line end, is stray, and is counted. Not here: whether that speaks against the dialect
//! (`score`).

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

    fn byte(self) -> u8 {
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

/// The complete records of a sample.
#[derive(Clone, Debug, Default)]
pub(super) struct Parsed {
    pub(super) records: Vec<Record>,
    /// Fields with quotes around them.
    pub(super) quoted: usize,
    /// Quotes that neither open nor close a field.
    pub(super) stray: usize,
    /// Escapes that protect something.
    pub(super) escapes: usize,
    /// Whether the end of the text was reached inside quotes.
    pub(super) open: bool,
    /// Lines that are comments.
    pub(super) comments: usize,
}

/// Where line number `lines` of the text begins.
pub(super) fn behind_lines(text: &[u8], lines: usize, breaks: LineBreaks) -> usize {
    let ends = memchr::memchr_iter(breaks.byte(), text);
    if lines == 0 { 0 } else { ends.map(|at| at + 1).nth(lines - 1).unwrap_or(text.len()) }
}

/// Takes at most `records_max` records of `text` apart. The last one counts only if it ends, or with `at_end`.
pub(super) fn parse(text: &[u8], at_end: bool, style: &Style, breaks: LineBreaks, records_max: usize) -> Parsed {
    let mut parser = Parser { text, at: 0, line: 0, style, line_end: breaks.byte(), parsed: Parsed::default() };
    while parser.at < text.len() && parser.parsed.records.len() < records_max {
        if parser.comment() {
            continue;
        }
        let begin = (parser.parsed.quoted, parser.parsed.stray, parser.parsed.escapes);
        let (record, complete) = parser.record();
        if complete || at_end {
            parser.parsed.records.push(record);
        } else {
            (parser.parsed.quoted, parser.parsed.stray, parser.parsed.escapes) = begin;
        }
    }
    parser.parsed
}

struct Parser<'a> {
    text: &'a [u8],
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
        let opens = self.text.get(self.at + blanks).is_some_and(|byte| Some(*byte) == self.style.quote);
        if opens && !self.style.delimiter.starts_with(b" ") {
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
                return true;
            } else {
                self.line += usize::from(byte == self.line_end);
                cell.content.push(byte);
            }
        }
        false
    }

    /// Reads up to and over the next delimiter or line end.
    fn unquoted(&mut self, cell: &mut Cell) -> Ending {
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
            self.parsed.stray += usize::from(Some(byte) == *quote || cell.quoted && !byte.is_ascii_whitespace());
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
