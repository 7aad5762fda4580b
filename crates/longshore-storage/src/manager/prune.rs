//! Decides what is given up of commits that somebody does not see yet: what none of the active transactions needs.
//!
//! Source: Böttcher, Leis, Neumann, Kemper: *Scalable Garbage Collection for In-Memory MVCC Systems*, PVLDB 13(2), 2019.
//! One transaction that stays active for long keeps every later commit from being reclaimed, but it sees none of them. What
//! they made and unmade between its start and now, and that nobody else sees either, goes; so a row that is changed, or a
//! key that is deleted and inserted again and again, has as many versions as there are different views of it, not as there
//! were changes (`chunk/hot/prune.rs`). The paper does that whenever a row is changed; here it is done for some commits
//! together, each of which is looked at soon after it was made, and those of which something was left again when they have
//! become twice as much. So the cost of a commit does not depend on how many there were before.
//!
//! Invariants.
//! 1. One thread at a time prunes, without the lock; meanwhile nothing else is taken from the list of commits, so that
//!    who validates finds all of them there.
//! 2. Views that come later see all commits that are pruned.
//! 3. A commit goes from the list when nothing refers to its stamp any longer. That rows of an append came stays known as
//!    long as they are there and somebody may validate against it.

use std::sync::Arc;

use super::freed_slots::{FreedSlot, FreedSlots};
use super::{Committed, Write, WriteKind, WriteSet};
use crate::chunk::hot::Needs;
use crate::visibility::{StampId, Stamps, Time};

/// The moments that active transactions see.
pub(super) struct Horizon {
    /// In ascending order.
    starts: Vec<u64>,
    /// The first of those of transactions that may write, and so must validate.
    writer: u64,
    /// When that was. Somebody who is not known here may begin between this and a later commit.
    now: Time,
}

impl Horizon {
    pub(super) fn new(mut starts: Vec<u64>, writer: u64, now: Time) -> Horizon {
        starts.sort_unstable();
        starts.dedup();
        Horizon { starts, writer, now }
    }
}

impl Needs for Horizon {
    fn needs(&self, from: Time, until: Time) -> bool {
        if until > self.now {
            return true;
        }
        let at = self.starts.partition_point(|&start| start < from.0);
        self.starts.get(at).is_some_and(|&start| start < until.0)
    }
}

/// Commits that are to be pruned.
pub(super) struct Pruning {
    pub(super) commits: Vec<Arc<Committed>>,
    pub(super) horizon: Horizon,
    /// They were pruned before.
    pub(super) are_old: bool,
}

/// What is left of the commits, and the stamps of those of which nothing is.
pub(super) struct Pruned {
    pub(super) left: Vec<Arc<Committed>>,
    pub(super) free_stamps: Vec<StampId>,
}

impl Pruning {
    pub(super) fn run(&self, stamps: &Stamps, freed: &mut FreedSlots) -> Pruned {
        let mut pruned = Pruned { left: Vec::with_capacity(self.commits.len()), free_stamps: Vec::new() };
        for committed in &self.commits {
            // Who has read the relation that was altered has to know.
            if !committed.set().table_swaps().is_empty() {
                pruned.left.push(Arc::clone(committed));
                continue;
            }
            let left = self.prune(committed, stamps, freed);
            if left.is_empty() {
                pruned.free_stamps.push(committed.stamp());
            } else if left.len() == committed.set().writes.len() {
                pruned.left.push(Arc::clone(committed));
            } else {
                pruned.left.push(Arc::new(committed.with_writes(&left)));
            }
        }
        pruned
    }

    /// What has to be remembered of a commit.
    fn prune(&self, committed: &Committed, stamps: &Stamps, freed: &mut FreedSlots) -> Vec<Write> {
        let (set, stamp) = (committed.set(), committed.stamp());
        let mut is_left = |write: &&Write| match write.kind {
            WriteKind::Insert => {
                let slot = set.tables[write.table as usize].slots.get(write.row.chunk());
                slot.is_some_and(|slot| slot.read().has_version(write.version, stamp))
            }
            WriteKind::Update(_) => {
                let slot = set.tables[write.table as usize].slots.get(write.row.chunk());
                let version = (write.version, stamp);
                slot.is_some_and(|slot| slot.write().prune_update(write.row.row(), version, stamps, &self.horizon))
            }
            WriteKind::Delete | WriteKind::Replace => self.prune_deleted(set, write, stamp, stamps, freed),
            WriteKind::Append => {
                let Some(slot) = set.tables[write.table as usize].slots.get(write.row.chunk()) else { return false };
                let (first, time) = (write.row.row(), committed.time());
                let mut slot = slot.write();
                slot.prune_births(stamp, stamps, &self.horizon)
                    || self.horizon.writer < time.0 && slot.has_any_of(first..first + write.version as usize, time)
            }
            WriteKind::Truncate => self.prune_dead(set, write, stamp, stamps, freed),
        };
        set.writes.iter().filter(|write| is_left(write)).copied().collect()
    }

    fn prune_deleted(
        &self,
        set: &WriteSet,
        write: &Write,
        stamp: StampId,
        stamps: &Stamps,
        freed: &mut FreedSlots,
    ) -> bool {
        let (table, row) = (&set.tables[write.table as usize], write.row);
        let Some(slot) = table.slots.get(row.chunk()) else { return false };
        {
            let slot = slot.read();
            if !slot.has_version(write.version, stamp) {
                return false;
            }
            if slot.needs_deleted(row.row(), stamp, stamps, &self.horizon) {
                return true;
            }
        }
        // As when it is reclaimed: it leaves the indexes before another row may take its place.
        let _indexes = table.unindex_rows(row, 1);
        let mut slot = slot.write();
        slot.prune_deleted(row.row());
        table.have_gone(row.chunk(), slot, freed);
        false
    }

    fn prune_dead(
        &self,
        set: &WriteSet,
        write: &Write,
        stamp: StampId,
        stamps: &Stamps,
        freed: &mut FreedSlots,
    ) -> bool {
        let (table, place) = (&set.tables[write.table as usize], write.row.chunk());
        let Some(slot) = table.slots.get(place) else { return false };
        let rows = {
            let slot = slot.read();
            if !slot.is_dead_with(stamp) {
                return false;
            }
            if slot.needs_dead(stamp, stamps, &self.horizon) {
                return true;
            }
            slot.dead_rows_of(stamp)
        };
        let _indexes = table.unindex_rows(write.row, rows);
        if slot.write().reclaim_delete(stamp) {
            freed.push(FreedSlot { table: Arc::clone(table), place });
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_needed_by_who_sees_it() {
        let horizon = Horizon::new(vec![9, 4, 4], 9, Time(100));
        let needs = |from, until| horizon.needs(Time(from), Time(until));
        assert_eq!([needs(0, 4), needs(0, 5), needs(4, 5), needs(5, 9)], [false, true, true, false]);
        assert_eq!([needs(5, 10), needs(10, 99), needs(9, 9)], [true, false, false]);
        assert_eq!([needs(10, 100), needs(10, 101)], [false, true], "who began since may see it");
        assert!(!Horizon::new(Vec::new(), u64::MAX, Time(9)).needs(Time(0), Time(9)));
    }
}
