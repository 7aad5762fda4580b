//! Runs statements: each in the open block, or in a transaction of its own, and again where other transactions were in
//! the way.
//!
//! A statement that met one is undone before it runs again, so nothing of what it did is there twice. In a block only
//! those at READ COMMITTED run again, each time on a new snapshot, and those that met a lock of a row; elsewhere a new
//! snapshot would be another transaction.
//!
//! Not here: how one waits (`waiting.rs`).

use std::ops::ControlFlow;

use longshore_load::Control;
use longshore_storage::{Contention, Moment, Savepoint};

use super::rows::RowsToCome;
use super::waiting::Tries;
use super::{Arc, Block, Modes, Nature, Open, Single, State, StatementTransaction, aborted, check_access};
use crate::{Error, ErrorKind, Outcome};

/// Whether a statement may run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rerun {
    Allowed,
    /// What it has read from elsewhere, or written there, is gone.
    Never,
}

/// A statement that runs, as often as it has to: [`Run::begin`], the statement itself, [`Run::end`], which says whether
/// that was the last time.
pub(crate) struct Run<'c> {
    nature: Nature,
    rerun: Rerun,
    control: &'c Arc<Control>,
    tries: Tries,
    attempt: Option<Attempt>,
}

/// One time that a statement runs.
struct Attempt {
    since: Moment,
    transaction: Single,
    /// What it runs in.
    within: Option<Within>,
}

/// Where in its block a statement stands.
struct Within {
    /// Where it can be undone to.
    before: Option<Savepoint>,
    /// How many sequences had begun anew.
    restarts: usize,
    /// How much it had said to others.
    said: usize,
    rows_to_come: RowsToCome,
    is_read_committed: bool,
}

impl<'c> Run<'c> {
    /// Of a statement of this nature.
    pub(crate) fn new(nature: Nature, rerun: Rerun, control: &'c Arc<Control>) -> Self {
        Self { nature, rerun, control, tries: Tries::default(), attempt: None }
    }

    /// Begins the statement in the open block, or in a transaction of its own that is committed behind it.
    ///
    /// # Errors
    /// When the block does not take the statement.
    pub(crate) fn begin(&mut self, block: &mut Block) -> Result<&Arc<StatementTransaction>, Error> {
        block.notice_failed_rows();
        block.numbers.advisory().begin_statement();
        if block.is_read_only && self.nature.changes() {
            block.fail();
            return Err(Error::new(
                ErrorKind::ReadOnly,
                "the database was opened to be read only; open it without --read-only to change it",
            ));
        }
        let attempt = match std::mem::replace(&mut block.state, State::Idle) {
            State::Idle => self.begin_alone(block)?,
            State::Failed(open) => {
                block.state = State::Failed(open);
                return Err(aborted());
            }
            State::Open(open) => self.begin_within(block, open)?,
        };
        Ok(&self.attempt.insert(attempt).transaction.transaction)
    }

    fn begin_alone(&self, block: &Block) -> Result<Attempt, Error> {
        check_access(self.nature, block.defaults)?;
        // What takes effect at once does so beside its transaction, which then only reads.
        let modes = Modes { read_only: self.nature != Nature::Writes, ..block.defaults };
        let forbids_changes = block.defaults.read_only || block.is_read_only;
        let since = block.transactions.moment();
        let transaction =
            StatementTransaction::begin(&block.transactions, modes, &block.numbers, &block.time, forbids_changes);
        Ok(Attempt { since, transaction: Single { transaction, has_ended: false }, within: None })
    }

    fn begin_within(&self, block: &mut Block, mut open: Open) -> Result<Attempt, Error> {
        if let Err(error) = check_access(self.nature, open.modes) {
            block.state = State::Failed(open);
            return Err(error);
        }
        if let Nature::NonTransactionalDdl(name) | Nature::Export(name) = self.nature {
            block.state = State::Failed(open);
            return Err(Error::new(
                ErrorKind::ActiveTransaction,
                format!(
                    "{name} takes effect at once and cannot be rolled back, so it cannot run in a transaction block"
                ),
            ));
        }
        let since = block.transactions.moment();
        let begun = open.begin_statement(&block.transactions, &block.numbers, &block.time, self.nature);
        let rows_to_come = open.rows_to_come();
        let is_read_committed = open.modes.level.is_read_committed();
        // A statement that is given up half-way leaves the block as one that fails does.
        block.state = State::Failed(open);
        let (transaction, before) = begun?;
        let (restarts, said) = (transaction.restarts.count(), transaction.said.count());
        let within = Some(Within { before, restarts, said, rows_to_come, is_read_committed });
        // The block ends it, not the statement.
        Ok(Attempt { since, transaction: Single { transaction, has_ended: true }, within })
    }

    /// Ends the statement, which has come to this; or waits until it shall run again.
    pub(crate) async fn end(
        &mut self,
        block: &mut Block,
        done: Result<Outcome, Error>,
    ) -> ControlFlow<Result<Outcome, Error>> {
        let Some(attempt) = self.attempt.take() else {
            return ControlFlow::Break(Err(Error::internal("the statement has not begun")));
        };
        let ended = match attempt {
            Attempt { since, transaction, within: Some(within) } => {
                self.end_within(block, done, (since, &transaction.transaction), within).await
            }
            Attempt { since, transaction, within: None } => self.end_alone(block, done, since, transaction).await,
        };
        match ended {
            Ok(Some(outcome)) => ControlFlow::Break(Ok(outcome)),
            Ok(None) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Err(error)),
        }
    }

    /// Commits the transaction of a statement; `None` if it shall run again.
    async fn end_alone(
        &mut self,
        block: &mut Block,
        done: Result<Outcome, Error>,
        since: Moment,
        mut single: Single,
    ) -> Result<Option<Outcome>, Error> {
        single.has_ended = true;
        let error = match done {
            Ok(outcome) => match single.transaction.commit(None, self.control) {
                Ok(commit) => {
                    block.numbers.advisory().end_transaction(0);
                    let is_ddl = matches!(self.nature, Nature::Ddl | Nature::Alters | Nature::NonTransactionalDdl(_));
                    block.safety.commit(commit, is_ddl || single.transaction.took_numbers(), None);
                    block.safety.wait().await?;
                    return Ok(Some(outcome));
                }
                Err(error) => error,
            },
            Err(error) => {
                single.transaction.rollback();
                error
            }
        };
        block.numbers.advisory().end_transaction(0);
        let is_final = matches!(self.nature, Nature::Alters | Nature::NonTransactionalDdl(_) | Nature::Export(_));
        if is_final || self.rerun == Rerun::Never || error.kind() != ErrorKind::Conflict {
            return Err(error);
        }
        block.numbers.advisory().undo_statement()?;
        block.before_next_try(error, &[block.session], since, &mut self.tries, self.control).await?;
        Ok(None)
    }

    /// Ends a statement of the open block, which has failed if this does; `None` if it shall run again.
    async fn end_within(
        &mut self,
        block: &mut Block,
        done: Result<Outcome, Error>,
        (since, transaction): (Moment, &StatementTransaction),
        within: Within,
    ) -> Result<Option<Outcome>, Error> {
        let error = match done {
            Ok(outcome) => {
                block.reopen();
                return Ok(Some(within.rows_to_come.watch(outcome)));
            }
            Err(error) => error,
        };
        let may_rerun =
            self.rerun == Rerun::Allowed && matches!(self.nature, Nature::Reads | Nature::Locks | Nature::Writes);
        let Some(before) = within.before.filter(|_| may_rerun && error.kind() == ErrorKind::Conflict) else {
            return Err(error);
        };
        if !within.is_read_committed && !matches!(error.contention(), Some(Contention::Locked(_))) {
            return Err(error);
        }
        transaction.with(|transaction| {
            transaction.rollback_to(before);
            Ok(())
        })?;
        transaction.restarts.undo(within.restarts);
        transaction.said.undo(within.said);
        block.numbers.advisory().undo_statement()?;
        let who = [block.session, transaction.owner()];
        block.before_next_try(error, &who, since, &mut self.tries, self.control).await?;
        block.reopen();
        Ok(None)
    }
}

impl Block {
    /// Runs a statement that never runs again.
    ///
    /// # Errors
    /// The statement's, that of the commit, or that the block does not take the statement.
    pub(crate) async fn run_once(
        &mut self,
        nature: Nature,
        control: &Arc<Control>,
        statement: impl AsyncFnOnce(&Arc<StatementTransaction>) -> Result<Outcome, Error>,
    ) -> Result<Outcome, Error> {
        let mut run = Run::new(nature, Rerun::Never, control);
        let done = statement(run.begin(self)?).await;
        match run.end(self, done).await {
            ControlFlow::Break(outcome) => outcome,
            ControlFlow::Continue(()) => Err(Error::internal("a statement that runs once was to run again")),
        }
    }

    /// What has failed in the block is undone, or did not fail.
    pub(super) fn reopen(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Idle) {
            State::Failed(open) => State::Open(open),
            other => other,
        };
    }
}
