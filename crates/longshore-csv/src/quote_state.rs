//! What a stretch of text holds, and how it changes the quote state.
//!
//! Not here: how stretches are surveyed (`scan::driver`), and where a record may begin by what they tell (`prefix`).

use std::ops::{BitOr, BitOrAssign};

use crate::Dialect;

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

impl QuoteState {
    /// Every state, in the order of their numbers.
    pub(crate) const ALL: [QuoteState; 3] = [QuoteState::Outside, QuoteState::Inside, QuoteState::Escaped];

    /// The state behind one more byte.
    pub(crate) fn step(self, dialect: &Dialect, byte: u8) -> QuoteState {
        match self {
            QuoteState::Outside if dialect.quote() == Some(byte) => QuoteState::Inside,
            QuoteState::Inside if dialect.quote() == Some(byte) => QuoteState::Outside,
            QuoteState::Inside if dialect.escape() == Some(byte) => QuoteState::Escaped,
            QuoteState::Escaped => QuoteState::Inside,
            unchanged => unchanged,
        }
    }
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

/// What one stretch of text holds and how it changes the quote state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survey {
    /// The kinds of bytes in the stretch.
    pub traits: TextTraits,
    after: [QuoteState; 3],
}

impl Survey {
    pub(crate) fn new(traits: TextTraits, after: [QuoteState; 3]) -> Survey {
        Survey { traits, after }
    }

    /// The survey of no text.
    #[must_use]
    pub fn identity() -> Survey {
        Survey { traits: TextTraits::default(), after: QuoteState::ALL }
    }

    /// The state behind the stretch, given the one before it.
    #[must_use]
    pub fn after(&self, before: QuoteState) -> QuoteState {
        self.after[before as usize]
    }

    /// The survey of this stretch and the `next` one together.
    #[must_use]
    pub fn then(&self, next: &Survey) -> Survey {
        Survey { traits: self.traits | next.traits, after: self.after.map(|state| next.after(state)) }
    }
}
