//! What the transactions of a session know of it: the numbers that sequences gave it last, which `currval` and `lastval`
//! answer, its random numbers, who it acts as, the schemas that it looks through, and its settings.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use super::advisory::AdvisoryLocks;
use super::identity::{Identity, SessionIdentity};
use super::random_numbers::RandomNumbers;
use super::registered::RegisteredRows;
use super::session_cursor::SessionCursor;
use super::temporary::TemporaryTables;
use crate::activity::{Activities, Activity};
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
    /// Rows of the program that it belongs to, which its queries know by name.
    pub(crate) registered: RegisteredRows,
    /// What the session tells of itself, and the list that it is in.
    entered: OnceLock<(Arc<Activity>, Arc<Activities>)>,
    /// What each query may take, if that is limited.
    limits: Mutex<Option<QueryLimits>>,
    /// Whether queries keep their plans until their rows are read, for the log.
    keeps_plans: AtomicBool,
    /// What `random()` gives.
    pub(crate) random: Arc<RandomNumbers>,
}

/// Bytes that one query may take; `None` for any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueryLimits {
    /// Of memory, as far as operators tell what they take.
    pub(crate) memory: Option<usize>,
    /// Of temporary files.
    pub(crate) temp_file: Option<u64>,
}

#[derive(Default)]
struct Numbers {
    /// By the names of the sequences.
    of: BTreeMap<String, (Weak<()>, i64)>,
    /// The one that a number was taken of last.
    latest: Option<(Weak<()>, i64)>,
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

    /// Each query may take no more than this.
    pub(crate) fn limit_queries(&self, limits: QueryLimits) {
        let limits = Some(limits).filter(|limits| *limits != QueryLimits::default());
        *self.limits.lock().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    /// What each query may take, if that is limited.
    pub(crate) fn query_limits(&self) -> Option<QueryLimits> {
        *self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queries keep their plans until their rows are read, or not.
    pub(crate) fn keep_plans(&self, keeps: bool) {
        self.keeps_plans.store(keeps, Ordering::Relaxed);
    }

    /// Whether queries keep their plans until their rows are read.
    pub(crate) fn keeps_plans(&self) -> bool {
        self.keeps_plans.load(Ordering::Relaxed)
    }

    /// The session was entered in a list.
    pub(crate) fn enter(&self, activity: &Arc<Activity>, all: &Arc<Activities>) {
        // It is entered once, when it begins.
        let _ = self.entered.set((Arc::clone(activity), Arc::clone(all)));
    }

    /// What the session tells of itself, and the list that it is in; `None` if it is none by itself.
    pub(crate) fn entered(&self) -> Option<&(Arc<Activity>, Arc<Activities>)> {
        self.entered.get()
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
        let (mut numbers, identity) = (self.numbers(), Arc::downgrade(sequence.identity()));
        numbers.latest = Some((Weak::clone(&identity), number));
        numbers.of.insert(sequence.name.clone(), (identity, number));
    }

    /// Notes that the session set the sequence to `number`, as if it had been taken; `lastval` stays with its sequence.
    pub(crate) fn set(&self, sequence: &Arc<Sequence>, number: i64) {
        let (mut numbers, identity) = (self.numbers(), Arc::downgrade(sequence.identity()));
        if let Some((_, latest)) = numbers.latest.as_mut().filter(|(known, _)| known.ptr_eq(&identity)) {
            *latest = number;
        }
        numbers.of.insert(sequence.name.clone(), (identity, number));
    }

    /// The last number of a sequence.
    pub(crate) fn of(&self, sequence: &Arc<Sequence>) -> Result<i64, Error> {
        let (numbers, identity) = (self.numbers(), Arc::downgrade(sequence.identity()));
        let is_it = |(known, _): &&(Weak<()>, i64)| known.ptr_eq(&identity);
        // It may have had another name then.
        let found = numbers.of.get(&sequence.name).filter(is_it).or_else(|| numbers.of.values().find(is_it));
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
