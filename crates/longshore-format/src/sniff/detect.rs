//! Step 1: formats that are told by their first bytes or by the places of their blanks.

use super::family::Family;
use super::given::{Given, RecordRules};
use super::parse::{LineBreaks, Style, parse};
use super::score;
use super::sniffed::Found;
use crate::json::{detect_layout, discover};
use crate::logfmt::Logfmt;

/// Lines that columns at fixed places must have in common.
const FIXED_LINES_MIN: usize = 4;
const LINES_MAX: usize = 400;
/// Delimiters that tell more than blanks do.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Pairs that every line has at least.
const LOGFMT_PAIRS_MIN: usize = 2;

/// The format, and the columns of fixed width if it has them.
pub(super) fn family(
    sample: &[u8],
    at_end: bool,
    given: &Given,
    breaks: LineBreaks,
) -> (Found<Family>, Vec<(usize, usize)>) {
    if let Some(family) = given.family {
        let lines = lines(sample, at_end, breaks);
        let widths = match &given.rules.places {
            Some(places) => places.clone(),
            None if family == Family::FixedWidth => gutters(&lines).unwrap_or_default(),
            None => Vec::new(),
        };
        return (Found::given(family), widths);
    }
    let plain = |family, reason: &str| (Found::detected(family, reason), Vec::new());
    if given.delimiter.is_some() || given.quote.is_some() {
        return plain(Family::Delimited, "a delimiter or quote is given");
    }
    if let Some(family) = json(sample, at_end) {
        return plain(family, "it is JSON");
    }
    if is_logfmt(sample, at_end) {
        return plain(Family::Logfmt, "every line has key=value pairs");
    }
    if is_pg_text(sample, at_end, breaks) {
        return plain(Family::PgText, "tabs stand between fields, and \\N or escapes of this format in them");
    }
    let lines = lines(sample, at_end, breaks);
    if let Some(widths) = fixed_width(&lines, sample, at_end, given, breaks) {
        return (Found::detected(Family::FixedWidth, "blanks stand at the same places of every line"), widths);
    }
    plain(Family::Delimited, "nothing tells of another format")
}

/// Whether the text is JSON: most of its records are. An object, or an array of them, tells more than another array,
/// which may be anything in brackets.
fn json(sample: &[u8], at_end: bool) -> Option<Family> {
    let layout = detect_layout(sample)?;
    let marks: Vec<u8> = sample.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).take(3).collect();
    if at_end && marks == b"[]" {
        return Some(Family::of_json(layout));
    }
    let found = discover(sample, layout, false, at_end);
    let has_objects = marks.starts_with(b"{") || marks == b"[{\"";
    let defects_max = if has_objects { found.records } else { found.records / 10 };
    (!found.values.is_empty() && found.defects <= defects_max).then(|| Family::of_json(layout))
}

/// Whether every line of the text has several pairs, and nothing but pairs.
fn is_logfmt(sample: &[u8], at_end: bool) -> bool {
    let lines = RecordRules::default().lines(None);
    let whole = if at_end { sample } else { &sample[..lines.line_ends.complete(sample)] };
    Logfmt::pairs_per_line(whole, &lines).is_some_and(|pairs| pairs >= LOGFMT_PAIRS_MIN)
}

/// Whether fields between tabs hold what only this format writes: `\N` alone or `\\`, and no backslash that it would
/// not write. `\t` and `\n` alone may be the beginnings of names in a path.
fn is_pg_text(sample: &[u8], at_end: bool, breaks: LineBreaks) -> bool {
    if !sample.contains(&b'\t') || !sample.contains(&b'\\') || sample.contains(&b'"') {
        return false;
    }
    let style = Style { delimiter: b"\t".to_vec(), ..Style::default() };
    let parsed = parse(sample, at_end, &style, breaks, LINES_MAX);
    let end = |cells: &[super::parse::Cell]| matches!(cells, [cell] if cell.content == b"\\.");
    let records: Vec<_> = parsed.records.iter().filter(|record| !end(&record.cells)).collect();
    let Some(first) = records.first() else { return false };
    if first.cells.len() < 2 || records.iter().any(|record| record.cells.len() != first.cells.len()) {
        return false;
    }
    let cells = || records.iter().flat_map(|record| &record.cells).map(|cell| &cell.content[..]);
    cells().all(is_escaped)
        && cells().any(|content| content == b"\\N" || memchr::memmem::find(content, b"\\\\").is_some())
}

/// Whether every backslash of a field is one that PostgreSQL writes.
fn is_escaped(content: &[u8]) -> bool {
    let mut rest = content;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        match rest.get(at + 1) {
            Some(b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'\\') => rest = &rest[at + 2..],
            Some(b'N') if rest.len() == 2 && content.len() == 2 => return true,
            _ => return false,
        }
    }
    true
}

fn lines(sample: &[u8], at_end: bool, breaks: LineBreaks) -> Vec<Vec<u8>> {
    let parsed = parse(sample, at_end, &Style::default(), breaks, LINES_MAX);
    parsed.records.into_iter().filter_map(|mut record| record.cells.pop()).map(|cell| cell.content).collect()
}

/// The columns, if they stand at fixed places and nothing else explains the text as well.
fn fixed_width(
    lines: &[Vec<u8>],
    sample: &[u8],
    at_end: bool,
    given: &Given,
    breaks: LineBreaks,
) -> Option<Vec<(usize, usize)>> {
    let columns = gutters(lines)?;
    let wide = columns.windows(2).any(|pair| pair[1].0 - pair[0].1 > 1) || padded(lines, &columns);
    if lines.len() < FIXED_LINES_MIN || columns.len() < 2 || !wide || !most_fill_several(lines, &columns) {
        return None;
    }
    if DELIMITERS.into_iter().any(|delimiter| is_steady(lines, delimiter)) {
        return None;
    }
    // Where another delimiter than the blank explains the text, blanks only pad.
    let style = score::choose(sample, at_end, given, breaks).style;
    let fits = style.delimiter.is_empty() || style.delimiter == b" " || style.delimiter == b":";
    fits.then_some(columns)
}

/// Whether most lines have values in more than one column.
fn most_fill_several(lines: &[Vec<u8>], columns: &[(usize, usize)]) -> bool {
    let texts = lines.iter().filter(|line| !line.trim_ascii().is_empty()).map(|line| String::from_utf8_lossy(line));
    let (mut several, mut count) = (0, 0);
    for text in texts {
        let characters: Vec<char> = text.chars().collect();
        let is_filled = |place: &&(usize, usize)| {
            let place = characters.get(place.0..place.1.min(characters.len()));
            place.is_some_and(|field| field.iter().any(|character| *character != ' '))
        };
        count += 1;
        several += usize::from(columns.iter().filter(is_filled).count() > 1);
    }
    several * 2 > count
}

/// Whether a delimiter stands in every line, and in all as often.
fn is_steady(lines: &[Vec<u8>], delimiter: u8) -> bool {
    let mut counts = lines.iter().filter(|line| !line.trim_ascii().is_empty());
    let count = |line: &Vec<u8>| memchr::memchr_iter(delimiter, line).count();
    let Some(first) = counts.next().map(count) else { return false };
    first > 0 && counts.all(|line| count(line) == first)
}

/// Whether some field is shorter than its column.
fn padded(lines: &[Vec<u8>], columns: &[(usize, usize)]) -> bool {
    let texts: Vec<Vec<char>> = lines.iter().map(|line| String::from_utf8_lossy(line).chars().collect()).collect();
    texts.iter().any(|text| {
        columns.iter().any(|&(start, end)| {
            text.get(start..end.min(text.len()))
                .is_some_and(|field| field.first() == Some(&' ') || field.last() == Some(&' '))
        })
    })
}

/// The runs of characters between places that are blank in every line: each from where its gutter ends to where the next
/// one begins.
fn gutters(lines: &[Vec<u8>]) -> Option<Vec<(usize, usize)>> {
    let mut used: Vec<bool> = Vec::new();
    let mut filled = 0;
    for line in lines.iter().filter(|line| !line.trim_ascii().is_empty()) {
        if line.contains(&b'\t') {
            return None;
        }
        filled += 1;
        for (place, character) in String::from_utf8_lossy(line).chars().enumerate() {
            if place >= used.len() {
                used.resize(place + 1, false);
            }
            used[place] |= character != ' ';
        }
    }
    if filled == 0 {
        return None;
    }
    let mut columns = Vec::new();
    let mut start = None;
    for (place, used) in used.iter().chain([&false]).enumerate() {
        match (used, start) {
            (true, None) => start = Some(place),
            (false, Some(begin)) => {
                columns.push((begin, place));
                start = None;
            }
            _ => {}
        }
    }
    Some(columns)
}
