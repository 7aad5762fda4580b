//! Random numbers for the tests of this crate and of those that build on it: the same for every run, so that a failure
//! can be repeated.

#![allow(dead_code, reason = "each crate of tests uses a part of it")]

/// The random numbers of a seed.
pub(crate) struct Random(fastrand::Rng);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(fastrand::Rng::with_seed(seed))
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0.usize(..bound)
    }

    /// Any byte.
    pub(crate) fn byte(&mut self) -> u8 {
        self.0.u8(..)
    }

    /// Whether something happens that does so once in `chances`.
    pub(crate) fn once_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    /// One of these.
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}
