//! The formats that are told apart.
//!
//! Not here: how they are (`detect`).

use crate::json::Layout;

/// The formats that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Fields between delimiters; also lines of one field.
    Delimited,
    /// A JSON value on each line.
    JsonLines,
    /// JSON values one behind the other, each over as many lines as it takes.
    JsonValues,
    /// A JSON array of values.
    JsonArray,
    /// PostgreSQL's text format: tabs, and escapes with backslashes.
    PgText,
    /// Columns at fixed places of each line.
    FixedWidth,
    /// Lines of `key=value` pairs.
    Logfmt,
    /// Lines that a regular expression takes apart.
    Pattern,
}

impl Family {
    /// How records of JSON stand in the text, if it is that.
    #[must_use]
    pub fn json_layout(self) -> Option<Layout> {
        match self {
            Family::JsonLines => Some(Layout::Lines),
            Family::JsonValues => Some(Layout::Values),
            Family::JsonArray => Some(Layout::Array),
            Family::Delimited | Family::PgText | Family::FixedWidth | Family::Logfmt | Family::Pattern => None,
        }
    }

    /// Whether each record names its fields, or the format does, so that no header is needed for it.
    #[must_use]
    pub fn names_fields(self) -> bool {
        self.json_layout().is_some() || matches!(self, Family::Logfmt | Family::Pattern)
    }

    pub(super) fn of_json(layout: Layout) -> Family {
        match layout {
            Layout::Lines => Family::JsonLines,
            Layout::Values => Family::JsonValues,
            Layout::Array => Family::JsonArray,
        }
    }
}
