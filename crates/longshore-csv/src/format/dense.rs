//! Finding a byte that stands every few bytes: eight at a time, without a call for each one found.

use std::iter::FusedIterator;

/// The positions of `byte` in `text`, in order: what [`memchr::memchr_iter`] gives, faster where they are dense.
#[inline]
#[must_use]
pub fn positions(byte: u8, text: &[u8]) -> Positions<'_> {
    let (words, tail) = text.as_chunks::<8>();
    Positions { words: words.iter(), tail, pattern: u64::from(byte) * ONES, found: 0, base: 0, next: 0 }
}

/// See [`positions`].
#[derive(Clone, Debug)]
pub struct Positions<'a> {
    words: std::slice::Iter<'a, [u8; 8]>,
    tail: &'a [u8],
    pattern: u64,
    /// The high bit of each byte of the current word that is the one looked for and was not given yet.
    found: u64,
    /// Where the current word begins.
    base: usize,
    /// Where the next one begins.
    next: usize,
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The high bit of each byte of `word` that is zero.
#[inline]
fn zeros(word: u64) -> u64 {
    !(((word & !HIGHS) + !HIGHS) | word) & HIGHS
}

impl Iterator for Positions<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.found == 0 {
            let word = if let Some(word) = self.words.next() {
                *word
            } else if self.tail.is_empty() {
                return None;
            } else {
                // Filled up with bytes that are not the one looked for.
                let mut word = (!self.pattern).to_le_bytes();
                word[..self.tail.len()].copy_from_slice(self.tail);
                self.tail = &[];
                word
            };
            self.found = zeros(u64::from_le_bytes(word) ^ self.pattern);
            self.base = self.next;
            self.next += 8;
        }
        let at = self.base + self.found.trailing_zeros() as usize / 8;
        self.found &= self.found - 1;
        Some(at)
    }
}

impl FusedIterator for Positions<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_that_memchr_finds() {
        let mut state = 1_u32;
        for length in 0..200 {
            let mut random = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                // Neighbours of the byte and of zero, where carries would go wrong.
                [b',', b',' - 1, b',' + 1, b',' ^ 0x80, 0, 0xFF, 1, 0x80][(state >> 24) as usize % 8]
            };
            let text: Vec<u8> = (0..length).map(|_| random()).collect();
            for byte in [b',', 0, 0xFF, 0x80] {
                assert!(positions(byte, &text).eq(memchr::memchr_iter(byte, &text)), "{byte} in {text:?}");
            }
        }
    }
}
