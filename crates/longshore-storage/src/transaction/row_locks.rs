//! Locks rows without changing them, and tables, to the end of the transaction or of the savepoint that is gone back to.
//!
//! Not here: the tables of locks (`manager/row_locks.rs`, `manager/table_locks.rs`).

use std::sync::Arc;

use super::Transaction;
use crate::error::TransactionError;
use crate::manager::{RowLock, TableLock};
use crate::relation::Relation;
use crate::row_id::RowId;
use crate::sync::atomic::Ordering;
use crate::table::Table;
use crate::visibility::{ConflictKind, Owner};

/// A lock that a transaction holds.
pub(super) enum HeldLock {
    /// Of a row, and how it held that before.
    Row(Arc<Table>, RowId, Option<RowLock>),
    Table(Arc<Table>, TableLock),
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
        self.locks.push(HeldLock::Row(Arc::clone(table), row, before));
        match self.manager.table_locks.conflicting(table, self.owner(), TableLock::RowShare) {
            Some(blocker) => Err(table.conflict(row, ConflictKind::Locked(blocker))),
            None => Ok(()),
        }
    }

    /// Locks a table.
    ///
    /// # Errors
    ///
    /// When another transaction has locked or changed the table in a way that does not go with this.
    pub fn lock_table(&mut self, relation: &Relation, lock: TableLock) -> Result<(), TransactionError> {
        self.assert_mine(relation);
        let (table, owner) = (relation.table(), self.owner());
        let first = RowId::new(0, 0);
        let locked = |blocker| table.conflict(first, ConflictKind::Locked(blocker));
        self.manager.table_locks.take(table, owner, lock).map_err(locked)?;
        self.locks.push(HeldLock::Table(Arc::clone(table), lock));
        if lock.conflicts(TableLock::RowExclusive) {
            let stamps = self.manager.stamps();
            let writer = table.slots.iter().find_map(|(_, slot)| slot.read().writer_beside(self.view.id, stamps));
            if let Some(writer) = writer {
                return Err(locked(Owner(writer)));
            }
        }
        match self.manager.row_locks.any(table, owner) {
            Some((_, holder)) if lock.conflicts(TableLock::RowShare) => Err(locked(holder)),
            _ => Ok(()),
        }
    }

    /// Refuses what was written to a table that another transaction has locked.
    #[inline]
    pub(super) fn check_unlocked(&self, table: &Table, row: RowId) -> Result<(), TransactionError> {
        if table.locks.load(Ordering::SeqCst) == 0 {
            return Ok(());
        }
        match self.manager.table_locks.conflicting(table, self.owner(), TableLock::RowExclusive) {
            Some(blocker) => Err(table.conflict(row, ConflictKind::Locked(blocker))),
            None => Ok(()),
        }
    }

    /// Whether it holds more than so many locks.
    pub(super) fn has_locks_behind(&self, first: usize) -> bool {
        self.locks.len() > first
    }

    /// Gives up all locks but the first ones.
    pub(super) fn unlock(&mut self, kept: usize) {
        let owner = self.owner();
        for held in self.locks.drain(kept.min(self.locks.len())..).rev() {
            match held {
                HeldLock::Row(table, row, before) => self.manager.row_locks.give_back(&table, row, owner, before),
                HeldLock::Table(table, lock) => self.manager.table_locks.give_back(&table, owner, lock),
            }
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
