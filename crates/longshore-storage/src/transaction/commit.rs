//! Decides what a commit is: one store that turns a transaction's stamp from its id into a time.
//!
//! Source: the thesis, 2.2.3. Who begins before the clock moves does not see it; who begins after sees all of it.

use std::sync::Arc;

use super::foreign_key_reads::ForeignKeyReads;
use super::validate::Validation;
use super::{CommitError, Transaction};
use crate::error::TransactionError;
use crate::index::IsCancelled;
use crate::manager::{Commit, Committed, Left, StateGuard, Transactions, Write};
use crate::predicate::PredicateLog;
use crate::table::Table;
use crate::visibility::{ConflictKind, Time};

impl Transaction {
    /// Makes what it did visible to all that begin later, and says since when, and where the log has it. It waits for no
    /// disk: [`Transactions::wait_until_safe`] does. One that has changed nothing cannot fail: what it read was so at its
    /// start.
    ///
    /// # Errors
    ///
    /// When it is serializable and another transaction has changed what it read, or a foreign key does not hold, or would
    /// not beside what others have committed, or the log does not take it; then it has been rolled back.
    pub fn commit(self) -> Result<Commit, CommitError> {
        self.commit_unless(&|| false)
    }

    /// As [`Transaction::commit`], unless `is_cancelled`, which is asked now and then until it is decided that it commits.
    ///
    /// # Errors
    ///
    /// As [`Transaction::commit`], and [`TransactionError::Cancelled`]; then it has been rolled back.
    pub fn commit_unless(mut self, is_cancelled: IsCancelled<'_>) -> Result<Commit, CommitError> {
        self.run_foreign_key_actions_unless(is_cancelled).map_err(|error| CommitError::Failed(Box::new(error)))?;
        self.check_deferred(None, is_cancelled).map_err(|error| CommitError::Failed(Box::new(error)))?;
        let Some(stamp) = self.stamp.filter(|_| self.has_written()) else {
            let start = self.view.start;
            self.end(Left::Committed);
            return Ok(Commit { time: start, lsn: None });
        };
        // When it fails, the transaction is dropped, and so rolled back.
        let manager = Arc::clone(&self.manager);
        let failed = |error: TransactionError| CommitError::Failed(Box::new(error));
        let mut record = manager.log().record(&self.set).map_err(failed)?;
        let (log, foreign_key_reads) = (self.log.as_deref(), self.foreign_key_reads.as_deref_mut());
        let mut state = validated(&manager, log, foreign_key_reads, self.view.start, is_cancelled)?;
        self.check_rules().map_err(failed)?;
        let lsn = record.append(&self.set).map_err(failed)?;
        self.ended = true;
        let mut set = std::mem::take(&mut self.set);
        state.keep_log(self.log.take());
        let time = Time(manager.now().0 + 1);
        // Their memory is freed when nobody waits for the state any longer.
        let _stale: Vec<_> = set.tables.iter().filter_map(|table| table.set_changed(time)).collect();
        set.table_swaps().iter().for_each(|table_swap| table_swap.take_place(time));
        manager.advance(stamp, time);
        state.count(Left::Committed);
        // Its slot is free from here on; until it is, what it has read stays.
        let woken = manager.unregister(&mut state, self.active_slot);
        if state.is_idle() {
            // Nobody needs what was before: the common end of transactions that follow each other.
            manager.reclaim(state, stamp, set);
        } else {
            let freed = std::mem::take(&mut set.freed);
            state.remember(Committed::new(time, stamp, set));
            manager.clean_up(state, freed);
        }
        self.unlock(0);
        drop(woken);
        Ok(Commit { time, lsn })
    }
}

impl Transaction {
    /// Refuses changes of relations whose foreign keys came after its start, so that it knew nothing of them, unless it has
    /// added them itself. Nobody adds any while the state is locked.
    pub(super) fn check_rules(&self) -> Result<(), TransactionError> {
        let is_late = |table: &Arc<Table>| table.references_since() > self.references_known(table);
        if !self.set.tables.iter().any(is_late) {
            return Ok(());
        }
        // Of changes that were taken back the table is still known.
        let of = |write: &Write| &self.set.tables[write.table as usize];
        match self.set.writes.iter().find(|write| is_late(of(write))) {
            Some(write) => Err(of(write).conflict(write.row, ConflictKind::NewReference)),
            None => Ok(()),
        }
    }
}

/// Validates the reads of a transaction, and what foreign keys made of them, against all who have committed since it
/// began: most of them before the state is locked, so that commits do not wait for each other's validation, and those that
/// came meanwhile afterwards.
pub(super) fn validated<'a>(
    manager: &'a Transactions,
    log: Option<&PredicateLog>,
    mut foreign_key_reads: Option<&mut ForeignKeyReads>,
    start: Time,
    is_cancelled: IsCancelled<'_>,
) -> Result<StateGuard<'a>, CommitError> {
    let log = log.filter(|log| !log.is_empty());
    if log.is_none() && foreign_key_reads.is_none() {
        return Ok(manager.lock());
    }
    let mut validation = log.map(|log| Validation::new(log, manager, is_cancelled));
    let mut check = |committed: &Committed| {
        if let Some(validation) = &mut validation {
            validation.check(committed)?;
        }
        match &mut foreign_key_reads {
            Some(foreign_key_reads) => {
                let checked = foreign_key_reads.check(committed, manager.stamps(), is_cancelled);
                checked.map_err(|error| CommitError::Failed(Box::new(error)))
            }
            None => Ok(()),
        }
    };
    let mut until = start;
    if manager.now() != start {
        for committed in manager.recent_after(start) {
            check(&committed)?;
            until = committed.time();
        }
    }
    let state = manager.lock();
    if manager.now() != until {
        for committed in state.recent_after(until) {
            check(&committed)?;
        }
    }
    Ok(state)
}
