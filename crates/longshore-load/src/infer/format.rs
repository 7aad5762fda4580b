//! What was sniffed as the options of a load: plain CSV where the SIMD scan reads it, another format where it must be.

use std::sync::Arc;

use longshore_csv::Dialect;
use longshore_format::delimited::{Delimited, DelimitedOptions, Escape, EscapeRule, ShortRecords, StrayQuotes};
use longshore_format::lines::LineEnds;
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

fn text_format(sniffed: &Sniffed) -> Result<TextFormat, LoadError> {
    if sniffed.family.value != Family::Delimited {
        return Err(LoadError::Options(format!(
            "the file is {sniffed}, whose columns cannot be found out yet; give the columns"
        )));
    }
    if is_plain(sniffed) {
        let delimiter = sniffed.delimiter.value[0];
        return Ok(TextFormat::Csv(Dialect::new(delimiter, sniffed.quote.value, sniffed.escape.value)?));
    }
    let quote = sniffed.quote.value;
    let escape = sniffed
        .escape
        .value
        .map(|byte| Escape { byte, rule: if quote.is_some() { EscapeRule::Quotes } else { EscapeRule::Everything } });
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let format = Delimited::new(DelimitedOptions {
        delimiter: text(&sniffed.delimiter.value),
        quote,
        escape,
        comment: sniffed.comment.value.as_deref().map(text),
        skip_blank_lines: sniffed.blank_lines.value,
        line_ends: if sniffed.line_end.value == LineEnd::CarriageReturn { LineEnds::Any } else { LineEnds::Standard },
        trailing_delimiter: sniffed.trailing_delimiter.value,
        short_records: if sniffed.short_records.value { ShortRecords::Pad } else { ShortRecords::Reject },
        stray_quotes: if sniffed.stray_quotes.value { StrayQuotes::Literal } else { StrayQuotes::Toggle },
        ..DelimitedOptions::default()
    });
    match format {
        Ok(format) => Ok(TextFormat::Other(Arc::new(format))),
        Err(error) => Err(LoadError::Options(error.to_string())),
    }
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
