//! Finds the last place where a text may be cut, 64 bytes at a time.
//!
//! ```text
//! {"a":"}"},{"a":1}    text
//!  1 1 1 1   1 1       quotes
//!  11  11    11        prefix_xor(quotes): in strings
//! 1         1          opening & !in strings
//!         1       1    closing & !in strings
//! ```
//!
//! Only in a block with enough closing brackets to reach the level of the records is each bracket looked at.
//! `layout::Lexer` is the twin, and reads what blocks do not fit.

use super::{Event, Lexer};
use crate::json::lanes::{LANES, sixteen};
use crate::json::token::{byte, skip_blanks};

const BLOCK_BYTES: usize = u64::BITS as usize;

/// What is found in a text, from a place between records on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// The last place where the text may be cut.
    pub(super) cut: Option<usize>,
    /// The position behind the bracket that closes the array.
    pub(super) end: Option<usize>,
    /// The level at the end of the text.
    pub(super) level: usize,
    /// Whether the text ends in a string.
    pub(super) in_string: bool,
}

/// Goes over records from `start` on: over the elements of an array up to its end, or values up to the text's end.
pub(super) fn scan<const ARRAY: bool>(text: &[u8], start: usize) -> Found {
    let mut found = Found::default();
    let mut lexer = Lexer::new::<ARRAY>();
    let mut at = start;
    while let Some(block) = Block::load(text, at) {
        if !block.scan::<ARRAY>(text, at, &mut lexer, &mut found) {
            for place in at..at + BLOCK_BYTES {
                step::<ARRAY>(text, place, &mut lexer, &mut found);
                if found.end.is_some() {
                    break;
                }
            }
        }
        if found.end.is_some() {
            return found;
        }
        at += BLOCK_BYTES;
    }
    for place in at..text.len() {
        step::<ARRAY>(text, place, &mut lexer, &mut found);
        if found.end.is_some() {
            return found;
        }
    }
    Found { level: lexer.level, in_string: lexer.in_string, ..found }
}

/// Goes over the byte at `at`.
fn step<const ARRAY: bool>(text: &[u8], at: usize, lexer: &mut Lexer, found: &mut Found) {
    match lexer.step::<ARRAY>(text[at]) {
        Event::Close => closed::<ARRAY>(text, at, lexer.level, found),
        Event::End => found.end = Some(at + 1),
        Event::Open => {}
        Event::Other => {
            if !ARRAY && text[at] == b'\n' && lexer.level == 0 {
                found.cut = Some(at + 1);
            }
        }
    }
}

/// A bracket closes at `at`, down to a level.
#[inline(always)]
fn closed<const ARRAY: bool>(text: &[u8], at: usize, level: usize, found: &mut Found) {
    if level != usize::from(ARRAY) {
        return;
    }
    if !ARRAY {
        found.cut = Some(at + 1);
        return;
    }
    let next = skip_blanks::<false>(text, at + 1);
    if byte(text, next) == b',' {
        found.cut = Some(next);
    }
}

/// What stands where in 64 bytes.
#[derive(Clone, Copy)]
struct Block {
    quotes: u64,
    backslashes: u64,
    line_feeds: u64,
    opening: u64,
    closing: u64,
}

impl Block {
    #[inline(always)]
    fn load(text: &[u8], at: usize) -> Option<Block> {
        let mut block = Block { quotes: 0, backslashes: 0, line_feeds: 0, opening: 0, closing: 0 };
        let text = text.get(at..at + BLOCK_BYTES)?;
        for lane in (0..BLOCK_BYTES).step_by(LANES) {
            let bytes = sixteen(text, lane)?;
            block.quotes |= u64::from(bytes.eq(b'"')) << lane;
            block.backslashes |= u64::from(bytes.eq(b'\\')) << lane;
            block.line_feeds |= u64::from(bytes.eq(b'\n')) << lane;
            block.opening |= u64::from(bytes.eq_folded(b'{')) << lane;
            block.closing |= u64::from(bytes.eq_folded(b'}')) << lane;
        }
        Some(block)
    }

    /// Goes over the block, which stands at `at`; unless a line feed stands in a string, which changes nothing.
    #[inline(always)]
    fn scan<const ARRAY: bool>(self, text: &[u8], at: usize, lexer: &mut Lexer, found: &mut Found) -> bool {
        let (escaped, escapes_next) = escaped(self.backslashes, lexer.escaped);
        let in_strings = prefix_xor(self.quotes & !escaped) ^ u64::from(lexer.in_string).wrapping_neg();
        if in_strings & self.line_feeds != 0 {
            return false;
        }
        lexer.escaped = escapes_next;
        lexer.in_string = in_strings >> (BLOCK_BYTES - 1) == 1;
        let (opening, closing) = (self.opening & !in_strings, self.closing & !in_strings);
        let closed_most = closing.count_ones() as usize;
        if lexer.level > closed_most + usize::from(ARRAY) {
            lexer.level = lexer.level + opening.count_ones() as usize - closed_most;
            return true;
        }
        let mut left = opening | closing | if ARRAY { 0 } else { self.line_feeds };
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            left &= left - 1;
            // Strings and escapes are dealt with above.
            let mut outside = Lexer { level: lexer.level, in_string: false, escaped: false };
            step::<ARRAY>(text, at + lane, &mut outside, found);
            lexer.level = outside.level;
            if found.end.is_some() {
                break;
            }
        }
        true
    }
}

/// Bit `i` is the exclusive or of the bits `0..=i`.
#[inline(always)]
fn prefix_xor(mut bits: u64) -> u64 {
    for distance in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << distance;
    }
    bits
}

/// The bytes that a backslash stands before which is not escaped itself, and whether the byte behind the block is one.
#[inline(always)]
fn escaped(backslashes: u64, first_escaped: bool) -> (u64, bool) {
    let mut escaped = u64::from(first_escaped);
    let mut left = backslashes & !escaped;
    let mut escapes_next = false;
    while left != 0 {
        let backslash = left & left.wrapping_neg();
        escapes_next = backslash >> (BLOCK_BYTES - 1) == 1;
        escaped |= backslash << 1;
        left &= !(backslash | backslash << 1);
    }
    (escaped, escapes_next)
}

#[cfg(test)]
mod tests {
    use longshore_testing::Random;

    use super::*;

    fn slow<const ARRAY: bool>(text: &[u8]) -> Found {
        let mut found = Found::default();
        let mut lexer = Lexer::new::<ARRAY>();
        for at in 0..text.len() {
            step::<ARRAY>(text, at, &mut lexer, &mut found);
            if found.end.is_some() {
                return found;
            }
        }
        Found { level: lexer.level, in_string: lexer.in_string, ..found }
    }

    #[test]
    fn blocks_find_what_a_byte_at_a_time_finds() {
        let mut random = Random::new(1);
        let mut below = |bound: usize| random.below(bound);
        let pieces: [&[u8]; 14] = [
            b"{",
            b"}",
            b"[",
            b"]",
            b"\"",
            b"\\",
            b"\n",
            b",",
            b" ",
            b"{\"a\":\"b\"},",
            b"{\"a\":\"\\\"}{\"},",
            b"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            b"\\\\\\",
            b"\"\"",
        ];
        for round in 0..20_000 {
            let mut text = Vec::new();
            let kinds = if round % 2 == 0 { pieces.len() } else { 12 };
            for _ in 0..below(60) {
                let piece = if round % 3 == 0 { 9 + below(kinds - 9) } else { below(kinds) };
                text.extend_from_slice(pieces[piece]);
            }
            assert_eq!(scan::<true>(&text, 0), slow::<true>(&text), "{}", text.escape_ascii());
            assert_eq!(scan::<false>(&text, 0), slow::<false>(&text), "{}", text.escape_ascii());
        }
    }
}
