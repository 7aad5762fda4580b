//! Looks in the rows of a piece of plain CSV for a field that speaks against what quotes were taken for.
//!
//! Most pieces are done with one count: where all fields begin and end with a quote or have none, they account for every
//! quote of the text. Not here: what speaks against it ([`QuoteCheck`]), other formats, which check for themselves.

use longshore_csv::{Defect, DefectKind, Rows};
use longshore_format::{QuoteCheck, Quoting};
use memchr::{memchr, memchr_iter};

/// What would quote if the text had quotes.
const USUAL_QUOTE: u8 = b'"';

/// The first row that speaks against `check`, as a defect.
pub(super) fn contradiction(rows: &Rows<'_>, check: QuoteCheck) -> Option<Defect> {
    let quote = rows.dialect().quote();
    let is_clear = match (check, quote) {
        (QuoteCheck::Off, _) => true,
        (QuoteCheck::Unquoted, _) => memchr(USUAL_QUOTE, text_of(rows)).is_none(),
        (_, Some(quote)) => !rows.traits().quotes || accounts_for_all(rows, quote),
        (_, None) => true,
    };
    if is_clear {
        return None;
    }
    let dialect = rows.dialect();
    let delimiter = [dialect.delimiter()];
    let quoting = Quoting { quote: quote.unwrap_or(USUAL_QUOTE), escape: dialect.escape(), delimiter: &delimiter };
    let text = rows.text().text();
    let is_contradicted = |row: usize| {
        (0..rows.fields()).any(|column| {
            let (start, end) = rows.field(row, column);
            check.is_contradicted(&text[start as usize..end as usize], &quoting)
        })
    };
    let row = (0..rows.count()).find(|row| is_contradicted(*row))?;
    let (start, end) = rows.record(row);
    let (reason, remedy) = check.message();
    Some(Defect { row, start, end, kind: DefectKind::Dialect, reason: reason.to_owned(), remedy: remedy.to_owned() })
}

/// Whether every quote of the text stands at an end of a field that has one at the other end as well, and none between.
/// Where this says no, a closer look has to tell.
fn accounts_for_all(rows: &Rows<'_>, quote: u8) -> bool {
    let text = rows.text().text();
    let mut accounted = 0;
    for row in 0..rows.count() {
        for column in 0..rows.fields() {
            let (start, end) = rows.field(row, column);
            if let [first, inner @ .., last] = &text[start as usize..end as usize]
                && *first == quote
            {
                if *last != quote || memchr(quote, inner).is_some() {
                    return false;
                }
                accounted += 2;
            }
        }
    }
    accounted == memchr_iter(quote, text_of(rows)).count()
}

/// The text from the first row to the last.
fn text_of<'a>(rows: &Rows<'a>) -> &'a [u8] {
    match rows.count().checked_sub(1) {
        Some(last) => &rows.text().text()[rows.record(0).0 as usize..rows.record(last).1 as usize],
        None => &[],
    }
}
