//! What the options say to whoever finds out the rest of a text. Not here: finding out (`longshore-format::sniff`).

use longshore_format::sniff::{Family, Given as Sniffing, QuoteChoice, Sniffed};
use longshore_load::{Header, TrailingDelimiter};

use super::{Format, Options};
use crate::Error;

impl Options {
    /// What was found of a delimited text that differs from what is in force here, as options.
    pub(crate) fn unlike(&self, sniffed: &Sniffed) -> Vec<String> {
        if !matches!(self.format, None | Some(Format::Csv | Format::Tsv)) {
            return Vec::new();
        }
        let language = &self.language;
        let delimiter = if self.format == Some(Format::Tsv) { "\t" } else { "," };
        let quote = language.quote.unwrap_or(Some(b'"'));
        let comment = language.comment.as_ref().map(|text| text.as_bytes().to_vec());
        let same = |name: &str| match name {
            "DELIMITER" => language.delimiter.as_deref().unwrap_or(delimiter).as_bytes() == sniffed.delimiter.value,
            "QUOTE" => quote == sniffed.quote.value,
            "ESCAPE" => language.escape == sniffed.escape.value,
            "COMMENT" => comment == sniffed.comment.value,
            "SKIP" => self.skip_lines == sniffed.skip_lines.value as u64,
            "HEADER" => (self.header != Header::None) == sniffed.header.value,
            "SKIP_BLANK_LINES" => self.is_given("SKIP_BLANK_LINES"),
            // The values of others do not depend on how records are taken apart, or are found by themselves.
            _ => true,
        };
        let options = sniffed.options().into_iter().filter(|option| !same(option.name));
        options.map(|option| format!("{} {}", option.name, option.value)).collect()
    }

    /// What was said, for whoever finds out the rest.
    pub(crate) fn sniffing(&self) -> Result<Sniffing, Error> {
        let language = &self.language;
        let family = match self.format {
            None => None,
            Some(Format::Csv | Format::Tsv) => Some(Family::Delimited),
            Some(Format::Text) => Some(Family::PgText),
            Some(Format::Fixed) => Some(Family::FixedWidth),
            Some(Format::Json) => Some(Family::JsonArray),
            Some(Format::JsonLines) => Some(Family::JsonLines),
            Some(Format::Logfmt) => Some(Family::Logfmt),
            Some(Format::Pattern) => Some(Family::Pattern),
            Some(other @ (Format::Native | Format::Parquet | Format::Arrow | Format::Binary)) => {
                return Err(Error::invalid(format!("FORMAT {} was given, but this is text", other.name())));
            }
        };
        let family = match family {
            Some(_) => {
                language.check_format()?;
                family
            }
            None => language.family(),
        };
        let tab = (self.format == Some(Format::Tsv)).then(|| b"\t".to_vec());
        let byte = |name: &'static str, given: bool, value: char| {
            let byte = u8::try_from(value).ok().filter(u8::is_ascii);
            match byte {
                _ if !given => Ok(None),
                Some(byte) => Ok(Some(byte)),
                None => Err(Error::invalid(format!("option {name}: {value:?} is not an ASCII character"))),
            }
        };
        let values = &self.values.options;
        let is_given = |name: &str| self.given.contains(&name);
        Ok(Sniffing {
            family,
            delimiter: language.delimiter.as_ref().map(|text| text.as_bytes().to_vec()).or(tab),
            quote: language.quote.map(|quote| quote.map_or(QuoteChoice::None, QuoteChoice::Byte)),
            escape: language.escape.map(QuoteChoice::Byte),
            comment: language.comment.as_ref().map(|text| text.as_bytes().to_vec()),
            skip_lines: is_given("SKIP").then_some(self.skip_lines as usize),
            header: is_given("HEADER").then_some(self.header != Header::None),
            trailing_delimiter: match self.trailing_delimiter {
                TrailingDelimiter::Auto => None,
                TrailingDelimiter::Yes => Some(true),
                TrailingDelimiter::No => Some(false),
            },
            decimal_separator: byte("DECIMAL_SEPARATOR", is_given("DECIMAL_SEPARATOR"), values.decimal_separator)?,
            thousands_separator: match values.thousands_separator {
                Some(separator) => byte("THOUSANDS_SEPARATOR", true, separator)?,
                None => None,
            },
            null_texts: self
                .values
                .nulls_given
                .then(|| values.nulls.iter().map(|text| text.as_bytes().to_vec()).collect()),
            date_order: self.date_order,
            normalize_names: self.normalize_names,
            rules: language.rules(),
            ..Sniffing::default()
        })
    }

    /// Refuses options that name columns which were not found.
    pub(crate) fn check_found(&self, file: &str, found: &[&str]) -> Result<(), Error> {
        let defaults = self.defaults().map(|(column, _)| ("DEFAULTS", column));
        match self.named_columns().chain(defaults).find(|(_, column)| !found.contains(column)) {
            None => Ok(()),
            Some((option, column)) => Err(Error::no_column(format!(
                "option {option}: column {column} is not in {file}; its columns are {}",
                found.join(", ")
            ))),
        }
    }
}
