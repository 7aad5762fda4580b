//! Begins and ends transaction blocks.

use longshore_load::Control;

use super::{Block, Modes, Open, State, aborted};
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

    /// Changes what the open block is like, before its first statement; `false` if none is open.
    ///
    /// # Errors
    /// When it has failed, or a statement was run in it.
    pub(crate) fn set_modes(&mut self, modes: Modes) -> Result<bool, Error> {
        self.notice_failed_rows();
        let modes = Modes { read_only: modes.read_only || self.is_read_only, ..modes };
        match &mut self.state {
            State::Idle => Ok(false),
            State::Failed(_) => Err(aborted()),
            State::Open(open) if open.has_begun() && open.modes != modes => {
                self.fail();
                Err(Error::new(
                    ErrorKind::ActiveTransaction,
                    "SET TRANSACTION must come before the first statement of the transaction",
                ))
            }
            State::Open(open) => {
                open.modes = modes;
                Ok(true)
            }
        }
    }

    /// Ends the block and keeps what it did; with `chain` opens another one like it.
    ///
    /// # Errors
    /// A conflict with another transaction; then the block is ended all the same, and nothing was kept.
    pub(crate) fn commit(&mut self, chain: bool, control: &Control) -> Result<Ended, Error> {
        self.notice_failed_rows();
        let (open, ended) = match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => return Ok(Ended::NoBlock),
            State::Open(open) => (open, Ended::Committed),
            State::Failed(open) => (open, Ended::RolledBack),
        };
        if let Some(transaction) = open.begun() {
            match ended {
                Ended::Committed => {
                    let commit = transaction.commit(control).inspect_err(|_| self.time.end(true))?;
                    self.safety.commit(commit, transaction.took_numbers(), open.synchronous_commit);
                }
                _ => transaction.rollback(),
            }
        }
        self.time.end(ended == Ended::RolledBack);
        self.chain(&open, chain);
        Ok(ended)
    }

    /// Ends the block and undoes what it did; with `chain` opens another one like it.
    pub(crate) fn rollback(&mut self, chain: bool) -> Ended {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => Ended::NoBlock,
            State::Open(open) | State::Failed(open) => {
                if let Some(transaction) = open.begun() {
                    transaction.rollback();
                }
                self.time.end(true);
                self.chain(&open, chain);
                Ended::RolledBack
            }
        }
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
