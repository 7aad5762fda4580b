//! What others may know of transactions: who is active, what is locked, who waits for whom, and how many there were.
//!
//! It is a picture of one moment for each list; between two of them others may have gone on.

use super::{AdvisoryLock, NOBODY, RowLock, TableLock, Transactions};
use crate::row_id::RowId;
use crate::visibility::{Owner, TRANSACTION_ID_MIN};

/// A lock, and who holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldLock {
    /// A transaction; of an advisory lock, a session.
    pub holder: Owner,
    /// What is locked.
    pub locked: Locked,
}

/// What is locked, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locked {
    /// A row of the relation with this number (`Relation::lock_number`).
    Row(u64, RowId, RowLock),
    /// The relation with this number.
    Table(u64, TableLock),
    /// A number to which applications give a meaning.
    Advisory(AdvisoryLock),
}

/// A wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Who waits: a transaction, its session, or both.
    pub who: Vec<Owner>,
    /// Whom for.
    pub blocker: Owner,
}

/// How many there were since the database was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Transactions that have committed.
    pub committed: u64,
    /// Transactions that were rolled back, also since they could not commit.
    pub rolled_back: u64,
    /// Waits for other transactions and sessions.
    pub waits: u64,
    /// Waits that were refused, since all would have waited for each other.
    pub deadlocks: u64,
}

impl Owner {
    /// The number of the transaction; `None` if it is a session.
    #[must_use]
    pub fn transaction(self) -> Option<u64> {
        (self.0 >= TRANSACTION_ID_MIN).then_some(self.0 - TRANSACTION_ID_MIN)
    }

    /// As a number.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        self.0
    }
}

impl Transactions {
    /// All locks that are held of rows, tables and numbers.
    #[must_use]
    pub fn locks(&self) -> Vec<HeldLock> {
        let rows = self.row_locks.all().into_iter();
        let rows = rows.map(|(table, row, holder, lock)| HeldLock { holder, locked: Locked::Row(table, row, lock) });
        let tables = self.table_locks.all().into_iter();
        let tables = tables.map(|(table, holder, lock)| HeldLock { holder, locked: Locked::Table(table, lock) });
        let advisory = self.advisory_locks.all().into_iter();
        let advisory = advisory.map(|(holder, lock)| HeldLock { holder, locked: Locked::Advisory(lock) });
        rows.chain(tables).chain(advisory).collect()
    }

    /// Who waits for whom.
    #[must_use]
    pub fn waiting(&self) -> Vec<Waiting> {
        self.waits.all()
    }

    /// The transactions that are active, and whether each may write.
    #[must_use]
    pub fn active(&self) -> Vec<(Owner, bool)> {
        let state = self.lock();
        let active = state.active_slots.iter().filter(|slot| slot.start != NOBODY);
        active.map(|slot| (Owner(slot.id), slot.writes)).collect()
    }

    /// How many there were.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let state = self.lock();
        let (committed, rolled_back) = (state.committed, state.rolled_back);
        drop(state);
        let (waits, deadlocks) = self.waits.counts();
        Counts { committed, rolled_back, waits, deadlocks }
    }
}
