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
    fn after(self) -> [QuoteState; 3];
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

    fn after(self) -> [QuoteState; 3] {
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
        DoubledQuotes { quote, carry: carry_of(state) }
    }

    #[inline(always)]
    fn inside<B: Block>(&mut self, block: B, valid: u64) -> u64 {
        let inside = block.prefix_xor(block.eq(self.quote) & valid) ^ self.carry;
        self.carry = spread_last(inside);
        inside
    }

    fn state(&self) -> QuoteState {
        if self.carry == 0 { QuoteState::Outside } else { QuoteState::Inside }
    }
}

/// The parity of quotes that toggle, all of them.
pub(crate) struct Parity {
    quote: u8,
    /// Quotes of all blocks so far, by exclusive or: the number of its ones has the parity of the quotes.
    quotes: u64,
}

impl Parity {
    fn is_odd(&self) -> bool {
        !self.quotes.count_ones().is_multiple_of(2)
    }
}

impl Transitions for Parity {
    fn new(dialect: &Dialect) -> Parity {
        Parity { quote: dialect.quote().expect("a dialect that quotes"), quotes: 0 }
    }

    #[inline(always)]
    fn follow<B: Block>(&mut self, block: B, valid: u64) -> u64 {
        let quotes = block.eq(self.quote) & valid;
        self.quotes ^= quotes;
        quotes
    }

    fn after(self) -> [QuoteState; 3] {
        use QuoteState::{Inside, Outside};
        // Nothing is ever escaped where quotes are doubled; as a start it reads as inside.
        if self.is_odd() { [Inside, Outside, Outside] } else { [Outside, Inside, Inside] }
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
            return quotes;
        }
        let toggling;
        (toggling, self.protected) = unprotected(quotes, escapes, valid, self.carry != 0, self.protected);
        toggling
    }
}

/// The quotes of a block that no escape protects, given the state it begins in; and whether the first byte of the next
/// block is protected. No `self` here: a state whose address is known elsewhere would not stay in registers.
#[inline(never)]
fn unprotected(quotes: u64, escapes: u64, valid: u64, mut inside: bool, protected: u64) -> (u64, u64) {
    let mut toggling = quotes & !protected;
    let mut pending = (quotes | escapes) & !protected;
    let mut protects_next = 0;
    while pending != 0 {
        let bit = pending & pending.wrapping_neg();
        pending ^= bit;
        if toggling & bit != 0 {
            inside = !inside;
        } else if inside {
            let follower = bit << 1;
            if follower & valid == 0 {
                protects_next = 1;
            }
            pending &= !follower;
            toggling &= !follower;
        }
    }
    (toggling, protects_next)
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

/// [`EscapedQuotes`] begun in each state. Where no byte is escaped, quotes act on all three alike.
pub(crate) struct EscapeTransitions {
    /// As of the last block that held an escape, or began with a byte that one protects.
    by_start: [EscapedQuotes; 3],
    /// The quotes of the blocks since then.
    since: Parity,
}

impl EscapeTransitions {
    /// Whether the next block begins with a byte that is protected for one of the three.
    #[inline(always)]
    fn is_protected(&self) -> bool {
        let [a, b, c] = &self.by_start;
        (a.protected | b.protected | c.protected) != 0
    }

    /// Lets the quotes since the last escape act.
    #[inline(always)]
    fn catch_up(&mut self) {
        let flip = 0_u64.wrapping_sub(u64::from(self.since.is_odd()));
        for followed in &mut self.by_start {
            followed.carry ^= flip;
        }
        self.since.quotes = 0;
    }
}

impl Transitions for EscapeTransitions {
    fn new(dialect: &Dialect) -> EscapeTransitions {
        EscapeTransitions {
            by_start: QuoteState::ALL.map(|state| EscapedQuotes::new(dialect, state)),
            since: Parity::new(dialect),
        }
    }

    #[inline(always)]
    fn follow<B: Block>(&mut self, block: B, valid: u64) -> u64 {
        let escapes = block.eq(self.by_start[0].escape) & valid;
        if escapes == 0 && !self.is_protected() {
            return self.since.follow(block, valid);
        }
        let quotes = block.eq(self.since.quote) & valid;
        self.catch_up();
        for followed in &mut self.by_start {
            let toggling = followed.toggling(quotes, escapes, valid);
            followed.carry ^= spread_last(u64::from(toggling.count_ones()) << 63);
        }
        quotes
    }

    fn after(mut self) -> [QuoteState; 3] {
        self.catch_up();
        self.by_start.each_ref().map(Quoting::state)
    }
}
