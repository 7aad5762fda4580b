//! What can be said about delimited text, and which of it goes together.

use std::error::Error;
use std::fmt;

use longshore_csv::{DialectError, RECORD_BYTES_MAX};

use crate::QuoteCheck;
use crate::lines::LineEnds;

/// The most bytes of a delimiter or a comment prefix.
pub const DELIMITER_BYTES_MAX: usize = 16;

/// The language of delimited text; the default is that of [`longshore_csv::Dialect`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelimitedOptions {
    /// What stands between two fields: one to [`DELIMITER_BYTES_MAX`] bytes, none of them of a line end.
    pub delimiter: String,
    /// The character around fields that hold special ones; `None`: no character quotes.
    pub quote: Option<u8>,
    /// The character that protects others; `None`, or the quote itself: quotes are doubled.
    pub escape: Option<Escape>,
    /// A line that begins with this where a record would begin is no record; quotes and escapes in it mean nothing.
    pub comment: Option<String>,
    /// Whether an empty line is no record (with [`DelimitedOptions::trim`], one of blanks as well).
    pub skip_blank_lines: bool,
    /// What ends a record where it stands outside quotes; where `\r` alone does not, it is a defect.
    pub line_ends: LineEnds,
    /// Whether records may end with a delimiter: an empty field too many at their end is none.
    pub trailing_delimiter: bool,
    /// Records with too few fields.
    pub short_records: ShortRecords,
    /// Records with too many fields.
    pub long_records: LongRecords,
    /// Quotes where none are expected.
    pub stray_quotes: StrayQuotes,
    /// Whether blanks (spaces and tabs) around fields and outside quotes are taken away.
    pub trim: bool,
    /// NUL bytes in fields.
    pub nul: NulBytes,
    /// Unquoted fields that are one of these with all their escapes are left as they are, for the decoders to find
    /// their NULL texts: `\N`.
    pub null_texts: Vec<Box<[u8]>>,
    /// The most bytes that a record may take; a longer one is a defect, and what is behind it is read all the same.
    pub record_bytes_max: usize,
    /// What holds of quotes in all fields, where they were found out; a record that speaks against it is a defect.
    pub quote_check: QuoteCheck,
}

impl Default for DelimitedOptions {
    fn default() -> DelimitedOptions {
        DelimitedOptions {
            delimiter: ",".to_owned(),
            quote: Some(b'"'),
            escape: None,
            comment: None,
            skip_blank_lines: false,
            line_ends: LineEnds::default(),
            trailing_delimiter: false,
            short_records: ShortRecords::default(),
            long_records: LongRecords::default(),
            stray_quotes: StrayQuotes::default(),
            trim: false,
            nul: NulBytes::default(),
            null_texts: vec![b"\\N".as_slice().into()],
            record_bytes_max: RECORD_BYTES_MAX,
            quote_check: QuoteCheck::Off,
        }
    }
}

/// A character that protects others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Escape {
    /// The character.
    pub byte: u8,
    /// What it protects.
    pub rule: EscapeRule,
}

/// What an escape character protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EscapeRule {
    /// Inside quotes a quote or itself; before anything else, and outside quotes, it is an ordinary character.
    Quotes,
    /// Any byte, inside quotes and outside, delimiters and line ends (`\r\n` as one) included; at the end of the text it
    /// is an ordinary character.
    Everything,
    /// As [`EscapeRule::Everything`], where `0`, `b`, `n`, `r`, `t` and `Z` stand for NUL, backspace, line feed,
    /// carriage return, tab and 0x1A, as in MySQL.
    Letters,
}

impl EscapeRule {
    /// As the option has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            EscapeRule::Quotes => "quotes",
            EscapeRule::Everything => "everything",
            EscapeRule::Letters => "letters",
        }
    }
}

/// What becomes of records with too few fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShortRecords {
    /// They are defects.
    #[default]
    Reject,
    /// The fields that they lack are [missing](longshore_csv::RowText::push_missing).
    Pad,
}

/// What becomes of records with too many fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LongRecords {
    /// They are defects.
    #[default]
    Reject,
    /// The fields that are too many are dropped.
    Truncate,
    /// The fields that are too many are dropped if nothing stands in any of them, quotes included.
    TruncateEmpty,
}

/// What a quote is inside an unquoted field, and what may follow one that closes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StrayQuotes {
    /// It toggles quoting wherever it stands, as in PostgreSQL: `ab"c,d"e` is the one field `abc,de`.
    #[default]
    Toggle,
    /// As [`StrayQuotes::Toggle`], but the record is a defect.
    Error,
    /// It is a character like any other, unless it begins a field. The one that closes is the first that a delimiter or
    /// a line end follows; those before it are the text of the field.
    Literal,
}

/// What becomes of NUL bytes in fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NulBytes {
    /// They are characters like any other.
    #[default]
    Keep,
    /// The record is a defect.
    Error,
    /// They are left out.
    Strip,
}

impl DelimitedOptions {
    /// Whether the options go together.
    pub(super) fn check(&self) -> Result<(), DelimitedError> {
        let texts = [("DELIMITER", Some(&self.delimiter)), ("COMMENT", self.comment.as_ref())];
        for (option, text) in texts.into_iter().filter_map(|(option, text)| Some((option, text?))) {
            if text.is_empty() || text.len() > DELIMITER_BYTES_MAX || text.contains(['\n', '\r']) {
                return Err(DelimitedError::UnusableText { option, text: text.clone() });
            }
        }
        let escape = self.escape.map(|escape| escape.byte).filter(|byte| Some(*byte) != self.quote);
        for (option, byte) in [("QUOTE", self.quote), ("ESCAPE", escape)] {
            let Some(byte) = byte else { continue };
            if matches!(byte, 0 | b'\n' | b'\r') || !byte.is_ascii() {
                return Err(DialectError::Unusable { option, byte }.into());
            }
            if self.delimiter.as_bytes().contains(&byte) {
                return Err(DialectError::Shared { option, other: "DELIMITER", byte }.into());
            }
            if self.comment.as_ref().is_some_and(|comment| comment.as_bytes()[0] == byte) {
                return Err(DialectError::Shared { option, other: "COMMENT", byte }.into());
            }
        }
        if let Some(Escape { byte, rule: EscapeRule::Quotes }) = self.escape
            && self.quote.is_none()
        {
            return Err(DialectError::EscapeWithoutQuote { byte }.into());
        }
        if let Some(Escape { byte, rule: EscapeRule::Everything | EscapeRule::Letters }) = self.escape
            && self.quote == Some(byte)
        {
            return Err(DialectError::Shared { option: "ESCAPE", other: "QUOTE", byte }.into());
        }
        if let Some(comment) = &self.comment
            && (comment.starts_with(&self.delimiter) || self.delimiter.starts_with(comment.as_str()))
        {
            return Err(DelimitedError::CommentIsDelimiter { comment: comment.clone() });
        }
        if self.record_bytes_max == 0 || self.record_bytes_max > RECORD_BYTES_MAX {
            return Err(DelimitedError::RecordBytesMax { bytes: self.record_bytes_max });
        }
        Ok(())
    }
}

/// Why options do not make a format. Options are named as in `COPY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DelimitedError {
    /// A delimiter or comment prefix that is empty, too long, or holds a line end.
    UnusableText {
        /// The option.
        option: &'static str,
        /// The text.
        text: String,
    },
    /// A quote or escape that plain CSV could not have either.
    Dialect(DialectError),
    /// A record whose first field is empty would be a comment, or the other way round.
    CommentIsDelimiter {
        /// The comment prefix.
        comment: String,
    },
    /// A limit that cannot be kept.
    RecordBytesMax {
        /// The limit asked for.
        bytes: usize,
    },
}

impl fmt::Display for DelimitedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DelimitedError::UnusableText { option, text } => write!(
                f,
                "{option} cannot be '{}'; choose 1 to {DELIMITER_BYTES_MAX} bytes without line ends",
                text.escape_debug()
            ),
            DelimitedError::Dialect(error) => error.fmt(f),
            DelimitedError::CommentIsDelimiter { comment } => write!(
                f,
                "COMMENT '{}' and DELIMITER begin alike, so that a record whose first field is empty would be a comment; \
                 choose different texts",
                comment.escape_debug()
            ),
            DelimitedError::RecordBytesMax { bytes } => {
                write!(f, "a record cannot be limited to {bytes} bytes; choose 1 to {RECORD_BYTES_MAX}")
            }
        }
    }
}

impl Error for DelimitedError {}

impl From<DialectError> for DelimitedError {
    fn from(error: DialectError) -> DelimitedError {
        DelimitedError::Dialect(error)
    }
}
