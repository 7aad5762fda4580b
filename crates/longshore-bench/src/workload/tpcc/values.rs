//! Decides what TPC-C draws: its non-uniform numbers (clause 2.1.6) and last names (4.3.2.3).

use std::ops::RangeInclusive;

use crate::workload::random::Random;

/// Last names that there are.
pub(super) const LAST_NAMES: i32 = 1_000;

const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// The last name of a number below [`LAST_NAMES`]: a syllable for each digit.
pub(super) fn last_name(number: i32) -> String {
    [number / 100, number / 10 % 10, number % 10].map(|digit| SYLLABLES[digit as usize]).concat()
}

/// All last names, by number.
pub(super) struct LastNames(Vec<String>);

impl LastNames {
    /// All of them.
    pub(super) fn new() -> LastNames {
        LastNames((0..LAST_NAMES).map(last_name).collect())
    }

    /// The last name of a number.
    pub(super) fn of(&self, number: i32) -> &str {
        &self.0[number as usize]
    }
}

/// The constants of non-uniform numbers. Those of the last name differ between population and run, by at least 65 and
/// at most 119, but not by 96 or 112 (2.1.6.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    last_name: i64,
    customer: i64,
    item: i64,
}

impl Constants {
    /// For the population.
    pub(super) const LOAD: Constants = Constants { last_name: 86, customer: 511, item: 3_007 };
    /// For the run.
    pub(super) const RUN: Constants = Constants { last_name: 86 + 87, customer: 259, item: 4_111 };

    /// How far those of the last name are apart.
    const LAST_NAME_DELTA: i64 = Constants::RUN.last_name - Constants::LOAD.last_name;

    /// The number of a last name of which there are `names`.
    pub(super) fn last_name(&self, names: i32, random: &mut Random) -> i32 {
        non_uniform(255, self.last_name, 0..=names - 1, random)
    }

    /// A customer of a district that has `customers`.
    pub(super) fn customer(&self, customers: i32, random: &mut Random) -> i32 {
        non_uniform(1_023, self.customer, 1..=customers, random)
    }

    /// An item of `items`.
    pub(super) fn item(&self, items: i32, random: &mut Random) -> i32 {
        non_uniform(8_191, self.item, 1..=items, random)
    }
}

const _: () = assert!(
    Constants::LAST_NAME_DELTA >= 65
        && Constants::LAST_NAME_DELTA <= 119
        && Constants::LAST_NAME_DELTA != 96
        && Constants::LAST_NAME_DELTA != 112
);

/// `NURand(A, x, y)` with the constant C.
fn non_uniform(a: i64, c: i64, range: RangeInclusive<i32>, random: &mut Random) -> i32 {
    let (first, last) = (i64::from(*range.start()), i64::from(*range.end()));
    let mixed = random.within(0..=a) | random.within(first..=last);
    ((mixed + c) % (last - first + 1) + first) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_of_the_specification() {
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(40), "BARPRESBAR");
        assert_eq!(last_name(LAST_NAMES - 1), "EINGEINGEING");
    }

    #[test]
    fn some_customers_come_more_often_than_others() {
        let mut random = Random::new(7);
        let mut drawn = vec![0_u32; 3_001];
        for _ in 0..300_000 {
            drawn[Constants::RUN.customer(3_000, &mut random) as usize] += 1;
        }
        assert_eq!(drawn[0], 0);
        drawn.sort_unstable();
        let (rarest, commonest): (u32, u32) = (drawn[..300].iter().sum(), drawn[2_701..].iter().sum());
        assert!(commonest > 10 * rarest, "{commonest} draws of the commonest tenth, {rarest} of the rarest");
    }
}
