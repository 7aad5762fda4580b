//! Random numbers for the tests of this crate and of those that build on it: the same for every run, so that a failure
//! can be repeated.

#![allow(dead_code, reason = "each crate of tests uses a part of it")]

/// A generator of pseudo-random numbers (xorshift64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % bound
    }

    /// Whether one of `chances` came.
    pub(crate) fn once_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    /// One of these.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}
