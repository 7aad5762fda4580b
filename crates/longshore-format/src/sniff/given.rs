//! What the user says about a file before it is looked at.

use super::sniffed::Family;
use super::types::{DateOrder, Formats};

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
    /// The columns' names: then those of a header are not used.
    pub names: Option<Vec<String>>,
    /// Whether the names of a header are made lower case, of letters, digits and underscores.
    pub normalize_names: bool,
    /// Whether members of JSON objects within others become columns.
    pub flatten: bool,
    /// Whether every column is text.
    pub all_text: bool,
}
