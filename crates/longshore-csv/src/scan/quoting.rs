//! Which bytes of a block lie inside quotes, by dialect.
//!
//! Where quotes are doubled, a byte is inside if an odd number of quotes stands at or before it: a prefix sum of
//! bits, one multiplication per block. With a separate escape character only the quotes that no escape protects count;
//! blocks without escapes go the same way, blocks with some look at their quotes and escapes one after the other.

use super::block::Block;
use crate::{Dialect, QuoteState};

/// Follows the quote state from block to block.
pub(crate) trait Quoting {
    /// Begins in `state`, with a dialect that has the roles this way of quoting needs.
    fn new(dialect: &Dialect, state: QuoteState) -> Self;

    /// The bytes of the next block that are inside quotes (an opening quote is, a closing one is not). `valid` has the
    /// lowest bits set, one per byte of text; bits above are without meaning.
    fn inside<B: Block>(&mut self, block: B, valid: u64) -> u64;

    /// The state behind the last valid byte.
    fn state(&self) -> QuoteState;
}

/// Follows all three quote states at once, without asking which bytes are inside.
pub(crate) trait Transitions {
    /// Before any text.
    fn new(dialect: &Dialect) -> Self;

    /// Follows the states through the next block; returns its quotes.
    fn follow<B: Block>(&mut self, block: B, valid: u64) -> u64;

    /// Where text that was begun in each state has led.
    fn after(&self) -> [QuoteState; 3];
}

/// All ones inside quotes, zero outside: exclusive or with it carries a state into a block.
fn carry_of(state: QuoteState) -> u64 {
    if state == QuoteState::Outside { 0 } else { u64::MAX }
}

/// The topmost bit of a mask in every bit.
#[inline(always)]
fn spread_last(mask: u64) -> u64 {
    (mask.cast_signed() >> 63).cast_unsigned()
}

/// Nothing quotes: for dialects without a quote and for texts known to hold none.
pub(crate) struct NoQuotes;

impl Quoting for NoQuotes {
    fn new(_: &Dialect, _: QuoteState) -> NoQuotes {
        NoQuotes
    }

    #[inline(always)]
    fn inside<B: Block>(&mut self, _: B, _: u64) -> u64 {
        0
    }

    fn state(&self) -> QuoteState {
        QuoteState::Outside
    }
}

impl Transitions for NoQuotes {
    fn new(_: &Dialect) -> NoQuotes {
        NoQuotes
    }

    #[inline(always)]
    fn follow<B: Block>(&mut self, _: B, _: u64) -> u64 {
        0
    }

    fn after(&self) -> [QuoteState; 3] {
        [QuoteState::Outside, QuoteState::Inside, QuoteState::Escaped]
    }
}

/// Every quote toggles, the two of a doubled one as well.
pub(crate) struct DoubledQuotes {
    quote: u8,
    carry: u64,
}

impl Quoting for DoubledQuotes {
    fn new(dialect: &Dialect, state: QuoteState) -> DoubledQuotes {
        let quote = dialect.quote().expect("a dialect that quotes");
        DoubledQuotes {
            quote,
            carry: carry_of(state),
        }
    }

    #[inline(always)]
    fn inside<B: Block>(&mut self, block: B, valid: u64) -> u64 {
        let inside = block.prefix_xor(block.eq(self.quote) & valid) ^ self.carry;
        self.carry = spread_last(inside);
        inside
    }

    fn state(&self) -> QuoteState {
        if self.carry == 0 {
            QuoteState::Outside
        } else {
            QuoteState::Inside
        }
    }
}

/// The parity of doubled quotes.
pub(crate) struct Parity {
    quote: u8,
    /// Quotes of all blocks so far, by exclusive or: the number of its ones has the parity of the quotes.
    quotes: u64,
}

impl Transitions for Parity {
    fn new(dialect: &Dialect) -> Parity {
        Parity {
            quote: dialect.quote().expect("a dialect that quotes"),
            quotes: 0,
        }
    }

    #[inline(always)]
    fn follow<B: Block>(&mut self, block: B, valid: u64) -> u64 {
        let quotes = block.eq(self.quote) & valid;
        self.quotes ^= quotes;
        quotes
    }

    fn after(&self) -> [QuoteState; 3] {
        use QuoteState::{Inside, Outside};
        // Nothing is ever escaped where quotes are doubled; as a start it reads as inside.
        if self.quotes.count_ones().is_multiple_of(2) {
            [Outside, Inside, Inside]
        } else {
            [Inside, Outside, Outside]
        }
    }
}

/// Quotes toggle unless, inside quotes, an escape character protects them.
pub(crate) struct EscapedQuotes {
    quote: u8,
    escape: u8,
    carry: u64,
    /// Bit 0: the first byte of the next block is protected.
    protected: u64,
}

impl EscapedQuotes {
    /// The quotes that toggle, given all quotes and escapes of the block:
    ///
    /// ```text
    /// a,\,"b\",\\",d     input (escape \)
    ///     1   1   1      quotes
    ///   1   1   11       escapes; the first is outside quotes, the fourth is protected
    ///     1       1      toggling quotes
    /// ```
    #[inline(always)]
    fn toggling(&mut self, quotes: u64, escapes: u64, valid: u64) -> u64 {
        if (escapes | self.protected) == 0 {
            quotes
        } else {
            self.unprotected(quotes, escapes, valid)
        }
    }

    #[inline(never)]
    fn unprotected(&mut self, quotes: u64, escapes: u64, valid: u64) -> u64 {
        let mut toggling = quotes & !self.protected;
        let mut pending = (quotes | escapes) & !self.protected;
        let mut inside = self.carry != 0;
        self.protected = 0;
        while pending != 0 {
            let bit = pending & pending.wrapping_neg();
            pending ^= bit;
            if toggling & bit != 0 {
                inside = !inside;
            } else if inside {
                let follower = bit << 1;
                if follower & valid == 0 {
                    self.protected = 1;
                }
                pending &= !follower;
                toggling &= !follower;
            }
        }
        toggling
    }
}

impl Quoting for EscapedQuotes {
    fn new(dialect: &Dialect, state: QuoteState) -> EscapedQuotes {
        EscapedQuotes {
            quote: dialect.quote().expect("a dialect that quotes"),
            escape: dialect.escape().expect("a dialect with an escape character of its own"),
            carry: carry_of(state),
            protected: u64::from(state == QuoteState::Escaped),
        }
    }

    #[inline(always)]
    fn inside<B: Block>(&mut self, block: B, valid: u64) -> u64 {
        let (quotes, escapes) = (block.eq(self.quote) & valid, block.eq(self.escape) & valid);
        let inside = block.prefix_xor(self.toggling(quotes, escapes, valid)) ^ self.carry;
        self.carry = spread_last(inside);
        inside
    }

    fn state(&self) -> QuoteState {
        match (self.protected, self.carry) {
            (0, 0) => QuoteState::Outside,
            (0, _) => QuoteState::Inside,
            _ => QuoteState::Escaped,
        }
    }
}

/// [`EscapedQuotes`] begun in each state.
pub(crate) struct EscapeTransitions {
    by_start: [EscapedQuotes; 3],
}

impl Transitions for EscapeTransitions {
    fn new(dialect: &Dialect) -> EscapeTransitions {
        EscapeTransitions {
            by_start: QuoteState::ALL.map(|state| EscapedQuotes::new(dialect, state)),
        }
    }

    #[inline(always)]
    fn follow<B: Block>(&mut self, block: B, valid: u64) -> u64 {
        let EscapedQuotes { quote, escape, .. } = self.by_start[0];
        let (quotes, escapes) = (block.eq(quote) & valid, block.eq(escape) & valid);
        for followed in &mut self.by_start {
            let toggling = followed.toggling(quotes, escapes, valid);
            followed.carry ^= spread_last(u64::from(toggling.count_ones()) << 63);
        }
        quotes
    }

    fn after(&self) -> [QuoteState; 3] {
        self.by_start.each_ref().map(Quoting::state)
    }
}
