//! Inserts a run of keys that differ in their last byte only: the node that branches by this byte is made at once, in
//! its final size, and hung where the first key belongs.
//!
//! Keys that ascend consist of such runs: of dense ones 256 share a node, of a two-column key like an order's lines
//! those of one order. Key by key, the node would be looked for as often as it has rows, and grow on the way.

use std::cell::Cell;

use super::insert::{Below, Place};
use super::node::{Header, Kind, Ref, load, store};
use super::words::{Position, Words};
use crate::index::duplicates::Duplicates;
use crate::index::key::{KeyBytes, ShortBytes};
use crate::row_id::RowId;

/// The most keys of a run.
pub(in crate::index) const RUN_KEYS_MAX: usize = 256;

/// Keys of the same length that ascend and have all bytes but the last in common; their rows follow each other.
#[derive(Clone, Copy)]
pub(in crate::index) struct Run<'k> {
    keys: &'k [u128],
    length: u32,
    first: RowId,
}

impl<'k> Run<'k> {
    /// The run that some keys begin with, which are not none; the row of the first.
    #[inline]
    pub(in crate::index) fn at_start_of(keys: &'k [u128], length: u32, first: RowId) -> Run<'k> {
        let shift = u128::BITS - 8 * length;
        let goes_on = |pair: &[u128]| {
            let (before, key) = (pair[0] >> shift, pair[1] >> shift);
            key > before && key >> 8 == before >> 8
        };
        let count = 1 + keys.windows(2).take_while(|pair| goes_on(pair)).count();
        Run { keys: &keys[..count], length, first }
    }

    pub(in crate::index) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn key(&self, at: usize) -> ShortBytes {
        ShortBytes { bits: self.keys[at], length: self.length }
    }

    pub(super) fn row(&self, at: usize) -> RowId {
        RowId(self.first.0 + at as u64)
    }

    /// The last bytes and the rows.
    fn children(self) -> impl Iterator<Item = (u8, u64)> + 'k {
        let shift = u128::BITS - 8 * self.length;
        (0..self.len()).map(move |at| ((self.keys[at] >> shift) as u8, Ref::Row(self.row(at)).word()))
    }
}

/// A run on its way to its place.
#[derive(Clone, Copy)]
struct Hanging<'k, 'c> {
    run: Run<'k>,
    is_hung: &'c Cell<bool>,
}

impl Below for Hanging<'_, '_> {
    fn rows(self) -> Ref {
        Ref::Row(self.run.first)
    }

    fn hang<K: KeyBytes>(self, words: &mut Words, key: K, from: usize) -> Ref {
        let last = key.length() - 1;
        if from > last {
            // There is a node of these keys already, or one is made: this is the place of the first alone.
            return self.rows();
        }
        self.is_hung.set(true);
        let node = words.node_of(self.run);
        Ref::Node(words.put_prefix(node, key, from, last - from))
    }
}

impl Words {
    /// Adds the rows of a run that belongs to the part of the tree at `start`: of all keys, or only of the first if
    /// others that begin alike are there. Says how many keys that was, and how many rows are new. As
    /// [`Words::insert_under`], with words for a node of the largest kind beside.
    #[inline]
    pub(super) fn insert_run(
        &mut self,
        top: &mut Ref,
        start: Place,
        run: Run<'_>,
        trail: &mut Vec<Place>,
        duplicates: &mut Duplicates<'_>,
    ) -> (usize, usize) {
        let is_hung = Cell::new(false);
        let hanging = Hanging { run, is_hung: &is_hung };
        let is_new = self.insert_under(top, start, run.key(0), hanging, Some(trail), duplicates);
        if is_hung.get() { (run.len(), run.len()) } else { (1, usize::from(is_new)) }
    }

    /// A node without a prefix that branches by the last bytes of a run.
    fn node_of(&mut self, run: Run<'_>) -> Position {
        let count = run.len();
        let kind = match count {
            0..=4 => Kind::Node4,
            5..=16 => Kind::Node16,
            17..=48 => Kind::Node48,
            _ => Kind::Node256,
        };
        let node = self.new_node(kind, 0, 0, false);
        let words = &self.from(node)[..kind.words()];
        let mut header = Header::new(kind, 0, false).with_count(count);
        let mut bytes = [0_u8; 16];
        for (at, (byte, row)) in run.children().enumerate() {
            let place = match kind {
                Kind::Node4 | Kind::Node16 => {
                    bytes[at] = byte;
                    at
                }
                Kind::Node48 => {
                    let (word, shift) = (2 + usize::from(byte) / 8, usize::from(byte) % 8 * 8);
                    store(words, word, load(words, word) | (at as u64 + 1) << shift);
                    at
                }
                Kind::Node256 => byte.into(),
            };
            store(words, kind.children() + place, row);
        }
        let bytes = u128::from_le_bytes(bytes);
        match kind {
            Kind::Node4 => header = header.with_keys(bytes as u64),
            Kind::Node16 => {
                store(words, 2, bytes as u64);
                store(words, 3, (bytes >> 64) as u64);
            }
            Kind::Node48 | Kind::Node256 => {}
        }
        store(words, 0, header.0);
        node
    }
}
