//! Random texts: all kernels agree with the slow twin and with automata of a few lines.

#![allow(clippy::trivially_copy_pass_by_ref, reason = "as in the library")]

use crate::common::{STATES, check, dialect, dialects, padded, soup, table};
use longshore_csv::{
    Dialect, Kernel, Marks, Padded, QuoteState, Scanner, Shape, Survey, TextTraits, record_start, record_start_fast,
    survey, unclosed_quote,
};
use longshore_testing::Random;

/// The state behind a byte.
fn step(dialect: &Dialect, state: QuoteState, byte: u8) -> QuoteState {
    use QuoteState::{Escaped, Inside, Outside};
    match state {
        Escaped => Inside,
        Outside if Some(byte) == dialect.quote() => Inside,
        Inside if Some(byte) == dialect.quote() => Outside,
        Inside if Some(byte) == dialect.escape() => Escaped,
        same => same,
    }
}

fn shapes() -> impl Iterator<Item = Shape> {
    (1..=4).flat_map(|fields| [false, true].map(|trailing_delimiter| Shape { fields, trailing_delimiter }))
}

#[test]
fn soup_of_every_length_around_block_edges() {
    let mut random = Random::new(1);
    for len in 0..=200 {
        for round in 0..4 {
            let text = soup(&mut random, len);
            for dialect in &dialects() {
                check(&text, dialect, Shape { fields: 1 + round % 3, trailing_delimiter: round == 3 });
            }
        }
    }
}

#[test]
fn tables() {
    let mut random = Random::new(2);
    let mut rows = 0;
    for round in 0..150 {
        for shape in shapes() {
            for dialect in &dialects() {
                let text = table(&mut random, dialect, shape, round % 12);
                rows += check(&text, dialect, shape).rows.len();
            }
        }
    }
    assert!(rows > 10_000, "the tables are meant to be well-formed mostly, {rows} rows were");
}

#[test]
fn a_text_of_marks_only() {
    for len in [0, 1, 63, 64, 65, 128, 1000] {
        let outcome = check(&b"\n".repeat(len), &Dialect::default(), Shape { fields: 1, trailing_delimiter: false });
        assert_eq!(outcome.rows.len(), len);
    }
}

#[test]
fn marks_are_unquoted_delimiters_and_line_ends() {
    let mut random = Random::new(3);
    for round in 0..400 {
        let text = soup(&mut random, round);
        for dialect in &dialects() {
            let mut state = QuoteState::Outside;
            let (mut positions, mut line_ends, mut carriage_returns) = (vec![u32::MAX], 0, 0);
            for (at, &byte) in text.iter().enumerate() {
                if state == QuoteState::Outside && (byte == b'\n' || byte == dialect.delimiter()) {
                    positions.push(at as u32);
                }
                line_ends += usize::from(state == QuoteState::Outside && byte == b'\n');
                carriage_returns += usize::from(state == QuoteState::Outside && byte == b'\r');
                state = step(dialect, state, byte);
            }
            let mut marks = Marks::new();
            for kernel in Kernel::available() {
                let buffer = padded(&text);
                Scanner::new(kernel, dialect, TextTraits::ALL).scan(Padded::new(&buffer, text.len()), &mut marks);
                assert_eq!(marks.positions(), positions, "kernel {kernel}, {dialect:?}");
                assert_eq!((marks.line_ends(), marks.carriage_returns()), (line_ends, carriage_returns));
                assert_eq!(marks.end_state(), state, "kernel {kernel}, {dialect:?}");
            }
        }
    }
}

#[test]
fn surveys_follow_every_state() {
    let mut random = Random::new(4);
    for round in 0..600 {
        let text = soup(&mut random, round);
        for dialect in &dialects() {
            for kernel in Kernel::available() {
                let survey = survey(kernel, dialect, &text);
                for state in states(dialect) {
                    let end = text.iter().fold(state, |state, &byte| step(dialect, state, byte));
                    assert_eq!(survey.after(state), end, "kernel {kernel}, {dialect:?}, from {state:?}");
                }
                let holds = |wanted: &dyn Fn(u8) -> bool| text.iter().any(|&byte| wanted(byte));
                assert_eq!(survey.traits.quotes, holds(&|byte| Some(byte) == dialect.quote()));
                assert_eq!(survey.traits.carriage_returns, holds(&|byte| byte == b'\r'));
                assert_eq!(survey.traits.non_ascii, holds(&|byte| byte >= 0x80));
            }
        }
    }
}

/// The states that texts of a dialect can begin in.
fn states(dialect: &Dialect) -> impl Iterator<Item = QuoteState> {
    let count = match (dialect.quote(), dialect.escape()) {
        (None, _) => 1,
        (_, None) => 2,
        _ => 3,
    };
    STATES.into_iter().take(count)
}

#[test]
fn surveys_of_two_parts_make_that_of_the_whole() {
    let mut random = Random::new(5);
    for round in 0..20 {
        let text = soup(&mut random, 150 + round);
        for dialect in &dialects() {
            for kernel in Kernel::available() {
                let whole = survey(kernel, dialect, &text);
                for at in 0..=text.len() {
                    let (left, right) = text.split_at(at);
                    let both = survey(kernel, dialect, left).then(&survey(kernel, dialect, right));
                    assert_eq!(both, whole, "kernel {kernel}, {dialect:?}, split at {at}");
                }
                assert_eq!(Survey::identity().then(&whole), whole);
                assert_eq!(whole.then(&Survey::identity()), whole);
            }
        }
    }
}

#[test]
fn records_start_behind_the_first_unquoted_line_end() {
    let mut random = Random::new(6);
    for round in 0..600 {
        let mut text = soup(&mut random, round % 300);
        if round % 2 == 1 {
            // Line ends late in the text.
            for byte in text.iter_mut().take(round % 256).filter(|byte| **byte == b'\n') {
                *byte = b'x';
            }
        }
        for dialect in &dialects() {
            for state in states(dialect) {
                let mut now = state;
                let naive = text.iter().position(|&byte| {
                    let found = now == QuoteState::Outside && byte == b'\n';
                    now = step(dialect, now, byte);
                    found
                });
                for kernel in Kernel::available() {
                    let found = record_start(kernel, dialect, &text, state);
                    assert_eq!(found, naive.map(|at| at + 1), "kernel {kernel}, {dialect:?}, from {state:?}");
                }
            }
        }
    }
}

#[test]
fn fast_mode_takes_any_line_end_that_is_not_escaped() {
    let backslash = dialect(b',', Some(b'"'), Some(b'\\'));
    assert_eq!(record_start_fast(&backslash, b"\"a\\\nb\nc\n", None), Some(6));
    assert_eq!(record_start_fast(&backslash, b"\na\nb", Some(b'\\')), Some(3));
    assert_eq!(record_start_fast(&backslash, b"\na\nb", Some(b'x')), Some(1));
    assert_eq!(record_start_fast(&backslash, b"a\\\n", None), None);
    assert_eq!(record_start_fast(&Dialect::default(), b"\"a\"\nb", None), Some(4));
    assert_eq!(record_start_fast(&Dialect::default(), b"\nb", Some(b'"')), Some(1));
}

#[test]
fn the_quote_left_open_is_named() {
    let doubling = Dialect::default();
    assert_eq!(unclosed_quote(&doubling, b"a,\"b\"\n"), None);
    assert_eq!(unclosed_quote(&doubling, b"a,\"b\nc"), Some(2));
    assert_eq!(unclosed_quote(&doubling, b"\"a\",\"b\"\"c\n"), Some(4));
    assert_eq!(unclosed_quote(&doubling, b"\"a\"\"\"\"b\n"), Some(0));
    assert_eq!(unclosed_quote(&doubling, b"\"\"\"a\n"), Some(0));
    let backslash = dialect(b',', Some(b'"'), Some(b'\\'));
    assert_eq!(unclosed_quote(&backslash, b"\"a\",\"b\\\"\n"), Some(4));
    assert_eq!(unclosed_quote(&backslash, b"\"a\"\"b\\"), Some(3));
    assert_eq!(unclosed_quote(&dialect(b'|', None, None), b"\"a"), None);
}
