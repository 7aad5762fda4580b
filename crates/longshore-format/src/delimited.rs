//! Delimited text where plain CSV ends: delimiters of several bytes, escapes outside quotes, comments, any line end,
//! ragged records, stray quotes.
//!
//! What a text means is said by [`DelimitedOptions`] and, rule by rule, by the slow twin in [`mod@reference`]. On what
//! [`longshore_csv::Dialect`] can say both agree. A record ends where its language says, whatever is wrong with it: no
//! defect makes the text behind it be read in another way, so that none is looked for inside quotes.
//! Not here: plain CSV (`longshore-csv`), telling the dialect of a text (`sniff`).

mod content;
mod field;
mod options;
mod read;
pub mod reference;

use std::fmt;

use longshore_csv::{Defect, FirstRecord, RecordFormat, RowText};
use memchr::{memchr, memchr_iter};

use self::field::Ending;
pub use self::options::{
    DELIMITER_BYTES_MAX, DelimitedError, DelimitedOptions, Escape, EscapeRule, LongRecords, NulBytes, ShortRecords,
    StrayQuotes,
};
use crate::lines::LineEnds;
use crate::{QuoteCheck, Quoting};

/// Delimited text.
#[derive(Clone)]
pub struct Delimited {
    options: DelimitedOptions,
    delimiter: Box<[u8]>,
    comment: Option<Box<[u8]>>,
    quote: Option<u8>,
    /// What protects inside quotes, if quotes are not doubled.
    escape: Option<(u8, EscapeRule)>,
    /// What protects outside quotes.
    escape_outside: Option<u8>,
    /// The byte of the delimiter to search for, and where in it it stands.
    anchor: (usize, u8),
    /// Bytes that no record has which can be cut at its delimiters.
    specials: Box<[u8]>,
    /// Whether fields may be as simple as `simple_field` has them.
    is_simple: bool,
    /// Bytes outside quotes that may mean something, here or in rows of plain CSV.
    stops: Box<[bool; 256]>,
}

impl Delimited {
    /// The format that `options` describe.
    ///
    /// # Errors
    /// If they do not go together.
    pub fn new(options: DelimitedOptions) -> Result<Delimited, DelimitedError> {
        options.check()?;
        let quote = options.quote;
        let escape = options.escape.filter(|escape| Some(escape.byte) != quote);
        let escape_outside = escape.filter(|escape| escape.rule != EscapeRule::Quotes).map(|escape| escape.byte);
        let delimiter: Box<[u8]> = options.delimiter.as_bytes().into();
        // Letters, digits and blanks are frequent in fields.
        let is_rare = |byte: &u8| !byte.is_ascii_alphanumeric() && !byte.is_ascii_whitespace();
        let anchor = delimiter.iter().position(is_rare).unwrap_or(0);
        let mut specials: Vec<u8> = quote.into_iter().chain(escape_outside).collect();
        if options.quote_check == QuoteCheck::Unquoted {
            specials.push(b'"');
        }
        if options.line_ends == LineEnds::Standard {
            specials.push(b'\r');
        }
        if options.nul != NulBytes::Keep {
            specials.push(0);
        }
        let mut stops = Box::new([false; 256]);
        for byte in [delimiter[0], b'\n', b'\r', b'"', 0x1F].into_iter().chain(quote).chain(escape_outside) {
            stops[usize::from(byte)] = true;
        }
        Ok(Delimited {
            anchor: (anchor, delimiter[anchor]),
            delimiter,
            comment: options.comment.as_ref().map(|comment| comment.as_bytes().into()),
            quote,
            escape: escape.map(|escape| (escape.byte, escape.rule)),
            escape_outside,
            specials: specials.into(),
            is_simple: !options.trim && options.nul == NulBytes::Keep,
            stops,
            options,
        })
    }

    /// What the format was made of.
    #[must_use]
    pub fn options(&self) -> &DelimitedOptions {
        &self.options
    }

    /// What the check of quotes has to know.
    fn quoting(&self) -> Quoting<'_> {
        let escape = self.escape.map(|escape| escape.0);
        Quoting { quote: self.quote.unwrap_or(b'"'), escape, delimiter: &self.delimiter }
    }

    /// Whether a line end ends a record if and only if an even number of quotes stands before it.
    fn is_parity(&self) -> bool {
        self.escape.is_none() && self.comment.is_none() && self.options.stray_quotes != StrayQuotes::Literal
    }

    /// Behind the last line end with an even number of quotes before it.
    fn last_even_line_end(&self, text: &[u8], quote: u8) -> usize {
        let mut is_odd = memchr_iter(quote, text).count() % 2 == 1;
        let mut rest = text;
        loop {
            let behind = self.options.line_ends.complete(rest);
            if behind == 0 {
                return 0;
            }
            is_odd ^= memchr_iter(quote, &rest[behind..]).count() % 2 == 1;
            if !is_odd {
                return behind;
            }
            rest = &rest[..behind - 1];
        }
    }

    /// Behind the last record that ends in `text` for certain, record by record.
    fn last_record_end(&self, text: &[u8]) -> usize {
        let mut complete = 0;
        loop {
            while let Some(next) = self.behind_ignored_line(text, complete) {
                if next == text.len() && text[next - 1] != b'\n' {
                    return complete;
                }
                complete = next;
            }
            let mut at = complete;
            loop {
                let (next, ending) = if let Some(field) = self.simple_field(text, at) {
                    (field.next, field.ending)
                } else {
                    let field = self.field(text, at, false);
                    (field.next, field.ending)
                };
                at = next;
                match ending {
                    Ending::Delimiter => {}
                    Ending::Line => break,
                    Ending::Text => return complete,
                }
            }
            complete = at;
        }
    }
}

impl fmt::Debug for Delimited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.options.fmt(f)
    }
}

impl RecordFormat for Delimited {
    fn complete(&self, text: &[u8], at_end: bool) -> usize {
        if at_end {
            return text.len();
        }
        let quote = self.quote.filter(|quote| memchr(*quote, text).is_some());
        let escapes = self.escape_outside.is_some_and(|escape| memchr(escape, text).is_some());
        match quote {
            None if !escapes => self.options.line_ends.complete(text),
            Some(quote) if self.is_parity() => self.last_even_line_end(text, quote),
            _ => self.last_record_end(text),
        }
    }

    fn read(&self, text: &[u8], rows: &mut RowText, defects: &mut Vec<Defect>) -> usize {
        self.read_records(text, rows, defects)
    }

    fn first_record(&self, text: &[u8], at_end: bool) -> Option<FirstRecord> {
        let mut at = self.behind_ignored(text, 0);
        if at == text.len() {
            return None;
        }
        let mut fields = Vec::new();
        loop {
            let field = self.field(text, at, at_end);
            if field.ending == Ending::Text && !at_end {
                return None;
            }
            let mut content = Vec::new();
            self.content(self.trimmed(text, &field), &field, &mut |part| content.extend_from_slice(part));
            if self.options.nul == NulBytes::Strip {
                content.retain(|byte| *byte != 0);
            }
            at = field.next;
            if field.ending == Ending::Delimiter {
                fields.push(content);
                continue;
            }
            if fields.is_empty() || !self.options.trailing_delimiter || field.quoted || !content.is_empty() {
                fields.push(content);
            }
            return Some(FirstRecord { bytes: at, fields });
        }
    }
}
