//! Begins and ends transaction blocks.

use std::sync::Arc;

use longshore_load::Control;

use super::{Block, Modes, Open, State, aborted, no_block};
use crate::{Error, ErrorKind};

impl Block {
    /// Opens a block; `false` if one is open already.
    ///
    /// # Errors
    /// When the open one has failed.
    pub(crate) fn begin(&mut self, modes: Modes) -> Result<bool, Error> {
        self.notice_failed_rows();
        let modes = Modes { read_only: modes.read_only || self.is_read_only, ..modes };
        match self.state {
            State::Idle => {
                self.state = State::Open(Open::new(modes));
                self.time.begin();
                Ok(true)
            }
            State::Open(_) => Ok(false),
            State::Failed(_) => Err(aborted()),
        }
    }

    /// Changes what the open block is like; `false` if none is open. Behind its first statement it may still begin to change
    /// nothing, up to the end or the savepoint that it stands behind.
    ///
    /// # Errors
    /// When it has failed, or a statement was run in it.
    pub(crate) fn set_modes(&mut self, modes: Modes) -> Result<bool, Error> {
        self.notice_failed_rows();
        let modes = Modes { read_only: modes.read_only || self.is_read_only, ..modes };
        let problem = match &mut self.state {
            State::Idle => return Ok(false),
            State::Failed(_) => return Err(aborted()),
            State::Open(open) => match open.set_modes(modes) {
                None => return Ok(true),
                Some(problem) => problem,
            },
        };
        self.fail();
        Err(Error::new(ErrorKind::ActiveTransaction, problem))
    }

    /// Ends the block and keeps what it did; with `chain` opens another one like it.
    ///
    /// # Errors
    /// A conflict with another transaction; then the block is ended all the same, and nothing was kept.
    pub(crate) fn commit(&mut self, chain: bool, control: &Control) -> Result<Ended, Error> {
        self.notice_failed_rows();
        let (open, ended) = match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle if chain => return Err(no_block("COMMIT AND CHAIN")),
            State::Idle => return Ok(Ended::NoBlock),
            State::Open(open) => (open, Ended::Committed),
            State::Failed(open) => (open, Ended::RolledBack),
        };
        if let Some(transaction) = open.begun() {
            if ended == Ended::Committed {
                let definitions = open.definitions();
                let commit = transaction.commit(definitions.map(Arc::as_ref), control).inspect_err(|_| {
                    open.undo_definitions(&self.numbers);
                    self.numbers.advisory().end_transaction(0);
                    self.time.end(true);
                })?;
                let with_catalog = definitions.is_some() || transaction.took_numbers();
                self.safety.commit(commit, with_catalog, open.synchronous_commit);
            } else {
                transaction.rollback();
                open.undo_definitions(&self.numbers);
            }
        }
        self.numbers.advisory().end_transaction(0);
        self.time.end(ended == Ended::RolledBack);
        self.chain(&open, chain);
        Ok(ended)
    }

    /// Ends the block and undoes what it did; with `chain` opens another one like it.
    ///
    /// # Errors
    /// When none is open and another one shall be like it.
    pub(crate) fn rollback(&mut self, chain: bool) -> Result<Ended, Error> {
        Ok(match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle if chain => return Err(no_block("ROLLBACK AND CHAIN")),
            State::Idle => Ended::NoBlock,
            State::Open(open) | State::Failed(open) => {
                if let Some(transaction) = open.begun() {
                    transaction.rollback();
                    open.undo_definitions(&self.numbers);
                }
                self.numbers.advisory().end_transaction(0);
                self.time.end(true);
                self.chain(&open, chain);
                Ended::RolledBack
            }
        })
    }

    fn chain(&mut self, ended: &Open, chain: bool) {
        if chain {
            self.state = State::Open(Open::new(ended.modes));
            self.time.begin();
        }
    }
}

/// How a block ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Committed,
    RolledBack,
    /// None was open.
    NoBlock,
}
