//! What a column's fields must be: type, NULL and spelling, and which rules contradict themselves.
//!
//! The defaults are PostgreSQL's. Every other spelling is named by the SQL option that asks for it.

use std::error::Error;
use std::fmt;

use super::boolean::{BooleanWords, exact_word};
use super::date_time::{DateTimeFormat, DateTimeFormatError};
use super::{ValueType, exact};
use crate::Dialect;

/// What a column's fields must be, and which of them are NULL.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "options that do not depend on each other")]
pub struct FieldRule {
    /// The type.
    pub value_type: ValueType,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// An unquoted field of exactly one of these texts is NULL; by default the empty one. Looking for one of several is
    /// as fast unless it could be a value of the type, as any could in a column of text.
    pub null_texts: Vec<Box<[u8]>>,
    /// A quoted field whose content is a NULL text is NULL as well.
    pub quoted_nulls: bool,
    /// An unquoted field is never NULL.
    pub force_not_null: bool,
    /// Blanks and tabs around a field, outside its quotes, do not belong to it. Around numbers and the like, white
    /// space never means anything, but with this it also does not keep a NULL text from being one.
    pub trim: bool,
    /// What stands before the fraction of a number; by default a point.
    pub decimal_separator: u8,
    /// What may stand between groups of three digits before the decimal separator; a blank stands for no-break spaces,
    /// wide and narrow, too. By default nothing may.
    pub thousands_separator: Option<char>,
    /// How booleans are spelled.
    pub boolean_words: BooleanWords,
    /// How dates, times and timestamps are spelled; by default as ISO 8601 has it, with a blank for the `T` if liked.
    pub date_time_format: Option<DateTimeFormat>,
}

impl FieldRule {
    /// A column that may be NULL, which an empty unquoted field is.
    #[must_use]
    pub fn new(value_type: ValueType) -> Self {
        FieldRule {
            value_type,
            nullable: true,
            null_texts: vec![Box::default()],
            quoted_nulls: false,
            force_not_null: false,
            trim: false,
            decimal_separator: b'.',
            thousands_separator: None,
            boolean_words: BooleanWords::default(),
            date_time_format: None,
        }
    }

    /// Whether numbers are spelled with a point before the fraction and nothing between digits.
    #[must_use]
    pub fn has_plain_numbers(&self) -> bool {
        self.decimal_separator == b'.' && self.thousands_separator.is_none()
    }

    /// Whether `text` means the same by this rule as by the default spelling of its type.
    #[must_use]
    pub fn reads_by_default(&self, text: &[u8]) -> bool {
        let format = self.date_time_format.as_ref();
        match self.value_type {
            ValueType::Date => format.is_none_or(|format| format.date(text) == exact::date(text)),
            ValueType::Time => format.is_none_or(|format| format.time(text) == exact::time(text)),
            ValueType::Timestamp => format.is_none_or(|format| format.timestamp(text) == exact::timestamp(text)),
            ValueType::TimestampTz => format.is_none_or(|format| format.timestamptz(text) == exact::timestamptz(text)),
            ValueType::Boolean => exact_word(&self.boolean_words, text) == exact::boolean(text),
            value_type if value_type.is_number() => {
                self.separators().plain(text).as_deref() == Ok(exact::trim(text)) || self.has_plain_numbers()
            }
            _ => true,
        }
    }

    /// The separators of numbers.
    pub(super) fn separators(&self) -> exact::Separators {
        exact::Separators { decimal: self.decimal_separator, thousands: self.thousands_separator }
    }

    /// Whether the rule can be followed in fields of `dialect`.
    ///
    /// # Errors
    ///
    /// If two meanings of a spelling collide, or one could never be met.
    pub fn check(&self, dialect: &Dialect) -> Result<(), RuleError> {
        self.check_nulls(dialect)?;
        if self.trim && matches!(dialect.quote(), Some(b' ' | b'\t')) {
            return Err(RuleError::TrimmedQuote);
        }
        self.check_separators(dialect)?;
        if let Some((word, list)) = self.boolean_words.contradiction() {
            return Err(RuleError::Word { word: lossy(word), list });
        }
        if let Some(format) = &self.date_time_format {
            format.check(self.value_type).map_err(RuleError::Format)?;
        }
        Ok(())
    }

    fn check_nulls(&self, dialect: &Dialect) -> Result<(), RuleError> {
        let special = [Some(dialect.delimiter()), dialect.quote(), Some(b'\n'), Some(b'\r')];
        for text in &self.null_texts {
            if let Some(&byte) = text.iter().find(|byte| special.contains(&Some(**byte))) {
                return Err(RuleError::NullText { text: lossy(text), byte });
            }
            if self.trim && trim_blanks(text, None) != &**text {
                return Err(RuleError::TrimmedNull { text: lossy(text) });
            }
        }
        Ok(())
    }

    fn check_separators(&self, dialect: &Dialect) -> Result<(), RuleError> {
        let decimal = char::from(self.decimal_separator);
        let is_part_of_numbers = |separator: char| separator.is_ascii_alphanumeric() || "+-\n\r\0".contains(separator);
        let unquoted = |separator: char| {
            // A field that holds a delimiter or a quote has to be quoted; without quotes there is no way.
            dialect.quote() == Some(separator as u32 as u8) && separator.is_ascii()
                || dialect.quote().is_none() && separator == char::from(dialect.delimiter())
        };
        let separators = [("DECIMAL_SEPARATOR", Some(decimal)), ("THOUSANDS_SEPARATOR", self.thousands_separator)];
        for (option, separator) in separators {
            let Some(separator) = separator else { continue };
            let is_space = separator.is_whitespace() && option == "DECIMAL_SEPARATOR";
            if is_part_of_numbers(separator) || !separator.is_ascii() && option == "DECIMAL_SEPARATOR" || is_space {
                return Err(RuleError::Separator { option, separator });
            }
            if unquoted(separator) {
                return Err(RuleError::SeparatorInDialect { option, separator });
            }
        }
        if self.thousands_separator == Some(decimal) {
            return Err(RuleError::SameSeparator { separator: decimal });
        }
        Ok(())
    }
}

/// A rule that contradicts itself or its dialect. Options are named as in `COPY`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleError {
    /// A NULL text with a byte that has a meaning in the dialect.
    NullText {
        /// The text.
        text: String,
        /// The byte.
        byte: u8,
    },
    /// A NULL text with blanks at an end, which are trimmed.
    TrimmedNull {
        /// The text.
        text: String,
    },
    /// Quotes that would be trimmed.
    TrimmedQuote,
    /// A separator that may be part of numbers already.
    Separator {
        /// The option that asked for it.
        option: &'static str,
        /// The separator.
        separator: char,
    },
    /// A separator that the dialect leaves no way to write.
    SeparatorInDialect {
        /// The option that asked for it.
        option: &'static str,
        /// The separator.
        separator: char,
    },
    /// The same separator before fractions and between thousands.
    SameSeparator {
        /// The separator.
        separator: char,
    },
    /// A boolean word that is true and false.
    Word {
        /// The word.
        word: String,
        /// The option that has it.
        list: &'static str,
    },
    /// A format that does not say what the type needs.
    Format(DateTimeFormatError),
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleError::NullText { text, byte } => write!(
                f,
                "the NULL text {text:?} contains {:?}, which has a meaning of its own; choose another NULL text, or \
                 another DELIMITER or QUOTE",
                char::from(*byte)
            ),
            RuleError::TrimmedNull { text } => write!(
                f,
                "the NULL text {text:?} begins or ends with blanks, which TRIM takes off before NULL is looked for; \
                 write it without them"
            ),
            RuleError::TrimmedQuote => {
                f.write_str("TRIM would take off the quotes, which are blanks or tabs; choose another QUOTE")
            }
            RuleError::Separator { option, separator } => {
                write!(f, "{option} cannot be {separator:?}; choose a character that is no part of a number")
            }
            RuleError::SeparatorInDialect { option, separator } => write!(
                f,
                "{option} is {separator:?}, which no field can hold, as it is the delimiter or quote of the file; choose \
                 another DELIMITER or QUOTE"
            ),
            RuleError::SameSeparator { separator } => write!(
                f,
                "DECIMAL_SEPARATOR and THOUSANDS_SEPARATOR are both {separator:?}; choose different characters"
            ),
            RuleError::Word { word, list } => {
                write!(f, "{word:?} of {list} means the opposite as well; leave it out, or give both lists of words")
            }
            RuleError::Format(error) => error.fmt(f),
        }
    }
}

impl Error for RuleError {}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// `field` without the blanks and tabs at its ends, unless these are quotes.
pub(super) fn trim_blanks(field: &[u8], quote: Option<u8>) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t') && quote != Some(*byte);
    let start = field.iter().position(|byte| !blank(byte)).unwrap_or(field.len());
    let end = field.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    &field[start..end]
}
