//! Tells from a sample what a text is: its format, its dialect, whether it has a header, and what its columns may be.
//!
//! Six steps, a file each: `detect` (JSON, PostgreSQL's text format, fixed width, or fields between delimiters),
//! `candidates` (the dialects worth a try), `score` (how consistent the records of each are: the measure of van den
//! Burg, Nazábal and Sutton, "Wrangling messy CSV files by detecting row and type patterns", 2019, of row patterns times
//! cell types, with clean cells for known types; `quoting` tells what quotes do), `refine` (what stands before the
//! header, comments, trailing delimiters, decimal commas), `header`, and `columns`.
//!
//! What the user says ([`Given`]) is kept, and narrows the search. A sample only suggests: types and quotes
//! ([`QuoteCheck`](crate::QuoteCheck)) are checked over the whole file by `longshore-load`, which looks again with the
//! places that speak against it, and a dialect that does not fit then is an error there, never a wrong value. Not here:
//! encodings, compression, reading files.

mod candidates;
mod columns;
mod comments;
mod detect;
mod family;
mod given;
mod header;
mod json;
mod lines;
mod names;
mod parse;
mod quoting;
mod refine;
mod score;
mod sniffed;
mod stretches;
pub mod types;

pub use family::Family;
pub use given::{Given, Place, QuoteChoice, RecordRules};
pub use names::{normalized, unique};
pub use sniffed::{Column, Found, LineEnd, OptionText, Sniffed};

use std::borrow::Cow;

use crate::delimited::NulBytes;
use crate::json::Layout;
use crate::lines::LineEnds;
use parse::{LineBreaks, Style};
use types::Reading;

/// Bytes of a sample that are looked at; more of it are of no use.
pub const SAMPLE_BYTES: usize = 256 << 10;

/// Bytes of a sample of JSON that are looked at: some values are in few records.
pub const JSON_SAMPLE_BYTES: usize = 8 << 20;

/// Bytes of a sample that begins so that are of use.
#[must_use]
pub fn sample_bytes(sample: &[u8], given: &Given) -> usize {
    let is_json = matches!(sample.trim_ascii_start().first(), Some(b'{' | b'['));
    let usual = if is_json || given.family == Some(Family::Logfmt) { JSON_SAMPLE_BYTES } else { SAMPLE_BYTES };
    usual.max(given.sample_bytes_min)
}

/// The sample without what the user says is to be read over: NUL bytes, and several kinds of line ends.
fn plain<'a>(sample: &'a [u8], given: &Given) -> Cow<'a, [u8]> {
    let mut plain = Cow::Borrowed(sample);
    if given.rules.nul == Some(NulBytes::Strip) && sample.contains(&0) {
        plain.to_mut().retain(|byte| *byte != 0);
    }
    if given.rules.line_ends == Some(LineEnds::Any) && LineBreaks::of(sample) != LineBreaks::CarriageReturn {
        let lone = |at: &usize| plain.get(at + 1) != Some(&b'\n');
        let ends: Vec<usize> = memchr::memchr_iter(b'\r', &plain).filter(lone).collect();
        for at in ends {
            plain.to_mut()[at] = b'\n';
        }
    }
    plain
}

/// Tells what the text that begins with `sample` is. With `at_end` nothing follows the sample.
///
/// Always finds something: a text without any structure has lines of one field.
#[must_use]
pub fn sniff(sample: &[u8], at_end: bool, given: &Given) -> Sniffed {
    let sample = sample.strip_prefix(b"\xef\xbb\xbf").unwrap_or(sample);
    let bytes_max = sample_bytes(sample, given);
    let (sample, at_end) = if sample.len() > bytes_max { (&sample[..bytes_max], false) } else { (sample, at_end) };
    let plain = plain(sample, given);
    let sample = &*plain;
    let breaks = LineBreaks::new(sample, given.rules.line_ends);
    let named = given.delimiter.is_none() && given.skip_lines.is_none();
    let excel = candidates::excel_separator(sample).filter(|_| named);
    let skipped = parse::behind_lines(sample, given.skip_lines.unwrap_or(usize::from(excel.is_some())), breaks);
    // What stands behind `sep=` is as good as given.
    let named = Given { delimiter: excel.map(|byte| vec![byte]), ..given.clone() };
    let given_here = if excel.is_some() { &named } else { given };
    let (family, widths) = detect::family(&sample[skipped..], at_end, given_here, breaks);
    let mut sniffed = Sniffed::new(family, breaks, given);
    match sniffed.family.value {
        Family::JsonLines | Family::JsonValues | Family::JsonArray => {
            let layout = sniffed.family.value.json_layout().unwrap_or(Layout::Lines);
            json::columns(&mut sniffed, layout, sample, at_end, given);
            return sniffed;
        }
        Family::Logfmt | Family::Pattern => {
            lines::columns(&mut sniffed, &sample[skipped..], at_end, given);
            return sniffed;
        }
        Family::PgText => {
            sniffed.take_style(&Style { delimiter: b"\t".to_vec(), ..Style::default() }, "of the format", given);
        }
        Family::FixedWidth => sniffed.widths = widths,
        Family::Delimited => {
            let chosen = score::choose(&sample[skipped..], at_end, given_here, breaks);
            sniffed.take_style(&chosen.style, &chosen.reason, given);
            sniffed.quote_check = chosen.quote_check();
        }
    }
    if excel.is_some() {
        sniffed.skip_lines = Found::detected(1, "`sep=` names the delimiter");
        "`sep=` names it".clone_into(&mut sniffed.delimiter.reason);
    }
    let mut table = refine::refine(&mut sniffed, &sample[skipped..], at_end, given, breaks);
    if sniffed.family.value == Family::Delimited && sniffed.delimiter.value.is_empty() {
        // One column of lines: a byte that occurs in none of them may stand for the delimiter.
        sniffed.stand_in_delimiter(sample);
    }
    header::detect(&mut sniffed, &table, given);
    if sniffed.header.value && !table.is_empty() {
        sniffed.name_columns(Some(&table.remove(0)), given);
    } else {
        sniffed.name_columns(None, given);
    }
    columns::guess(&mut sniffed, &table, given);
    sniffed
}

/// How values are read under what was found.
impl Sniffed {
    /// How values are written, for [`types::classify`].
    #[must_use]
    pub fn reading(&self, given: &Given) -> Reading {
        Reading {
            decimal_separator: self.decimal_separator.value,
            thousands_separator: self.thousands_separator.value,
            date_order: given.date_order,
            formats: given.formats.clone(),
            common_nulls: given.null_texts.is_none() && self.family.value.json_layout().is_none(),
            letter_booleans: self.family.value == Family::PgText,
            boolean_words: given.boolean_words.clone(),
            trim: given.trim,
            quoted_strings: self.family.value.json_layout().is_some(),
        }
    }

    /// The types that the columns can have in `text`, which begins anywhere in the file: a hint, since nobody can tell for sure
    /// whether it begins inside quotes. With `at_end` nothing follows.
    #[must_use]
    pub fn types_of(&self, text: &[u8], at_end: bool, given: &Given) -> Vec<types::TypeSet> {
        let plain = plain(text, given);
        let text = &*plain;
        let breaks = LineBreaks::new(text, given.rules.line_ends);
        let text = &text[parse::behind_lines(text, 1, breaks)..];
        let width = self.columns.len() + usize::from(self.trailing_delimiter.value);
        // The rows from `start` on behind the first `skipped` records, of how many records, and what speaks against them.
        let read = |start: usize, skipped: usize| -> (parse::Table, usize, usize) {
            let parsed = parse::parse(&text[start..], at_end, &self.style(), breaks, usize::MAX);
            let records = parsed.records.len().saturating_sub(skipped);
            let cells = parsed.records.into_iter().skip(skipped).map(|record| record.cells);
            let table: parse::Table = cells.filter(|cells| cells.len() == width).collect();
            // Lines of a quoted text may have as many delimiters as records, but then their quotes stand at wrong places.
            let wrong = records - table.len() + parsed.stray + parsed.broken + parsed.inside;
            (table, records, wrong)
        };
        let (mut table, records, wrong) = read(0, 0);
        if wrong > 0
            && let Some(closing) = self.closing_quote(text)
        {
            // What is left of the record that the quote stands in is no record.
            let (inside, records_inside, wrong_inside) = read(closing + 1, 1);
            if wrong_inside * records < wrong * records_inside {
                table = inside;
            }
        }
        let mut sniffed = self.clone();
        columns::guess(&mut sniffed, &table, given);
        sniffed.columns.into_iter().map(|column| column.types).collect()
    }

    /// The first quote in `text` that closes a field, if the text begins inside one.
    fn closing_quote(&self, text: &[u8]) -> Option<usize> {
        let quote = self.quote.value?;
        let mut at = 0;
        loop {
            at += memchr::memchr(quote, text.get(at..)?)?;
            let behind = &text[at + 1..];
            match behind.first() {
                Some(next) if *next == quote => at += 2,
                Some(b'\n' | b'\r') => return Some(at),
                Some(_) if behind.starts_with(&self.delimiter.value) => return Some(at),
                _ => at += 1,
            }
        }
    }
}
