//! Decides where a record may begin.
//!
//! A worker that starts mid-file cannot know whether it stands inside quotes. Each stretch of text reports how it
//! changes the quote state ([`survey`], one fast pass); the reports are combined in order (a parallel prefix), and so
//! every worker knows the state it begins in before it parses. The paper's safe mode (Instant Loading, 3.3) scans
//! serially instead; its fast mode, which trusts that a line end inside quotes is always escaped, is
//! [`record_start_fast`].
//! Not here: which stretches there are and who surveys them (`longshore-load`).

use crate::kernel::with_kernel;
use crate::scan::quoting::{DoubledQuotes, EscapeTransitions, EscapedQuotes, NoQuotes, Parity};
use crate::{Dialect, Kernel, QuoteState, Survey};

/// Surveys a stretch of text, wherever it begins and ends.
///
/// # Panics
/// If the CPU does not run `kernel`.
#[must_use]
pub fn survey(kernel: Kernel, dialect: &Dialect, text: &[u8]) -> Survey {
    kernel.assert_available();
    let survey: unsafe fn(&Dialect, &[u8]) -> Survey = with_kernel!(kernel, simd => {
        match (dialect.quote(), dialect.escape()) {
            (None, _) => simd::survey::<NoQuotes>,
            (Some(_), None) => simd::survey::<Parity>,
            (Some(_), Some(_)) => simd::survey::<EscapeTransitions>,
        }
    });
    // SAFETY: the CPU runs the kernel.
    unsafe { survey(dialect, text) }
}

/// Offset just behind the first unquoted `\n`, given the state at the start of the text; `None` if no record begins in
/// the text. The result may be the length of the text.
///
/// # Panics
/// If the CPU does not run `kernel`.
#[must_use]
pub fn record_start(kernel: Kernel, dialect: &Dialect, text: &[u8], state: QuoteState) -> Option<usize> {
    kernel.assert_available();
    let first_line_end: unsafe fn(&Dialect, &[u8], QuoteState) -> Option<usize> = with_kernel!(kernel, simd => {
        match (dialect.quote(), dialect.escape()) {
            (None, _) => simd::first_line_end::<NoQuotes>,
            (Some(_), None) => simd::first_line_end::<DoubledQuotes>,
            (Some(_), Some(_)) => simd::first_line_end::<EscapedQuotes>,
        }
    });
    // SAFETY: the CPU runs the kernel.
    unsafe { first_line_end(dialect, text, state) }
}

/// The paper's fast mode: offset just behind the first `\n` that does not follow the escape character, whether inside
/// quotes or not. `previous` is the byte before the text, if there is one. Where quotes are doubled nothing escapes a
/// line end, so that fields must not hold any.
#[must_use]
pub fn record_start_fast(dialect: &Dialect, text: &[u8], previous: Option<u8>) -> Option<usize> {
    let before = |at: usize| if at == 0 { previous } else { Some(text[at - 1]) };
    let is_escaped = |at| dialect.escape().is_some_and(|escape| before(at) == Some(escape));
    (0..text.len()).find(|&at| text[at] == b'\n' && !is_escaped(at)).map(|at| at + 1)
}

/// Position of the quote that is still open at the end of a text that begins outside quotes: what to name when a file
/// ends inside quotes. Walks the text byte by byte.
#[must_use]
pub fn unclosed_quote(dialect: &Dialect, text: &[u8]) -> Option<usize> {
    let mut state = QuoteState::Outside;
    let mut opened = 0;
    for (at, &byte) in text.iter().enumerate() {
        let next = state.step(dialect, byte);
        // The second half of a doubled quote goes on with what the first half seemed to close.
        let doubled = dialect.escape().is_none() && at > 0 && text[at - 1] == byte;
        if state == QuoteState::Outside && next == QuoteState::Inside && !doubled {
            opened = at;
        }
        state = next;
    }
    (state != QuoteState::Outside).then_some(opened)
}
