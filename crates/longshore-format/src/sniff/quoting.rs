//! Step 3, second part: whether quotes quote, once the delimiter is chosen.
//!
//! What makes quotes quotes is that fields which begin with one also end with one. Where all such fields do, quotes
//! quote, however few they are: whoever reads them as a part of the value gets values that nobody wrote, and rows where
//! a line end is quoted. Where one does not, the quotes of the text are no CSV, and the number of fields decides: quotes
//! are read literally inside of quoted fields, or everywhere. Quotes inside of fields that begin with something else
//! tell nothing. How an escape is known follows the same lines. Not here: whether the rest of the text agrees
//! ([`QuoteCheck`](crate::QuoteCheck)).

use super::given::Given;
use super::parse::{Parsed, Style, usual_fields};
use super::stretches::Stretches;

/// What quotes do in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Quotes {
    /// As given.
    #[default]
    Given,
    /// They quote: no field speaks against it.
    Quote,
    /// There is a field that would be none if they quoted.
    Literal,
    /// No field begins with one, or only one that is never closed.
    Absent,
}

/// What speaks for and against a style.
struct Evidence {
    style: Style,
    /// Fields in quotes that end as they should.
    whole: usize,
    /// Fields in quotes that do not.
    broken: usize,
    /// Protected quotes.
    escapes: usize,
    /// Records that do not have the usual number of fields.
    misfits: usize,
    /// Whether the end of the text is quoted.
    open: bool,
}

impl Evidence {
    fn of(style: Style, stretches: &Stretches<'_>) -> Evidence {
        let parsed = stretches.parse(&style);
        let Parsed { quoted, broken, escapes, open, .. } = parsed;
        // One that goes on behind the sample may end as it should.
        let whole = quoted.saturating_sub(broken + usize::from(open));
        Evidence { whole, broken, escapes, misfits: misfits(&parsed), open, style }
    }

    /// What there is less of, the better it is.
    fn faults(&self) -> (usize, usize) {
        (self.broken + usize::from(self.open), self.misfits)
    }
}

/// The style with what its quotes are found to be.
pub(super) fn choose(style: Style, stretches: &Stretches<'_>, given: &Given) -> (Style, Quotes) {
    if given.quote.is_some() || given.rules.stray_quotes.is_some() {
        return (style, Quotes::Given);
    }
    let with = |quote: u8, escape: Option<u8>| Style { quote: Some(quote), escape, ..style.clone() };
    let allowed = |quote: u8| !style.delimiter.contains(&quote) && stretches.has(quote);
    let escapes = || -> Vec<Option<u8>> {
        match given.escape {
            Some(escape) => vec![escape.byte()],
            None if stretches.has(b'\\') && !style.delimiter.contains(&b'\\') => vec![None, Some(b'\\')],
            None => vec![None],
        }
    };
    let best = |quote: u8| {
        let evidence = escapes().into_iter().map(|escape| Evidence::of(with(quote, escape), stretches));
        evidence.min_by_key(Evidence::faults)
    };
    if let Some(quote @ b'\'') = style.quote {
        let found = best(quote).filter(|found| found.whole > 0);
        let quotes = if found.as_ref().is_some_and(|found| found.broken > 0) { Quotes::Literal } else { Quotes::Quote };
        return (found.map_or(style, |found| found.style), quotes);
    }
    let none = Style { quote: None, escape: style.escape.filter(|_| style.quote.is_none()), ..style.clone() };
    let unquoted = Evidence::of(none, stretches);
    if allowed(b'\'')
        && let Some(found) = best(b'\'')
        && (found.whole > 0 && found.faults().0 == 0 && (found.misfits < unquoted.misfits || found.escapes > 0))
        && !allowed(b'"')
    {
        return (found.style, Quotes::Quote);
    }
    let Some(quoted) = Some(b'"').filter(|quote| allowed(*quote)).and_then(best) else {
        return (style, Quotes::Absent);
    };
    if quoted.whole + quoted.broken == 0 {
        return (unquoted.style, Quotes::Absent);
    }
    if quoted.broken == 0 {
        return if quoted.whole > 0 { (quoted.style, Quotes::Quote) } else { (unquoted.style, Quotes::Absent) };
    }
    let literally = match quoted.misfits.cmp(&unquoted.misfits) {
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Equal => style.quote.is_some(),
        std::cmp::Ordering::Greater => false,
    };
    (if literally { quoted.style } else { unquoted.style }, Quotes::Literal)
}

/// Records that do not have the usual number of fields.
fn misfits(parsed: &Parsed) -> usize {
    let records: Vec<_> = parsed.records.iter().filter(|record| !record.is_blank()).collect();
    let fields = usual_fields(&records);
    records.iter().filter(|record| record.cells.len() != fields).count()
}
