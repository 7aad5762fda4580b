//! A session's transactions: the block that BEGIN opens, and the transaction of a statement outside of one.
//!
//! As in PostgreSQL: outside of a block every statement is a transaction of its own; in a block a statement that fails
//! leaves it good for nothing but ROLLBACK, whole or to a savepoint. A block takes its snapshot with its first
//! statement, so that SET TRANSACTION may come before; at READ COMMITTED it takes a new one with each.
//! Not here: the statements that open and end blocks (`statement/transaction.rs`), versions (`longshore-storage`).

mod advisory;
mod block;
mod frozen;
mod identity;
mod last_numbers;
mod lookup;
mod modes;
mod nature;
mod notifications;
mod object_locks;
mod random_numbers;
mod registered;
mod restarts;
pub(crate) mod row_arrays;
mod rows;
mod run;
mod safety;
mod savepoints;
mod sequences;
mod session_cursor;
mod temporary;
mod time;
mod waiting;
mod with;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use advisory::AdvisoryLocks;
pub(crate) use advisory::Scope;
pub(crate) use block::Ended;
use frozen::Frozen;
pub(crate) use identity::Identity;
pub(crate) use last_numbers::{LastNumbers, QueryLimits};
use longshore_load::Control;
use longshore_storage::{
    ColumnRange, Commit, Isolation, Owner, Relation, Savepoint, Snapshot, Time, Transaction, Transactions,
};
pub(crate) use modes::{Level, Modes};
pub(crate) use nature::Nature;
use nature::check_access;
use notifications::Said;
pub(crate) use object_locks::RELATIONS;
pub(crate) use random_numbers::RandomNumbers;
pub(crate) use registered::{Registered, RegisteredRows};
use restarts::Restarts;
pub(crate) use run::{Rerun, Run};
use safety::Safety;
use savepoints::Open;
pub(crate) use sequences::TO_TAKE;
pub(crate) use session_cursor::SessionCursor;
pub(crate) use temporary::AtCommit;
pub(crate) use time::{SessionTime, StatementTime, micros_now};
pub(crate) use waiting::{Logging, Timeouts};

use crate::catalog::{Catalog, CatalogLog, Table};
use crate::{Error, ErrorKind};

/// The transaction that a statement works in.
pub(crate) struct StatementTransaction {
    /// `None` once it has ended.
    transaction: Mutex<Option<Transaction>>,
    /// What it sees was committed up to then.
    start: Time,
    /// By what others know it that wait for it.
    owner: Owner,
    /// A table that is not in the catalog yet.
    instead: Option<Arc<Table>>,
    /// What sequences gave its session.
    numbers: Arc<LastNumbers>,
    /// What its session knows of time.
    time: Arc<SessionTime>,
    /// When it began, in microseconds since 1970-01-01 UTC: the time at which that is asked for first. Most statements never
    /// ask, and a look at the clock is a good part of what the shortest ones take.
    began: OnceLock<i64>,
    restarts: Restarts,
    said: Said,
    /// Whether the user wants nothing to be changed.
    forbids_changes: AtomicBool,
    /// Whether it may have taken numbers of sequences.
    took_numbers: AtomicBool,
    /// What the queries of a statement see that changes rows in several places.
    frozen: Frozen,
}

impl StatementTransaction {
    /// Begins a transaction of the session that `numbers` belong to; `forbids_changes` says that the user wants it to
    /// change nothing, not only that it will not.
    pub(crate) fn begin(
        transactions: &Arc<Transactions>,
        modes: Modes,
        numbers: &Arc<LastNumbers>,
        time: &Arc<SessionTime>,
        forbids_changes: bool,
    ) -> Arc<Self> {
        let begin = if modes.read_only { Transactions::begin_read_only } else { Transactions::begin };
        Self::of(begin(transactions, modes.level.isolation()), None, numbers, time, forbids_changes)
    }

    /// What works in `transaction`; with `instead` in the place of the table of its name.
    fn of(
        transaction: Transaction,
        instead: Option<Arc<Table>>,
        numbers: &Arc<LastNumbers>,
        time: &Arc<SessionTime>,
        forbids_changes: bool,
    ) -> Arc<Self> {
        if let Some((activity, _)) = numbers.entered() {
            activity.set_transaction(transaction.owner());
        }
        Arc::new(Self {
            start: transaction.view().start(),
            owner: transaction.owner(),
            transaction: Mutex::new(Some(transaction)),
            instead,
            numbers: Arc::clone(numbers),
            time: Arc::clone(time),
            began: OnceLock::new(),
            restarts: Restarts::default(),
            said: Said::default(),
            forbids_changes: AtomicBool::new(forbids_changes),
            took_numbers: AtomicBool::new(false),
            frozen: Frozen::default(),
        })
    }

    /// By what others know it that wait for it.
    pub(crate) fn owner(&self) -> Owner {
        self.owner
    }

    /// The same transaction for its next statement at READ COMMITTED, which sees what is committed by now; and where that
    /// can be undone to. To whoever still reads for an earlier statement it has ended.
    fn renewed(&self) -> Result<(Arc<Self>, Savepoint), Error> {
        let mut own = self.lock();
        let Some(transaction) = own.as_mut() else { return Err(Error::internal("the transaction has ended")) };
        let before = transaction.begin_statement()?;
        let start = transaction.view().start();
        let renewed = Self {
            start,
            owner: self.owner,
            transaction: Mutex::new(own.take()),
            instead: self.instead.clone(),
            numbers: Arc::clone(&self.numbers),
            time: Arc::clone(&self.time),
            began: self.began.clone(),
            restarts: self.restarts.take(),
            said: self.said.take(),
            forbids_changes: AtomicBool::new(self.forbids_changes.load(Ordering::Relaxed)),
            took_numbers: AtomicBool::new(self.took_numbers()),
            frozen: Frozen::default(),
        };
        Ok((Arc::new(renewed), before))
    }

    /// What sequences gave its session, to be changed: refused where nothing shall be.
    pub(crate) fn numbers_to_change(&self, what: &str) -> Result<&LastNumbers, Error> {
        if self.forbids_changes.load(Ordering::Relaxed) {
            return Err(Error::new(
                ErrorKind::ReadOnly,
                format!("{what} cannot be called in a read-only transaction; begin one that is READ WRITE"),
            ));
        }
        self.took_numbers.store(true, Ordering::Relaxed);
        Ok(&self.numbers)
    }

    /// What sequences gave its session.
    pub(crate) fn numbers(&self) -> &LastNumbers {
        &self.numbers
    }

    /// What its session knows of time.
    pub(crate) fn time(&self) -> StatementTime {
        self.time.of_statement(|| *self.began.get_or_init(time::micros_now))
    }

    /// The rows of `relation` that it sees now: what it changes afterwards does not show.
    pub(crate) fn snapshot(&self, relation: &Relation) -> Arc<Snapshot> {
        match self.lock().as_ref() {
            Some(transaction) => transaction.snapshot(relation),
            None => relation.snapshot(),
        }
    }

    /// Whether it matters what its queries read.
    pub(crate) fn logs_reads(&self) -> bool {
        self.lock().as_ref().is_some_and(|transaction| {
            transaction.isolation() == Isolation::Serializable && !transaction.is_read_only()
        })
    }

    /// Logs what a query reads. A query that goes on after the end of its transaction changes nothing any more.
    pub(crate) fn log_scan(&self, relation: &Arc<Relation>, ranges: &[ColumnRange<'_>], columns: &[usize]) {
        if let Some(transaction) = self.lock().as_mut() {
            transaction.log_scan(relation, ranges, columns);
        }
    }

    /// Commits it; with `definitions`, the catalog that its block has to itself becomes that of the database.
    fn commit(&self, definitions: Option<&Catalog>, control: &Control) -> Result<Commit, Error> {
        // Taken out first, so that nobody waits for the validation.
        let transaction = self.lock().take();
        let Some(transaction) = transaction else { return Err(Error::internal("the transaction has ended")) };
        let commit = |transaction: Transaction| transaction.commit_unless(&|| control.is_cancelled());
        let commit = |transaction| self.restarts.commit(transaction, commit);
        let committed = self.commit_said(|| match definitions {
            Some(definitions) => definitions.publish(transaction, commit),
            None => commit(transaction),
        });
        committed.inspect_err(|_| self.restarts.undo(0))
    }

    /// Whether it may have taken numbers of sequences.
    fn took_numbers(&self) -> bool {
        self.took_numbers.load(Ordering::Relaxed)
    }

    /// Whether it has ended, so that rows which are still made belong to nobody's commit.
    fn has_ended(&self) -> bool {
        self.transaction.try_lock().is_ok_and(|transaction| transaction.is_none())
    }

    fn rollback(&self) {
        let transaction = self.lock().take();
        drop(transaction);
        self.restarts.undo(0);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Transaction>> {
        // A panic in a statement leaves the transaction to be rolled back, which it always can.
        self.transaction.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The transaction of one statement, which is undone at once where the statement does not come to its end: parts of a query
/// that is given up may hold it for a while, and the next statement must not meet it.
struct Single {
    transaction: Arc<StatementTransaction>,
    has_ended: bool,
}

impl Drop for Single {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        // Who works on it has yet to see that it was given up, and undoes it then; waited for is nobody, since he may need
        // the thread that this is.
        let transaction = match self.transaction.transaction.try_lock() {
            Ok(mut transaction) => transaction.take(),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().take(),
            Err(TryLockError::WouldBlock) => return,
        };
        drop(transaction);
        self.transaction.restarts.undo(0);
    }
}

/// A session's transaction block, if one is open, and what new ones are like.
pub(crate) struct Block {
    transactions: Arc<Transactions>,
    numbers: Arc<LastNumbers>,
    time: Arc<SessionTime>,
    defaults: Modes,
    state: State,
    safety: Safety,
    /// By what others know its session that wait for it.
    session: Owner,
    timeouts: Timeouts,
    logging: Logging,
    /// Whether the database is only read.
    is_read_only: bool,
}

enum State {
    /// Every statement is a transaction of its own.
    Idle,
    Open(Open),
    /// A statement has failed, or was given up.
    Failed(Open),
}

impl Block {
    /// No block is open. `log` is that of the catalog, if there is one; `is_read_only` says that nobody changes the
    /// database.
    pub(crate) fn new(transactions: Arc<Transactions>, log: Option<Arc<CatalogLog>>, is_read_only: bool) -> Self {
        let defaults = Modes::new(Level::Serializable, is_read_only);
        let safety = Safety::new(&transactions, log);
        let session = transactions.new_session();
        Self {
            numbers: Arc::new(LastNumbers::with_locks(AdvisoryLocks::of(&transactions, session))),
            transactions,
            time: Arc::default(),
            defaults,
            state: State::Idle,
            safety,
            session,
            timeouts: Timeouts::default(),
            logging: Logging::default(),
            is_read_only,
        }
    }

    /// By what others know its session that wait for it.
    pub(crate) fn session(&self) -> Owner {
        self.session
    }

    /// What its session knows of time.
    pub(crate) fn time(&self) -> &SessionTime {
        &self.time
    }

    /// What its transactions know of the session.
    pub(crate) fn numbers(&self) -> &Arc<LastNumbers> {
        &self.numbers
    }

    /// What transactions are like that do not say it themselves.
    pub(crate) fn defaults(&self) -> Modes {
        self.defaults
    }

    /// Sets what transactions are like that do not say it themselves.
    pub(crate) fn set_defaults(&mut self, defaults: Modes) {
        self.defaults = defaults;
    }

    /// What the open block is like, or the next transaction.
    pub(crate) fn modes(&self) -> Modes {
        match &self.state {
            State::Idle => self.defaults,
            State::Open(open) | State::Failed(open) => open.modes,
        }
    }

    /// Whether a block is open.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.state, State::Idle)
    }

    /// Whether the open block has failed.
    pub(crate) fn has_failed(&self) -> bool {
        match &self.state {
            State::Idle => false,
            State::Open(open) => open.has_failed_rows(),
            State::Failed(_) => true,
        }
    }

    /// Refuses every statement but those that end a block which has failed.
    ///
    /// # Errors
    /// When the open block has failed.
    pub(crate) fn refuse_if_failed(&mut self) -> Result<(), Error> {
        self.notice_failed_rows();
        if matches!(self.state, State::Failed(_)) { Err(aborted()) } else { Ok(()) }
    }

    /// Takes note of a query whose rows failed while they were read: the block has failed then, as if the query had failed
    /// before.
    fn notice_failed_rows(&mut self) {
        if matches!(&self.state, State::Open(open) if open.has_failed_rows()) {
            self.fail();
        }
    }

    /// Notes that the text of a statement could not be read.
    pub(crate) fn fail(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Idle) {
            State::Open(open) => State::Failed(open),
            other => other,
        };
    }

    fn open(&mut self, statement: &str) -> Result<&mut Open, Error> {
        self.notice_failed_rows();
        match &mut self.state {
            State::Idle => Err(no_block(statement)),
            State::Failed(_) => Err(aborted()),
            State::Open(open) => Ok(open),
        }
    }
}

fn aborted() -> Error {
    Error::new(
        ErrorKind::Aborted,
        "a statement of this transaction has failed, so nothing more can be done in it; ROLLBACK ends it, ROLLBACK TO \
         SAVEPOINT goes back to before",
    )
}

fn no_block(statement: &str) -> Error {
    Error::new(ErrorKind::NoTransaction, format!("{statement} needs a transaction block; BEGIN opens one"))
}
