//! An option as a statement spells it. Not here: what it means (the other files of this folder).

use sqlparser::tokenizer::Location;

/// An option as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OptionItem {
    /// In upper case.
    pub(crate) name: String,
    pub(crate) value: OptionValue,
    pub(crate) at: Location,
}

impl OptionItem {
    /// FORMAT, which nobody has written.
    pub(crate) fn format(name: &str) -> Self {
        let at = Location { line: 0, column: 0 };
        Self { name: "FORMAT".to_owned(), value: OptionValue::Word(name.to_owned()), at }
    }
}

/// The value of an option as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OptionValue {
    /// Nothing: `HEADER`.
    None,
    /// A word, in lower case: `csv`, `true`.
    Word(String),
    /// A text.
    Text(String),
    /// Digits.
    Number(String),
    /// Columns: `(a, b)`.
    Names(Vec<String>),
    /// Texts: `('a', 'b')`.
    TextSources(Vec<String>),
    /// A word and a text: `table 'rejects'`.
    Named(String, String),
    /// A value for each of some columns: `(a 'x', b ('y', 'z'))`.
    PerColumn(Vec<(String, OptionValue)>),
    /// `*`.
    All,
}
