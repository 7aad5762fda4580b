//! Decides where a record may begin.
//!
//! A worker that starts mid-file cannot know whether it stands inside quotes.
use crate::{Dialect, Kernel};
use std::ops::{BitOr, BitOrAssign};

/// Where a byte stands with respect to quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum QuoteState {
    /// Outside quotes: delimiters and line ends count.
    #[default]
    Outside,
    /// Inside quotes.
    Inside,
    /// Inside quotes, directly behind an escape character: the next byte does not count.
    Escaped,
}

/// Which kinds of bytes a text holds, and so what a scan of it must look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct TextTraits {
    /// It holds quote characters.
    pub quotes: bool,
    /// It holds `\r`.
    pub carriage_returns: bool,
    /// It holds bytes of 0x80 and above, so it must be checked to be UTF-8.
    pub non_ascii: bool,
}

impl TextTraits {
    /// What a text may hold that nothing is known of.
    pub const ALL: TextTraits = TextTraits { quotes: true, carriage_returns: true, non_ascii: true };
}

impl BitOr for TextTraits {
    type Output = TextTraits;

    fn bitor(self, other: TextTraits) -> TextTraits {
        TextTraits {
            quotes: self.quotes | other.quotes,
            carriage_returns: self.carriage_returns | other.carriage_returns,
            non_ascii: self.non_ascii | other.non_ascii,
        }
    }
}

impl BitOrAssign for TextTraits {
    fn bitor_assign(&mut self, other: TextTraits) {
        *self = *self | other;
    }
}

/// What one stretch of text does: the bytes it holds and how it changes the quote state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survey {
    /// The kinds of bytes in the stretch.
    pub traits: TextTraits,
    after: [QuoteState; 3],
}

impl Survey {
    /// The survey of no text.
    #[must_use]
    pub fn identity() -> Survey {
        todo!()
    }

    /// The state behind the stretch, given the one before it.
    #[must_use]
    pub fn after(&self, before: QuoteState) -> QuoteState {
        self.after[before as usize]
    }

    /// The survey of this stretch followed by the `next` one.
    #[must_use]
    pub fn then(&self, next: &Survey) -> Survey {
        let _ = next;
        todo!()
    }
}

/// Surveys a stretch of text, wherever it begins.
#[must_use]
pub fn survey(kernel: Kernel, dialect: &Dialect, text: &[u8]) -> Survey {
    let _ = (kernel, dialect, text);
    todo!()
}

/// Offset just behind the first unquoted `\n`, given the state at the start of the text.
#[must_use]
pub fn record_start(kernel: Kernel, dialect: &Dialect, text: &[u8], state: QuoteState) -> Option<usize> {
    let _ = (kernel, dialect, text, state);
    todo!()
}

/// Paper's fast mode: offset just behind the first `\n` that is not preceded by the escape character.
#[must_use]
pub fn record_start_fast(dialect: &Dialect, text: &[u8], previous: Option<u8>) -> Option<usize> {
    let _ = (dialect, text, previous);
    todo!()
}

/// Position of the quote that is still open at the end of `text`, which begins at a record start.
#[must_use]
pub fn unclosed_quote(dialect: &Dialect, text: &[u8]) -> Option<usize> {
    let _ = (dialect, text);
    todo!()
}
