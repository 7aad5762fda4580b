//! Savepoints: what a transaction did since one can be undone without undoing the rest.

use super::Transaction;
use super::deferral::Deferred;

/// A place in a transaction that it can go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Savepoint {
    writes: usize,
    item_bytes: usize,
    swaps: usize,
    locks: usize,
    /// What it had said of foreign keys that are checked later, and put off.
    deferred: Deferred,
}

impl Transaction {
    /// How many changes it has made.
    #[must_use]
    pub fn writes(&self) -> usize {
        self.set.writes.len()
    }

    /// A place to go back to.
    pub fn savepoint(&mut self) -> Savepoint {
        self.keeps_all = true;
        self.place()
    }

    /// Where it is.
    pub(super) fn place(&self) -> Savepoint {
        let locks = self.locks.len();
        Savepoint {
            writes: self.set.writes.len(),
            item_bytes: self.set.item_bytes(),
            swaps: self.set.table_swaps().len(),
            locks,
            deferred: self.deferral.at(),
        }
    }

    /// Undoes what was done since a savepoint of this transaction, which can be gone back to again. Later savepoints are
    /// forgotten. What was read since stays read, and that keys which rows had were free is part of that.
    pub fn rollback_to(&mut self, savepoint: Savepoint) {
        self.deferral.go_back(savepoint.deferred);
        if let Some(stamp) = self.stamp {
            self.log_failed_keys(savepoint.writes);
            let undoes = self.set.writes.len() > savepoint.writes || self.has_locks_behind(savepoint.locks);
            self.went_back += 1;
            self.set.undo(savepoint.writes, stamp);
            self.set.forget_items(savepoint.item_bytes, savepoint.swaps);
            self.foreign_keys_checked = self.foreign_keys_checked.min(savepoint.writes);
            if let Some(foreign_key_reads) = &mut self.foreign_key_reads {
                foreign_key_reads.checked.retain(|checked| checked.end() <= savepoint.writes);
            }
            self.unlock(savepoint.locks);
            if undoes {
                self.manager.undid(self.active_slot, self.owner());
            }
        }
    }
}
