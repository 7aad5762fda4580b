//! What the transactions of a session know of it: the numbers that sequences gave it last, which `currval` and `lastval`
//! answer, its random numbers, who it acts as, the schemas that it looks through, and its settings.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::advisory::AdvisoryLocks;
use super::identity::{Identity, SessionIdentity};
use super::random_numbers::RandomNumbers;
use super::session_cursor::SessionCursor;
use super::temporary::TemporaryTables;
use crate::catalog::{Catalog, RoleId, SearchPath, Sequence};
use crate::{Error, ErrorKind};

/// The last number of each sequence that a session took one of, and its search path.
#[derive(Default)]
pub(crate) struct LastNumbers {
    numbers: Mutex<Numbers>,
    path: Mutex<Arc<SearchPath>>,
    identity: SessionIdentity,
    /// Names and values of settings, as they were when a statement last asked for them.
    settings: Mutex<Arc<Vec<(&'static str, String)>>>,
    /// Its cursors.
    cursors: Mutex<Vec<SessionCursor>>,
    /// Its temporary tables that do not outlive a transaction as they are.
    pub(crate) temporary: TemporaryTables,
    advisory: AdvisoryLocks,
    /// What `random()` gives.
    pub(crate) random: Arc<RandomNumbers>,
}

#[derive(Default)]
struct Numbers {
    of: BTreeMap<String, (Weak<Sequence>, i64)>,
    /// The one that a number was taken of last.
    latest: Option<(Weak<Sequence>, i64)>,
}

impl LastNumbers {
    /// Those of a session with these locks.
    pub(super) fn with_locks(advisory: AdvisoryLocks) -> Self {
        Self { advisory, ..Self::default() }
    }

    /// The locks that the session has taken by numbers.
    pub(crate) fn advisory(&self) -> &AdvisoryLocks {
        &self.advisory
    }

    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The schemas that the session looks through.
    pub(crate) fn path(&self) -> Arc<SearchPath> {
        Arc::clone(&self.path.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets the session look through other schemas.
    pub(crate) fn set_path(&self, path: SearchPath) {
        *self.path.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(path);
    }

    /// Who the session acts as.
    pub(crate) fn identity(&self) -> Identity {
        self.identity.get()
    }

    /// Lets the session act as somebody else.
    pub(crate) fn set_identity(&self, identity: Identity) {
        self.identity.set(identity);
    }

    /// The role whose privileges are to be checked; `None` for a superuser.
    pub(crate) fn checked_role(&self, catalog: &Catalog) -> Option<RoleId> {
        self.identity.checked_role(catalog)
    }

    /// The settings, if a statement has asked for them.
    pub(crate) fn settings(&self) -> Arc<Vec<(&'static str, String)>> {
        Arc::clone(&self.settings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets the statements of the session know its settings.
    pub(crate) fn tell_settings(&self, settings: Vec<(&'static str, String)>) {
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }

    /// The cursors of the session.
    pub(crate) fn cursors(&self) -> Vec<SessionCursor> {
        self.cursors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes the cursors that the session has now.
    pub(crate) fn set_cursors(&self, cursors: Vec<SessionCursor>) {
        *self.cursors.lock().unwrap_or_else(PoisonError::into_inner) = cursors;
    }

    /// Forgets the numbers that the session took.
    pub(crate) fn forget(&self) {
        *self.numbers() = Numbers::default();
    }

    /// Notes that the session took `number`.
    pub(crate) fn taken(&self, sequence: &Arc<Sequence>, number: i64) {
        let mut numbers = self.numbers();
        numbers.latest = Some((Arc::downgrade(sequence), number));
        numbers.of.insert(sequence.name.clone(), (Arc::downgrade(sequence), number));
    }

    /// Notes that the session set the sequence to `number`, as if it had been taken; `lastval` stays with its sequence.
    pub(crate) fn set(&self, sequence: &Arc<Sequence>, number: i64) {
        let mut numbers = self.numbers();
        let is_it = |weak: &Weak<Sequence>| weak.ptr_eq(&Arc::downgrade(sequence));
        if let Some((_, latest)) = numbers.latest.as_mut().filter(|(weak, _)| is_it(weak)) {
            *latest = number;
        }
        numbers.of.insert(sequence.name.clone(), (Arc::downgrade(sequence), number));
    }

    /// The last number of a sequence.
    pub(crate) fn of(&self, sequence: &Arc<Sequence>) -> Result<i64, Error> {
        let numbers = self.numbers();
        let found = numbers.of.get(&sequence.name).filter(|(weak, _)| weak.ptr_eq(&Arc::downgrade(sequence)));
        found.map(|(_, number)| *number).ok_or_else(|| {
            Error::new(
                ErrorKind::State,
                format!(
                    "currval of sequence \"{}\" is not yet defined in this session; nextval takes a number",
                    sequence.name
                ),
            )
        })
    }

    /// The last number of all.
    pub(crate) fn latest(&self) -> Result<i64, Error> {
        let numbers = self.numbers();
        let found = numbers.latest.as_ref().filter(|(sequence, _)| sequence.strong_count() > 0);
        found.map(|(_, number)| *number).ok_or_else(|| {
            Error::new(ErrorKind::State, "lastval is not yet defined in this session; nextval takes a number")
        })
    }
}
