//! Decides what a commit is: one store that turns a transaction's stamp from its id into a time.
//!
//! Source: the thesis, 2.2.3. Who begins before the clock moves does not see it; who begins after sees all of it.

use super::time::Time;
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
        self.ended = true;
        let set = std::mem::take(&mut self.set);
        let manager = &self.manager;
        let mut state = manager.lock();
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
