//! Short records that may be the lines of a text in quotes, where quotes were taken for something else.
//!
//! Where the first quoted text of a large file holds a line end and stands behind the sample, its first line ends with a
//! field that a quote opens, and one of the short records behind it closes it. Nobody can tell for sure; but to fill up
//! such records, or to take them for a footer, would make values up.

use longshore_csv::RepairKind;

use crate::files::SpanTask;
use crate::piece::Piece;

/// Lines before a piece that are looked at.
const LINES_BEFORE_MAX: usize = 10;

/// What may quote.
const QUOTES: [u8; 2] = [b'\'', b'"'];

/// The rows of a piece, in their order, that may be such lines.
pub(super) fn rows_between_quotes(task: &SpanTask, piece: &Piece<'_>) -> Vec<usize> {
    let mut found: Vec<usize> = QUOTES.into_iter().flat_map(|quote| between(task, piece, quote)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn between(task: &SpanTask, piece: &Piece<'_>, quote: u8) -> Vec<usize> {
    let mut found = Vec::new();
    // The short records since the one, itself short or not, that opens a quote.
    let mut since: Option<Vec<usize>> = None;
    let mut last = None;
    let short = piece.repairs().iter().filter(|(_, kind)| *kind == RepairKind::Short);
    for &(row, _) in short {
        if last.is_none_or(|last| last + 1 != row) {
            let may_be_open = match row.checked_sub(1) {
                Some(before) => opens(record(task, piece, before), quote),
                None => may_be_open_before(task, piece, quote),
            };
            since = may_be_open.then(Vec::new);
        }
        last = Some(row);
        let record = record(task, piece, row);
        if let Some(rows) = &mut since {
            rows.push(row);
            if closes(record, quote) {
                found.append(rows);
                since = None;
            }
        }
        if since.is_none() && opens(record, quote) {
            since = Some(vec![row]);
        }
    }
    found
}

fn record<'a>(task: &'a SpanTask, piece: &Piece<'_>, row: usize) -> &'a [u8] {
    let (start, end) = piece.record(row);
    &task.text()[piece.start + start..piece.start + end]
}

/// Whether a line before the first row of a piece may open a quote. Of the span before nothing is known.
fn may_be_open_before(task: &SpanTask, piece: &Piece<'_>, quote: u8) -> bool {
    let before = task.text()[..piece.start + piece.record(0).0].trim_ascii_end();
    let lines: Vec<&[u8]> = before.rsplit(|&byte| byte == b'\n').take(LINES_BEFORE_MAX).collect();
    match lines.iter().find(|line| line.contains(&quote)) {
        Some(line) => opens(line, quote),
        None => lines.len() < LINES_BEFORE_MAX && task.span.offset > 0,
    }
}

/// Whether a quote of a record stands where a field may begin, and only doubled ones follow it.
fn opens(record: &[u8], quote: u8) -> bool {
    let begins = |&at: &usize| record[at] == quote && (at == 0 || !is_of_word(record[at - 1], quote));
    let is_left_open = |at: usize| {
        let runs = record[at + 1..].chunk_by(|one, other| (*one == quote) == (*other == quote));
        runs.filter(|run| run[0] == quote).all(|run| run.len() % 2 == 0)
    };
    (0..record.len()).filter(begins).any(is_left_open)
}

/// Whether the first quote of a record stands where a field may end.
fn closes(record: &[u8], quote: u8) -> bool {
    let Some(at) = record.iter().position(|&byte| byte == quote) else { return false };
    record.get(at + 1).is_none_or(|&next| !is_of_word(next, quote))
}

fn is_of_word(byte: u8, quote: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii() || byte == quote
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_opens_where_a_field_may_begin_and_closes_where_one_may_end() {
        for (record, is_open, is_closed) in [
            ("1;'a", true, false),
            ("1;'", true, true),
            ("'", true, true),
            ("b'", false, true),
            ("b';3", false, true),
            ("O'Brien", false, false),
            ("1;'a';2", false, false),
            ("1;'a';'b", true, false),
            ("1;a", false, false),
            ("dogs' food", false, true),
            ("", false, false),
            ("1;''", false, false),
            ("1;'it''s a", true, false),
        ] {
            assert_eq!(
                (opens(record.as_bytes(), b'\''), closes(record.as_bytes(), b'\'')),
                (is_open, is_closed),
                "{record}"
            );
        }
    }
}
