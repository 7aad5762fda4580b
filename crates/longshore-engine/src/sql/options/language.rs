//! The language of a text: which format, and how its records and fields are told apart.
//!
//! Plain CSV goes to the SIMD scan; whatever goes beyond it becomes a format of `longshore-format`, record by record.
//! Not here: how values are spelled (`values`).

use std::sync::Arc;

use longshore_format::delimited::{
    Delimited, DelimitedOptions, Escape, EscapeRule, LongRecords, NulBytes, ShortRecords, StrayQuotes,
};
use longshore_format::fixed_width::PLACE_MAX;
use longshore_format::json::{JsonPath, Layout, UnknownKeys};
use longshore_format::lines::{LineEnds, LineOptions};
use longshore_format::sniff::{Family, RecordRules};
use longshore_format::{
    FixedColumn, FixedWidth, FixedWidthOptions, Json, Logfmt, LogfmtOptions, Pattern, PostgresText,
    PostgresTextOptions, logfmt, pattern,
};
use longshore_load::{Dialect, TextFormat};

use super::asked::Asked;
use super::given::Given;
use super::{Format, OptionValue, Use};
use crate::Error;

/// What was said about the language of a text; `None` where nothing was.
#[derive(Debug, Clone, Default)]
pub(crate) struct Language {
    pub(crate) format: Option<Format>,
    pub(crate) delimiter: Option<String>,
    /// `Some(None)`: no character quotes.
    #[allow(clippy::option_option, reason = "nothing was said, no character, a character")]
    pub(crate) quote: Option<Option<u8>>,
    pub(crate) escape: Option<u8>,
    escape_rule: Option<EscapeRule>,
    pub(crate) comment: Option<String>,
    short_records: Option<ShortRecords>,
    long_records: Option<LongRecords>,
    stray_quotes: Option<StrayQuotes>,
    line_ends: Option<LineEnds>,
    skip_blank_lines: Option<bool>,
    record_bytes_max: Option<usize>,
    nul: Option<NulBytes>,
    places: Option<Vec<(usize, usize)>>,
    pub(crate) pattern: Option<String>,
    unknown_keys: Option<bool>,
    /// How records of JSON stand.
    pub(crate) layout: Option<Layout>,
    /// Paths of columns in JSON.
    paths: Vec<(String, JsonPath)>,
}

/// How a text is read that has the columns asked for.
pub(crate) struct Reading {
    pub(crate) format: TextFormat,
    /// The column of each field; `None` reads over the field.
    pub(crate) fields: Vec<Option<usize>>,
}

impl Language {
    pub(super) fn new(options: &Given<'_>, place: Use) -> Result<Self, Error> {
        let format = super::format::asked(options)?;
        let quote = quote(options, place)?;
        Ok(Self {
            format,
            delimiter: delimiter(options)?,
            quote,
            escape: options.byte("ESCAPE")?,
            escape_rule: options.choice("ESCAPE_RULE", |name| match name {
                "quotes" => Some(EscapeRule::Quotes),
                "everything" => Some(EscapeRule::Everything),
                "letters" => Some(EscapeRule::Letters),
                _ => None,
            })?,
            comment: options.text("COMMENT")?,
            short_records: options.choice("SHORT_RECORDS", |name| match name {
                "reject" => Some(ShortRecords::Reject),
                "pad" => Some(ShortRecords::Pad),
                _ => None,
            })?,
            long_records: options.choice("LONG_RECORDS", |name| match name {
                "reject" => Some(LongRecords::Reject),
                "truncate" => Some(LongRecords::Truncate),
                "truncate_empty" => Some(LongRecords::TruncateEmpty),
                _ => None,
            })?,
            stray_quotes: options.choice("STRAY_QUOTES", |name| match name {
                "toggle" => Some(StrayQuotes::Toggle),
                "error" => Some(StrayQuotes::Error),
                "literal" => Some(StrayQuotes::Literal),
                _ => None,
            })?,
            line_ends: options.choice("LINE_ENDS", |name| match name {
                "standard" => Some(LineEnds::Standard),
                "any" => Some(LineEnds::Any),
                _ => None,
            })?,
            skip_blank_lines: options.flag("SKIP_BLANK_LINES")?,
            record_bytes_max: options.number("MAX_RECORD_SIZE", longshore_load::RECORD_BYTES_MAX)?,
            nul: options.choice("NUL_BYTES", |name| match name {
                "keep" => Some(NulBytes::Keep),
                "error" => Some(NulBytes::Error),
                "strip" => Some(NulBytes::Strip),
                _ => None,
            })?,
            places: options
                .text("PLACES")?
                .map(|text| places(&text))
                .transpose()
                .map_err(|p| options.bad("PLACES", &p))?,
            pattern: options.text("PATTERN")?,
            unknown_keys: options.choice("UNKNOWN_KEYS", |name| match name {
                "ignore" => Some(false),
                "reject" => Some(true),
                _ => None,
            })?,
            layout: options.choice("LAYOUT", |name| match name {
                "lines" => Some(Layout::Lines),
                "values" => Some(Layout::Values),
                "array" => Some(Layout::Array),
                _ => None,
            })?,
            paths: paths(options)?,
        })
    }

    /// The columns that options name.
    pub(super) fn named_columns(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.paths.iter().map(|(name, _)| ("PATHS", name.as_str()))
    }

    /// What was said of records beyond the dialect, for whoever finds out the rest.
    pub(super) fn rules(&self) -> RecordRules {
        RecordRules {
            escape_rule: self.escape_rule,
            line_ends: self.line_ends,
            short_records: self.short_records,
            long_records: self.long_records,
            stray_quotes: self.stray_quotes,
            nul: self.nul,
            skip_blank_lines: self.skip_blank_lines,
            record_bytes_max: self.record_bytes_max,
            places: self.places.clone(),
            pattern: self.pattern.clone(),
            paths: self.paths.clone(),
            unknown_keys: self.unknown_keys,
        }
    }

    /// The family of formats that is meant where none is named: the only one in which some option has a meaning.
    pub(super) fn family(&self) -> Option<Family> {
        let is_delimited = self.escape_rule.is_some()
            || self.stray_quotes.is_some()
            || self.nul.is_some()
            || self.short_records.is_some()
            || self.long_records.is_some();
        if self.pattern.is_some() {
            Some(Family::Pattern)
        } else if self.places.is_some() {
            Some(Family::FixedWidth)
        } else {
            is_delimited.then_some(Family::Delimited)
        }
    }

    /// The dialect of plain CSV, for writing and for the SIMD scan.
    pub(super) fn dialect(&self) -> Result<Dialect, Error> {
        let default = if self.format == Some(Format::Tsv) { "\t" } else { "," };
        let delimiter = self.delimiter.as_deref().unwrap_or(default);
        let [delimiter] = delimiter.as_bytes() else {
            return Err(Error::invalid(format!(
                "option DELIMITER: one character of one byte is expected, found {delimiter:?}"
            )));
        };
        Dialect::new(*delimiter, self.quote.unwrap_or(Some(b'"')), self.escape)
            .map_err(|error| Error::invalid(error.to_string()))
    }

    /// Whether the SIMD scan reads it.
    fn is_plain(&self) -> bool {
        self.delimiter.as_ref().is_none_or(|delimiter| delimiter.len() == 1)
            && self.comment.is_none()
            && self.escape_rule.is_none_or(|rule| rule == EscapeRule::Quotes)
            && self.short_records.is_none_or(|rule| rule == ShortRecords::Reject)
            && self.long_records.is_none_or(|rule| rule == LongRecords::Reject)
            && self.stray_quotes.is_none_or(|rule| rule == StrayQuotes::Toggle)
            && self.line_ends.is_none_or(|ends| ends == LineEnds::Standard)
            && !self.skip_blank_lines.unwrap_or(false)
            && self.record_bytes_max.is_none()
            && self.nul.is_none_or(|rule| rule == NulBytes::Keep)
    }

    /// How to read a text with the columns `columns`; `sample` is called for the head of the text where the format
    /// depends on it.
    pub(super) fn reading(
        &self,
        columns: &[&str],
        asked: &Asked<'_>,
        sample: impl FnOnce() -> Result<Vec<u8>, Error>,
    ) -> Result<Reading, Error> {
        self.check_format()?;
        asked.check_header(self.format)?;
        let Asked { nulls, trim, .. } = *asked;
        let null_texts = nulls.iter().map(|text| text.as_bytes().into()).collect();
        let in_order = |format| Reading { format, fields: (0..columns.len()).map(Some).collect() };
        Ok(match self.format.unwrap_or(Format::Csv) {
            Format::Text => in_order(TextFormat::Other(Arc::new(self.postgres_text(null_texts)?))),
            Format::Json | Format::JsonLines => {
                let layout = match self.layout {
                    Some(layout) => layout,
                    None if self.format == Some(Format::JsonLines) => Layout::Lines,
                    None => longshore_format::json::detect_layout(&sample()?).unwrap_or(Layout::Values),
                };
                let own =
                    |name: &str| self.paths.iter().find(|(column, _)| column == name).map(|(_, path)| path.clone());
                let paths: Vec<JsonPath> =
                    columns.iter().map(|name| own(name).unwrap_or_else(|| JsonPath::key(name))).collect();
                let unknown = if self.unknown_keys == Some(true) { UnknownKeys::Reject } else { UnknownKeys::Ignore };
                in_order(other(Json::new(&paths, layout).map(|json| json.with_unknown_keys(unknown)))?)
            }
            Format::Fixed => in_order(other(FixedWidth::new(self.fixed_width(columns)?))?),
            Format::Logfmt => {
                let keys = columns.iter().map(|name| (*name).to_owned()).collect();
                let unknown = self.unknown_keys.unwrap_or(false);
                let unknown_keys = if unknown { logfmt::UnknownKeys::Reject } else { logfmt::UnknownKeys::Drop };
                in_order(other(Logfmt::new(LogfmtOptions { keys, unknown_keys, lines: self.lines() }))?)
            }
            Format::Pattern => self.pattern(columns)?,
            _ if self.is_plain() => in_order(TextFormat::Csv(self.dialect()?)),
            _ => {
                let mut options = self.delimited(null_texts, trim);
                options.trailing_delimiter = asked.ends_with_delimiter(&options, columns.len(), sample)?;
                in_order(other(Delimited::new(options))?)
            }
        })
    }

    fn delimited(&self, null_texts: Vec<Box<[u8]>>, trim: bool) -> DelimitedOptions {
        let default = DelimitedOptions::default();
        let rule = self.escape_rule.unwrap_or(EscapeRule::Quotes);
        let tab = (self.format == Some(Format::Tsv)).then(|| "\t".to_owned());
        DelimitedOptions {
            delimiter: self.delimiter.clone().or(tab).unwrap_or(default.delimiter),
            quote: self.quote.unwrap_or(default.quote),
            escape: self.escape.map(|byte| Escape { byte, rule }),
            comment: self.comment.clone(),
            skip_blank_lines: self.skip_blank_lines.unwrap_or(false),
            line_ends: self.line_ends.unwrap_or_default(),
            trailing_delimiter: false,
            short_records: self.short_records.unwrap_or_default(),
            long_records: self.long_records.unwrap_or_default(),
            stray_quotes: self.stray_quotes.unwrap_or_default(),
            trim,
            nul: self.nul.unwrap_or_default(),
            null_texts,
            record_bytes_max: self.record_bytes_max.unwrap_or(default.record_bytes_max),
            quote_check: default.quote_check,
        }
    }

    fn lines(&self) -> LineOptions {
        let default = LineOptions::default();
        LineOptions {
            line_ends: self.line_ends.unwrap_or_default(),
            comment: self.comment.clone(),
            skip_blank_lines: self.skip_blank_lines.unwrap_or(default.skip_blank_lines),
            record_bytes_max: self.record_bytes_max.unwrap_or(default.record_bytes_max),
        }
    }

    /// PostgreSQL's text format with these texts for NULL.
    pub(super) fn postgres_text(&self, null_texts: Vec<Box<[u8]>>) -> Result<PostgresText, Error> {
        let delimiter = self.delimiter.as_deref().unwrap_or("\t");
        let &[delimiter] = delimiter.as_bytes() else {
            return Err(Error::invalid("option DELIMITER: FORMAT text takes one character of one byte"));
        };
        let options = PostgresTextOptions {
            delimiter,
            null_texts,
            line_ends: self.line_ends.unwrap_or_default(),
            record_bytes_max: self.record_bytes_max.unwrap_or(longshore_load::RECORD_BYTES_MAX),
        };
        PostgresText::new(options).map_err(|error| Error::invalid(error.to_string()))
    }

    fn fixed_width(&self, columns: &[&str]) -> Result<FixedWidthOptions, Error> {
        let Some(places) = &self.places else {
            return Err(Error::invalid(
                "FORMAT fixed needs PLACES: start and end of each field, as in PLACES '0-10,10-25', or widths, as in \
                 PLACES '10,15'",
            ));
        };
        if places.len() != columns.len() {
            return Err(Error::invalid(format!(
                "option PLACES has {} places for {} columns, {}; name as many columns",
                places.len(),
                columns.len(),
                columns.join(", ")
            )));
        }
        let fixed = places.iter().zip(columns).map(|(&(start, end), name)| FixedColumn {
            name: (*name).to_owned(),
            start,
            width: end - start,
        });
        Ok(FixedWidthOptions {
            short_records: self.short_records.unwrap_or_default(),
            long_records: self.long_records.unwrap_or_default(),
            lines: self.lines(),
            ..FixedWidthOptions::new(fixed.collect())
        })
    }

    fn pattern(&self, columns: &[&str]) -> Result<Reading, Error> {
        let Some(given) = &self.pattern else {
            let presets: Vec<_> = pattern::presets().iter().map(|preset| preset.name).collect();
            return Err(Error::invalid(format!(
                "FORMAT pattern needs PATTERN: a regular expression with named groups, as in '(?<day>\\S+) (?<text>.*)', \
                 or one of {}",
                presets.join(", ")
            )));
        };
        let format = Pattern::of(given, self.lines()).map_err(|error| Error::invalid(error.to_string()))?;
        let groups: Vec<String> = format.columns().map(str::to_owned).collect();
        if let Some(missing) = columns.iter().find(|column| !groups.iter().any(|group| group == *column)) {
            return Err(Error::no_column(format!(
                "the pattern has no group named {missing}; its groups are {}: name columns after groups, or list the \
                 columns to load",
                groups.join(", ")
            )));
        }
        let fields = groups.iter().map(|group| columns.iter().position(|column| column == group)).collect();
        Ok(Reading { format: TextFormat::Other(Arc::new(format)), fields })
    }

    /// Refuses options that mean nothing in the format.
    pub(super) fn check_format(&self) -> Result<(), Error> {
        use Format::{Csv, Fixed, Json, JsonLines, Logfmt, Pattern, Text, Tsv};
        let delimited: &[Format] = &[Csv, Tsv];
        let lines: &[Format] = &[Csv, Tsv, Fixed, Logfmt, Pattern];
        let with_text: &[Format] = &[Csv, Tsv, Text, Fixed, Logfmt, Pattern];
        let format = self.format.unwrap_or(Csv);
        let checks: [(&str, bool, &[Format]); 17] = [
            ("LINE_ENDS", self.line_ends.is_some(), with_text),
            ("MAX_RECORD_SIZE", self.record_bytes_max.is_some(), with_text),
            ("LAYOUT", self.layout.is_some(), &[Json]),
            ("DELIMITER", self.delimiter.is_some(), &[Csv, Tsv, Text]),
            ("QUOTE", self.quote.is_some(), delimited),
            ("ESCAPE", self.escape.is_some(), delimited),
            ("ESCAPE_RULE", self.escape_rule.is_some(), delimited),
            ("STRAY_QUOTES", self.stray_quotes.is_some(), delimited),
            ("NUL_BYTES", self.nul.is_some(), delimited),
            ("COMMENT", self.comment.is_some(), lines),
            ("SKIP_BLANK_LINES", self.skip_blank_lines.is_some(), lines),
            ("SHORT_RECORDS", self.short_records.is_some(), &[Csv, Tsv, Fixed]),
            ("LONG_RECORDS", self.long_records.is_some(), &[Csv, Tsv, Fixed]),
            ("PLACES", self.places.is_some(), &[Fixed]),
            ("PATTERN", self.pattern.is_some(), &[Pattern]),
            ("UNKNOWN_KEYS", self.unknown_keys.is_some(), &[Json, JsonLines, Logfmt]),
            ("PATHS", !self.paths.is_empty(), &[Json, JsonLines]),
        ];
        match checks.iter().find(|(_, given, formats)| *given && !formats.contains(&format)) {
            None => Ok(()),
            Some((option, _, formats)) => {
                let formats: Vec<_> = formats.iter().map(|format| format.name()).collect();
                Err(Error::invalid(format!(
                    "option {option} has a meaning for FORMAT {} only; the format is {}",
                    formats.join(", "),
                    format.name()
                )))
            }
        }
    }
}

/// A format of ours as one that texts are read by.
fn other<F: longshore_load::RecordFormat + 'static, E: ToString>(format: Result<F, E>) -> Result<TextFormat, Error> {
    match format {
        Ok(format) => Ok(TextFormat::Other(Arc::new(format))),
        Err(error) => Err(Error::invalid(error.to_string())),
    }
}

fn delimiter(options: &Given<'_>) -> Result<Option<String>, Error> {
    let delimiter = options.text("DELIMITER")?;
    match &delimiter {
        Some(text) if text.len() == 2 && text.starts_with('\\') => {
            Err(options
                .bad("DELIMITER", &format!("{text:?} is two characters; for a tab and the like write E'{text}'")))
        }
        _ => Ok(delimiter),
    }
}

#[allow(clippy::option_option, reason = "nothing was said, no character, a character")]
fn quote(options: &Given<'_>, place: Use) -> Result<Option<Option<u8>>, Error> {
    if options.word("QUOTE") != Some("none") {
        return Ok(options.byte("QUOTE")?.map(Some));
    }
    if matches!(place, Use::CopyTo | Use::Export) {
        return Err(options
            .bad("QUOTE", "NONE is for reading only: a text with a delimiter or a line break could not be written"));
    }
    let escapes_all = options.word("ESCAPE_RULE").is_some_and(|rule| rule != "quotes");
    if options.item("ESCAPE").is_some() && !escapes_all {
        return Err(options.bad(
            "ESCAPE",
            "has no meaning with QUOTE NONE; leave one of them out, or give ESCAPE_RULE everything or letters",
        ));
    }
    Ok(Some(None))
}

/// `0-10,10-25`, `0-10,10-`, or `10,15`: start and end of each field.
fn places(text: &str) -> Result<Vec<(usize, usize)>, String> {
    let wrong = |part: &str| format!("{part:?} is neither a place such as 0-10 nor a width such as 10");
    let mut end_before = 0;
    text.split(',')
        .map(|part| {
            let number = |digits: &str| digits.trim().parse::<usize>().map_err(|_| wrong(part));
            let (start, end) = match part.split_once('-') {
                Some((start, "")) => (number(start)?, PLACE_MAX),
                Some((start, end)) => (number(start)?, number(end)?),
                None => (end_before, number(part)?.saturating_add(end_before)),
            };
            end_before = end;
            if start < end { Ok((start, end)) } else { Err(wrong(part)) }
        })
        .collect()
}

fn paths(options: &Given<'_>) -> Result<Vec<(String, JsonPath)>, Error> {
    let Some(item) = options.item("PATHS") else {
        return Ok(Vec::new());
    };
    let OptionValue::PerColumn(columns) = &item.value else {
        return Err(options.bad("PATHS", "columns with their paths are expected, as in (city 'address.city')"));
    };
    columns
        .iter()
        .map(|(name, value)| {
            let OptionValue::Text(path) = value else {
                return Err(options.bad("PATHS", &format!("column {name}: a path in single quotes is expected")));
            };
            let path = path.parse().map_err(|error| options.bad("PATHS", &format!("column {name}: {error}")))?;
            Ok((name.clone(), path))
        })
        .collect()
}
