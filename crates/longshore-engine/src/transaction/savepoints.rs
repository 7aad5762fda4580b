//! An open block, and the savepoints that are set in it.
//!
//! A block has one transaction, and so one account of what it has read, from its first statement to its end, and but at
//! READ COMMITTED one snapshot: to go back to a savepoint undoes what was written since, not what was seen.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use longshore_storage::{Savepoint, Transactions};

use super::rows::RowsToCome;
use super::time::TimeMark;
use super::{AtCommit, Block, Modes, Nature, State, StatementTransaction, no_block};
use super::{LastNumbers, SessionTime};
use crate::catalog::{Catalog, ForkMark};
use crate::{Error, ErrorKind};

/// An open block.
pub(super) struct Open {
    pub(super) modes: Modes,
    /// Whether its commit waits until it is safe, if that is not as in the session.
    pub(super) synchronous_commit: Option<bool>,
    /// Whether it has locked tables and done nothing else.
    has_only_locked: bool,
    /// Begun by the first statement.
    transaction: Option<Arc<StatementTransaction>>,
    /// The oldest first.
    marks: Vec<Mark>,
    /// The definitions that it has to itself, if it has changed any.
    definitions: Option<OwnDefinitions>,
    /// The rows of queries that stand before the first savepoint, or behind one that was released.
    rows: Vec<RowsToCome>,
}

/// What a block has made and dropped.
struct OwnDefinitions {
    /// The catalog as it sees it.
    catalog: Arc<Catalog>,
    /// What becomes of the temporary tables of its session that were there before.
    temporary: Vec<(String, AtCommit)>,
    /// Keeps the locks of the session until all is undone.
    _locks: Arc<LastNumbers>,
}

impl Drop for OwnDefinitions {
    fn drop(&mut self) {
        self.catalog.give_up();
    }
}

/// A named savepoint.
struct Mark {
    name: String,
    /// `None` as long as no statement has begun the transaction.
    at: Option<Savepoint>,
    /// Sequences that had begun anew.
    restarts: usize,
    /// What it had said to others.
    said: usize,
    /// Advisory locks of the transaction.
    advisory_locks: usize,
    /// Whether the block changed nothing then.
    read_only: bool,
    /// The definitions that the block had to itself.
    definitions: Option<ForkMark>,
    /// The rows of queries that stand behind it.
    rows: RowsToCome,
    /// The settings of time that held then.
    time: TimeMark,
}

impl Open {
    pub(super) fn new(modes: Modes) -> Self {
        Self {
            modes,
            synchronous_commit: None,
            has_only_locked: false,
            transaction: None,
            marks: Vec::new(),
            definitions: None,
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
        let forbids_changes = self.modes.read_only;
        // Who goes back to a savepoint may change something again.
        let modes = Modes { read_only: forbids_changes && self.marks.iter().all(|mark| mark.read_only), ..self.modes };
        let transaction = StatementTransaction::begin(transactions, modes, numbers, time, forbids_changes);
        if !self.marks.is_empty() {
            let start = transaction.with(|transaction| Ok(transaction.savepoint()))?;
            self.marks.iter_mut().for_each(|mark| mark.at = Some(start));
        }
        self.transaction = Some(Arc::clone(&transaction));
        Ok(transaction)
    }

    /// Begins a statement of this nature in the transaction; says where it can be undone to, if it can run again.
    pub(super) fn begin_statement(
        &mut self,
        transactions: &Arc<Transactions>,
        numbers: &Arc<LastNumbers>,
        time: &Arc<SessionTime>,
        nature: Nature,
    ) -> Result<(Arc<StatementTransaction>, Option<Savepoint>), Error> {
        let has_begun = self.has_begun();
        let transaction = self.transaction(transactions, numbers, time)?;
        // What was locked is looked at as it is once it is.
        let is_renewed = has_begun && (self.modes.level.is_read_committed() || self.has_only_locked);
        self.has_only_locked = nature == Nature::Locks && (!has_begun || self.has_only_locked);
        if !is_renewed {
            let only_reads = matches!(nature, Nature::Reads | Nature::Locks);
            let before = transaction.with(|transaction| Ok(transaction.statement_place(only_reads)))?;
            return Ok((transaction, before));
        }
        let (renewed, before) = transaction.renewed()?;
        self.transaction = Some(Arc::clone(&renewed));
        Ok((renewed, Some(before)))
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

    /// The catalog that it has to itself, if it has changed definitions.
    pub(super) fn definitions(&self) -> Option<&Arc<Catalog>> {
        self.definitions.as_ref().map(|own| &own.catalog)
    }

    /// The catalog that it has to itself, which is made of `catalog` if there is none yet.
    fn own_definitions(&mut self, catalog: &Arc<Catalog>, numbers: &Arc<LastNumbers>) -> &Arc<Catalog> {
        let (temporary, locks) = (numbers.temporary.all(), Arc::clone(numbers));
        let make = || OwnDefinitions { catalog: catalog.fork(), temporary, _locks: locks };
        &self.definitions.get_or_insert_with(make).catalog
    }

    /// Undoes what it has made and dropped; the changes of rows are undone before.
    pub(super) fn undo_definitions(&self, numbers: &LastNumbers) {
        if let Some(own) = &self.definitions {
            own.catalog.give_up();
            numbers.temporary.restore(&own.temporary);
        }
    }

    fn set_read_only(&mut self, read_only: bool) {
        self.modes.read_only = read_only;
        if let Some(transaction) = &self.transaction {
            transaction.forbids_changes.store(read_only, Ordering::Relaxed);
        }
    }

    /// Changes what it is like; says why not, if that is too late.
    pub(super) fn set_modes(&mut self, modes: Modes) -> Option<&'static str> {
        let is_within = !self.marks.is_empty();
        if modes.level != self.modes.level && (self.has_begun() || is_within) {
            return Some("SET TRANSACTION ISOLATION LEVEL must come before the first statement of the transaction");
        }
        if modes.deferrable != self.modes.deferrable && (self.has_begun() || is_within) {
            return Some("SET TRANSACTION [NOT] DEFERRABLE must come before the first statement of the transaction");
        }
        if self.modes.read_only && !modes.read_only {
            if self.marks.last().is_some_and(|mark| mark.read_only) {
                return Some("cannot set transaction read-write mode inside a read-only transaction");
            }
            if self.has_begun() {
                return Some("transaction read-write mode must be set before any statement of the transaction");
            }
        }
        self.modes = modes;
        self.set_read_only(modes.read_only);
        None
    }

    /// Forgets the savepoints from one on.
    fn release(&mut self, from: usize) {
        if let Some(read_only) = self.marks.get(from).map(|mark| mark.read_only) {
            self.set_read_only(read_only);
        }
        let released = self.marks.drain(from..).map(|mark| mark.rows).filter(RowsToCome::matter);
        self.rows.extend(released);
    }

    /// Goes back to a savepoint, which stays.
    fn go_back(&mut self, to: usize, numbers: &LastNumbers) -> Result<(), Error> {
        self.marks.truncate(to + 1);
        self.set_read_only(self.marks[to].read_only);
        if let (Some(transaction), Some(savepoint)) = (&self.transaction, self.marks[to].at) {
            transaction.with(|transaction| {
                transaction.rollback_to(savepoint);
                Ok(())
            })?;
            transaction.restarts.undo(self.marks[to].restarts);
            transaction.said.undo(self.marks[to].said);
        }
        match (&self.definitions, &self.marks[to].definitions) {
            (Some(own), Some(mark)) => own.catalog.go_back(mark),
            (Some(_), None) => {
                self.undo_definitions(numbers);
                self.definitions = None;
            }
            (None, _) => {}
        }
        // Whoever waits for them finds sequences as they were.
        numbers.advisory().end_transaction(self.marks[to].advisory_locks);
        // Queries behind it concern the block no longer, and what has failed by now is undone.
        self.marks[to].rows = RowsToCome::default();
        self.rows.iter().chain(self.marks.iter().map(|mark| &mark.rows)).for_each(RowsToCome::forgive);
        Ok(())
    }
}

impl Block {
    /// The catalog that the open block has to itself, if it has changed definitions.
    pub(crate) fn definitions(&self) -> Option<&Arc<Catalog>> {
        match &self.state {
            State::Idle => None,
            State::Open(open) | State::Failed(open) => open.definitions(),
        }
    }

    /// The catalog in which a statement of this nature makes or drops something, if that is not `catalog`, which its session
    /// sees now.
    pub(crate) fn definitions_for(&mut self, nature: Nature, catalog: &Arc<Catalog>) -> Option<&Arc<Catalog>> {
        match &mut self.state {
            State::Open(open)
                if matches!(nature, Nature::Ddl | Nature::Alters)
                    && open.definitions.is_none()
                    && !open.modes.read_only =>
            {
                Some(open.own_definitions(catalog, &self.numbers))
            }
            _ => None,
        }
    }

    /// How many savepoints the open block has.
    pub(crate) fn savepoints(&self) -> usize {
        match &self.state {
            State::Idle => 0,
            State::Open(open) | State::Failed(open) => open.marks.len(),
        }
    }

    /// Sets a savepoint.
    ///
    /// # Errors
    /// When no block is open, or it has failed.
    pub(crate) fn savepoint(&mut self, name: String) -> Result<(), Error> {
        let (advisory_locks, time) = (self.numbers.advisory().of_transaction(), self.time.mark());
        let open = self.open("SAVEPOINT")?;
        let (at, restarts, said) = match &open.transaction {
            Some(transaction) => (
                Some(transaction.with(|transaction| Ok(transaction.savepoint()))?),
                transaction.restarts.count(),
                transaction.said.count(),
            ),
            None => (None, 0, 0),
        };
        let read_only = open.modes.read_only;
        let definitions = open.definitions().map(|own| own.mark());
        open.marks.push(Mark {
            name,
            at,
            restarts,
            said,
            advisory_locks,
            read_only,
            definitions,
            rows: RowsToCome::default(),
            time,
        });
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
        let to = position(&open.marks, name)?;
        open.go_back(to, &self.numbers)?;
        self.time.go_back(&open.marks[to].time);
        self.reopen();
        Ok(())
    }
}

fn position(marks: &[Mark], name: &str) -> Result<usize, Error> {
    // The latest of equal names counts.
    marks.iter().rposition(|mark| mark.name == name).ok_or_else(|| {
        Error::new(ErrorKind::NoSavepoint, format!("savepoint {name} does not exist in this transaction"))
    })
}
