//! The random numbers of a session. After `setseed` they are those that PostgreSQL gives after it: xoroshiro128**, seeded by
//! splitmix64.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Mutex, PoisonError};

/// Random bits of a number: those of a fraction of 52 bits.
const FRACTION_BITS: u32 = 52;

/// A sequence of random numbers.
#[derive(Debug)]
pub(crate) struct RandomNumbers(Mutex<[u64; 2]>);

impl Default for RandomNumbers {
    fn default() -> Self {
        // The standard library takes its keys from the system.
        Self(Mutex::new(state(RandomState::new().hash_one(0_u8))))
    }
}

impl RandomNumbers {
    /// Begins the numbers that belong to `seed`, which is from -1 to 1.
    pub(crate) fn seed(&self, seed: f64) {
        let whole = ((1_u64 << FRACTION_BITS) - 1) as f64 * seed;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = state(whole as i64 as u64);
    }

    /// The next number, from 0 to below 1.
    pub(crate) fn next(&self) -> f64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let [first, second] = *state;
        let bits = first.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let mixed = second ^ first;
        *state = [first.rotate_left(24) ^ mixed ^ (mixed << 16), mixed.rotate_left(37)];
        (bits >> (u64::BITS - FRACTION_BITS)) as f64 / (1_u64 << FRACTION_BITS) as f64
    }
}

/// The state that a seed stands for.
fn state(seed: u64) -> [u64; 2] {
    let mut seed = seed;
    let mut next = || {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    };
    [next(), next()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PostgreSQL 15: `SELECT setseed(0.5)`, then `SELECT random()` three times.
    #[test]
    fn a_seed_gives_the_numbers_of_postgresql() {
        let numbers = RandomNumbers::default();
        numbers.seed(0.5);
        let first: Vec<f64> = (0..3).map(|_| numbers.next()).collect();
        assert_eq!(first, [0.985_167_717_534_799_9, 0.825_301_858_027_981, 0.129_746_100_124_504_16]);
    }
}
