//! What was sniffed as the options of a load: plain CSV where the SIMD scan reads it, another format where it must be.

use std::sync::Arc;

use longshore_csv::{Dialect, RecordFormat};
use longshore_format::delimited::{Delimited, DelimitedOptions, Escape, EscapeRule, ShortRecords, StrayQuotes};
use longshore_format::fixed_width::{FixedColumn, FixedWidth, FixedWidthOptions, PLACE_MAX};
use longshore_format::json::{Json, Layout, UnknownKeys};
use longshore_format::lines::{LineEnds, LineOptions};
use longshore_format::postgres_text::{PostgresText, PostgresTextOptions};
use longshore_format::sniff::types::Nulls;
use longshore_format::sniff::{Family, LineEnd, Sniffed};

use crate::{ColumnChoice, Header, LoadError, TextFormat, TextOptions, TrailingDelimiter};

/// The options by which a text is read that is what `sniffed` says; all else is as in `options`.
///
/// # Errors
/// If the format is one whose columns cannot be found out.
pub fn options(sniffed: &Sniffed, options: &TextOptions) -> Result<TextOptions, LoadError> {
    let trailing = if sniffed.trailing_delimiter.value { TrailingDelimiter::Yes } else { TrailingDelimiter::No };
    Ok(TextOptions {
        format: text_format(sniffed)?,
        skip_lines: sniffed.skip_lines.value as u64,
        header: if sniffed.header.value { Header::Skip } else { Header::None },
        trailing_delimiter: trailing,
        ..options.clone()
    })
}

/// Which fields the options make NULL.
pub(super) fn nulls(options: &TextOptions) -> Nulls {
    let values = &options.values;
    let texts = values.nulls.iter().map(|text| text.as_bytes().into()).collect();
    Nulls { texts, quoted: values.quoted_nulls == ColumnChoice::All }
}

/// The format of what was found.
fn text_format(sniffed: &Sniffed, nulls: &Nulls) -> Result<TextFormat, LoadError> {
    let problem = |error: &dyn std::error::Error| LoadError::Options(error.to_string());
    let line_end = sniffed.line_end.value;
    let line_ends = if line_end == LineEnd::CarriageReturn { LineEnds::Any } else { LineEnds::Standard };
    let format: Arc<dyn RecordFormat> = match sniffed.family.value {
        Family::Delimited if is_plain(sniffed) => {
            let delimiter = sniffed.delimiter.value[0];
            return Ok(TextFormat::Csv(Dialect::new(delimiter, sniffed.quote.value, sniffed.escape.value)?));
        }
        Family::Delimited => {
            let format = Delimited::new(DelimitedOptions { line_ends, ..delimited(sniffed, nulls) });
            Arc::new(format.map_err(|error| problem(&error))?)
        }
        Family::PgText => {
            let null_texts = nulls.texts.clone();
            let format = PostgresText::new(PostgresTextOptions { line_ends, null_texts, ..PostgresTextOptions::default() });
            Arc::new(format.map_err(|error| problem(&error))?)
        }
        Family::FixedWidth => {
            let lines = LineOptions { line_ends, ..LineOptions::default() };
            let format = FixedWidth::new(FixedWidthOptions { lines, ..FixedWidthOptions::new(places(sniffed)) });
            Arc::new(format.map_err(|error| problem(&error))?)
        }
        Family::JsonLines | Family::JsonValues | Family::JsonArray => {
            let layout = sniffed.family.value.json_layout().unwrap_or(Layout::Lines);
            // A key that the sample does not have must not be lost.
            let format = Json::new(&sniffed.paths, layout).map_err(|error| problem(&error))?;
            Arc::new(format.with_unknown_keys(UnknownKeys::Reject))
        }
    };
    Ok(TextFormat::Other(format))
}

fn delimited(sniffed: &Sniffed, nulls: &Nulls) -> DelimitedOptions {
    let quote = sniffed.quote.value;
    let rule = if quote.is_some() { EscapeRule::Quotes } else { EscapeRule::Everything };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut null_texts = DelimitedOptions::default().null_texts;
    null_texts.extend(nulls.texts.iter().cloned());
    DelimitedOptions {
        delimiter: text(&sniffed.delimiter.value),
        quote,
        escape: sniffed.escape.value.map(|byte| Escape { byte, rule }),
        comment: sniffed.comment.value.as_deref().map(text),
        skip_blank_lines: sniffed.blank_lines.value,
        trailing_delimiter: sniffed.trailing_delimiter.value,
        short_records: if sniffed.short_records.value { ShortRecords::Pad } else { ShortRecords::Reject },
        stray_quotes: if sniffed.stray_quotes.value { StrayQuotes::Literal } else { StrayQuotes::Toggle },
        null_texts,
        ..DelimitedOptions::default()
    }
}

/// The places of fixed columns, each up to the next one, since the sample may not have the longest values.
fn places(sniffed: &Sniffed) -> Vec<FixedColumn> {
    let ends = sniffed.widths.iter().skip(1).map(|place| place.0).chain([PLACE_MAX]);
    let columns = sniffed.columns.iter().zip(&sniffed.widths).zip(ends);
    columns
        .map(|((column, &(start, _)), end)| FixedColumn { name: column.name.clone(), start, width: end - start })
        .collect()
}

/// Whether the SIMD scan reads it.
fn is_plain(sniffed: &Sniffed) -> bool {
    let usual = matches!(sniffed.delimiter.value[..], [byte] if byte.is_ascii());
    let escapes_anything = sniffed.quote.value.is_none() && sniffed.escape.value.is_some();
    usual
        && !escapes_anything
        && sniffed.comment.value.is_none()
        && !sniffed.blank_lines.value
        && !sniffed.short_records.value
        && !sniffed.stray_quotes.value
        && sniffed.line_end.value != LineEnd::CarriageReturn
}
