//! Sequences that a transaction block alters or renames: it goes on with another one, from where the old one was, and whoever
//! wants numbers of the old one waits until the block ends.
//!
//! Then the old one is as it was, or hands everybody on to what has taken its place. Not here: how it takes its place in the
//! catalog (`Change::take_over`).

use std::sync::{Arc, MutexGuard};

use longshore_storage::{Contention, Owner as Holder};

use super::{Sequence, State};
use crate::{Error, ErrorKind};

/// Whether another sequence goes on in the place of one.
#[derive(Clone, Debug, Default)]
pub(super) enum Hold {
    #[default]
    Free,
    /// In the transaction block of this session.
    Held(Holder),
    /// For everybody.
    Replaced(Arc<Sequence>),
}

impl Sequence {
    /// Its state, to be used by everybody; or what has taken its place.
    ///
    /// # Errors
    /// When a transaction block of another session is altering it, for which one is to wait.
    pub(super) fn free(&self) -> Result<Result<MutexGuard<'_, State>, Arc<Self>>, Error> {
        let state = self.state();
        match &state.hold {
            Hold::Free => {}
            Hold::Held(holder) => return Err(self.altered_by(*holder)),
            Hold::Replaced(next) => return Ok(Err(Arc::clone(next))),
        }
        Ok(Ok(state))
    }

    /// What a transaction block of `holder` goes on with, under the name `name`. The block itself has let the sequence begin
    /// anew so many times.
    ///
    /// # Errors
    /// When others are altering it or have let it begin anew.
    pub(crate) fn take_over(&self, name: &str, holder: Holder, restarts: u32) -> Result<Self, Error> {
        let mut state = self.free()?.map_err(|_| self.replaced())?;
        if state.restarts > restarts {
            return Err(conflict(format!("another transaction lets sequence \"{}\" begin anew; try again", self.name)));
        }
        state.hold = Hold::Held(holder);
        Ok(self.copy(name, &state))
    }

    /// The block has not altered it after all.
    pub(crate) fn release(&self) {
        self.state().hold = Hold::Free;
    }

    /// The block has committed, with this in its place.
    pub(crate) fn hand_on(&self, next: Arc<Self>) {
        self.state().hold = Hold::Replaced(next);
    }

    /// Why a block that began to change definitions before cannot alter it.
    pub(super) fn replaced(&self) -> Error {
        conflict(format!("another session has altered sequence \"{}\" meanwhile; try again", self.name))
    }

    fn altered_by(&self, holder: Holder) -> Error {
        let problem = format!("another session is altering sequence \"{}\"; try again", self.name);
        conflict(problem).contended(Contention::Locked(holder))
    }
}

fn conflict(message: String) -> Error {
    Error::new(ErrorKind::Conflict, message)
}
