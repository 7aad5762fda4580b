//! What was found, whether it was given or detected, and why.

mod options;

pub use options::OptionText;

use super::family::Family;
use super::given::{Given, QuoteChoice, RecordRules};
use super::names;
use super::parse::{Cell, LineBreaks, Style};
use super::types::{Decision, TypeSet};
use crate::QuoteCheck;
use crate::delimited::{LongRecords, ShortRecords, StrayQuotes};
use crate::json::JsonPath;

/// A property of a file, and how it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<T> {
    /// What it is.
    pub value: T,
    /// Whether the user said so.
    pub given: bool,
    /// Why, as a part of a sentence.
    pub reason: String,
}

impl<T> Found<T> {
    pub(super) fn detected(value: T, reason: impl Into<String>) -> Found<T> {
        Found { value, given: false, reason: reason.into() }
    }

    pub(super) fn given(value: T) -> Found<T> {
        Found { value, given: true, reason: "given".to_owned() }
    }

    /// What was given, or else what was detected.
    pub(super) fn new(given: Option<T>, detected: T, reason: impl Into<String>) -> Found<T> {
        given.map_or_else(|| Found::detected(detected, reason), Found::given)
    }
}

/// What ends a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineEnd {
    /// `\n`
    LineFeed,
    /// `\r\n`
    CarriageReturnLineFeed,
    /// `\r`
    CarriageReturn,
    /// `\n` and `\r\n`
    Mixed,
}

/// A column as far as the sample tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name: of the header, of the user, or `column1`.
    pub name: String,
    /// The types that all its values in the sample can have.
    pub types: TypeSet,
    /// What would be decided if there were no other values.
    pub decision: Decision,
}

/// What a text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sniffed {
    /// The format.
    pub family: Found<Family>,
    /// What stands between two fields.
    pub delimiter: Found<Vec<u8>>,
    /// What stands around fields.
    pub quote: Found<Option<u8>>,
    /// What protects a quote inside quotes, where quotes are not doubled; without a quote, what protects any byte.
    pub escape: Found<Option<u8>>,
    /// Whether the sample has too few whole records to tell, since it ends within a quoted field: a longer one is of use.
    pub lacks_records: bool,
    /// What holds of all quotes of the text if they are what was found.
    pub quote_check: QuoteCheck,
    /// Whether quotes occur inside of fields that no quotes are around: they are meant literally.
    pub stray_quotes: Found<bool>,
    /// What comments begin with.
    pub comment: Found<Option<Vec<u8>>>,
    /// Lines before the header or the first record.
    pub skip_lines: Found<usize>,
    /// Whether the first record names the columns.
    pub header: Found<bool>,
    /// What ends a line.
    pub line_end: Found<LineEnd>,
    /// Whether empty lines stand between records.
    pub blank_lines: Found<bool>,
    /// Whether records end with a delimiter.
    pub trailing_delimiter: Found<bool>,
    /// Whether some records lack fields at their end.
    pub short_records: Found<bool>,
    /// Whether some records have fields beyond the last one, with nothing in them.
    pub long_records: Found<bool>,
    /// What stands between the digits before and behind the point.
    pub decimal_separator: Found<u8>,
    /// What stands between groups of three digits.
    pub thousands_separator: Found<Option<u8>>,
    /// Fixed width: start and end of each field, in characters.
    pub widths: Vec<(usize, usize)>,
    /// JSON: where the value of each column is found.
    pub paths: Vec<JsonPath>,
    /// Logfmt and patterns: the key or group of each column.
    pub fields: Vec<String>,
    /// What the user says about records, and the pattern that was found.
    pub rules: RecordRules,
    /// Whether the columns are called exactly as the header has it.
    pub named_by_header: bool,
    /// Whether there is nothing in the text.
    pub is_empty: bool,
    /// The columns.
    pub columns: Vec<Column>,
}

impl Sniffed {
    pub(super) fn new(family: Found<Family>, breaks: LineBreaks, given: &Given) -> Sniffed {
        let line_end = match breaks {
            LineBreaks::CarriageReturn => LineEnd::CarriageReturn,
            LineBreaks::LineFeed { plain: true, carriage_return: true } => LineEnd::Mixed,
            LineBreaks::LineFeed { carriage_return: true, .. } => LineEnd::CarriageReturnLineFeed,
            LineBreaks::LineFeed { .. } => LineEnd::LineFeed,
        };
        let none = "none was found";
        let rules = given.rules.clone();
        let literal = rules.stray_quotes.map(|rule| rule == StrayQuotes::Literal);
        let pads = rules.short_records.map(|rule| rule == ShortRecords::Pad);
        let cuts = rules.long_records.map(|rule| rule == LongRecords::TruncateEmpty);
        Sniffed {
            family,
            delimiter: Found::new(given.delimiter.clone(), Vec::new(), none),
            quote: Found::new(given.quote.map(QuoteChoice::byte), None, none),
            escape: Found::new(given.escape.map(QuoteChoice::byte), None, "none was needed"),
            lacks_records: false,
            quote_check: QuoteCheck::Off,
            stray_quotes: Found::new(literal, false, none),
            comment: Found::new(given.comment.clone().map(|text| Some(text).filter(|t| !t.is_empty())), None, none),
            skip_lines: Found::new(given.skip_lines, 0, "the first line is of the table"),
            header: Found::new(given.header, false, ""),
            line_end: Found::detected(line_end, "of the sample"),
            blank_lines: Found::new(rules.skip_blank_lines, false, none),
            trailing_delimiter: Found::new(given.trailing_delimiter, false, "not all records end with one"),
            short_records: Found::new(pads, false, none),
            long_records: Found::new(cuts, false, none),
            decimal_separator: Found::new(given.decimal_separator, b'.', "no number tells of another"),
            thousands_separator: Found::new(given.thousands_separator.map(Some), None, none),
            widths: Vec::new(),
            paths: Vec::new(),
            fields: Vec::new(),
            rules,
            named_by_header: false,
            is_empty: false,
            columns: Vec::new(),
        }
    }

    /// What was found of the dialect as what is given, for texts of the same one; all else is as in `given`.
    #[must_use]
    pub fn as_given(&self, given: &Given) -> Given {
        let choice = |byte: Option<u8>| Some(byte.map_or(QuoteChoice::None, QuoteChoice::Byte));
        Given {
            family: Some(self.family.value),
            delimiter: Some(self.delimiter.value.clone()),
            quote: choice(self.quote.value),
            escape: choice(self.escape.value),
            comment: Some(self.comment.value.clone().unwrap_or_default()),
            skip_lines: Some(self.skip_lines.value),
            header: Some(self.header.value),
            trailing_delimiter: Some(self.trailing_delimiter.value),
            decimal_separator: Some(self.decimal_separator.value),
            thousands_separator: self.thousands_separator.value,
            ..given.clone()
        }
    }

    /// Takes over a dialect, where the user did not say otherwise.
    pub(super) fn take_style(&mut self, style: &Style, reason: &str, given: &Given) {
        self.delimiter = Found::new(given.delimiter.clone(), style.delimiter.clone(), reason);
        let quoted = if style.quote.is_some() { reason } else { "no field is quoted" };
        self.quote = Found::new(given.quote.map(QuoteChoice::byte), style.quote, quoted);
        let escape = if style.escape.is_some() { "it stands before quotes or delimiters" } else { "none was needed" };
        self.escape = Found::new(given.escape.map(QuoteChoice::byte), style.escape, escape);
        if self.escape.value == self.quote.value {
            self.escape.value = None;
        }
        if !self.comment.given {
            self.comment = Found::detected(style.comment.clone(), "lines that begin so do not fit the others");
        }
    }

    /// Gives a file of one column a delimiter that does not occur.
    pub(super) fn stand_in_delimiter(&mut self, sample: &[u8]) {
        let byte = [b',', b'\t', b';', b'|', 0x1F, 0x01].into_iter().find(|byte| !sample.contains(byte));
        self.delimiter = Found::detected(vec![byte.unwrap_or(0x1F)], "there is one column, in which it does not occur");
    }

    /// Makes a text without anything in it a table of one column, so that it can be asked for its rows, of which there
    /// are none.
    pub fn take_for_empty(&mut self) {
        let (name, types) = ("column1".to_owned(), TypeSet::TEXT);
        let reading = self.reading(&Given::default());
        match self.family.value {
            Family::JsonLines | Family::JsonValues | Family::JsonArray => self.paths = vec![JsonPath::key(&name)],
            Family::Logfmt | Family::Pattern => self.fields = vec![name.clone()],
            Family::Delimited | Family::PgText | Family::FixedWidth => {}
        }
        let reason = "there is nothing in the file";
        self.header = Found::detected(false, reason);
        self.blank_lines = Found::detected(true, reason);
        self.is_empty = true;
        self.columns = vec![Column { name, types, decision: types.decide(&reading) }];
    }

    /// The dialect by which the sample is taken apart.
    pub(super) fn style(&self) -> Style {
        Style {
            delimiter: self.delimiter.value.clone(),
            quote: self.quote.value,
            escape: self.escape.value,
            comment: self.comment.value.clone(),
            escape_rule: self.rules.escape_rule,
        }
    }

    /// Names the columns, which the caller has counted by making them.
    pub(super) fn name_columns(&mut self, header: Option<&Vec<Cell>>, given: &Given) {
        let found: Vec<String> = match header {
            Some(cells) => cells.iter().map(|cell| String::from_utf8_lossy(&cell.content).into_owned()).collect(),
            None => Vec::new(),
        };
        let named = given.names.clone().unwrap_or_else(|| found.clone());
        let count = self.columns.len().max(named.len());
        let normalize = given.normalize_names && given.names.is_none();
        let names = names::unique((0..count).map(|index| named.get(index).cloned().unwrap_or_default()), normalize);
        let reading = self.reading(given);
        self.named_by_header = header.is_some() && names == found;
        self.columns = names
            .into_iter()
            .map(|name| Column { name, types: TypeSet::EVERY, decision: TypeSet::EVERY.decide(&reading) })
            .collect();
    }
}
