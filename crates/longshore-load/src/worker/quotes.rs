//! Looks in the rows of a piece of plain CSV for a field that speaks against what quotes were taken for.
//!
//! Most pieces are done with one look: where quotes enclose whole fields, nothing speaks against them. Not here: what does
//! ([`QuoteCheck`]), other formats, which check for themselves.

use longshore_csv::{Defect, DefectKind, Kernel, Rows, quotes_enclose_fields};
use longshore_format::{QuoteCheck, Quoting};
use memchr::{memchr, memchr_iter};

/// What would quote if the text had quotes.
const USUAL_QUOTE: u8 = b'"';

/// The first row that speaks against `check`, as a defect.
pub(super) fn contradiction(rows: &Rows<'_>, check: QuoteCheck, kernel: Kernel) -> Option<Defect> {
    let quote = rows.dialect().quote();
    let is_clear = match (check, quote) {
        (QuoteCheck::Off, _) => true,
        (QuoteCheck::Unquoted, _) => memchr(USUAL_QUOTE, text_of(rows)).is_none(),
        (_, Some(_)) if !rows.traits().quotes => true,
        (_, Some(_)) if rows.dialect().escape().is_none() => {
            quotes_enclose_fields(kernel, rows.dialect(), text_of(rows))
        }
        (_, Some(quote)) => accounts_for_all(rows, quote),
        (_, None) => true,
    };
    if is_clear { None } else { first_contradicted(rows, check) }
}

/// The same, field by field.
fn first_contradicted(rows: &Rows<'_>, check: QuoteCheck) -> Option<Defect> {
    let dialect = rows.dialect();
    let delimiter = [dialect.delimiter()];
    let quoting =
        Quoting { quote: dialect.quote().unwrap_or(USUAL_QUOTE), escape: dialect.escape(), delimiter: &delimiter };
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

#[cfg(test)]
mod tests {
    use longshore_csv::{Dialect, Marks, PADDING, Padded, Scanner, Shape, TextTraits};
    use longshore_testing::Random;

    use super::*;

    #[test]
    fn one_look_at_a_piece_finds_what_a_look_at_each_field_does() {
        let mut random = Random::new(9);
        let mut counts = [0; 2];
        let escaping = Dialect::new(b',', Some(b'"'), Some(b'\\')).expect("they differ");
        for round in 0..20_000 {
            let mut text = Vec::new();
            for _ in 0..random.below(12) {
                for column in 0..2 {
                    let parts: &[&[u8]] =
                        &[b"a", b"\"\"", b",", b"\n", b"many words in a long field", b"\r", b" ", b"\\\""];
                    match random.below(5) {
                        0 => text.extend_from_slice(b"plain"),
                        1 if random.once_in(20) => text.extend_from_slice(b" \"with blanks\" "),
                        2..5 => {
                            text.push(b'"');
                            (0..random.below(8)).for_each(|_| text.extend_from_slice(random.pick(parts)));
                            text.push(b'"');
                        }
                        _ => {}
                    }
                    text.extend_from_slice(if column == 0 { b"," } else { random.pick(&[&b"\n"[..], b"\r\n"]) });
                }
            }
            if round % 3 == 0 && !text.is_empty() {
                let at = random.below(text.len());
                text[at] = random.pick(b"\"\"a,\n ");
            }
            let dialect = if round % 5 == 0 { escaping } else { Dialect::default() };
            let len = text.len();
            text.resize(len + PADDING, b'"');
            let padded = Padded::new(&text, len);
            let traits = TextTraits { quotes: true, carriage_returns: true, non_ascii: false };
            for kernel in Kernel::available() {
                let mut marks = Marks::new();
                Scanner::new(kernel, &dialect, traits).scan(padded, &mut marks);
                let shape = Shape { fields: 2, trailing_delimiter: false };
                let mut errors = Vec::new();
                let rows = Rows::lenient(padded, &mut marks, shape, traits, &dialect, &mut errors).rows;
                let expected = first_contradicted(&rows, QuoteCheck::Whole);
                counts[usize::from(expected.is_some())] += 1;
                let found = contradiction(&rows, QuoteCheck::Whole, kernel);
                let text = text[..len].escape_ascii();
                assert_eq!(found.map(|defect| defect.row), expected.map(|defect| defect.row), "{kernel:?}: {text}");
            }
        }
        assert!(counts.iter().all(|count| *count > 3000), "{counts:?}");
    }
}
