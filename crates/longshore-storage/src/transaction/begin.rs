//! The begin of transactions.
//!
//! Not here: their order, and what they are given (`manager`).

use std::sync::Arc;

use super::{Isolation, Transaction};
use crate::error::TransactionError;
use crate::manager::{Transactions, WriteSet};
use crate::sync::thread;

impl Transactions {
    /// Begins a transaction, which sees what has been committed so far.
    #[must_use]
    pub fn begin(self: &Arc<Transactions>, isolation: Isolation) -> Transaction {
        let mut state = self.lock();
        let (active_slot, view) = self.register(&mut state, true);
        let stamp = state.take_stamp();
        self.stamps().set(stamp, view.id);
        let writes = state.take_set();
        let mut log = (isolation == Isolation::Serializable).then(|| state.take_log());
        drop(state);
        if let Some(log) = &mut log {
            log.clear();
        }
        Transaction::new(Arc::clone(self), active_slot, view, Some(stamp), isolation, writes, log)
    }

    /// Begins a transaction that changes nothing. It never conflicts with any other.
    #[must_use]
    pub fn begin_read_only(self: &Arc<Transactions>, isolation: Isolation) -> Transaction {
        let mut state = self.lock();
        let (active_slot, view) = self.register(&mut state, false);
        drop(state);
        Transaction::new(Arc::clone(self), active_slot, view, None, isolation, WriteSet::default(), None)
    }

    /// Runs a transaction until it commits, and waits until it is safe: again whenever another one was in the way.
    ///
    /// # Errors
    ///
    /// When it fails for another reason; then it has been rolled back, unless it is [`TransactionError::NotSafe`].
    pub fn retry<T>(
        self: &Arc<Transactions>,
        isolation: Isolation,
        mut run: impl FnMut(&mut Transaction) -> Result<T, TransactionError>,
    ) -> Result<T, TransactionError> {
        loop {
            let mut transaction = self.begin(isolation);
            let done = run(&mut transaction).and_then(|value| {
                let commit = transaction.commit()?;
                self.wait_until_safe(commit)?;
                Ok(value)
            });
            match done {
                Err(error) if error.is_conflict() => thread::yield_now(),
                done => return done,
            }
        }
    }
}
