//! Step 3: how well a dialect explains the sample.
//!
//! The score multiplies how many records have the usual number of fields, how many fields that is, how clean cells are
//! (a known type, a word, or text without any other dialect's delimiters in it), and how alike the cells of a column
//! are. A quote that neither opens nor closes a field speaks against the dialect, as does one that stays open.

use super::candidates::candidates;
use super::given::Given;
use super::parse::{Cell, LineBreaks, Parsed, Record, Style, parse};
use super::types::{InferredType, Reading, classify};

/// Records and bytes that are looked at for each candidate.
const RECORDS_MAX: usize = 400;
const BYTES_MAX: usize = 48 << 10;

/// What a text of a single column must be outdone by: of plain text, and of values with a type.
const SINGLE_TEXT: f64 = 0.2;
const SINGLE_TYPED: f64 = 0.62;

/// The dialect that explains the sample best, and why.
pub(super) fn choose(sample: &[u8], at_end: bool, given: &Given, breaks: LineBreaks) -> (Style, String) {
    let (head, at_end) = if sample.len() > BYTES_MAX { (&sample[..BYTES_MAX], false) } else { (sample, at_end) };
    let mut best: Option<(f64, Style, usize, f64)> = None;
    for mut style in candidates(head, given) {
        style.comment = given.comment.clone().filter(|comment| !comment.is_empty());
        let parsed = parse(head, at_end, &style, breaks, RECORDS_MAX);
        let Score { value, fields, share } = score(&parsed, &style);
        if best.as_ref().is_none_or(|(best, ..)| value > *best) {
            best = Some((value, style, fields, share));
        }
    }
    let (_, mut style, fields, share) = best.unwrap_or_default();
    let parsed = parse(head, at_end, &style, breaks, RECORDS_MAX);
    if style.quote.is_none() && given.quote.is_none() && !head.contains(&b'"') && !style.delimiter.contains(&b'"') {
        // Nothing speaks against the usual quote, which may come later.
        style.quote = (style.escape.is_none() || parsed.escapes == 0).then_some(b'"');
    }
    if style.escape.is_some() && parsed.escapes == 0 && given.escape.is_none() {
        style.escape = None;
    }
    let reason = format!("{:.0} % of the records of the sample have {fields} fields", share * 100.0);
    if given.delimiter.is_none()
        && let Some(wider) = with_blank(&style, &parsed, head, at_end, breaks)
    {
        return (wider, format!("{reason}, and a blank stands behind every delimiter"));
    }
    (style, reason)
}

/// The style with a blank as part of the delimiter, if the text has one behind every delimiter.
fn with_blank(style: &Style, parsed: &Parsed, text: &[u8], at_end: bool, breaks: LineBreaks) -> Option<Style> {
    let [delimiter] = style.delimiter[..] else { return None };
    if delimiter.is_ascii_whitespace() || usual_fields(&parsed.records.iter().collect::<Vec<_>>()) < 2 {
        return None;
    }
    let wider = Style { delimiter: vec![delimiter, b' '], ..style.clone() };
    let again = parse(text, at_end, &wider, breaks, RECORDS_MAX);
    let whole = |record: &Record| record.cells.iter().all(|cell| cell.quoted || !cell.content.contains(&delimiter));
    let same = |(record, other): (&Record, &Record)| record.cells.len() == other.cells.len() && whole(other);
    let fits = again.records.len() == parsed.records.len() && parsed.records.iter().zip(&again.records).all(same);
    fits.then_some(wider)
}

struct Score {
    value: f64,
    /// The usual number of fields.
    fields: usize,
    /// The share of records that have it, from the first one that has it.
    share: f64,
}

fn score(parsed: &Parsed, style: &Style) -> Score {
    let records: Vec<&Record> = parsed.records.iter().filter(|record| !record.is_blank()).collect();
    let fields = usual_fields(&records);
    let first = records.iter().position(|record| record.cells.len() == fields).unwrap_or(0);
    let body = &records[first..];
    let fitting: Vec<&Record> = body.iter().copied().filter(|record| record.cells.len() == fields).collect();
    if fitting.is_empty() {
        return Score { value: 0.0, fields, share: 0.0 };
    }
    let share = fitting.len() as f64 / body.len() as f64;
    let cells = fitting.len() * fields;
    // The first record may be a header, whose cells tell nothing.
    let values = if fitting.len() > 1 { &fitting[1..] } else { &fitting[..] };
    let (values_clean, alike, typed) = quality(values, fields, style);
    let header = fitting[0].cells.iter().map(|cell| Class::of(cell, false).cleanness()).sum::<f64>();
    let clean = (values_clean * (cells - fields) as f64 + header) / cells as f64;
    let stray = 1.0 / (1.0 + 20.0 * parsed.stray as f64 / cells as f64);
    let open = if parsed.open && parsed.records.len() < 2 {
        0.05
    } else if parsed.open {
        0.5
    } else {
        1.0
    };
    let apostrophes = if fitting[0].cells.iter().all(in_apostrophes) { 0.9 } else { 1.0 };
    let quoting = quoting(parsed, style) * stray * open * apostrophes;
    if style.delimiter.is_empty() || fields < 2 {
        let value = if typed > 0.9 { SINGLE_TYPED } else { SINGLE_TEXT };
        // Of one column, the empty delimiter says so most plainly.
        let plain = if style.delimiter.is_empty() { 1.0 } else { 0.9 };
        return Score { value: value * plain * quoting * if fields < 2 { 1.0 } else { 0.5 }, fields, share };
    }
    let head = 1.0 - 0.3 * first as f64 / records.len() as f64;
    let width = 0.5 + 0.5 * (fields - 1) as f64 / fields as f64;
    let value = share.powi(3) * head * width * clean * (0.5 + 0.5 * alike) * quoting * weight(style, typed);
    Score { value, fields, share }
}

/// Whether a field has apostrophes around it that were not taken for quotes.
fn in_apostrophes(cell: &Cell) -> bool {
    !cell.quoted && cell.content.len() > 2 && cell.content.starts_with(b"'") && cell.content.ends_with(b"'")
}

/// The number of fields that most records have; of two as frequent ones, the larger.
fn usual_fields(records: &[&Record]) -> usize {
    let mut counts = std::collections::BTreeMap::new();
    for record in records {
        *counts.entry(record.cells.len()).or_insert(0_usize) += 1;
    }
    let weigh = |fields: usize, count: usize| if fields == 1 { count } else { count * 2 };
    counts.into_iter().max_by_key(|&(fields, count)| (weigh(fields, count), fields)).map_or(0, |(fields, _)| fields)
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
    let comma_decimals = !style.delimiter.contains(&b',');
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
    Moment,
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
            InferredType::Text if !decision.settled && decision.reason.starts_with("dates") => Class::Moment,
            InferredType::Text if !decision.settled => Class::Empty,
            InferredType::Text => Class::of_text(content, cell.quoted),
            InferredType::Integer | InferredType::BigInt | InferredType::Decimal { .. } | InferredType::Double => {
                Class::Number
            }
            InferredType::Date(_) | InferredType::Time | InferredType::Timestamp(_) | InferredType::TimestampTz => {
                Class::Moment
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
            Class::Number | Class::Moment | Class::Other => 1.0,
            Class::Word | Class::Digits => 0.9,
            Class::Text => 0.75,
            Class::Empty => 0.5,
            Class::Dirty => 0.2,
        }
    }

    fn is_typed(self) -> bool {
        matches!(self, Class::Number | Class::Moment | Class::Other | Class::Digits)
    }
}
