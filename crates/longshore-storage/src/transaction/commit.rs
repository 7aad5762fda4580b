//! Decides what a commit is: one store that turns a transaction's stamp from its id into a time.
//!
//! Source: the thesis, 2.2.3. Who begins before the clock moves does not see it; who begins after sees all of it.

use std::sync::MutexGuard;

use super::manager::{State, Transactions};
use super::predicate::PredicateLog;
use super::time::Time;
use super::validate::Validation;
use super::write_set::Committed;
use super::{CommitError, Transaction};

impl Transaction {
    /// Makes what it did visible to all that begin later, and says since when. One that has changed nothing cannot fail:
    /// what it read was so at its start.
    ///
    /// # Errors
    ///
    /// When it is serializable and another transaction has changed what it read; then it has been rolled back.
    pub fn commit(mut self) -> Result<Time, CommitError> {
        let Some(stamp) = self.stamp.filter(|_| self.has_written()) else {
            let start = self.view.start;
            self.end();
            return Ok(start);
        };
        let manager = &self.manager;
        // When it fails, the transaction is dropped, and so rolled back.
        let mut state = validated(manager, self.log.as_deref(), self.view.start)?;
        self.ended = true;
        let set = std::mem::take(&mut self.set);
        state.keep_log(self.log.take());
        let time = Time(manager.now().0 + 1);
        for table in &set.tables {
            table.set_changed(time);
        }
        manager.advance(stamp, time);
        // Its seat is empty from here on; until it is, what it has read stays.
        let done = state.stand_up(self.seat, time);
        if state.is_idle() {
            // Nobody needs what was before: the common end of transactions that follow each other.
            drop(state);
            manager.reclaim(&done);
            set.reclaim(stamp);
            manager.recycle(stamp, set);
        } else {
            state.remember(Committed::new(time, stamp, set));
            drop(state);
            manager.reclaim(&done);
        }
        Ok(time)
    }
}

/// Validates the reads of a transaction against all who have committed since it began: most of them before the state is
/// locked, so that commits do not wait for each other's validation, and those that came meanwhile afterwards.
fn validated<'a>(
    manager: &'a Transactions,
    log: Option<&PredicateLog>,
    start: Time,
) -> Result<MutexGuard<'a, State>, CommitError> {
    let Some(log) = log.filter(|log| !log.is_empty()) else { return Ok(manager.lock()) };
    let mut validation = Validation::new(log, manager);
    let mut until = start;
    if manager.now() != start {
        for committed in manager.recent_after(start) {
            validation.check(&committed)?;
            until = committed.time();
        }
    }
    let state = manager.lock();
    if manager.now() != until {
        for committed in state.recent_after(until) {
            validation.check(&committed)?;
        }
    }
    Ok(state)
}
