//! Locks of rows, which transactions hold without changing the row: those of `SELECT ... FOR UPDATE`, and of foreign keys.
//!
//! Who changes a row looks here only if some row of its relation is locked. Who locks a row holds its slot for reading
//! meanwhile, and who changes it holds that for writing, so that none of them misses the other.
//!
//! Not here: changes as locks, which the versions of rows tell (`visibility`); who waits (`waits.rs`).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::PoisonError;

use crate::row_id::RowId;
use crate::sync::atomic::Ordering;
use crate::sync::{Mutex, MutexGuard, Rank, Ranked};
use crate::table::Table;
use crate::visibility::Owner;

const SHARDS: usize = if cfg!(feature = "interleave") { 2 } else { 64 };

/// How a row is locked, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowLock {
    /// It stays, with its keys.
    KeyShare,
    /// It stays as it is.
    Share,
    /// Its holder may change all but its keys.
    NoKeyUpdate,
    /// Its holder may change or delete it.
    Update,
}

impl RowLock {
    /// Whether two transactions cannot hold these of one row.
    #[must_use]
    pub fn conflicts(self, other: RowLock) -> bool {
        match self.min(other) {
            RowLock::KeyShare => self.max(other) == RowLock::Update,
            RowLock::Share => self.max(other) >= RowLock::NoKeyUpdate,
            RowLock::NoKeyUpdate | RowLock::Update => true,
        }
    }
}

/// A row, by its table.
type Place = (u64, RowId);

/// Who holds a row, and how.
type Holders = Vec<(Owner, RowLock)>;

/// All row locks of a database.
pub(crate) struct RowLocks {
    shards: [Mutex<HashMap<Place, Holders>>; SHARDS],
}

impl RowLocks {
    pub(super) fn new() -> RowLocks {
        RowLocks { shards: std::array::from_fn(|_| Mutex::default()) }
    }

    #[track_caller]
    fn shard(&self, (table, row): Place) -> Ranked<MutexGuard<'_, HashMap<Place, Holders>>> {
        let mixed = (table ^ row.0).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let shard = &self.shards[mixed as usize % SHARDS];
        Ranked::take(Rank::RowLocks, shard, |shard| shard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Locks a row; says how its holder held it before.
    ///
    /// # Errors
    ///
    /// Who is in the way.
    pub(crate) fn take(
        &self,
        table: &Table,
        row: RowId,
        owner: Owner,
        lock: RowLock,
    ) -> Result<Option<RowLock>, Owner> {
        // Before the row is looked at again by somebody who wants to change it.
        table.locks.fetch_add(1, Ordering::Relaxed);
        let place = (table.id(), row);
        let mut shard = self.shard(place);
        let holders = shard.entry(place).or_default();
        if let Some((blocker, _)) = holders.iter().find(|(other, held)| *other != owner && held.conflicts(lock)) {
            let blocker = *blocker;
            drop(shard);
            table.locks.fetch_sub(1, Ordering::Relaxed);
            return Err(blocker);
        }
        let own = holders.iter_mut().find(|(other, _)| *other == owner);
        Ok(if let Some((_, held)) = own {
            Some(std::mem::replace(held, lock.max(*held)))
        } else {
            holders.push((owner, lock));
            None
        })
    }

    /// Takes a lock back: its holder holds the row as before.
    pub(crate) fn give_back(&self, table: &Table, row: RowId, owner: Owner, before: Option<RowLock>) {
        let place = (table.id(), row);
        let mut shard = self.shard(place);
        if let Entry::Occupied(mut entry) = shard.entry(place) {
            let holders = entry.get_mut();
            match before {
                Some(before) => holders.iter_mut().filter(|(other, _)| *other == owner).for_each(|own| own.1 = before),
                None => holders.retain(|(other, _)| *other != owner),
            }
            if holders.is_empty() {
                entry.remove();
            }
        }
        drop(shard);
        table.locks.fetch_sub(1, Ordering::Relaxed);
    }

    /// Who else holds a row most strongly.
    #[cold]
    pub(crate) fn strongest(&self, table: &Table, row: RowId, owner: Owner) -> Option<(Owner, RowLock)> {
        let place = (table.id(), row);
        let shard = self.shard(place);
        let others = shard.get(&place)?.iter().filter(|(other, _)| *other != owner);
        others.max_by_key(|(_, held)| *held).copied()
    }

    /// All of them: the table by its number, the row, who holds it, and how.
    pub(super) fn all(&self) -> Vec<(u64, RowId, Owner, RowLock)> {
        let mut all = Vec::new();
        for shard in &self.shards {
            let shard =
                Ranked::take(Rank::RowLocks, shard, |shard| shard.lock().unwrap_or_else(PoisonError::into_inner));
            for ((table, row), holders) in shard.iter() {
                all.extend(holders.iter().map(|(owner, lock)| (*table, *row, *owner, *lock)));
            }
        }
        all
    }

    /// Somebody else who holds any row of a table, and the row.
    pub(crate) fn any(&self, table: &Table, owner: Owner) -> Option<(RowId, Owner)> {
        (0..SHARDS).find_map(|at| {
            let shard = Ranked::take(Rank::RowLocks, &self.shards[at], |shard| {
                shard.lock().unwrap_or_else(PoisonError::into_inner)
            });
            let held = shard.iter().filter(|((id, _), _)| *id == table.id());
            let mut others = held.flat_map(|((_, row), holders)| holders.iter().map(|(other, _)| (*row, *other)));
            others.find(|(_, other)| *other != owner)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_conflict_as_in_postgresql() {
        use RowLock::{KeyShare, NoKeyUpdate, Share, Update};
        let all = [KeyShare, Share, NoKeyUpdate, Update];
        let conflicts = |lock: RowLock| all.map(|other| lock.conflicts(other));
        assert_eq!(conflicts(KeyShare), [false, false, false, true]);
        assert_eq!(conflicts(Share), [false, false, true, true]);
        assert_eq!(conflicts(NoKeyUpdate), [false, true, true, true]);
        assert_eq!(conflicts(Update), [true; 4]);
    }
}
