//! Locks rows without changing them, to the end of the transaction or of the savepoint that is gone back to.
//!
//! Not here: the table of locks (`manager/row_locks.rs`).

use std::sync::Arc;

use super::Transaction;
use crate::error::TransactionError;
use crate::manager::RowLock;
use crate::relation::Relation;
use crate::row_id::RowId;
use crate::table::Table;
use crate::visibility::{ConflictKind, Owner};

/// A lock that a transaction holds.
pub(super) struct HeldLock {
    table: Arc<Table>,
    row: RowId,
    /// How it held the row before.
    before: Option<RowLock>,
}

impl Transaction {
    /// Locks a row.
    ///
    /// # Errors
    ///
    /// When another transaction has locked or changed the row in a way that does not go with this, when it does not see
    /// it, or when it only reads.
    pub fn lock_row(&mut self, relation: &Relation, row: RowId, lock: RowLock) -> Result<(), TransactionError> {
        self.assert_mine(relation);
        self.lock_row_of(relation.table(), row, lock)
    }

    pub(super) fn lock_row_of(
        &mut self,
        table: &Arc<Table>,
        row: RowId,
        lock: RowLock,
    ) -> Result<(), TransactionError> {
        if self.stamp.is_none() {
            return Err(TransactionError::ReadOnly);
        }
        let slot = table.slot(row)?.read();
        let writer = self.writer(table)?;
        slot.check_lock(row.row(), &writer, lock == RowLock::KeyShare).map_err(|error| table.failed(row, error))?;
        let taken = self.manager.row_locks.take(table, row, self.owner(), lock);
        let before = taken.map_err(|blocker| table.conflict(row, ConflictKind::Locked(blocker)))?;
        self.locks.push(HeldLock { table: Arc::clone(table), row, before });
        Ok(())
    }

    /// Whether it holds more than so many locks.
    pub(super) fn has_locks_behind(&self, first: usize) -> bool {
        self.locks.len() > first
    }

    /// Gives up all locks but the first ones.
    pub(super) fn unlock_rows(&mut self, kept: usize) {
        let owner = self.owner();
        for HeldLock { table, row, before } in self.locks.drain(kept.min(self.locks.len())..).rev() {
            self.manager.row_locks.give_back(&table, row, owner, before);
        }
    }

    #[cfg(test)]
    pub(crate) fn active_slot(&self) -> crate::manager::ActiveSlot {
        self.active_slot
    }

    /// By what others know it that wait for it.
    #[must_use]
    pub fn owner(&self) -> Owner {
        Owner(self.view.id)
    }
}
