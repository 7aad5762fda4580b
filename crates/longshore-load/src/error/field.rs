//! A bad field or record: where it stands, its text, and what to do.
//!
//! Not here: finding its place (`position`).

use std::fmt;

use longshore_csv::Reason;

/// Characters of a bad value that a message shows.
const VALUE_CHARS_MAX: usize = 60;

/// Where a bad field or record stands, and why it is bad.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadField {
    /// The file.
    pub file: String,
    /// Line of the field's first byte, from 1; every line feed counts, also those inside quotes.
    pub line: u64,
    /// Offset of the field's first byte in the file, from 0.
    pub byte: u64,
    /// Name and type of the column; `None` where the record as a whole is misshapen.
    pub column: Option<(String, String)>,
    /// The raw text of the field or record, quotes included.
    pub value: Vec<u8>,
    /// Why it cannot be taken.
    pub reason: String,
    /// What the user can do.
    pub remedy: String,
    /// What sort of thing is wrong.
    pub fault: Fault,
}

/// What sort of thing is wrong with a field or a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// The record is not of the format: too few fields, a quote that stays open.
    #[default]
    Format,
    /// The field is no value of its type.
    Value,
    /// The field is a date or a time, but none that there is.
    DateTime,
    /// The value is beyond those that the type has.
    OutOfRange,
    /// The text is too long for the type.
    TooLong,
    /// The bytes are no text in the encoding of the file.
    Encoding,
}

impl From<Reason> for Fault {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::OutOfRange | Reason::TooManyDigits { .. } | Reason::Underflow => Self::OutOfRange,
            Reason::TooLong { .. } => Self::TooLong,
            Reason::InvalidUtf8 { .. } => Self::Encoding,
            Reason::Year
            | Reason::Month
            | Reason::Day
            | Reason::Time
            | Reason::HourOfTwelve
            | Reason::DayOfYear
            | Reason::Offset => Self::DateTime,
            _ => Self::Value,
        }
    }
}

/// Reason and remedy of a quote that is open at the end of the file.
pub(crate) const UNCLOSED_QUOTE: (&str, &str) =
    ("opens a quote that is never closed", "close it, or set QUOTE to another character or NONE");

impl BadField {
    /// The quote that it begins with is never closed.
    pub(crate) fn explain_unclosed_quote(&mut self) {
        let (reason, remedy) = UNCLOSED_QUOTE;
        reason.clone_into(&mut self.reason);
        remedy.clone_into(&mut self.remedy);
    }
}

impl fmt::Display for BadField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: line {}, byte {}", self.file, self.line, self.byte)?;
        if let Some((name, column_type)) = &self.column {
            let value = Excerpt(&self.value);
            write!(f, ", column {name} {column_type}: {value} is not valid ({})", self.reason)?;
        } else {
            write!(f, ": {}: {}", Excerpt(&self.value), self.reason)?;
        }
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

/// A raw value as a message shows it: quoted, escaped, and cut when long.
pub(crate) struct Excerpt<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        let mut shown = 0;
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                if shown == VALUE_CHARS_MAX {
                    return write!(f, "...\" ({} bytes)", self.0.len());
                }
                shown += 1;
                match character {
                    '\n' => f.write_str("\\n")?,
                    '\r' => f.write_str("\\r")?,
                    '\t' => f.write_str("\\t")?,
                    c if c.is_control() => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                    c => write!(f, "{c}")?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
                shown += 1;
            }
        }
        f.write_str("\"")
    }
}
