//! What the user says about a file before it is looked at.

use longshore_csv::decode::BooleanWords;

use super::family::Family;
use super::types::{DateOrder, Formats};
use crate::delimited::{EscapeRule, LongRecords, NulBytes, ShortRecords, StrayQuotes};
use crate::json::JsonPath;
use crate::lines::{LineEnds, LineOptions};

/// What quotes, by the user's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuoteChoice {
    /// No character.
    None,
    /// This one.
    Byte(u8),
}

impl QuoteChoice {
    /// The character, if there is one.
    #[must_use]
    pub fn byte(self) -> Option<u8> {
        match self {
            QuoteChoice::None => None,
            QuoteChoice::Byte(byte) => Some(byte),
        }
    }
}

/// What the user says about a file. `None` is what is to be found out.
#[expect(clippy::struct_excessive_bools, reason = "options that do not depend on each other")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The format.
    pub family: Option<Family>,
    /// What stands between two fields.
    pub delimiter: Option<Vec<u8>>,
    /// What stands around fields.
    pub quote: Option<QuoteChoice>,
    /// What protects a quote inside quotes; the quote itself, or none, means that quotes are doubled.
    pub escape: Option<QuoteChoice>,
    /// What comments begin with; an empty text says that there are none.
    pub comment: Option<Vec<u8>>,
    /// Lines before the header or the first record.
    pub skip_lines: Option<usize>,
    /// Whether the first record names the columns.
    pub header: Option<bool>,
    /// Whether records end with a delimiter.
    pub trailing_delimiter: Option<bool>,
    /// What stands between the digits before and behind the point.
    pub decimal_separator: Option<u8>,
    /// What stands between groups of three digits.
    pub thousands_separator: Option<u8>,
    /// Texts that are NULL: then none is guessed.
    pub null_texts: Option<Vec<Vec<u8>>>,
    /// What `01/02/2024` means.
    pub date_order: Option<DateOrder>,
    /// How dates and times are written.
    pub formats: Formats,
    /// The words for true and false.
    pub boolean_words: BooleanWords,
    /// Whether blanks around unquoted fields do not belong to them.
    pub trim: bool,
    /// The columns' names: then those of a header are not used.
    pub names: Option<Vec<String>>,
    /// Whether the names of a header are made lower case, of letters, digits and underscores.
    pub normalize_names: bool,
    /// Whether members of JSON objects within others become columns.
    pub flatten: bool,
    /// Whether every column is text.
    pub all_text: bool,
    /// Bytes of the sample that are looked at at least, where there are more than are of use usually.
    pub sample_bytes_min: usize,
    /// Stretches of the text that spoke against what its beginning told: what is found now explains them as well.
    pub places: Vec<Place>,
    /// What records are like beyond the dialect.
    pub rules: RecordRules,
}

/// A stretch of a text that begins where a line begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its text.
    pub text: Vec<u8>,
    /// Whether nothing follows.
    pub at_end: bool,
}

/// What the user says about records beyond the dialect. `None` is what is usual, or found out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordRules {
    /// What an escape protects.
    pub escape_rule: Option<EscapeRule>,
    /// What ends a record.
    pub line_ends: Option<LineEnds>,
    /// Records with too few fields.
    pub short_records: Option<ShortRecords>,
    /// Records with too many fields.
    pub long_records: Option<LongRecords>,
    /// Quotes within fields that no quotes are around.
    pub stray_quotes: Option<StrayQuotes>,
    /// NUL bytes in fields.
    pub nul: Option<NulBytes>,
    /// Whether empty lines are no records.
    pub skip_blank_lines: Option<bool>,
    /// The most bytes that a record may have.
    pub record_bytes_max: Option<usize>,
    /// Fixed width: start and end of each field, in characters.
    pub places: Option<Vec<(usize, usize)>>,
    /// The regular expression of [`Family::Pattern`], or the name of a preset.
    pub pattern: Option<String>,
    /// JSON: where columns of these names are found.
    pub paths: Vec<(String, JsonPath)>,
    /// Whether keys that no column takes make a record bad; where nothing is said, they do.
    pub unknown_keys: Option<bool>,
}

impl RecordRules {
    /// Which lines are records, of formats whose records are lines.
    #[must_use]
    pub fn lines(&self, comment: Option<&[u8]>) -> LineOptions {
        let usual = LineOptions::default();
        LineOptions {
            line_ends: self.line_ends.unwrap_or(usual.line_ends),
            comment: comment.map(|text| String::from_utf8_lossy(text).into_owned()),
            skip_blank_lines: self.skip_blank_lines.unwrap_or(usual.skip_blank_lines),
            record_bytes_max: self.record_bytes_max.unwrap_or(usual.record_bytes_max),
        }
    }
}
