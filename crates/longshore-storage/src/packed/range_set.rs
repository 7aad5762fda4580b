//! Sets of whole numbers, as ranges.

/// Whole numbers that a predicate looks for. Of a decimal these are its digits, of a date or time its days or
/// microseconds; booleans are 0 and 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet {
    /// They ascend, and between any two of them there are numbers that are not in the set. Both ends are included.
    ranges: Vec<(i128, i128)>,
}

impl RangeSet {
    /// No number.
    #[must_use]
    pub fn none() -> RangeSet {
        RangeSet::default()
    }

    /// Every number.
    #[must_use]
    pub fn all() -> RangeSet {
        RangeSet::between(i128::MIN, i128::MAX)
    }

    /// The numbers from the first to the second.
    #[must_use]
    pub fn between(low: i128, high: i128) -> RangeSet {
        RangeSet { ranges: if low <= high { vec![(low, high)] } else { Vec::new() } }
    }

    /// Just these numbers.
    #[must_use]
    pub fn of(numbers: impl IntoIterator<Item = i128>) -> RangeSet {
        RangeSet::joined(numbers.into_iter().map(|number| (number, number)).collect())
    }

    /// The numbers that are in one of the two.
    #[must_use]
    pub fn union(&self, other: &RangeSet) -> RangeSet {
        RangeSet::joined([&self.ranges[..], &other.ranges].concat())
    }

    /// The numbers that are in both.
    #[must_use]
    pub fn intersection(&self, other: &RangeSet) -> RangeSet {
        self.complement().union(&other.complement()).complement()
    }

    /// The numbers that are not in the set.
    #[must_use]
    pub fn complement(&self) -> RangeSet {
        let mut ranges = Vec::with_capacity(self.ranges.len() + 1);
        let mut from = Some(i128::MIN);
        for &(low, high) in &self.ranges {
            if let Some(from) = from.filter(|&from| from < low) {
                ranges.push((from, low - 1));
            }
            from = high.checked_add(1);
        }
        ranges.extend(from.map(|from| (from, i128::MAX)));
        RangeSet { ranges }
    }

    /// Whether a number is in the set.
    #[must_use]
    pub fn contains(&self, number: i128) -> bool {
        let at = self.ranges.partition_point(|&(_, high)| high < number);
        self.ranges.get(at).is_some_and(|&(low, _)| low <= number)
    }

    /// Whether there is no number in it.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether every number is in it.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.ranges == [(i128::MIN, i128::MAX)]
    }

    /// The ranges, from the least numbers to the greatest, both ends included.
    #[must_use]
    pub fn ranges(&self) -> &[(i128, i128)] {
        &self.ranges
    }

    /// The numbers that are in some of these ranges.
    fn joined(mut ranges: Vec<(i128, i128)>) -> RangeSet {
        ranges.sort_unstable();
        let mut joined: Vec<(i128, i128)> = Vec::with_capacity(ranges.len());
        for (low, high) in ranges {
            match joined.last_mut() {
                Some((_, last)) if low <= last.saturating_add(1) => *last = high.max(*last),
                _ => joined.push((low, high)),
            }
        }
        RangeSet { ranges: joined }
    }
}

#[cfg(test)]
mod tests {
    use longshore_testing::Random;

    use super::*;

    #[test]
    fn sets_are_those_of_their_numbers() {
        let mut random = Random::new(5);
        for _ in 0..longshore_testing::share(2000) {
            let mut set = || {
                let number =
                    |random: &mut Random| random.below(24) as i128 + random.pick(&[i128::MIN, 0, i128::MAX - 23]);
                match random.below(5) {
                    0 => RangeSet::none(),
                    1 => RangeSet::all(),
                    2 => RangeSet::between(number(&mut random), number(&mut random)),
                    _ => RangeSet::of((0..random.below(9)).map(|_| number(&mut random)).collect::<Vec<_>>()),
                }
            };
            let (one, other) = (set(), set());
            let (union, both, rest) = (one.union(&other), one.intersection(&other), one.complement());
            for base in [i128::MIN, 0, i128::MAX - 23] {
                for number in base..=base + 23 {
                    let (in_one, in_other) = (one.contains(number), other.contains(number));
                    assert_eq!(union.contains(number), in_one || in_other, "{number} in {one:?} or {other:?}");
                    assert_eq!(both.contains(number), in_one && in_other, "{number} in {one:?} and {other:?}");
                    assert_eq!(rest.contains(number), !in_one, "{number} not in {one:?}");
                }
            }
            for set in [union, both, rest] {
                assert!(set.ranges().iter().all(|(low, high)| low <= high), "{set:?}");
                assert!(set.ranges().windows(2).all(|pair| pair[0].1 + 1 < pair[1].0), "{set:?}");
            }
        }
    }
}
