//! Step 3: how well a dialect explains the sample.
//!
//! The score multiplies how many records have the usual number of fields, how many fields that is, how clean cells are
//! (a known type, a word, or text without any other dialect's delimiters in it), and how alike the cells of a column
//! are. A quote that neither opens nor closes a field speaks against the dialect, as does one that stays open.

use super::candidates::candidates;
use super::comments::{self, are_odd};
use super::given::Given;
use super::parse::{Cell, LineBreaks, Parsed, Record, Style, usual_fields};
use super::quoting::{self, Quotes};
use super::stretches::Stretches;
use super::types::{InferredType, OpenQuestion, Reading, classify};
use crate::QuoteCheck;

/// What a text of a single column must be outdone by: of plain text, and of values with a type.
const SINGLE_TEXT: f64 = 0.2;
const SINGLE_TYPED: f64 = 0.62;

/// Of a dialect that leaves the first lines out, the share that one must have which explains all of them.
const STEADY_SHARE: f64 = 0.4;

/// A text with stray quotes is a table if at least this share of its records, and this number of them, have the usual
/// number of fields.
const TABLE_SHARE_MIN: f64 = 0.8;
const TABLE_RECORDS_MIN: usize = 3;

/// A dialect that was chosen.
#[derive(Default)]
pub(super) struct Chosen {
    pub(super) style: Style,
    /// What its quotes are.
    pub(super) quotes: Quotes,
    /// Why.
    pub(super) reason: String,
}

impl Chosen {
    /// What holds of all quotes of the text if the sample is right.
    pub(super) fn quote_check(&self) -> QuoteCheck {
        match (self.quotes, self.style.quote) {
            (Quotes::Given, _) | (Quotes::Literal, None) => QuoteCheck::Off,
            (Quotes::Literal, Some(_)) => QuoteCheck::Literal,
            (Quotes::Quote | Quotes::Absent, Some(_)) => QuoteCheck::Whole,
            (Quotes::Quote | Quotes::Absent, None) => QuoteCheck::Unquoted,
        }
    }
}

/// The dialect that explains the sample best, and why.
pub(super) fn choose(sample: &[u8], at_end: bool, given: &Given, breaks: LineBreaks) -> Chosen {
    let stretches = Stretches::new(sample, at_end, given, breaks);
    let mut best: Option<(Score, Style)> = None;
    // The best of those that explain every line from the first one on.
    let mut steady: Option<(Score, Style)> = None;
    // The best of those that make a table of quoted fields, whatever quotes stand where none should.
    let mut quoted: Option<(Score, Style)> = None;
    let comments = comments::choices(&stretches, given);
    for style in candidates(&stretches, given) {
        let plain = stretches.parse(&Style { comment: comments[0].clone(), ..style.clone() });
        for (index, comment) in comments.iter().enumerate() {
            let style = Style { comment: comment.clone(), ..style.clone() };
            let score = match comment {
                Some(prefix) if index > 0 && !are_odd(&plain.records, prefix) => continue,
                Some(_) if index > 0 => score(&stretches.parse(&style), &style),
                _ => score(&plain, &style),
            };
            let is_told = style.has_usual_delimiter() || style.delimiter.len() > 1;
            let is_steady = score.share >= 1.0 && score.first == 0 && score.fields > 1 && is_told;
            if is_steady && steady.as_ref().is_none_or(|(steady, _)| score.value > steady.value) {
                steady = Some((score, style.clone()));
            }
            if score.quoted_table.is_some()
                && style.has_usual_delimiter()
                && quoted.as_ref().is_none_or(|(quoted, _)| score.quoted_table > quoted.quoted_table)
            {
                quoted = Some((score, style.clone()));
            }
            if best.as_ref().is_none_or(|(best, _)| score.value > best.value) {
                best = Some((score, style));
            }
        }
    }
    if let (Some((found, _)), Some((score, _))) = (&best, &steady)
        && found.first > 0
        && score.value > STEADY_SHARE * found.value
    {
        best = steady;
    }
    // Lines as a single column would lose nothing, but nobody writes quoted fields for that.
    if let (Some((found, _)), Some((score, _))) = (&best, &quoted)
        && found.fields < 2
        && score.quoted_table > Some(found.value)
    {
        best = quoted;
    }
    let style = best.map_or_else(Style::default, |(_, style)| style);
    let (mut style, quotes) = quoting::choose(style, &stretches, given);
    let parsed = stretches.parse(&style);
    let Score { fields, share, .. } = score(&parsed, &style);
    let reason = format!("{:.0} % of the records of the sample have {fields} fields", share * 100.0);
    if style.quote.is_none() && given.quote.is_none() && !stretches.has(b'"') && !style.delimiter.contains(&b'"') {
        // Nothing speaks against the usual quote, which may come later.
        style.quote = (style.escape.is_none() || parsed.escapes == 0).then_some(b'"');
    }
    if style.escape.is_some() && parsed.escapes == 0 && given.escape.is_none() {
        style.escape = None;
    }
    if given.delimiter.is_none()
        && let Some(wider) = with_blank(&style, &parsed, &stretches)
    {
        let reason = format!("{reason}, and a blank stands behind every delimiter");
        return Chosen { style: wider, quotes, reason };
    }
    Chosen { style, quotes, reason }
}

impl Style {
    /// Whether the delimiter is one that is rarely anything else.
    fn has_usual_delimiter(&self) -> bool {
        matches!(self.delimiter[..], [b',' | b';' | b'\t' | b'|'])
    }

    /// Whether the delimiter is one that texts rarely have.
    fn has_rare_delimiter(&self) -> bool {
        !matches!(self.delimiter[..], [] | [b' ' | b':' | b'#'])
    }
}

/// The style with a blank as part of the delimiter, if the text has one behind every delimiter.
fn with_blank(style: &Style, parsed: &Parsed, stretches: &Stretches<'_>) -> Option<Style> {
    let [delimiter] = style.delimiter[..] else { return None };
    if delimiter.is_ascii_whitespace() || usual_fields(&parsed.records.iter().collect::<Vec<_>>()) < 2 {
        return None;
    }
    let wider = Style { delimiter: vec![delimiter, b' '], ..style.clone() };
    let again = stretches.parse(&wider);
    let whole = |record: &Record| record.cells.iter().all(|cell| cell.quoted || !cell.content.contains(&delimiter));
    let same = |(record, other): (&Record, &Record)| record.cells.len() == other.cells.len() && whole(other);
    let fits = again.records.len() == parsed.records.len() && parsed.records.iter().zip(&again.records).all(same);
    fits.then_some(wider)
}

#[derive(Clone, Copy)]
struct Score {
    value: f64,
    /// The first record that has the usual number of fields.
    first: usize,
    /// The usual number of fields.
    fields: usize,
    /// The share of records that have it, from the first one that has it.
    share: f64,
    /// Of a table of several columns with fields in quotes: what the value would be without stray quotes.
    quoted_table: Option<f64>,
}

fn score(parsed: &Parsed, style: &Style) -> Score {
    let mut records: Vec<&Record> = parsed.records.iter().filter(|record| !record.is_blank()).collect();
    // A record that goes on behind the sample tells as well, where there are few others.
    if let Some(rest) = &parsed.rest
        && parsed.runs_on
        && (records.is_empty() || records.len() < 8 && usual_fields(&records) == rest.cells.len())
    {
        records.push(rest);
    }
    let fields = usual_fields(&records);
    let first = records.iter().position(|record| record.cells.len() == fields).unwrap_or(0);
    let body = &records[first..];
    let fitting: Vec<&Record> = body.iter().copied().filter(|record| record.cells.len() == fields).collect();
    if fitting.is_empty() {
        return Score { value: 0.0, first, fields, share: 0.0, quoted_table: None };
    }
    let share = fitting.len() as f64 / body.len() as f64;
    let cells = fitting.len() * fields;
    // The first record may be a header, whose cells tell nothing.
    let values = if fitting.len() > 1 { &fitting[1..] } else { &fitting[..] };
    let (values_clean, alike, typed) = quality(values, fields, style);
    let header = fitting[0].cells.iter().map(|cell| Class::of(cell, false).cleanness()).sum::<f64>();
    let clean = (values_clean * (cells - fields) as f64 + header) / cells as f64;
    let stray = 1.0 / (1.0 + 20.0 * parsed.stray as f64 / cells as f64);
    let open = match (parsed.open, parsed.runs_on) {
        (false, false) => 1.0,
        _ if parsed.records.len() < 2 && fields < 2 => 0.05,
        // The sample ends within a field.
        (false, true) => 0.97,
        (true, _) if style.quote == Some(b'\'') => 0.5,
        (true, _) => 0.9,
    };
    let apostrophes = if fitting[0].cells.iter().all(in_apostrophes) { 0.9 } else { 1.0 };
    let quoting = quoting(parsed, style) * stray * open * apostrophes;
    if style.delimiter.is_empty() || fields < 2 {
        let value = if typed > 0.9 { SINGLE_TYPED } else { SINGLE_TEXT };
        // Of one column, the empty delimiter says so most plainly.
        let plain = if style.delimiter.is_empty() { 1.0 } else { 0.9 };
        let value = value * plain * quoting * if fields < 2 { 1.0 } else { 0.5 };
        return Score { value, first, fields, share, quoted_table: None };
    }
    let mut head = 1.0 - 0.3 * first as f64 / records.len() as f64;
    if first == 1 && records[0].cells.len() + 1 == fields && fields > 2 {
        // There are fewer names than fields.
        head *= 0.95;
    }
    if first > 0 && style.delimiter == b"," && fields == 2 && fitting.iter().all(|record| is_decimal(record)) {
        // Below one name, they may be numbers with a decimal comma.
        head *= 0.1;
    }
    // Tables of several widths follow each other in runs.
    let runs = if style.has_rare_delimiter() { 0.6 * runs(&records).powi(3) } else { 0.0 };
    let width = 0.5 + 0.5 * (fields - 1) as f64 / fields as f64;
    let comment = if parsed.comments > 0 && style.comment.is_some() { 0.97 } else { 1.0 };
    let shape = share.powi(3).max(runs) * head * width * comment;
    let value = shape * clean * (0.5 + 0.5 * alike) * quoting * weight(style, typed);
    let is_quoted_table = style.quote == Some(b'"')
        && parsed.quoted > parsed.broken + usize::from(parsed.open)
        && share >= TABLE_SHARE_MIN
        && fitting.len() >= TABLE_RECORDS_MIN;
    Score { value, first, fields, share, quoted_table: is_quoted_table.then_some(value / stray) }
}

/// The share of records that have as many fields as the one before, and more than one.
fn runs(records: &[&Record]) -> f64 {
    let pairs = records.windows(2);
    let alike = pairs.filter(|pair| pair[0].cells.len() == pair[1].cells.len() && pair[0].cells.len() > 1).count();
    alike as f64 / (records.len().max(2) - 1) as f64
}

/// Whether a record has two fields that would be the digits of one number.
fn is_decimal(record: &Record) -> bool {
    let digits = |cell: &Cell| !cell.quoted && !cell.content.is_empty() && cell.content.iter().all(u8::is_ascii_digit);
    record.cells.iter().all(digits)
}

/// Whether a field has apostrophes around it that were not taken for quotes.
fn in_apostrophes(cell: &Cell) -> bool {
    !cell.quoted && cell.content.len() > 2 && cell.content.starts_with(b"'") && cell.content.ends_with(b"'")
}

/// How unusual a delimiter is.
fn weight(style: &Style, typed: f64) -> f64 {
    match style.delimiter[..] {
        // Blanks and colons stand in texts and times.
        [b' '] => 0.55 * (0.3 + 0.7 * typed),
        [b':'] => 0.65 * (0.3 + 0.7 * typed),
        [b'#'] => 0.6,
        [b'^' | b'~'] => 0.95,
        _ => 1.0,
    }
}

/// Whether quotes do what quotes are for.
fn quoting(parsed: &Parsed, style: &Style) -> f64 {
    let used = match style.quote {
        // Without any quoted field, a quote is as good as none.
        Some(_) if parsed.quoted == 0 => 0.97,
        Some(b'\'') => 0.98,
        Some(_) | None => 1.0,
    };
    // An escape that protects nothing is none.
    if style.escape.is_some() && parsed.escapes == 0 { used * 0.9 } else { used }
}

/// How clean the cells are, how alike those of a column, and the share of cells with a type: each 0 to 1.
fn quality(records: &[&Record], fields: usize, style: &Style) -> (f64, f64, f64) {
    let (mut clean, mut alike, mut typed) = (0.0, 0.0, 0);
    // Of a single column, a comma tells of a second one.
    let comma_decimals = !style.delimiter.contains(&b',') && fields > 1;
    for column in 0..fields {
        let mut classes = [0_usize; 8];
        for record in records {
            let class = Class::of(&record.cells[column], comma_decimals);
            clean += class.cleanness();
            typed += usize::from(class.is_typed());
            classes[class as usize] += 1;
        }
        let values = records.len() - classes[Class::Empty as usize];
        let most = classes[Class::Empty as usize + 1..].iter().max().copied().unwrap_or(0);
        alike += if values == 0 { 0.5 } else { most as f64 / values as f64 };
    }
    let cells = (records.len() * fields) as f64;
    (clean / cells, alike / fields as f64, typed as f64 / cells)
}

/// What a cell looks like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Empty,
    Number,
    DateTime,
    Other,
    Digits,
    Word,
    Text,
    /// Text with what may be the delimiter or the quote of another dialect.
    Dirty,
}

impl Class {
    fn of(cell: &Cell, comma_decimals: bool) -> Class {
        let content = cell.content.trim_ascii();
        if content.is_empty() {
            return Class::Empty;
        }
        let typed = |reading: &Reading| classify(content, false, reading).decide(reading);
        let mut decision = typed(&Reading::default());
        if decision.value_type == InferredType::Text && comma_decimals && content.contains(&b',') {
            let comma = Reading { decimal_separator: b',', thousands_separator: Some(b'.'), ..Reading::default() };
            decision = typed(&comma);
        }
        match decision.value_type {
            InferredType::Text => match decision.open {
                Some(OpenQuestion::DateOrder) => Class::DateTime,
                Some(OpenQuestion::NoValue) => Class::Empty,
                None => Class::of_text(content, cell.quoted),
            },
            InferredType::Integer | InferredType::BigInt | InferredType::Decimal { .. } | InferredType::Double => {
                Class::Number
            }
            InferredType::Date(_) | InferredType::Time | InferredType::Timestamp(_) | InferredType::TimestampTz => {
                Class::DateTime
            }
            InferredType::Boolean | InferredType::Uuid => Class::Other,
        }
    }

    fn of_text(content: &[u8], quoted: bool) -> Class {
        if quoted {
            return Class::Text;
        }
        if content.iter().all(u8::is_ascii_digit) {
            return Class::Digits;
        }
        if content.iter().all(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii() || *byte == b'_') {
            return Class::Word;
        }
        let suspicious = |byte: &u8| matches!(byte, b',' | b';' | b'\t' | b'|' | b'"' | b'^' | b'~' | 0..=0x1F);
        let wordless = !content.iter().any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
        let in_quotes = content.len() > 2 && content[0] == b'\'' && content.ends_with(b"'");
        if wordless || in_quotes || content.iter().any(suspicious) { Class::Dirty } else { Class::Text }
    }

    fn cleanness(self) -> f64 {
        match self {
            Class::Number | Class::DateTime | Class::Other => 1.0,
            Class::Word | Class::Digits => 0.9,
            Class::Text => 0.75,
            Class::Empty => 0.5,
            Class::Dirty => 0.2,
        }
    }

    fn is_typed(self) -> bool {
        matches!(self, Class::Number | Class::DateTime | Class::Other | Class::Digits)
    }
}
