//! When a commit is safe on disk, and whether its session waits for that.
//!
//! A commit is visible to others before it is safe. Whoever has seen it and commits himself is safe only after it, since the
//! log has the order of the commits. Without a log there is nothing to wait for.

use std::sync::Arc;

use longshore_storage::{Commit, Transactions};

use super::{Block, State, StatementTransaction};
use crate::Error;
use crate::catalog::CatalogLog;

/// What a session has committed and not waited for.
pub(super) struct Safety {
    transactions: Arc<Transactions>,
    log: Option<Arc<CatalogLog>>,
    /// Whether commits wait.
    pub(super) synchronous_commit: bool,
    waits_for: Option<Commit>,
}

impl Safety {
    pub(super) fn new(transactions: &Arc<Transactions>, log: Option<Arc<CatalogLog>>) -> Self {
        Self { transactions: Arc::clone(transactions), log, synchronous_commit: true, waits_for: None }
    }

    /// Notes a commit. If it has to do with what the catalog logs by itself (`with_catalog`), that has to be safe, too.
    pub(super) fn commit(&mut self, commit: Commit, with_catalog: bool, synchronous_commit: Option<bool>) {
        let Some(log) = &self.log else { return };
        let of_catalog = if with_catalog { log.last() } else { None };
        let last = of_catalog.filter(|of_catalog| of_catalog.lsn > commit.lsn).unwrap_or(commit);
        if last.lsn.is_some() && synchronous_commit.unwrap_or(self.synchronous_commit) {
            self.waits_for = Some(last);
        }
    }

    /// Waits for what was noted.
    pub(super) async fn wait(&mut self) -> Result<(), Error> {
        let Some(commit) = self.waits_for.take() else { return Ok(()) };
        let (sender, safe) = tokio::sync::oneshot::channel();
        // Who waits may have gone meanwhile.
        self.transactions.when_safe(commit, |is_safe| drop(sender.send(is_safe)));
        Ok(safe.await.map_err(|error| Error::internal(format!("the log has gone: {error}")))??)
    }
}

impl StatementTransaction {
    /// Waits until the numbers that it took of sequences are safe, if nobody else will: those of rows that are read after
    /// their transaction has ended. `log` is that of the catalog.
    pub(crate) fn numbers_are_taken(&self, log: Option<&Arc<CatalogLog>>) -> Result<(), Error> {
        let Some(log) = log else { return Ok(()) };
        // Who works in it, or has not ended it, waits with its commit.
        if self.has_ended() { log.wait() } else { Ok(()) }
    }
}

impl Block {
    /// Waits until what was committed is safe, as far as the session wants that.
    ///
    /// # Errors
    /// When the log fails before that.
    pub(crate) async fn wait_until_safe(&mut self) -> Result<(), Error> {
        self.safety.wait().await
    }

    /// Whether commits wait until they are safe: those of the open block, or of the session.
    pub(crate) fn synchronous_commit(&self) -> bool {
        match &self.state {
            State::Open(open) | State::Failed(open) => open.synchronous_commit,
            State::Idle => None,
        }
        .unwrap_or(self.safety.synchronous_commit)
    }

    /// Sets whether commits wait until they are safe: of the open block alone if it is `local`; `false` if none is open then.
    pub(crate) fn set_synchronous_commit(&mut self, waits: bool, local: bool) -> bool {
        match &mut self.state {
            State::Open(open) | State::Failed(open) if local => open.synchronous_commit = Some(waits),
            State::Idle if local => return false,
            State::Open(open) | State::Failed(open) => {
                open.synchronous_commit = None;
                self.safety.synchronous_commit = waits;
            }
            State::Idle => self.safety.synchronous_commit = waits,
        }
        true
    }
}
