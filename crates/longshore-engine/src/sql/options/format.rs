//! The option FORMAT.

use longshore_format::sniff::Family;

use super::given::Given;
use crate::Error;

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Native,
    Csv,
    /// CSV with tabs.
    Tsv,
    /// PostgreSQL's text format.
    Text,
    Json,
    JsonLines,
    Fixed,
    Logfmt,
    Pattern,
    Parquet,
    Arrow,
    /// PostgreSQL's binary format.
    Binary,
}

impl Format {
    const ALL: [(&'static str, Self); 12] = [
        ("native", Self::Native),
        ("csv", Self::Csv),
        ("tsv", Self::Tsv),
        ("text", Self::Text),
        ("json", Self::Json),
        ("jsonl", Self::JsonLines),
        ("fixed", Self::Fixed),
        ("logfmt", Self::Logfmt),
        ("pattern", Self::Pattern),
        ("parquet", Self::Parquet),
        ("arrow", Self::Arrow),
        ("binary", Self::Binary),
    ];

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    /// The format of texts whose fields have names without a header, if they are found to be of `family`.
    pub(crate) fn of_keys(family: Family) -> Option<Self> {
        match family {
            Family::Logfmt => Some(Self::Logfmt),
            Family::Pattern => Some(Self::Pattern),
            family => family.json_layout().map(|_| Self::Json),
        }
    }

    /// Whether it is text.
    pub(crate) fn is_text(self) -> bool {
        !matches!(self, Self::Native | Self::Parquet | Self::Arrow | Self::Binary)
    }
}

/// The format that was asked for.
pub(super) fn asked(options: &Given<'_>) -> Result<Option<Format>, Error> {
    options.choice("FORMAT", Format::named)
}
