//! The advisory locks of a session: to its end, or to that of its transaction.
//!
//! A statement that runs again first gives back what it has taken, since it takes that again.
//! Not here: the functions (`datafusion/planning/advisory`), who waits for whom (`longshore-storage`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use longshore_storage::{AdvisoryLock, Contention, Owner, Transactions};

use crate::{Error, ErrorKind};

/// The locks of a session.
#[derive(Default)]
pub(crate) struct AdvisoryLocks {
    /// Where they are taken, and for whom.
    of: OnceLock<(Arc<Transactions>, Owner)>,
    held: Mutex<Held>,
    /// Whether any was ever taken: of most sessions this is all that is looked at.
    is_used: AtomicBool,
}

#[derive(Default)]
struct Held {
    session: Vec<AdvisoryLock>,
    transaction: Vec<AdvisoryLock>,
    /// What the statement that runs has taken, and for how long.
    statement: Vec<(AdvisoryLock, Scope)>,
}

/// How long a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    Session,
    Transaction,
}

impl Held {
    fn of(&mut self, scope: Scope) -> &mut Vec<AdvisoryLock> {
        match scope {
            Scope::Session => &mut self.session,
            Scope::Transaction => &mut self.transaction,
        }
    }
}

impl AdvisoryLocks {
    /// Those of `session`.
    pub(super) fn of(transactions: &Arc<Transactions>, session: Owner) -> Self {
        let of = OnceLock::from((Arc::clone(transactions), session));
        Self { of, held: Mutex::default(), is_used: AtomicBool::new(false) }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self) -> Result<&(Arc<Transactions>, Owner), Error> {
        self.of.get().ok_or_else(|| Error::internal("advisory locks belong to sessions"))
    }

    /// The session that they belong to.
    pub(crate) fn session(&self) -> Result<Owner, Error> {
        self.place().map(|(_, session)| *session)
    }

    /// The transactions of the database.
    pub(crate) fn transactions(&self) -> Option<&Arc<Transactions>> {
        self.of.get().map(|(transactions, _)| transactions)
    }

    /// Takes a lock; `false` if another session is in the way, for which an error asks to wait if it `waits`.
    pub(crate) fn take(&self, lock: AdvisoryLock, scope: Scope, waits: bool) -> Result<bool, Error> {
        let (transactions, session) = self.place()?;
        match transactions.lock_advisory(*session, lock) {
            Ok(()) => {}
            Err(blocker) if waits => {
                let message = "could not serialize access to an advisory lock: another session holds it; try again";
                let error = Error::new(ErrorKind::Conflict, message);
                return Err(error.contended(Contention::Locked(blocker)));
            }
            Err(_) => return Ok(false),
        }
        let mut held = self.held();
        held.of(scope).push(lock);
        held.statement.push((lock, scope));
        self.is_used.store(true, Ordering::Release);
        Ok(true)
    }

    /// Gives a lock of the session back, once; `false` if it has it not.
    pub(crate) fn give_back(&self, lock: AdvisoryLock) -> Result<bool, Error> {
        let mut held = self.held();
        let Some(at) = held.session.iter().rposition(|known| *known == lock) else { return Ok(false) };
        held.session.swap_remove(at);
        drop(held);
        self.unlock([lock])?;
        Ok(true)
    }

    /// Gives all locks of the session back.
    pub(crate) fn give_all_back(&self) -> Result<(), Error> {
        let all = std::mem::take(&mut self.held().session);
        self.unlock(all)
    }

    fn unlock(&self, locks: impl IntoIterator<Item = AdvisoryLock>) -> Result<(), Error> {
        let (transactions, session) = self.place()?;
        for lock in locks {
            transactions.unlock_advisory(*session, lock);
        }
        Ok(())
    }

    /// A statement begins.
    pub(super) fn begin_statement(&self) {
        if self.is_used.load(Ordering::Acquire) {
            self.held().statement.clear();
        }
    }

    /// Gives back what the statement has taken, which runs again.
    pub(super) fn undo_statement(&self) -> Result<(), Error> {
        if !self.is_used.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut held = self.held();
        let taken = std::mem::take(&mut held.statement);
        for (lock, scope) in &taken {
            let list = held.of(*scope);
            if let Some(at) = list.iter().rposition(|known| known == lock) {
                list.remove(at);
            }
        }
        drop(held);
        self.unlock(taken.into_iter().map(|(lock, _)| lock))
    }

    /// How many belong to the transaction.
    pub(super) fn of_transaction(&self) -> usize {
        if self.is_used.load(Ordering::Acquire) { self.held().transaction.len() } else { 0 }
    }

    /// Gives those of the transaction back but for the first ones: it ends, or goes back to a savepoint.
    pub(super) fn end_transaction(&self, kept: usize) {
        if !self.is_used.load(Ordering::Acquire) {
            return;
        }
        let mut held = self.held();
        let kept = kept.min(held.transaction.len());
        let ended = held.transaction.split_off(kept);
        drop(held);
        // They were taken there.
        let _ = self.unlock(ended);
    }
}

impl Drop for AdvisoryLocks {
    fn drop(&mut self) {
        self.end_transaction(0);
        if self.is_used.load(Ordering::Acquire) {
            let _ = self.give_all_back();
        }
    }
}
