//! Rows in the order of their keys, in a set of the standard library: the slow, obvious twin of the radix tree.

use std::collections::BTreeSet;
use std::ops::Bound;

use super::found::Found;
use super::range::{Direction, Range, is_above, is_below};
use crate::datum::RowId;

/// Rows by key, in order.
#[derive(Default)]
pub(super) struct Ordered {
    rows: BTreeSet<(Vec<u8>, RowId)>,
}

impl Ordered {
    pub(super) fn find(&self, key: &[u8]) -> Found {
        let (from, to) = ((key.to_vec(), RowId(0)), (key.to_vec(), RowId(u64::MAX)));
        Found::new(self.rows.range(from..=to).map(|&(_, row)| row).collect())
    }

    pub(super) fn insert(&mut self, key: &[u8], row: RowId) {
        self.rows.insert((key.to_vec(), row));
    }

    pub(super) fn remove(&mut self, key: &[u8], row: RowId) -> bool {
        self.rows.remove(&(key.to_vec(), row))
    }

    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The next rows of a range.
    pub(super) fn next_batch(&self, range: &mut Range, into: &mut Vec<RowId>) {
        let is_within = |(key, _): &&(Vec<u8>, RowId)| is_above(key, &range.lower) && is_below(key, &range.upper);
        let batch: Vec<&(Vec<u8>, RowId)> = match range.direction {
            Direction::Forward => {
                let after = range.position.clone().map_or(Bound::Unbounded, Bound::Excluded);
                self.rows.range((after, Bound::Unbounded)).filter(is_within).take(range.batch_rows).collect()
            }
            Direction::Backward => {
                let before = range.position.clone().map_or(Bound::Unbounded, Bound::Excluded);
                self.rows.range((Bound::Unbounded, before)).rev().filter(is_within).take(range.batch_rows).collect()
            }
        };
        into.extend(batch.iter().map(|&&(_, row)| row));
        range.advance(batch.last().map(|&last| last.clone()), batch.len());
    }
}
