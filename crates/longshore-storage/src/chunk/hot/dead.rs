//! Which rows of a slot are dead, and which of these may be taken again.

use crate::row_id::CHUNK_ROWS_MAX;

const WORDS: usize = CHUNK_ROWS_MAX / 64;

#[derive(Clone, Default)]
pub(super) struct DeadRows {
    /// One bit per row; `None` before the first one dies.
    bits: Option<Box<[u64; WORDS]>>,
    count: usize,
    free: Vec<u16>,
}

impl DeadRows {
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn contains(&self, row: usize) -> bool {
        self.count > 0 && self.bits.as_ref().is_some_and(|bits| bits[row / 64] >> (row % 64) & 1 == 1)
    }

    /// Rows.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Words of 64 rows each.
    pub(super) fn words(&self) -> &[u64] {
        self.bits.as_ref().map_or(&[], |bits| &bits[..])
    }

    pub(super) fn insert(&mut self, row: usize) {
        debug_assert!(!self.contains(row));
        let bits = self.bits.get_or_insert_with(|| Box::new([0; WORDS]));
        bits[row / 64] |= 1 << (row % 64);
        self.count += 1;
    }

    /// The row lives again, and is not free.
    pub(super) fn remove(&mut self, row: usize) {
        debug_assert!(self.contains(row));
        if let Some(bits) = &mut self.bits {
            bits[row / 64] &= !(1 << (row % 64));
        }
        self.count -= 1;
    }

    /// A dead row may be taken again.
    pub(super) fn set_free(&mut self, row: usize) {
        debug_assert!(self.contains(row) && !self.free.contains(&(row as u16)));
        self.free.push(row as u16);
    }

    /// None may be taken for now.
    pub(super) fn forget_free(&mut self) {
        self.free = Vec::new();
    }

    /// All of them may be taken again, the first one next.
    pub(super) fn free_all(&mut self) {
        let words = self.words().iter().enumerate().rev();
        let rows = words
            .flat_map(|(at, word)| (0..64).rev().filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit));
        self.free = rows.map(|row| row as u16).collect();
    }

    pub(super) fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// Rows that may be taken again.
    pub(super) fn free_count(&self) -> usize {
        self.free.len()
    }

    /// The row that is taken next.
    #[inline]
    pub(super) fn next_free(&self) -> Option<usize> {
        self.free.last().copied().map(usize::from)
    }

    /// A row that may be taken, still dead.
    pub(super) fn take_free(&mut self) -> Option<usize> {
        self.free.pop().map(usize::from)
    }

    /// Tells of rows whether they are free.
    pub(super) fn free_rows(&self) -> impl Fn(usize) -> bool + use<> {
        let mut bits = vec![0_u64; if self.free.is_empty() { 0 } else { WORDS }];
        for &row in &self.free {
            bits[usize::from(row) / 64] |= 1 << (row % 64);
        }
        move |row| bits.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }
}
