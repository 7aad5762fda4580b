//! What a catalog has to do with the log of its database: it says there what changes, and knows up to where it has said so.
//!
//! Not here: what is said (`operations`, `image`), how a change is made (`change`).

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use longshore_storage::{Commit, Isolation, Transaction, Transactions};

use super::operations::Operations;
use crate::Error;

/// The log, as a catalog sees it.
pub(crate) struct CatalogLog {
    transactions: Arc<Transactions>,
    /// The number of the next sequence.
    next_sequence: AtomicU64,
    /// The last commit of a change.
    last: Mutex<Option<Commit>>,
}

impl CatalogLog {
    /// The log of a database whose sequences have numbers below `next_sequence`.
    pub(crate) fn new(transactions: &Arc<Transactions>, next_sequence: u64) -> Arc<Self> {
        Arc::new(Self {
            transactions: Arc::clone(transactions),
            next_sequence: AtomicU64::new(next_sequence),
            last: Mutex::new(None),
        })
    }

    /// A number for a sequence, which is nobody else's, now or later.
    pub(crate) fn new_sequence(&self) -> u64 {
        self.next_sequence.fetch_add(1, Ordering::Relaxed)
    }

    /// The transaction of a change.
    pub(crate) fn begin(&self) -> Transaction {
        self.transactions.begin(Isolation::Snapshot)
    }

    /// Logs operations in a transaction of their own.
    pub(crate) fn append(&self, operations: Operations) -> Result<(), Error> {
        let Some(payload) = operations.into_payload() else { return Ok(()) };
        let mut transaction = self.begin();
        transaction.log_payload(&payload)?;
        self.note(transaction.commit()?);
        Ok(())
    }

    /// Notes that a change was committed.
    pub(crate) fn note(&self, commit: Commit) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|last| last.lsn < commit.lsn) {
            *last = Some(commit);
        }
    }

    /// Waits until all changes so far are safe.
    pub(crate) fn wait(&self) -> Result<(), Error> {
        match self.last() {
            Some(commit) => Ok(self.transactions.wait_until_safe(commit)?),
            None => Ok(()),
        }
    }

    /// The last commit of a change: who waits for it has waited for all before it.
    pub(crate) fn last(&self) -> Option<Commit> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for CatalogLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CatalogLog").field("last", &self.last()).finish_non_exhaustive()
    }
}
