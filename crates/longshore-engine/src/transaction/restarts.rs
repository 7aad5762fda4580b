//! Sequences that a transaction has let begin anew: if it is undone, they go on where they were.
//!
//! Sequences are no part of transactions, and others may take their numbers at once. But a table that is not emptied after
//! all still holds the numbers that were taken before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::StatementTransaction;
use crate::catalog::Sequence;

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

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.with(|restarts| restarts.len())
    }

    /// They stay.
    pub(super) fn keep(&self) {
        if self.is_used.load(Ordering::Relaxed) {
            self.with(Vec::clear);
        }
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
    pub(crate) fn restart(&self, sequence: &Arc<Sequence>) {
        let restart = Restart { sequence: Arc::clone(sequence), before: sequence.restart() };
        self.restarts.is_used.store(true, Ordering::Relaxed);
        self.restarts.with(|restarts| restarts.push(restart));
    }
}
