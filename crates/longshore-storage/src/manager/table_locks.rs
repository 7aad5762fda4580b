//! Locks of whole tables, as LOCK TABLE takes them.
//!
//! Who writes to a table looks here only if it or a row of it is locked, and does so behind what it has written: who locks
//! enters the lock before it looks for what others have written. So one of the two sees the other.
//!
//! Not here: locks of rows (`row_locks.rs`), who has written (`chunk`).

use std::collections::HashMap;
use std::sync::PoisonError;

use crate::sync::atomic::Ordering;
use crate::sync::{Mutex, MutexGuard, Rank, Ranked};
use crate::table::Table;
use crate::visibility::Owner;

/// How a table is locked, the weakest first: PostgreSQL's modes. Reading takes no lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TableLock {
    /// Somebody reads it.
    AccessShare,
    /// Somebody locks rows of it.
    RowShare,
    /// Somebody changes rows of it.
    RowExclusive,
    /// Nobody else takes this.
    ShareUpdateExclusive,
    /// Nobody changes it.
    Share,
    /// Nobody else changes it.
    ShareRowExclusive,
    /// Nobody else changes it or locks rows of it.
    Exclusive,
    /// Nobody else locks it in any way.
    AccessExclusive,
}

impl TableLock {
    /// Whether two transactions cannot hold these of one table.
    #[must_use]
    pub fn conflicts(self, other: TableLock) -> bool {
        let (weaker, stronger) = (self.min(other), self.max(other));
        match weaker {
            TableLock::AccessShare => stronger == TableLock::AccessExclusive,
            TableLock::RowShare => stronger >= TableLock::Exclusive,
            TableLock::RowExclusive => stronger >= TableLock::Share,
            // Those who only read may do so side by side.
            TableLock::Share => stronger != TableLock::Share,
            TableLock::ShareUpdateExclusive
            | TableLock::ShareRowExclusive
            | TableLock::Exclusive
            | TableLock::AccessExclusive => true,
        }
    }
}

/// Who holds a table, and how.
type Holders = Vec<(Owner, TableLock)>;

/// All table locks of a database, by the tables.
#[derive(Default)]
pub(crate) struct TableLocks(Mutex<HashMap<u64, Holders>>);

impl TableLocks {
    #[track_caller]
    fn lock(&self) -> Ranked<MutexGuard<'_, HashMap<u64, Holders>>> {
        Ranked::take(Rank::TableLocks, &self.0, |locks| locks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Who else holds a table in a way that does not go with a lock.
    #[cold]
    pub(crate) fn conflicting(&self, table: &Table, owner: Owner, lock: TableLock) -> Option<Owner> {
        let locks = self.lock();
        let mut others = locks.get(&table.id())?.iter().filter(|(other, _)| *other != owner);
        others.find(|(_, held)| held.conflicts(lock)).map(|(other, _)| *other)
    }

    /// Locks a table.
    ///
    /// # Errors
    ///
    /// Who is in the way.
    pub(crate) fn take(&self, table: &Table, owner: Owner, lock: TableLock) -> Result<(), Owner> {
        let mut locks = self.lock();
        let holders = locks.entry(table.id()).or_default();
        if let Some((blocker, _)) = holders.iter().find(|(other, held)| *other != owner && held.conflicts(lock)) {
            return Err(*blocker);
        }
        holders.push((owner, lock));
        table.locks.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// All of them: the table by its number, who holds it, and how.
    pub(super) fn all(&self) -> Vec<(u64, Owner, TableLock)> {
        let locks = self.lock();
        let held = |(table, holders): (&u64, &Holders)| {
            let table = *table;
            holders.iter().map(move |(owner, lock)| (table, *owner, *lock)).collect::<Vec<_>>()
        };
        locks.iter().flat_map(held).collect()
    }

    /// Takes a lock back.
    pub(crate) fn give_back(&self, table: &Table, owner: Owner, lock: TableLock) {
        let mut locks = self.lock();
        if let Some(holders) = locks.get_mut(&table.id()) {
            if let Some(at) = holders.iter().position(|held| *held == (owner, lock)) {
                holders.swap_remove(at);
                table.locks.fetch_sub(1, Ordering::SeqCst);
            }
            if holders.is_empty() {
                locks.remove(&table.id());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_conflict_as_in_postgresql() {
        use TableLock::*;
        let all = [
            AccessShare,
            RowShare,
            RowExclusive,
            ShareUpdateExclusive,
            Share,
            ShareRowExclusive,
            Exclusive,
            AccessExclusive,
        ];
        let conflicts = all.map(|lock| all.map(|other| if lock.conflicts(other) { 'x' } else { '.' }));
        let expected = [".......x", "......xx", "....xxxx", "...xxxxx", "..xx.xxx", "..xxxxxx", ".xxxxxxx", "xxxxxxxx"];
        assert_eq!(conflicts.map(|row| row.iter().collect::<String>()), expected.map(str::to_owned));
    }
}
