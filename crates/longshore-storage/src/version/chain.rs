//! The chains of a slot's rows, and the slab that their versions lie in.

use super::heads::{Array, Heads};
use super::positions::RANGE_ROWS;
use crate::chunk::CHUNK_ROWS_MAX;
use crate::transaction::StampId;

/// No version.
pub(crate) const NONE: u32 = u32::MAX;

const RANGES: usize = CHUNK_ROWS_MAX / RANGE_ROWS;
const _: () = assert!(CHUNK_ROWS_MAX.is_multiple_of(RANGE_ROWS));

/// What a value was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Image {
    Null,
    /// The stored bits, the lower half first; of a long text the view, whose text stays in the slot's heap.
    Bits([u64; 2]),
}

impl Image {
    pub(crate) fn of_bits(bits: u128) -> Image {
        Image::Bits([bits as u64, (bits >> 64) as u64])
    }

    /// The stored bits; none for NULL.
    pub(crate) fn bits(&self) -> Option<u128> {
        match self {
            Image::Null => None,
            Image::Bits([low, high]) => Some(u128::from(*low) | u128::from(*high) << 64),
        }
    }
}

/// What a transaction did to a row, with what it takes to undo it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Change {
    Insert,
    Delete,
    /// The value of a column before.
    Update(u16, Image),
    /// The version is free. Its `older` is the next free one.
    Free,
}

/// One change of a row.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) change: Change,
    pub(crate) stamp: StampId,
    /// The version before; [`NONE`] for the oldest.
    pub(crate) older: u32,
    /// The version after; [`NONE`] for the newest.
    newer: u32,
    row: u16,
}

/// All versions of a slot.
pub(crate) struct Versions {
    ranges: [Heads; RANGES],
    slab: Vec<Version>,
    free: u32,
    count: usize,
    /// For the next range that needs one.
    spare: Option<Array>,
}

impl Versions {
    pub(crate) fn new() -> Versions {
        Versions { ranges: [const { Heads::EMPTY }; RANGES], slab: Vec::new(), free: NONE, count: 0, spare: None }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The newest version of a row.
    #[inline]
    pub(crate) fn head(&self, row: usize) -> u32 {
        self.ranges[row / RANGE_ROWS].get(row % RANGE_ROWS)
    }

    /// The newest version of a row itself.
    #[inline]
    pub(crate) fn newest(&self, row: usize) -> Option<&Version> {
        self.slab.get(self.head(row) as usize)
    }

    /// The newest version of a row, then the older ones.
    pub(crate) fn chain(&self, row: usize) -> impl Iterator<Item = &Version> {
        let mut next = self.head(row);
        std::iter::from_fn(move || {
            let version = self.slab.get(next as usize)?;
            next = version.older;
            Some(version)
        })
    }

    /// Rows with versions, in order.
    pub(crate) fn rows(&self) -> Vec<u16> {
        let ranges = self.ranges.iter().enumerate();
        ranges.flat_map(|(range, heads)| heads.rows().map(move |row| (range * RANGE_ROWS + row) as u16)).collect()
    }

    /// All values that were.
    pub(crate) fn images(&mut self) -> impl Iterator<Item = (usize, &mut Image)> {
        self.slab.iter_mut().filter_map(|version| match &mut version.change {
            Change::Update(column, image) => Some((usize::from(*column), image)),
            Change::Insert | Change::Delete | Change::Free => None,
        })
    }

    /// Puts a version before the others of its row; says its number.
    pub(crate) fn push(&mut self, row: usize, stamp: StampId, change: Change) -> u32 {
        // Its number first: the heads tell which version is behind it.
        let at = if self.free == NONE { self.slab.len() as u32 } else { self.free };
        let older = self.ranges[row / RANGE_ROWS].add(row % RANGE_ROWS, at, &mut self.spare);
        let version = Version { change, stamp, older, newer: NONE, row: row as u16 };
        if self.free == NONE {
            self.slab.push(version);
        } else {
            self.free = std::mem::replace(&mut self.slab[at as usize], version).older;
        }
        if let Some(older) = self.slab.get_mut(older as usize) {
            older.newer = at;
        }
        self.count += 1;
        at
    }

    /// Takes a version out of its chain, wherever it stands; says what it was.
    pub(crate) fn remove(&mut self, at: u32) -> Change {
        let free = Version { change: Change::Free, stamp: StampId(0), older: self.free, newer: NONE, row: 0 };
        let Version { change, older, newer, row, .. } = std::mem::replace(&mut self.slab[at as usize], free);
        debug_assert_ne!(change, Change::Free, "a version is removed once");
        self.free = at;
        if let Some(older) = self.slab.get_mut(older as usize) {
            older.newer = newer;
        }
        let range = &mut self.ranges[usize::from(row) / RANGE_ROWS];
        if let Some(newer) = self.slab.get_mut(newer as usize) {
            newer.older = older;
        } else {
            range.replace(usize::from(row) % RANGE_ROWS, older);
        }
        range.forget(&mut self.spare);
        self.count -= 1;
        if self.count == 0 && self.slab.len() > RANGE_ROWS {
            self.slab = Vec::new();
            self.free = NONE;
        }
        change
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(versions: &Versions, row: usize) -> Vec<u32> {
        versions.chain(row).map(|version| version.stamp.0).collect()
    }

    #[test]
    fn chains_go_from_newest_to_oldest_and_lose_any_of_theirs() {
        let mut versions = Versions::new();
        let numbers: Vec<u32> = (0..5).map(|at| versions.push(70, StampId(at), Change::Delete)).collect();
        versions.push(71, StampId(9), Change::Insert);
        assert_eq!(stamps(&versions, 70), [4, 3, 2, 1, 0]);
        for (number, left) in [(2, vec![4, 3, 1, 0]), (4, vec![3, 1, 0]), (0, vec![3, 1])] {
            assert_eq!(versions.remove(numbers[number]), Change::Delete);
            assert_eq!(stamps(&versions, 70), left);
        }
        assert_eq!(versions.rows(), [70, 71]);
        let again = versions.push(65_535, StampId(6), Change::Insert);
        assert!(numbers.contains(&again), "the place of a removed one is used");
        assert_eq!(versions.rows(), [70, 71, 65_535]);
    }

    #[test]
    fn rows_with_versions_are_found_however_many() {
        for count in [5, 10, 2_000, 60_000] {
            let mut versions = Versions::new();
            let numbers: Vec<u32> =
                (0..count).rev().map(|row| versions.push(row.into(), StampId(0), Change::Insert)).collect();
            versions.push(3, StampId(1), Change::Delete);
            versions.remove(numbers[0]);
            assert!(versions.rows().into_iter().eq(0..count - 1));
        }
    }

    #[test]
    fn a_range_without_versions_has_no_heads() {
        let mut versions = Versions::new();
        for round in 0..3 {
            let numbers: Vec<u32> = (0..2000).map(|row| versions.push(row, StampId(round), Change::Insert)).collect();
            assert!(versions.ranges[0].has_array() && versions.ranges[1].has_array());
            for number in numbers {
                versions.remove(number);
            }
            assert!(versions.is_empty() && !versions.ranges.iter().any(Heads::has_array));
            assert!(versions.rows().is_empty());
        }
    }
}
