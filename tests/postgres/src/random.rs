//! Numbers at random, the same for the same seed on every machine.

/// A small generator of pseudo-random numbers (xorshift64*).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut random = Self((seed ^ 0x5DEE_CE66).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..4 {
            random.below(2);
        }
        random
    }

    /// A number from 0 to below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % end
    }

    /// Whether something happens that does in so many of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `choices`, of which there is at least one.
    pub fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}
