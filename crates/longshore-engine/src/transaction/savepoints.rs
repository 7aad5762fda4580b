//! An open block, and the savepoints that are set in it.
//!
//! A block has one transaction, and so one snapshot and one account of what it has read, from its first statement to its
//! end: to go back to a savepoint undoes what was written since, not what was seen.

use std::sync::Arc;

use longshore_storage::{Savepoint, Transactions};

use super::rows::RowsToCome;
use super::{Block, Modes, State, StatementTransaction, no_block};
use super::{LastNumbers, SessionTime};
use crate::{Error, ErrorKind};

/// An open block.
pub(super) struct Open {
    pub(super) modes: Modes,
    /// Whether its commit waits until it is safe, if that is not as in the session.
    pub(super) synchronous_commit: Option<bool>,
    /// Begun by the first statement.
    transaction: Option<Arc<StatementTransaction>>,
    /// The oldest first.
    marks: Vec<Mark>,
    /// The rows of queries that stand before the first savepoint, or behind one that was released.
    rows: Vec<RowsToCome>,
}

/// A named savepoint.
struct Mark {
    name: String,
    /// `None` as long as no statement has begun the transaction.
    at: Option<Savepoint>,
    /// Sequences that had begun anew.
    restarts: usize,
    /// The rows of queries that stand behind it.
    rows: RowsToCome,
}

impl Open {
    pub(super) fn new(modes: Modes) -> Self {
        Self {
            modes,
            synchronous_commit: None,
            transaction: None,
            marks: Vec::new(),
            rows: vec![RowsToCome::default()],
        }
    }

    /// The transaction, which is begun for the first statement.
    pub(super) fn transaction(
        &mut self,
        transactions: &Arc<Transactions>,
        numbers: &Arc<LastNumbers>,
        time: &Arc<SessionTime>,
    ) -> Result<Arc<StatementTransaction>, Error> {
        if let Some(transaction) = &self.transaction {
            return Ok(Arc::clone(transaction));
        }
        let transaction = StatementTransaction::begin(transactions, self.modes, numbers, time, self.modes.read_only);
        if !self.marks.is_empty() {
            let start = transaction.with(|transaction| Ok(transaction.savepoint()))?;
            self.marks.iter_mut().for_each(|mark| mark.at = Some(start));
        }
        self.transaction = Some(Arc::clone(&transaction));
        Ok(transaction)
    }

    /// The transaction, if a statement has begun it.
    pub(super) fn begun(&self) -> Option<&Arc<StatementTransaction>> {
        self.transaction.as_ref()
    }

    pub(super) fn has_begun(&self) -> bool {
        self.transaction.is_some()
    }

    /// Where the rows of the next query are watched.
    pub(super) fn rows_to_come(&self) -> RowsToCome {
        let last = self.marks.last().map(|mark| &mark.rows).or(self.rows.last());
        last.cloned().unwrap_or_default()
    }

    /// Whether a query has failed while its rows were read, and nobody has gone back behind it since.
    pub(super) fn has_failed_rows(&self) -> bool {
        self.rows.iter().chain(self.marks.iter().map(|mark| &mark.rows)).any(RowsToCome::have_failed)
    }

    /// Forgets the savepoints from one on.
    fn release(&mut self, from: usize) {
        let released = self.marks.drain(from..).map(|mark| mark.rows).filter(RowsToCome::matter);
        self.rows.extend(released);
    }

    /// Goes back to a savepoint, which stays.
    fn go_back(&mut self, to: usize) -> Result<(), Error> {
        self.marks.truncate(to + 1);
        if let (Some(transaction), Some(savepoint)) = (&self.transaction, self.marks[to].at) {
            transaction.with(|transaction| {
                transaction.rollback_to(savepoint);
                Ok(())
            })?;
            transaction.restarts.undo(self.marks[to].restarts);
        }
        // Queries behind it concern the block no longer, and what has failed by now is undone.
        self.marks[to].rows = RowsToCome::default();
        self.rows.iter().chain(self.marks.iter().map(|mark| &mark.rows)).for_each(RowsToCome::forgive);
        Ok(())
    }
}

impl Block {
    /// Sets a savepoint.
    ///
    /// # Errors
    /// When no block is open, or it has failed.
    pub(crate) fn savepoint(&mut self, name: String) -> Result<(), Error> {
        let open = self.open("SAVEPOINT")?;
        let (at, restarts) = match &open.transaction {
            Some(transaction) => {
                (Some(transaction.with(|transaction| Ok(transaction.savepoint()))?), transaction.restarts.count())
            }
            None => (None, 0),
        };
        open.marks.push(Mark { name, at, restarts, rows: RowsToCome::default() });
        Ok(())
    }

    /// Forgets a savepoint and those behind it, and keeps what was done since.
    ///
    /// # Errors
    /// When there is none of this name.
    pub(crate) fn release(&mut self, name: &str) -> Result<(), Error> {
        let open = self.open("RELEASE SAVEPOINT")?;
        open.release(position(&open.marks, name)?);
        Ok(())
    }

    /// Undoes what was done since a savepoint, which stays; a block that has failed since can go on.
    ///
    /// # Errors
    /// When there is none of this name.
    pub(crate) fn rollback_to(&mut self, name: &str) -> Result<(), Error> {
        let (State::Open(open) | State::Failed(open)) = &mut self.state else {
            return Err(no_block("ROLLBACK TO SAVEPOINT"));
        };
        open.go_back(position(&open.marks, name)?)?;
        self.state = match std::mem::replace(&mut self.state, State::Idle) {
            State::Failed(open) => State::Open(open),
            other => other,
        };
        Ok(())
    }
}

fn position(marks: &[Mark], name: &str) -> Result<usize, Error> {
    // The latest of equal names counts.
    marks.iter().rposition(|mark| mark.name == name).ok_or_else(|| {
        Error::new(ErrorKind::NoSavepoint, format!("savepoint {name} does not exist in this transaction"))
    })
}
