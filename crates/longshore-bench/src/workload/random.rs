//! Decides what generated workloads draw: the same numbers for the same seed, on every machine.
//!
//! The generator is that of `fastrand`, whose version `Cargo.lock` pins.
//!
//! Not here: the distributions of a workload (`tpcc/values.rs`, `tatp/input.rs`).

use std::ops::RangeInclusive;

/// What random texts are made of: 64 characters, so that six bits choose one.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789AZ";

/// Bits that choose a letter, and how many letters the bits of one number choose.
const LETTER_BITS: u32 = 6;
const LETTERS_PER_NUMBER: usize = (u64::BITS / LETTER_BITS) as usize;
const _: () = assert!(LETTERS.len() == 1 << LETTER_BITS);

/// A stream of numbers.
#[derive(Clone, Debug)]
pub(super) struct Random(fastrand::Rng);

impl Random {
    /// The stream of a seed.
    pub(super) fn new(seed: u64) -> Random {
        Random(fastrand::Rng::with_seed(seed))
    }

    /// The next number, any of 64 bits.
    pub(super) fn number(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// A number below `bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0.u64(..bound)
    }

    /// One of these.
    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.0.usize(..from.len())]
    }

    /// A number of the range, each as likely.
    pub(super) fn within(&mut self, range: RangeInclusive<i64>) -> i64 {
        self.0.i64(range)
    }

    /// The same for numbers of 32 bits.
    pub(super) fn id(&mut self, range: RangeInclusive<i32>) -> i32 {
        self.0.i32(range)
    }

    /// True that often in a hundred.
    pub(super) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Appends as many random letters and digits as the range allows.
    pub(super) fn text(&mut self, length: RangeInclusive<i64>, text: &mut String) {
        let mut left = self.within(length) as usize;
        while left > 0 {
            let mut number = self.number();
            for _ in 0..left.min(LETTERS_PER_NUMBER) {
                text.push(char::from(LETTERS[(number % 64) as usize]));
                number >>= LETTER_BITS;
            }
            left -= left.min(LETTERS_PER_NUMBER);
        }
    }

    /// Appends as many random digits.
    pub(super) fn digits(&mut self, count: usize, text: &mut String) {
        for _ in 0..count {
            text.push(char::from(b'0' + self.below(10) as u8));
        }
    }

    /// Puts the values in a random order.
    pub(super) fn shuffle<T>(&mut self, values: &mut [T]) {
        self.0.shuffle(values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_the_numbers() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            [random.number(), random.number(), random.number()]
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn numbers_stay_within_their_range_and_reach_its_ends() {
        let mut random = Random::new(7);
        let drawn: Vec<i64> = (0..1_000).map(|_| random.within(-3..=4)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&-3), Some(&4)));
        assert_eq!((0..1_000).filter(|_| random.percent(0)).count(), 0);
        assert!((0..100).all(|_| random.percent(100)));
    }

    #[test]
    fn texts_have_the_lengths_asked_for() {
        let mut random = Random::new(7);
        let mut lengths = Vec::new();
        for _ in 0..1_000 {
            let mut text = String::new();
            random.text(26..=50, &mut text);
            assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{text}");
            lengths.push(text.len());
        }
        assert_eq!((lengths.iter().min(), lengths.iter().max()), (Some(&26), Some(&50)));
    }

    #[test]
    fn a_shuffle_keeps_every_value() {
        let mut values: Vec<u32> = (0..100).collect();
        Random::new(7).shuffle(&mut values);
        assert_ne!(values, (0..100).collect::<Vec<_>>());
        values.sort_unstable();
        assert_eq!(values, (0..100).collect::<Vec<_>>());
    }
}
