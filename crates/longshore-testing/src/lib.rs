//! What the tests of several crates share: random numbers that come again, and a share of the work.
//!
//! Not here: random rows, statements and files. Each crate's tests have their own.

/// The random numbers of a seed: the same in every run, so that a failure can be repeated.
#[derive(Debug)]
pub struct Random(fastrand::Rng);

impl Random {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random(fastrand::Rng::with_seed(seed))
    }

    /// Any number.
    #[expect(clippy::should_implement_trait, reason = "the stream has no end, so it is no iterator to loop over")]
    pub fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// Any byte.
    pub fn byte(&mut self) -> u8 {
        self.0.u8(..)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0.usize(..bound)
    }

    /// Whether something happens that does so once in `chances`.
    pub fn once_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Puts the items in a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        self.0.shuffle(items);
    }
}

/// In how many parts the work is cut of which one is done: `LONGSHORE_TEST_SHARE`, or 1. A sanitizer, under which each
/// instruction takes long, sets it, and so does `cargo xtask ci --fast`.
///
/// # Panics
/// If it is set to something else than a number.
#[must_use]
pub fn parts() -> usize {
    std::env::var("LONGSHORE_TEST_SHARE").map_or(1, |parts| parts.parse().expect("LONGSHORE_TEST_SHARE is a number"))
}

/// One of so many [`parts`] of the work, rounded up.
#[must_use]
pub fn share(work: usize) -> usize {
    work.div_ceil(parts())
}

/// Whether the part of the work that is done, of so many [`parts`], has the case of this number.
#[must_use]
pub fn is_in_share(case: u64) -> bool {
    case.is_multiple_of(parts() as u64)
}
