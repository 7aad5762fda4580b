//! Sequences that a transaction has let begin anew: if it is undone, they go on where they were.
//!
//! Sequences are no part of transactions, and others may take their numbers at once. But a table that is not emptied after
//! all still holds the numbers that were taken before.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use longshore_storage::{Commit, CommitError, Transaction};

use super::StatementTransaction;
use crate::Error;
use crate::catalog::{Operations, Sequence};

/// Sequences that began anew, in the order in which they did.
#[derive(Default)]
pub(super) struct Restarts {
    list: Mutex<Vec<Restart>>,
    /// Whether there may be any: of most transactions this is all that is looked at.
    is_used: AtomicBool,
}

struct Restart {
    sequence: Arc<Sequence>,
    /// The last number before, and whether it was taken.
    before: (i64, bool),
}

impl Restarts {
    fn with<R>(&self, act: impl FnOnce(&mut Vec<Restart>) -> R) -> R {
        act(&mut self.list.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same, which are none here any more.
    pub(super) fn take(&self) -> Self {
        let is_used = self.is_used.load(Ordering::Relaxed);
        Self { list: Mutex::new(if is_used { self.with(std::mem::take) } else { Vec::new() }), is_used: is_used.into() }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        if self.is_used.load(Ordering::Relaxed) { self.with(|restarts| restarts.len()) } else { 0 }
    }

    /// Commits the transaction that has let them begin anew, which logs where they go on: nobody takes numbers of them
    /// meanwhile. If it does not commit, they are still to be undone.
    pub(super) fn commit(
        &self,
        mut transaction: Transaction,
        commit: impl FnOnce(Transaction) -> Result<Commit, CommitError>,
    ) -> Result<Commit, Error> {
        if !self.is_used.load(Ordering::Relaxed) {
            return Ok(commit(transaction)?);
        }
        let mut counts: BTreeMap<(String, *const Sequence), (Arc<Sequence>, u32)> = BTreeMap::new();
        self.with(|restarts| {
            for Restart { sequence, .. } in restarts.iter() {
                // In the order of their names, so that those who commit do not wait for each other in a circle.
                let key = (sequence.name.clone(), Arc::as_ptr(sequence));
                counts.entry(key).or_insert_with(|| (Arc::clone(sequence), 0)).1 += 1;
            }
        });
        let ending: Vec<_> = counts.values().map(|(sequence, times)| (sequence.ending_restart(), *times)).collect();
        let mut operations = Operations::new();
        for (restart, _) in &ending {
            restart.describe(&mut operations);
        }
        if let Some(payload) = operations.into_payload() {
            transaction.log_payload(&payload)?;
        }
        let committed = commit(transaction)?;
        for (restart, times) in ending {
            restart.keep(times);
        }
        self.with(Vec::clear);
        Ok(committed)
    }

    /// Undoes all but the first ones.
    pub(super) fn undo(&self, first: usize) {
        if !self.is_used.load(Ordering::Relaxed) {
            return;
        }
        let undone = self.with(|restarts| restarts.split_off(first.min(restarts.len())));
        undone.into_iter().rev().for_each(|Restart { sequence, before }| sequence.undo_restart(before));
    }
}

impl Drop for Restarts {
    fn drop(&mut self) {
        self.undo(0);
    }
}

impl StatementTransaction {
    /// Lets a sequence begin anew.
    ///
    /// # Errors
    /// When others are altering it.
    pub(crate) fn restart(&self, sequence: &Arc<Sequence>) -> Result<(), Error> {
        let restart = Restart { sequence: Arc::clone(sequence), before: sequence.restart()? };
        self.restarts.is_used.store(true, Ordering::Relaxed);
        self.restarts.with(|restarts| restarts.push(restart));
        Ok(())
    }

    /// How often it has let a sequence begin anew.
    pub(crate) fn restarts_of(&self, sequence: &Arc<Sequence>) -> u32 {
        self.restarts.with(|restarts| restarts.iter().filter(|of| Arc::ptr_eq(&of.sequence, sequence)).map(|_| 1).sum())
    }
}
