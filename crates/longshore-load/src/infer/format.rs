//! What was sniffed as the options of a load: plain CSV where the SIMD scan reads it, another format where it must be.

use std::sync::Arc;

use longshore_csv::decode::DateTimeFormat;
use longshore_csv::{Dialect, RecordFormat};
use longshore_format::delimited::{
    Delimited, DelimitedOptions, Escape, EscapeRule, LongRecords, NulBytes, ShortRecords, StrayQuotes,
};
use longshore_format::fixed_width::{FixedColumn, FixedWidth, FixedWidthOptions};
use longshore_format::json::{Json, Layout, UnknownKeys};
use longshore_format::lines::LineEnds;
use longshore_format::pattern::{Pattern, preset};
use longshore_format::postgres_text::{PostgresText, PostgresTextOptions};
use longshore_format::sniff::types::{Formats, Nulls, Reading};
use longshore_format::sniff::{Family, Given, LineEnd, RecordRules, Sniffed};
use longshore_format::{Logfmt, LogfmtOptions, QuoteCheck, logfmt};

use crate::error::LoadError;
use crate::options::{ColumnValues, Header, TextFormat, TextOptions, TrailingDelimiter, ValueOptions};

/// What the user says about a text, with what `options` say.
pub(super) fn given(given: &Given, options: &TextOptions) -> Given {
    let values = &options.values;
    let usual = ValueOptions::default();
    let bytes = |texts: &[String]| texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    let ascii = |separator: char| u8::try_from(separator).ok().filter(u8::is_ascii);
    let mut given = given.clone();
    if given.null_texts.is_none() && values.nulls != usual.nulls {
        given.null_texts = Some(bytes(&values.nulls));
    }
    if given.decimal_separator.is_none() && values.decimal_separator != usual.decimal_separator {
        given.decimal_separator = ascii(values.decimal_separator);
    }
    given.thousands_separator = given.thousands_separator.or(values.thousands_separator.and_then(ascii));
    let formats = &mut given.formats;
    formats.date = formats.date.take().or_else(|| values.date_format.clone());
    formats.time = formats.time.take().or_else(|| values.time_format.clone());
    formats.timestamp = formats.timestamp.take().or_else(|| values.timestamp_format.clone());
    given.trim |= values.trim;
    if given.boolean_words.is_default() {
        given.boolean_words = values.boolean_words(&ColumnValues::default());
    }
    if let Some(preset) = given.rules.pattern.as_deref().and_then(preset) {
        given.null_texts.get_or_insert_with(|| vec![preset.null_text.as_bytes().to_vec()]);
        if given.formats == Formats::default() {
            given.formats.timestamp = DateTimeFormat::new(&[preset.time_format]).ok();
        }
    }
    given
}

/// The options by which a text is read that is what `sniffed` says; all else is as in `options`.
///
/// # Errors
/// If the format is one whose columns cannot be found out.
pub fn options(sniffed: &Sniffed, options: &TextOptions) -> Result<TextOptions, LoadError> {
    // Where bad records are rejected, none is because of what a sample told.
    options_given(sniffed, &given(&Given::default(), options), options, options.on_error.stops())
}

/// The same, where `given` is what the user says; `checks` tells whether quotes are checked to be what was found.
pub(super) fn options_given(
    sniffed: &Sniffed,
    given: &Given,
    options: &TextOptions,
    checks: bool,
) -> Result<TextOptions, LoadError> {
    let trailing = if sniffed.trailing_delimiter.value { TrailingDelimiter::Yes } else { TrailingDelimiter::No };
    let mut values = options.values.clone();
    values.decimal_separator = char::from(sniffed.decimal_separator.value);
    values.thousands_separator = sniffed.thousands_separator.value.map(char::from).or(values.thousands_separator);
    values.date_format.clone_from(&given.formats.date);
    values.time_format.clone_from(&given.formats.time);
    values.timestamp_format.clone_from(&given.formats.timestamp);
    match &given.null_texts {
        Some(texts) => values.nulls = texts.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect(),
        None if sniffed.family.value == Family::PgText => values.nulls = vec!["\\N".to_owned()],
        None => {}
    }
    let quote_check = if checks { sniffed.quote_check } else { QuoteCheck::Off };
    Ok(TextOptions {
        format: text_format(sniffed, &values, quote_check)?,
        quote_check,
        skip_lines: sniffed.skip_lines.value as u64,
        header: if sniffed.header.value { Header::Skip } else { Header::None },
        trailing_delimiter: trailing,
        values,
        ..options.clone()
    })
}

/// How the values of each column are written, where `usual` is how those of most are, and whether it differs from that.
pub(super) fn readings(names: &[&str], usual: &Reading, options: &TextOptions) -> Vec<(Reading, bool)> {
    let ascii = |separator: char| u8::try_from(separator).ok().filter(u8::is_ascii);
    let of = |name: &&str| {
        let Some(own) = options.values.columns.get(*name) else { return (usual.clone(), false) };
        let reading = Reading {
            decimal_separator: own.decimal_separator.and_then(ascii).unwrap_or(usual.decimal_separator),
            thousands_separator: own.thousands_separator.map_or(usual.thousands_separator, |own| own.and_then(ascii)),
            common_nulls: usual.common_nulls && own.nulls.is_none(),
            trim: own.trim.unwrap_or(usual.trim),
            ..usual.clone()
        };
        let differs = reading != *usual;
        (reading, differs)
    };
    names.iter().map(of).collect()
}

/// Which fields of each column the options make NULL.
pub(super) fn nulls(names: &[&str], options: &TextOptions) -> Vec<Nulls> {
    let values = &options.values;
    let usual = ColumnValues::default();
    let of = |name: &&str| {
        let own = values.columns.get(*name).unwrap_or(&usual);
        let never = own.force_not_null.unwrap_or_else(|| values.force_not_null.contains(name));
        let texts = if never { &[][..] } else { own.nulls.as_deref().unwrap_or(&values.nulls) };
        Nulls {
            texts: texts.iter().map(|text| text.as_bytes().into()).collect(),
            quoted: own.quoted_nulls.unwrap_or_else(|| values.quoted_nulls.contains(name)),
            trim: own.trim.unwrap_or(values.trim),
        }
    };
    names.iter().map(of).collect()
}

/// The format of what was found.
fn text_format(sniffed: &Sniffed, values: &ValueOptions, quote_check: QuoteCheck) -> Result<TextFormat, LoadError> {
    let problem = |error: &dyn std::error::Error| LoadError::Options(error.to_string());
    let line_end = sniffed.line_end.value;
    let found = if line_end == LineEnd::CarriageReturn { LineEnds::Any } else { LineEnds::Standard };
    let rules = RecordRules { line_ends: Some(sniffed.rules.line_ends.unwrap_or(found)), ..sniffed.rules.clone() };
    check(sniffed)?;
    let null_texts: Vec<Box<[u8]>> = values.nulls.iter().map(|text| text.as_bytes().into()).collect();
    let format: Arc<dyn RecordFormat> = match sniffed.family.value {
        Family::Delimited if is_plain(sniffed) => {
            let delimiter = sniffed.delimiter.value[0];
            return Ok(TextFormat::Csv(Dialect::new(delimiter, sniffed.quote.value, sniffed.escape.value)?));
        }
        Family::Delimited => {
            let options = DelimitedOptions { trim: values.trim, quote_check, ..delimited(sniffed, &rules, null_texts) };
            Arc::new(Delimited::new(options).map_err(|error| problem(&error))?)
        }
        Family::PgText => {
            let usual = PostgresTextOptions::default();
            let format = PostgresText::new(PostgresTextOptions {
                line_ends: rules.line_ends.unwrap_or_default(),
                record_bytes_max: rules.record_bytes_max.unwrap_or(usual.record_bytes_max),
                null_texts,
                ..usual
            });
            Arc::new(format.map_err(|error| problem(&error))?)
        }
        Family::FixedWidth => {
            let format = FixedWidth::new(FixedWidthOptions {
                lines: rules.lines(sniffed.comment.value.as_deref()),
                short_records: if sniffed.short_records.value { ShortRecords::Pad } else { ShortRecords::Reject },
                long_records: rules.long_records.unwrap_or_default(),
                whole_words: rules.places.is_none(),
                ..FixedWidthOptions::new(places(sniffed))
            });
            Arc::new(format.map_err(|error| problem(&error))?)
        }
        Family::JsonLines | Family::JsonValues | Family::JsonArray => {
            let layout = sniffed.family.value.json_layout().unwrap_or(Layout::Lines);
            // A key that the sample does not have must not be lost.
            let format = Json::new(&sniffed.paths, layout).map_err(|error| problem(&error))?;
            let ignored = rules.unknown_keys == Some(false);
            Arc::new(format.with_unknown_keys(if ignored { UnknownKeys::Ignore } else { UnknownKeys::Reject }))
        }
        Family::Logfmt => {
            let ignored = rules.unknown_keys == Some(false);
            let options = LogfmtOptions {
                keys: sniffed.fields.clone(),
                unknown_keys: if ignored { logfmt::UnknownKeys::Drop } else { logfmt::UnknownKeys::Reject },
                lines: rules.lines(sniffed.comment.value.as_deref()),
            };
            Arc::new(Logfmt::new(options).map_err(|error| problem(&error))?)
        }
        Family::Pattern => {
            let lines = rules.lines(sniffed.comment.value.as_deref());
            let pattern = rules.pattern.as_deref().unwrap_or_default();
            Arc::new(Pattern::of(pattern, lines).map_err(|error| problem(&error))?)
        }
    };
    Ok(TextFormat::Other(format))
}

/// Refuses what was said of records and means nothing in the format that was found.
fn check(sniffed: &Sniffed) -> Result<(), LoadError> {
    let rules = &sniffed.rules;
    let family = sniffed.family.value;
    let is_delimited = family == Family::Delimited;
    let is_json = family.json_layout().is_some();
    let has_fields = is_delimited || family == Family::FixedWidth;
    let checks = [
        ("ESCAPE_RULE", rules.escape_rule.is_some(), is_delimited),
        ("STRAY_QUOTES", rules.stray_quotes.is_some(), is_delimited),
        ("NUL_BYTES", rules.nul.is_some(), is_delimited),
        ("SHORT_RECORDS", rules.short_records.is_some(), has_fields),
        ("LONG_RECORDS", rules.long_records.is_some(), has_fields),
        ("LINE_ENDS", rules.line_ends.is_some(), !is_json),
        ("MAX_RECORD_SIZE", rules.record_bytes_max.is_some(), !is_json),
        ("COMMENT", sniffed.comment.given, !is_json && family != Family::PgText),
        ("SKIP_BLANK_LINES", rules.skip_blank_lines.is_some(), !is_json && family != Family::PgText),
        ("PLACES", rules.places.is_some(), family == Family::FixedWidth),
        ("PATTERN", rules.pattern.is_some(), family == Family::Pattern),
        ("PATHS", !rules.paths.is_empty(), is_json),
        ("HEADER", sniffed.header.given && sniffed.header.value, !family.names_fields()),
        ("UNKNOWN_KEYS", rules.unknown_keys.is_some(), is_json || family == Family::Logfmt),
    ];
    match checks.iter().find(|(_, given, has_meaning)| *given && !has_meaning) {
        None => Ok(()),
        Some((option, ..)) => Err(LoadError::Options(format!(
            "option {option} means nothing in what the file was taken for, {sniffed}; leave it out, or set FORMAT"
        ))),
    }
}

fn delimited(sniffed: &Sniffed, rules: &RecordRules, mut null_texts: Vec<Box<[u8]>>) -> DelimitedOptions {
    let usual = DelimitedOptions::default();
    let quote = sniffed.quote.value;
    let rule = if quote.is_some() { EscapeRule::Quotes } else { EscapeRule::Everything };
    let rule = rules.escape_rule.unwrap_or(rule);
    let stray_quotes = if sniffed.stray_quotes.value { StrayQuotes::Literal } else { StrayQuotes::Toggle };
    let long_records = if sniffed.long_records.value { LongRecords::TruncateEmpty } else { LongRecords::Reject };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    null_texts.extend(DelimitedOptions::default().null_texts);
    DelimitedOptions {
        delimiter: text(&sniffed.delimiter.value),
        quote,
        escape: sniffed.escape.value.map(|byte| Escape { byte, rule }),
        comment: sniffed.comment.value.as_deref().map(text),
        skip_blank_lines: sniffed.blank_lines.value,
        trailing_delimiter: sniffed.trailing_delimiter.value,
        short_records: if sniffed.short_records.value { ShortRecords::Pad } else { ShortRecords::Reject },
        long_records: rules.long_records.unwrap_or(long_records),
        stray_quotes: rules.stray_quotes.unwrap_or(stray_quotes),
        line_ends: rules.line_ends.unwrap_or_default(),
        nul: rules.nul.unwrap_or_default(),
        record_bytes_max: rules.record_bytes_max.unwrap_or(usual.record_bytes_max),
        null_texts,
        ..usual
    }
}

/// The places of fixed columns.
fn places(sniffed: &Sniffed) -> Vec<FixedColumn> {
    let columns = sniffed.columns.iter().zip(sniffed.places());
    columns.map(|(column, (start, end))| FixedColumn { name: column.name.clone(), start, width: end - start }).collect()
}

/// Whether the SIMD scan reads it.
fn is_plain(sniffed: &Sniffed) -> bool {
    let usual = matches!(sniffed.delimiter.value[..], [byte] if byte.is_ascii());
    let rules = &sniffed.rules;
    let rule = rules.escape_rule.map_or(sniffed.quote.value.is_none(), |rule| rule != EscapeRule::Quotes);
    let escapes_anything = rule && sniffed.escape.value.is_some();
    usual
        && !escapes_anything
        && rules.long_records.is_none_or(|rule| rule == LongRecords::Reject)
        && rules.stray_quotes.is_none_or(|rule| rule == StrayQuotes::Toggle)
        && rules.line_ends.is_none_or(|ends| ends == LineEnds::Standard)
        && rules.nul.is_none_or(|rule| rule == NulBytes::Keep)
        && rules.record_bytes_max.is_none()
        && sniffed.comment.value.is_none()
        && !sniffed.blank_lines.value
        && !sniffed.short_records.value
        && !sniffed.long_records.value
        && !sniffed.stray_quotes.value
        && sniffed.line_end.value != LineEnd::CarriageReturn
}
