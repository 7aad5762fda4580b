//! Formats beside plain CSV: finding where records end, and rewriting them as plain rows, one thread.
//!
//! The text is lineitem, rewritten where the format asks for it. What the decoders do with the rows is in `decode`.

use std::fs::File;
use std::io::Read as _;
use std::time::Instant;

use longshore_csv::{Missing, RecordFormat, RowText};
use longshore_format::delimited::{Escape, EscapeRule, StrayQuotes};
use longshore_format::{Delimited, DelimitedOptions, PostgresText, PostgresTextOptions};

use crate::measure::{Amount, Case, Measured, measure};
use crate::text::{Text, lineitem};
use crate::{Failure, Settings};

/// The most text that is read: larger than any cache.
const SAMPLE_BYTES_MAX: u64 = 64 << 20;

/// Bytes that are cut at a time.
const SPAN_BYTES: usize = 4 << 20;

/// Bytes of rows that are made at a time: what a load takes by default.
const ROWS_BYTES: usize = longshore_load::PIECE_BYTES_DEFAULT;

/// Columns of lineitem.
const FIELDS: usize = 16;

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let plain = sample(settings, Text::Plain)?;
    let quoted = sample(settings, Text::Quoted)?;
    let crlf = sample(settings, Text::Crlf)?;
    let replaced = |delimiter: &str| plain.replace("|\n", "\n").replace('|', delimiter);
    let (two_bytes, tabs) = (replaced("||"), replaced("\t"));
    let delimited = |delimiter: &str, change: &dyn Fn(&mut DelimitedOptions)| {
        let mut options = DelimitedOptions { delimiter: delimiter.to_owned(), ..DelimitedOptions::default() };
        change(&mut options);
        Delimited::new(options)
    };
    let trailing = delimited("|", &|options| options.trailing_delimiter = true)?;
    let usual = delimited(",", &|_| ())?;
    let literal = delimited(",", &|options| options.stray_quotes = StrayQuotes::Literal)?;
    let escape = Escape { byte: b'\\', rule: EscapeRule::Everything };
    let escaped = delimited(",", &|options| options.escape = Some(escape))?;
    let wide = delimited("||", &|_| ())?;
    let postgres = PostgresText::new(PostgresTextOptions::default())?;
    let formats: [(&str, &dyn RecordFormat, &str); 7] = [
        ("plain", &trailing, &plain),
        ("crlf", &trailing, &crlf),
        ("two-byte delimiter", &wide, &two_bytes),
        ("quoted", &usual, &quoted),
        ("quoted, stray quotes literal", &literal, &quoted),
        ("quoted, escapes everywhere", &escaped, &quoted),
        ("PostgreSQL's text format", &postgres, &tabs),
    ];
    let cases =
        formats.into_iter().flat_map(|(name, format, text)| [ends(name, format, text), rows(name, format, text)]);
    measure(cases.collect(), settings)
}

/// The first lines of lineitem.
fn sample(settings: &Settings, text: Text) -> Result<String, Failure> {
    let file = lineitem(&settings.data, settings.scale, text)?;
    let mut sample = Vec::new();
    File::open(&file.path)?.take(SAMPLE_BYTES_MAX).read_to_end(&mut sample)?;
    sample.truncate(sample.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1));
    Ok(String::from_utf8(sample)?)
}

fn ends<'a>(name: &str, format: &'a dyn RecordFormat, text: &'a str) -> Case<'a> {
    Case::new(format!("ends {name}"), Amount::Bytes(text.len() as u64), move || {
        let begin = Instant::now();
        let mut at = 0;
        while at < text.len() {
            let span = &text.as_bytes()[at..text.len().min(at + SPAN_BYTES)];
            match format.complete(span, false) {
                0 => return Err(format!("no record ends behind byte {at}").into()),
                length => at += length,
            }
        }
        Ok(begin.elapsed())
    })
}

fn rows<'a>(name: &str, format: &'a dyn RecordFormat, text: &'a str) -> Case<'a> {
    let right = text.lines().count();
    let mut rows = RowText::new(vec![Missing::default(); FIELDS], ROWS_BYTES);
    Case::new(format!("rows {name}"), Amount::Bytes(text.len() as u64), move || {
        let begin = Instant::now();
        let (mut at, mut found, mut defects) = (0, 0, Vec::new());
        while at < text.len() {
            rows.clear();
            at += format.read(&text.as_bytes()[at..], &mut rows, &mut defects);
            found += rows.count();
        }
        let time = begin.elapsed();
        if found == right && defects.is_empty() {
            Ok(time)
        } else {
            Err(format!("{found} rows where {right} are right; {:?}", defects.first()).into())
        }
    })
}
