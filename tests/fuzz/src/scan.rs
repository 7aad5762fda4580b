//! Every kernel marks and surveys any text as the slow twin does.

use crate::{Choices, PaddedText};
use longshore_csv::reference::{self, RawRecord};
use longshore_csv::{Dialect, Kernel, Marks, QuoteState, Scanner, Survey, TextTraits, record_start, survey};

/// What must hold for any bytes.
///
/// # Panics
///
/// When it does not.
pub fn check_input(input: &[u8]) {
    let mut choices = Choices::new(input);
    let dialect = choices.dialect();
    let padding = choices.pick(b"\0\",|\n\\");
    let cut = choices.below(65_536);
    let text = choices.rest();

    let portable = scan(Kernel::Portable, &dialect, TextTraits::ALL, text, padding);
    if let Ok(records) = reference::records(text, &dialect) {
        assert_eq!(portable.0[1..], marks_of(&records, text), "the portable kernel against the twin");
    }
    let whole = survey(Kernel::Portable, &dialect, text);
    for kernel in Kernel::available() {
        assert_eq!(scan(kernel, &dialect, TextTraits::ALL, text, padding), portable, "{kernel}");
        // Knowing what a text does not have must not change what is found.
        assert_eq!(scan(kernel, &dialect, whole.traits, text, padding), portable, "{kernel} with traits");
        assert_eq!(survey(kernel, &dialect, text), whole, "{kernel}");
        split(kernel, &dialect, text, cut.min(text.len()), &whole);
    }
}

/// Positions, counts and end state of a scan.
type Scan = (Vec<u32>, usize, usize, QuoteState);

fn scan(kernel: Kernel, dialect: &Dialect, traits: TextTraits, text: &[u8], padding: u8) -> Scan {
    let text = PaddedText::new(text, padding);
    let mut marks = Marks::new();
    Scanner::new(kernel, dialect, traits).scan(text.padded(), &mut marks);
    (marks.positions().to_vec(), marks.line_ends(), marks.carriage_returns(), marks.end_state())
}

/// The marks that the records of a text stand for.
fn marks_of(records: &[RawRecord], text: &[u8]) -> Vec<u32> {
    let mut marks = Vec::new();
    for record in records {
        let (last, others) = record.fields.split_last().expect("a record has a field");
        marks.extend(others.iter().map(|field| field.end as u32));
        let line_feed = last.end + usize::from(text.get(last.end) == Some(&b'\r'));
        if line_feed < text.len() {
            marks.push(line_feed as u32);
        }
    }
    marks
}

/// Surveys of two halves, put together, are the survey of the whole; and a record starts where it starts for all.
fn split(kernel: Kernel, dialect: &Dialect, text: &[u8], cut: usize, whole: &Survey) {
    let (first, second) = text.split_at(cut);
    let (first, rest) = (survey(kernel, dialect, first), survey(kernel, dialect, second));
    assert_eq!(first.then(&rest), *whole, "{kernel} cut at {cut}");
    for state in [QuoteState::Outside, QuoteState::Inside] {
        let right = record_start(Kernel::Portable, dialect, second, state);
        assert_eq!(record_start(kernel, dialect, second, state), right, "{kernel} from {state:?}");
    }
}
