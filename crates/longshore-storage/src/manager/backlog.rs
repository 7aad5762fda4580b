//! The commits that somebody does not see yet, until they are reclaimed, or nothing is left of them.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Committed;
use super::prune::{Horizon, Pruning};
use crate::visibility::Time;

/// New commits are pruned when there are so many of them, and this many more for each active transaction: with several at
/// work, most are soon seen by all.
const NEW_MIN: usize = if cfg!(feature = "interleave") { 2 } else { 32 };
const NEW_PER_ACTIVE: usize = if cfg!(feature = "interleave") { 0 } else { 4 };

/// Changes of old commits, fewer of which are not pruned again.
const OLD_WRITES_MIN: usize = if cfg!(feature = "interleave") { 4 } else { 1 << 10 };

/// Commits in their order.
#[derive(Default)]
pub(super) struct Backlog {
    /// Those that were pruned, and what is left of them.
    old: VecDeque<Arc<Committed>>,
    /// How many changes that is.
    old_writes: usize,
    /// With how many of them it is time to prune them again.
    old_writes_max: usize,
    new: VecDeque<Arc<Committed>>,
    /// So many of the new ones, or of the old ones, are being pruned: until that is done, none is taken out.
    at_work: Option<usize>,
}

impl Backlog {
    pub(super) fn push(&mut self, committed: Arc<Committed>) {
        self.new.push_back(committed);
    }

    /// Whether there is nothing to be taken out.
    pub(super) fn is_idle(&self) -> bool {
        self.at_work.is_some() || self.old.is_empty() && self.new.is_empty()
    }

    /// The commits after a time.
    pub(super) fn after(&self, time: Time) -> Vec<Arc<Committed>> {
        let after = |list: &VecDeque<Arc<Committed>>| list.partition_point(|committed| committed.time() <= time);
        let old = self.old.range(after(&self.old)..);
        old.chain(self.new.range(after(&self.new)..)).cloned().collect()
    }

    /// Takes out the commits up to a time.
    pub(super) fn take_seen(&mut self, time: Time) -> Vec<Arc<Committed>> {
        let until = |list: &VecDeque<Arc<Committed>>| list.partition_point(|committed| committed.time() <= time);
        let (old, new) = (until(&self.old), until(&self.new));
        if old + new == 0 {
            return Vec::new();
        }
        let mut seen: Vec<Arc<Committed>> = self.old.drain(..old).collect();
        self.old_writes -= seen.iter().map(|committed| committed.set().writes.len()).sum::<usize>();
        seen.extend(self.new.drain(..new));
        seen
    }

    /// The commits that are to be pruned now, with so many active transactions.
    pub(super) fn next_pruning(&mut self, active: usize, horizon: impl FnOnce() -> Horizon) -> Option<Pruning> {
        let are_old = self.old_writes > self.old_writes_max.max(OLD_WRITES_MIN);
        if !are_old && self.new.len() < NEW_MIN + NEW_PER_ACTIVE * active {
            return None;
        }
        let commits: Vec<_> = if are_old { &self.old } else { &self.new }.iter().cloned().collect();
        self.at_work = Some(commits.len());
        Some(Pruning { commits, horizon: horizon(), are_old })
    }

    /// Puts back what is left of them.
    pub(super) fn put_back(&mut self, left: Vec<Arc<Committed>>, are_old: bool) {
        let count = self.at_work.take().unwrap_or(0);
        let writes: usize = left.iter().map(|committed| committed.set().writes.len()).sum();
        if are_old {
            self.old = left.into();
            self.old_writes = writes;
            self.old_writes_max = 2 * writes;
        } else {
            self.new.drain(..count);
            self.old.extend(left);
            self.old_writes += writes;
        }
    }
}
