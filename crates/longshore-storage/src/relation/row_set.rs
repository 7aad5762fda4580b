//! A set of rows of one relation: a list while they are few, bits of their chunks when they are many.

use std::collections::HashMap;

use crate::row_id::{CHUNK_ROWS_MAX, RowId};

/// Rows that are listed before they are marked in bitmaps.
const LISTED_MAX: usize = 64;

/// A set of rows of one relation.
#[derive(Default)]
pub(crate) struct RowSet {
    few: Vec<RowId>,
    many: HashMap<usize, Box<[u64]>>,
}

impl RowSet {
    #[inline]
    pub(crate) fn insert(&mut self, row: RowId) {
        if self.many.is_empty() {
            if self.few.last() == Some(&row) {
                return;
            }
            if self.few.len() < LISTED_MAX {
                return self.few.push(row);
            }
            for row in std::mem::take(&mut self.few) {
                self.mark(row);
            }
        }
        self.mark(row);
    }

    fn mark(&mut self, row: RowId) {
        let bits = self.many.entry(row.chunk()).or_insert_with(|| vec![0; CHUNK_ROWS_MAX / 64].into());
        bits[row.row() / 64] |= 1 << (row.row() % 64);
    }

    pub(crate) fn contains(&self, row: RowId) -> bool {
        let is_marked = |bits: &[u64]| bits[row.row() / 64] >> (row.row() % 64) & 1 == 1;
        self.few.contains(&row) || self.many.get(&row.chunk()).is_some_and(|bits| is_marked(bits))
    }

    /// The first row of a chunk that is in the set.
    pub(crate) fn first_of(&self, chunk: usize) -> Option<RowId> {
        let few = self.few.iter().copied().filter(|row| row.chunk() == chunk);
        let word = self.many.get(&chunk).and_then(|bits| bits.iter().position(|&word| word != 0).map(|at| (at, bits)));
        let many = word.map(|(at, bits)| RowId::new(chunk, at * 64 + bits[at].trailing_zeros() as usize));
        few.chain(many).min()
    }

    /// How many there are, at most: some that are listed may be the same.
    pub(crate) fn count_max(&self) -> usize {
        let marked = self.many.values().flat_map(|bits| bits.iter());
        self.few.len() + marked.map(|word| word.count_ones() as usize).sum::<usize>()
    }

    /// All of them; those that are marked in their order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = RowId> {
        let mut chunks: Vec<(&usize, &Box<[u64]>)> = self.many.iter().collect();
        chunks.sort_unstable_by_key(|(chunk, _)| **chunk);
        let marked = chunks.into_iter().flat_map(|(&chunk, bits)| {
            (0..bits.len() * 64).filter(|at| bits[at / 64] >> (at % 64) & 1 == 1).map(move |at| RowId::new(chunk, at))
        });
        self.few.iter().copied().chain(marked)
    }

    pub(crate) fn extend(&mut self, other: RowSet) {
        for row in other.few {
            self.insert(row);
        }
        if self.many.is_empty() && !other.many.is_empty() {
            for row in std::mem::take(&mut self.few) {
                self.mark(row);
            }
        }
        for (chunk, bits) in other.many {
            match self.many.entry(chunk) {
                std::collections::hash_map::Entry::Vacant(entry) => {
                    entry.insert(bits);
                }
                std::collections::hash_map::Entry::Occupied(mut entry) => {
                    entry.get_mut().iter_mut().zip(bits.iter()).for_each(|(word, more)| *word |= more);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_rows_hold_what_was_put_in() {
        for count in [1, LISTED_MAX, LISTED_MAX + 1, 1000] {
            let rows: Vec<RowId> = (0..count).map(|at| RowId::new(at % 3, at * 7)).collect();
            let (mut one, mut all) = (RowSet::default(), RowSet::default());
            for &row in &rows {
                one.insert(row);
            }
            for half in rows.chunks(count.div_ceil(2)) {
                let mut set = RowSet::default();
                for &row in half {
                    set.insert(row);
                }
                all.extend(set);
            }
            for set in [&one, &all] {
                assert!(rows.iter().all(|&row| set.contains(row)));
                assert!((0..count).all(|at| !set.contains(RowId::new(3, at))));
                assert_eq!(set.first_of(0), Some(RowId::new(0, 0)));
                assert_eq!(set.first_of(3), None);
                assert_eq!(set.count_max(), count);
                let mut sorted = rows.clone();
                sorted.sort_unstable();
                let mut given: Vec<RowId> = set.rows().collect();
                given.sort_unstable();
                assert_eq!(given, sorted);
            }
        }
    }
}
