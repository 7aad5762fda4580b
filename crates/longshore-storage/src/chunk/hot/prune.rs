//! What no view needs of a slot although an old one is still active: states that came and went between the moments that
//! anybody sees.
//!
//! Source: Böttcher, Leis, Neumann, Kemper: *Scalable Garbage Collection for In-Memory MVCC Systems*, PVLDB 13(2), 2019:
//! a version is needed only while some view lies between the changes before and behind it.
//!
//! What goes leaves the state at every such moment, and the newest one, as they are; it does not leave those in between,
//! which whoever validates looks at. They do not matter to him: a transaction is serialized at its commit, so it must have
//! read what is there then, not what came and went meanwhile. Of a row that he can see, or that is there now, the first
//! change behind his start stays.
//!
//! Not here: whose versions are looked at, and when (`manager/prune.rs`).

use super::HotChunk;
use crate::version::Change;
use crate::visibility::{StampId, Stamps, Time};

/// Whether some view sees a state that was there from one time until before another one.
pub(crate) trait Needs {
    fn needs(&self, from: Time, until: Time) -> bool;
}

impl HotChunk {
    /// Gives up the value that an update of a commit has overwritten if no view needs it; says whether it is still there.
    pub(crate) fn prune_update(
        &mut self,
        row: usize,
        (version, stamp): (u32, StampId),
        stamps: &Stamps,
        views: &impl Needs,
    ) -> bool {
        let Some(versions) = self.versions.as_ref().filter(|versions| !self.gone && versions.is_of(version, stamp))
        else {
            return false;
        };
        let mut chain = versions.chain_from(version);
        let Some(Change::Update(column, image)) = chain.next().map(|newest| newest.change) else { return true };
        let mut chain = chain.filter(|older| match older.change {
            Change::Insert => true,
            Change::Update(other, _) => other == column,
            Change::Delete | Change::Free => false,
        });
        let since = chain.next().map_or_else(|| self.born_at(row, stamps), |older| Time(stamps.get(older.stamp)));
        drop(chain);
        if views.needs(since, Time(stamps.get(stamp))) {
            return true;
        }
        if let Some(versions) = &mut self.versions {
            versions.remove(version);
        }
        if self.columns[usize::from(column)].is_view() {
            self.heap.forget(image.bits().unwrap_or(0));
        }
        self.free_if_done(row);
        false
    }

    /// Whether a version of a commit is still there.
    pub(crate) fn has_version(&self, version: u32, stamp: StampId) -> bool {
        !self.gone && self.versions.as_ref().is_some_and(|versions| versions.is_of(version, stamp))
    }

    /// Whether some view needs a row that a commit has deleted.
    pub(crate) fn needs_deleted(&self, row: usize, stamp: StampId, stamps: &Stamps, views: &impl Needs) -> bool {
        let mut chain = self.versions.iter().flat_map(|versions| versions.chain(row));
        let inserted = chain.find(|version| version.change == Change::Insert);
        let since = inserted.map_or_else(|| self.born_at(row, stamps), |version| Time(stamps.get(version.stamp)));
        views.needs(since, Time(stamps.get(stamp)))
    }

    /// Gives up a deleted row that no view needs, and that has left the indexes.
    pub(crate) fn prune_deleted(&mut self, row: usize) {
        let Some(versions) = &mut self.versions else { return };
        while versions.newest(row).is_some() {
            if let Change::Update(column, image) = versions.remove(versions.head(row))
                && self.columns[usize::from(column)].is_view()
            {
                self.heap.forget(image.bits().unwrap_or(0));
            }
        }
        self.free_if_done(row);
    }

    /// Whether some view needs the rows of a slot that went with a commit, or somebody has changed them who has not ended.
    pub(crate) fn needs_dead(&self, stamp: StampId, stamps: &Stamps, views: &impl Needs) -> bool {
        // At the time itself there was none.
        let since = Time(self.since.0 + u64::from(self.since.0 > 0));
        views.needs(since, Time(stamps.get(stamp))) || self.uncommitted(None, stamps).is_some()
    }

    /// Merges insert ranges that no view tells apart; says whether one with a stamp is left.
    pub(crate) fn prune_births(&mut self, stamp: StampId, stamps: &Stamps, views: &impl Needs) -> bool {
        let time = |range: &super::InsertRange| stamps.get(range.stamp);
        self.inserts.dedup_by(|next, before| {
            let (one, other) = (time(before), time(next));
            let is_one = before.to == next.from
                && Stamps::is_committed(one.max(other))
                && !views.needs(Time(one.min(other)), Time(one.max(other)));
            if is_one {
                before.to = next.to;
                // Who validates finds the rows of the other commit as well.
                if other < one {
                    before.stamp = next.stamp;
                }
            }
            is_one
        });
        self.inserts.iter().any(|range| range.stamp == stamp)
    }

    /// Whether any of some rows that came with a commit of a time may still be there: of a slot that took the place of
    /// theirs none is.
    pub(crate) fn has_any_of(&self, mut rows: std::ops::Range<usize>, time: Time) -> bool {
        let has_versions = |row| self.versions.as_ref().is_some_and(|versions| versions.newest(row).is_some());
        !self.gone && self.since < time && rows.any(|row| !self.dead.contains(row) || has_versions(row))
    }

    /// When a row was inserted, as far as its insert range says.
    fn born_at(&self, row: usize, stamps: &Stamps) -> Time {
        self.insert_range_of(row).map_or(Time(0), |range| Time(stamps.get(range.stamp)))
    }
}
