//! Marks: the positions of every unquoted delimiter and line end.
use crate::{Dialect, Kernel, Padded, QuoteState, TextTraits};

/// Finds the marks of texts of one dialect with one kernel.
#[derive(Clone, Copy, Debug)]
pub struct Scanner {
    dialect: Dialect,
}

impl Scanner {
    /// A scanner for texts that hold at most the kinds of bytes in `traits`.
    #[must_use]
    pub fn new(kernel: Kernel, dialect: &Dialect, traits: TextTraits) -> Scanner {
        let _ = (kernel, traits);
        Scanner { dialect: *dialect }
    }

    /// Replaces `marks` by those of `text`, which begins at a record start, outside quotes.
    pub fn scan(&self, text: Padded<'_>, marks: &mut Marks) {
        let _ = (text, marks, self.dialect);
        todo!()
    }
}

/// The marks of one text; reused from text to text.
#[derive(Debug, Default)]
pub struct Marks {
    positions: Vec<u32>,
    line_ends: usize,
    carriage_returns: usize,
    end_state: QuoteState,
}

impl Marks {
    /// Marks of no text.
    #[must_use]
    pub fn new() -> Marks {
        todo!()
    }

    /// A sentinel of `u32::MAX` (one before the first byte), then the position of every unquoted delimiter and line
    /// end, in order.
    #[must_use]
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// How many marks are line ends.
    #[must_use]
    pub fn line_ends(&self) -> usize {
        self.line_ends
    }

    /// Unquoted `\r` in the text.
    #[must_use]
    pub fn carriage_returns(&self) -> usize {
        self.carriage_returns
    }

    /// The state behind the text.
    #[must_use]
    pub fn end_state(&self) -> QuoteState {
        self.end_state
    }
}
