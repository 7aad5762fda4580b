//! The chains of a slot's rows, and the slab that their versions lie in.

use super::NONE;
use super::heads::{Array, Heads};
use super::positions::RANGE_ROWS;
use crate::prefetch::prefetch;
use crate::row_id::CHUNK_ROWS_MAX;
use crate::visibility::StampId;

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
    /// Whose the first was of the versions that there are.
    owner: StampId,
    /// Whether all are his, and none is a delete.
    is_owned: bool,
    /// For the next range that needs one.
    spare: Option<Array>,
}

impl Versions {
    pub(crate) fn new() -> Versions {
        Versions {
            ranges: [const { Heads::EMPTY }; RANGES],
            slab: Vec::new(),
            free: NONE,
            count: 0,
            owner: StampId(0),
            is_owned: false,
            spare: None,
        }
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
        self.chain_from(self.head(row))
    }

    /// A version, then the older ones of its row.
    #[inline]
    pub(crate) fn chain_from(&self, head: u32) -> impl Iterator<Item = &Version> {
        let mut next = head;
        std::iter::from_fn(move || {
            let version = self.slab.get(next as usize)?;
            next = version.older;
            Some(version)
        })
    }

    /// Rows with versions, in order.
    pub(crate) fn rows(&self) -> Vec<u16> {
        self.heads().into_iter().map(|(row, _)| row).collect()
    }

    /// The same rows and the newest version of each, which is on its way to the cache: whoever asks for all of them is
    /// about to look at them.
    pub(crate) fn heads(&self) -> Vec<(u16, u32)> {
        let mut all = Vec::with_capacity(self.count);
        for (range, heads) in self.ranges.iter().enumerate() {
            for (row, head) in heads.iter() {
                prefetch(self.slab.as_ptr().wrapping_add(head as usize));
                all.push(((range * RANGE_ROWS + row) as u16, head));
            }
        }
        all
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
        if self.count == 0 {
            (self.owner, self.is_owned) = (stamp, true);
        }
        self.is_owned &= self.owner == stamp && !matches!(change, Change::Delete);
        // Its number first: the heads tell which version is behind it.
        let at = if self.free == NONE { self.slab.len() as u32 } else { self.free };
        let older = self.ranges[row / RANGE_ROWS].add(row % RANGE_ROWS, at, &mut self.spare);
        self.put(at, Version { change, stamp, older, newer: NONE, row: row as u16 });
        at
    }

    /// Puts a version right behind the newest of a row, which the same transaction has made and which is none of the same
    /// column, so that their order does not matter; says its number. That spares the search for the row.
    pub(crate) fn push_beside(&mut self, newest: u32, change: Change) -> u32 {
        let at = if self.free == NONE { self.slab.len() as u32 } else { self.free };
        let before = &mut self.slab[newest as usize];
        let (stamp, row) = (before.stamp, before.row);
        let older = std::mem::replace(&mut before.older, at);
        self.ranges[usize::from(row) / RANGE_ROWS].count_one();
        self.put(at, Version { change, stamp, older, newer: newest, row });
        at
    }

    /// Puts a version at its place in the slab, and makes it known to the one behind it.
    fn put(&mut self, at: u32, version: Version) {
        let older = version.older;
        if self.free == NONE {
            self.slab.push(version);
        } else {
            self.free = std::mem::replace(&mut self.slab[at as usize], version).older;
        }
        if let Some(older) = self.slab.get_mut(older as usize) {
            older.newer = at;
        }
        self.count += 1;
    }

    /// Whether all versions are a transaction's and none is a delete, so that they may go at once.
    pub(crate) fn are_all_of(&self, stamp: StampId) -> bool {
        self.is_owned && self.owner == stamp && self.count > 0
    }

    /// Forgets all versions, each of which is given to a closure.
    pub(crate) fn clear(&mut self, mut forget: impl FnMut(&Change)) {
        for version in self.slab.iter().filter(|version| version.change != Change::Free) {
            let row = usize::from(version.row);
            self.ranges[row / RANGE_ROWS].forget_row(row % RANGE_ROWS, &mut self.spare);
            forget(&version.change);
        }
        self.count = 0;
        self.empty_slab();
    }

    /// Whether a version is there, and a transaction's: others may have its number since it went.
    pub(crate) fn is_of(&self, at: u32, stamp: StampId) -> bool {
        self.slab.get(at as usize).is_some_and(|version| version.stamp == stamp && version.change != Change::Free)
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
        if self.count == 0 {
            self.empty_slab();
        }
        change
    }

    /// Begins the slab anew, which has no versions; one that had many gives up its memory.
    fn empty_slab(&mut self) {
        if self.slab.len() > RANGE_ROWS {
            self.slab = Vec::new();
        }
        self.slab.clear();
        self.free = NONE;
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
    fn versions_of_one_transaction_stand_beside_each_other_and_go_at_once() {
        for rows in [1, 5, 20, 3_000] {
            let mut versions = Versions::new();
            let update = |column| Change::Update(column, Image::Null);
            for round in 0..3 {
                for row in 0..rows {
                    let first = versions.push(row * 3, StampId(round), update(0));
                    let second = versions.push_beside(first, update(1));
                    versions.push_beside(first, update(2));
                    let columns: Vec<Change> = versions.chain(row * 3).map(|version| version.change).collect();
                    assert_eq!(columns, [update(0), update(2), update(1)]);
                    assert_eq!(versions.remove(second), update(1));
                }
                assert!(versions.are_all_of(StampId(round)) && !versions.are_all_of(StampId(round + 1)));
                let last = versions.head(rows * 3 - 3);
                assert!(versions.is_of(last, StampId(round)) && !versions.is_of(last, StampId(round + 1)));
                let mut count = 0;
                versions.clear(|_| count += 1);
                assert_eq!((count, versions.is_empty()), (rows * 2, true));
                assert!(!versions.is_of(last, StampId(round)) && versions.rows().is_empty());
                assert!(!versions.ranges.iter().any(Heads::has_array));
            }
        }
    }

    #[test]
    fn versions_of_several_or_of_deletes_do_not_go_at_once() {
        for (stamp, change) in [(1, Change::Insert), (0, Change::Delete)] {
            let mut versions = Versions::new();
            let first = versions.push(0, StampId(0), Change::Insert);
            let other = versions.push(1, StampId(stamp), change);
            assert!(!versions.are_all_of(StampId(0)) && !versions.are_all_of(StampId(1)));
            versions.remove(other);
            versions.remove(first);
            assert!(!versions.are_all_of(StampId(0)), "there are none");
            versions.push(0, StampId(7), Change::Insert);
            assert!(versions.are_all_of(StampId(7)));
        }
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
