//! Counts distinct values in little memory, from a hash of each: `HyperLogLog`.
//!
//! Source: Flajolet, Fusy, Gandouet and Meunier, *`HyperLogLog`: the analysis of a near-optimal cardinality estimation
//! algorithm*, 2007. From the registers we estimate as Ertl does (*New cardinality estimation algorithms for `HyperLogLog`
//! sketches*, 2017, section 4): one formula for all counts, so no tables of corrections. As in `HyperLogLog++` (Heule,
//! Nunkesser and Hall, 2013), a sketch of few values keeps their hashes: up to [`FEW_MAX`], the count is exact.
//!
//! A hash must have 64 random bits. Not here: the hashes of values (`table/distinct_counts.rs`).

use std::f64::consts::LN_2;

/// The first bits of a hash choose its register.
const INDEX_BITS: u32 = 12;
const REGISTERS: usize = 1 << INDEX_BITS;

/// The greatest number in a register: the zeros of all other bits, and one.
const RANK_MAX: usize = (u64::BITS - INDEX_BITS) as usize + 1;

/// The standard error of the estimate of many values: 1.04 / sqrt([`REGISTERS`]).
pub(crate) const STANDARD_ERROR: f64 = 0.016_25;

/// Hashes that are kept as they are.
pub(crate) const FEW_MAX: usize = 512;

/// Places for them: at most half are taken, so that the next free one is near.
const PLACES: usize = 2 * FEW_MAX;
const _: () = assert!(PLACES.is_power_of_two());

/// No hash.
const FREE: u64 = 0;

/// What is kept of the values that were added.
pub(crate) struct Sketch {
    /// The hashes of few values, each at its place or behind it; empty if they are many.
    few: Box<[u64]>,
    /// How many these are.
    count: usize,
    /// Of many values, the greatest rank by the first bits of the hash; empty if they are few.
    registers: Box<[u8]>,
}

impl Sketch {
    pub(crate) fn new() -> Sketch {
        Sketch { few: vec![FREE; PLACES].into(), count: 0, registers: Box::default() }
    }

    /// Whether the count is exact.
    #[cfg(test)]
    pub(crate) fn is_exact(&self) -> bool {
        self.registers.is_empty()
    }

    /// Adds a value by its hash.
    #[inline]
    pub(crate) fn add(&mut self, hash: u64) {
        if let Some((index, rank)) = index_and_rank(hash, self.registers.len()) {
            let register = &mut self.registers[index];
            *register = (*register).max(rank);
        } else {
            self.add_to_few(hash);
        }
    }

    fn add_to_few(&mut self, hash: u64) {
        // One hash stands for another one: that is less likely than that two values have the same.
        let hash = if hash == FREE { 1 } else { hash };
        let mut at = hash as usize % PLACES;
        while self.few[at] != FREE {
            if self.few[at] == hash {
                return;
            }
            at = (at + 1) % PLACES;
        }
        if self.count < FEW_MAX {
            self.few[at] = hash;
            self.count += 1;
            return;
        }
        let few = std::mem::replace(self, Sketch::of_registers(vec![0; REGISTERS].into()));
        few.hashes().chain([hash]).for_each(|hash| self.add(hash));
    }

    /// Adds the values of another sketch.
    pub(crate) fn merge(&mut self, other: &Sketch) {
        other.hashes().for_each(|hash| self.add(hash));
        if other.registers.is_empty() {
            return;
        }
        if self.registers.is_empty() {
            let few = std::mem::replace(self, Sketch::of_registers(other.registers.clone()));
            few.hashes().for_each(|hash| self.add(hash));
        } else {
            self.registers.iter_mut().zip(&other.registers).for_each(|(ours, theirs)| *ours = (*ours).max(*theirs));
        }
    }

    /// The hashes, if they are few.
    fn hashes(&self) -> impl Iterator<Item = u64> {
        self.few.iter().copied().filter(|hash| *hash != FREE)
    }

    fn of_registers(registers: Box<[u8]>) -> Sketch {
        Sketch { few: Box::default(), count: 0, registers }
    }

    /// About how many distinct values were added.
    pub(crate) fn estimate(&self) -> f64 {
        if self.registers.is_empty() {
            return self.count as f64;
        }
        let mut counts = [0_u32; RANK_MAX + 1];
        self.registers.iter().for_each(|&rank| counts[usize::from(rank)] += 1);
        let registers = REGISTERS as f64;
        let mut sum = registers * tau(1.0 - f64::from(counts[RANK_MAX]) / registers);
        for &count in counts[1..RANK_MAX].iter().rev() {
            sum = 0.5 * (sum + f64::from(count));
        }
        sum += registers * sigma(f64::from(counts[0]) / registers);
        registers * registers / (2.0 * LN_2 * sum)
    }
}

/// The register of a hash, and the rank for it; `None` if there are no registers.
#[inline]
fn index_and_rank(hash: u64, registers: usize) -> Option<(usize, u8)> {
    let rest = hash << INDEX_BITS | 1 << (INDEX_BITS - 1);
    (registers == REGISTERS).then(|| ((hash >> (u64::BITS - INDEX_BITS)) as usize, rest.leading_zeros() as u8 + 1))
}

/// What registers without a value add, by their share of all (Ertl's formula).
fn sigma(share: f64) -> f64 {
    let (mut x, mut y, mut sum) = (share, 1.0, share);
    loop {
        x *= x;
        let before = sum;
        sum += x * y;
        y += y;
        if sum.total_cmp(&before).is_eq() {
            return sum;
        }
    }
}

/// The same of those with the greatest rank, by the share of all others.
fn tau(share: f64) -> f64 {
    if share <= 0.0 || share >= 1.0 {
        return 0.0;
    }
    let (mut x, mut y, mut sum) = (share, 1.0, 1.0 - share);
    loop {
        x = x.sqrt();
        y *= 0.5;
        let before = sum;
        sum -= (1.0 - x) * (1.0 - x) * y;
        if sum.total_cmp(&before).is_eq() {
            return sum / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp, reason = "few values are counted exactly")]

    use longshore_testing::Random;

    use super::*;

    fn sketch(hashes: &[u64]) -> Sketch {
        let mut sketch = Sketch::new();
        for &hash in hashes {
            sketch.add(hash);
        }
        sketch
    }

    #[test]
    fn few_values_are_counted_exactly_however_often_they_come() {
        for count in [0, 1, 2, 100, FEW_MAX - 1, FEW_MAX] {
            let mut random = Random::new(count as u64);
            let hashes: Vec<u64> = (0..count).map(|_| random.next()).collect();
            let mut sketch = sketch(&hashes);
            for _ in 0..10 * count {
                sketch.add(random.pick(&hashes));
            }
            assert_eq!((sketch.estimate(), sketch.is_exact()), (count as f64, true));
        }
        assert_eq!(sketch(&[0, 0, 0]).estimate(), 1.0, "the hash 0 counts as well");
        // All want the same place.
        let same_place: Vec<u64> = (0..FEW_MAX as u64).map(|number| number << 32 | 5).collect();
        assert_eq!(sketch(&same_place).estimate(), FEW_MAX as f64);
    }

    #[test]
    fn the_error_is_that_of_the_theory() {
        const SEEDS: u64 = 40;
        for count in [FEW_MAX + 1, 1000, 3000, 10_000, 20_000, 100_000, 1_000_000] {
            let seeds = if count > 100_000 { SEEDS / 4 } else { SEEDS };
            let (mut sum, mut squares, mut worst) = (0.0_f64, 0.0_f64, 0.0_f64);
            for seed in 0..seeds {
                let mut random = Random::new(seed << 32 | count as u64);
                let mut sketch = Sketch::new();
                (0..count).for_each(|_| sketch.add(random.next()));
                let error = sketch.estimate() / count as f64 - 1.0;
                (sum, squares, worst) = (sum + error, squares + error * error, worst.max(error.abs()));
            }
            let (mean, deviation) = (sum / seeds as f64, (squares / seeds as f64).sqrt());
            // Bounds that one in ten thousand sets of seeds would break; these seeds are always the same.
            assert!(mean.abs() < 4.0 * STANDARD_ERROR / (seeds as f64).sqrt(), "{count}: the mean error is {mean}");
            assert!(deviation < 1.6 * STANDARD_ERROR, "{count}: the standard error is {deviation}");
            assert!(worst < 5.0 * STANDARD_ERROR, "{count}: the greatest error is {worst}");
        }
    }

    #[test]
    fn a_merged_sketch_is_that_of_all_values() {
        let mut random = Random::new(7);
        for (left, right, shared) in
            [(0, 0, 0), (5, 0, 0), (0, 600, 0), (300, 300, 100), (400, 5000, 30), (5000, 400, 0), (9000, 7000, 5000)]
        {
            let mut hashes = |count: usize| -> Vec<u64> { (0..count).map(|_| random.next()).collect() };
            let both = hashes(shared);
            let (left, right) = ([hashes(left), both.clone()].concat(), [hashes(right), both].concat());
            let mut merged = sketch(&left);
            merged.merge(&sketch(&right));
            let all = sketch(&[left, right].concat());
            assert_eq!(merged.is_exact(), all.is_exact());
            assert_eq!((merged.estimate(), &merged.registers), (all.estimate(), &all.registers));
        }
    }

    #[test]
    fn registers_that_are_full_or_empty_are_no_trouble() {
        let mut full = sketch(&(1..=FEW_MAX as u64 + 1).collect::<Vec<_>>());
        full.registers.fill(RANK_MAX as u8);
        assert!(full.estimate().is_infinite() || full.estimate() > 1e18);
        full.registers.fill(0);
        assert_eq!(full.estimate(), 0.0);
    }
}
