//! Statements of a transaction at READ COMMITTED: each works on what has been committed when it begins.
//!
//! A statement that meets what another transaction is changing, or has changed since the statement began, is undone,
//! waits for the other's end, and runs again on a new snapshot. So the transaction goes on where one of a stricter level
//! gives up.
//!
//! Not here: who waits for whom (`manager/waits.rs`), savepoints (`savepoint.rs`).

use std::sync::{Arc, PoisonError};

use super::commit::validated;
use super::{Savepoint, Transaction};
use crate::error::TransactionError;
use crate::manager::{Deadlock, Moment};
use crate::sync::{Condvar, Mutex, thread};
use crate::visibility::{ConflictKind, Owner};

/// What a statement has met that keeps it from going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contention {
    /// What this transaction is changing.
    Changing(Owner),
    /// What this transaction, or session, has locked.
    Locked(Owner),
    /// What others have changed; to run again on a new snapshot may help at once.
    Changed,
}

impl TransactionError {
    /// What is in the way of who failed so; `None` if it is no other transaction.
    #[must_use]
    pub fn contention(&self) -> Option<Contention> {
        match self {
            TransactionError::Conflict { kind: ConflictKind::Uncommitted(Some(blocker)), .. } => {
                Some(Contention::Changing(*blocker))
            }
            TransactionError::Conflict { kind: ConflictKind::Locked(blocker), .. } => {
                Some(Contention::Locked(*blocker))
            }
            TransactionError::Altered { by: Some(blocker), .. } => Some(Contention::Locked(*blocker)),
            TransactionError::Conflict { .. } => Some(Contention::Changed),
            _ => None,
        }
    }
}

impl Transaction {
    /// Begins a statement at READ COMMITTED: from now on it sees what has been committed by now. Says where the statement
    /// can be undone to.
    ///
    /// # Errors
    ///
    /// When what it has done does not go with what others have committed (foreign keys): it can only be rolled back.
    pub fn begin_statement(&mut self) -> Result<Savepoint, TransactionError> {
        self.renew_view()?;
        // The first changes are undone as a whole, for which nothing needs to be kept.
        self.keeps_all |= self.has_written();
        Ok(self.place())
    }

    /// Where a statement can be undone to that begins now at the level that it has, if that can be without a savepoint; one
    /// that `only_reads` undoes locks alone.
    pub fn statement_place(&mut self, only_reads: bool) -> Option<Savepoint> {
        // Who locks rows is likely to meet locks.
        self.keeps_all |= !self.locks.is_empty() && self.has_written();
        (only_reads || self.keeps_all || !self.has_written()).then(|| self.place())
    }

    /// Moves its snapshot on.
    pub(super) fn renew_view(&mut self) -> Result<(), TransactionError> {
        if self.manager.now() == self.view.start {
            return Ok(());
        }
        let manager = Arc::clone(&self.manager);
        let mut state = validated(&manager, None, self.foreign_key_reads.as_deref_mut(), self.view.start, &|| false)?;
        self.check_rules()?;
        // What it has added itself was before.
        self.known_references.clear();
        self.view.start = manager.now();
        state.restart(self.active_slot, self.view.start);
        Ok(())
    }

    /// Runs a statement at READ COMMITTED, again whenever another transaction was in the way; meanwhile the thread sleeps.
    ///
    /// # Errors
    ///
    /// What the statement fails with otherwise, then it is undone; [`TransactionError::Deadlock`] when transactions would
    /// wait for each other.
    pub fn statement<R>(
        &mut self,
        mut run: impl FnMut(&mut Transaction) -> Result<R, TransactionError>,
    ) -> Result<R, TransactionError> {
        loop {
            let before = self.begin_statement()?;
            let since = self.manager.moment();
            let error = match run(self) {
                Err(error) => error,
                done => return done,
            };
            self.rollback_to(before);
            match error.contention() {
                None => return Err(error),
                // Who is about to commit is let on.
                Some(Contention::Changed) => thread::yield_now(),
                Some(Contention::Changing(blocker) | Contention::Locked(blocker)) => self.sleep(blocker, since)?,
            }
        }
    }

    /// Sleeps until there is something to look at again.
    fn sleep(&self, blocker: Owner, since: Moment) -> Result<(), TransactionError> {
        let over = Arc::new((Mutex::new(false), Condvar::new()));
        let wake = {
            let over = Arc::clone(&over);
            move || {
                *over.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
                over.1.notify_one();
            }
        };
        let wait = self.manager.wait_for(&[self.owner()], blocker, since, wake);
        let Some(_wait) = wait.map_err(|Deadlock| TransactionError::Deadlock)? else {
            thread::yield_now();
            return Ok(());
        };
        crate::sync::assert_nothing_held();
        let mut is_over = over.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !*is_over {
            is_over = over.1.wait(is_over).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }
}
