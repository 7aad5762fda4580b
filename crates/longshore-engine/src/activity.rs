//! What sessions do, as others may see it: who they belong to, what runs, since when, and how far a COPY is.
//!
//! Every session is entered here under a number, which PostgreSQL's programs take for the id of a process. What it does is
//! told by whoever runs it ([`Activity::begins`] and [`Activity::rests`]): that takes a look at the clock, which a program
//! with sessions of its own need not pay for. The one thing that every statement tells is its transaction, by one store.
//! Not here: locks and waits (`longshore-storage`), who may see what (`datafusion/planning/system_tables`).

mod copying;
mod statements;
mod temp_files;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use longshore_storage::Owner;

pub(crate) use copying::{CopyKind, CopyProgress, Copying, PipedFrom};
pub use statements::{StatementEntry, Statements};
pub(crate) use temp_files::TempFiles;

use crate::catalog::RoleId;
use crate::notifications::{Channels, Inbox};

/// All sessions of a database, by their numbers.
#[derive(Debug)]
pub(crate) struct Activities {
    sessions: Mutex<Sessions>,
    /// Sessions that there were, these included.
    begun: AtomicU64,
    statements: Statements,
    temp_files: Arc<TempFiles>,
    channels: Channels,
    /// When the database was opened, in microseconds since 1970-01-01 UTC.
    since: i64,
}

impl Default for Activities {
    fn default() -> Self {
        Self {
            sessions: Mutex::default(),
            begun: AtomicU64::new(0),
            statements: Statements::default(),
            temp_files: Arc::default(),
            channels: Channels::default(),
            since: now(),
        }
    }
}

#[derive(Debug, Default)]
struct Sessions {
    /// The number that was given last.
    last: i32,
    all: BTreeMap<i32, Arc<Activity>>,
}

/// The session's end of what it tells; it leaves the list with this.
#[derive(Debug)]
pub(crate) struct Entered {
    activity: Arc<Activity>,
    of: Arc<Activities>,
}

/// What one session does.
pub struct Activity {
    pid: i32,
    /// By what others know it that wait for it.
    session: Owner,
    /// When it began, in microseconds since 1970-01-01 UTC.
    began: i64,
    /// The role that has signed in.
    role: OnceLock<RoleId>,
    client: OnceLock<Client>,
    /// The transaction that it began last, as bits of an [`Owner`].
    transaction: AtomicU64,
    doing: Mutex<Doing>,
    copying: Mutex<Option<CopyProgress>>,
    inbox: Arc<Inbox>,
}

/// Where a session's statements come from, and how it is told to stop.
pub struct Client {
    /// Its address and port; `None` if it came by a socket of the machine.
    pub address: Option<SocketAddr>,
    /// Cancels what runs.
    pub cancel: Box<dyn Fn() + Send + Sync>,
    /// Ends the session.
    pub terminate: Box<dyn Fn() + Send + Sync>,
}

/// What a session is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nobody tells what it does.
    #[default]
    Untold,
    /// It waits for its client.
    Idle,
    /// It executes a statement.
    Active,
    /// It waits for its client in an open transaction block.
    IdleInTransaction,
    /// The same in a block that has failed.
    IdleInFailedTransaction,
}

impl Phase {
    /// As PostgreSQL says it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Untold => "disabled",
            Self::Idle => "idle",
            Self::Active => "active",
            Self::IdleInTransaction => "idle in transaction",
            Self::IdleInFailedTransaction => "idle in transaction (aborted)",
        }
    }
}

/// What a session does, and since when; times are microseconds since 1970-01-01 UTC, and 0 where there is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doing {
    pub(crate) phase: Phase,
    /// The statement that runs, or the last one that did.
    pub(crate) query: Arc<str>,
    pub(crate) transaction_start: i64,
    pub(crate) query_start: i64,
    pub(crate) phase_since: i64,
    pub(crate) application: Arc<str>,
}

impl Activities {
    /// Enters a session.
    pub(crate) fn enter(self: &Arc<Self>, session: Owner) -> Entered {
        self.begun.fetch_add(1, Ordering::Relaxed);
        let mut sessions = lock(&self.sessions);
        let pid = loop {
            sessions.last = if sessions.last == i32::MAX { 1 } else { sessions.last + 1 };
            if !sessions.all.contains_key(&sessions.last) {
                break sessions.last;
            }
        };
        let activity = Arc::new(Activity {
            pid,
            session,
            began: now(),
            role: OnceLock::new(),
            client: OnceLock::new(),
            transaction: AtomicU64::new(0),
            doing: Mutex::default(),
            copying: Mutex::default(),
            inbox: Arc::new(Inbox::new(pid)),
        });
        sessions.all.insert(pid, Arc::clone(&activity));
        Entered { activity, of: Arc::clone(self) }
    }

    /// All sessions, by their numbers.
    pub(crate) fn all(&self) -> Vec<Arc<Activity>> {
        lock(&self.sessions).all.values().cloned().collect()
    }

    /// A session by its number.
    pub(crate) fn get(&self, pid: i32) -> Option<Arc<Activity>> {
        lock(&self.sessions).all.get(&pid).cloned()
    }

    /// What statements took.
    pub(crate) fn statements(&self) -> &Statements {
        &self.statements
    }

    /// What went to temporary files.
    pub(crate) fn temp_files(&self) -> &Arc<TempFiles> {
        &self.temp_files
    }

    /// By which its sessions tell each other something.
    pub(crate) fn channels(&self) -> &Channels {
        &self.channels
    }

    /// When the database was opened, in microseconds since 1970-01-01 UTC.
    pub(crate) fn since(&self) -> i64 {
        self.since
    }

    /// How many sessions there were since the database was opened, those that are there included.
    pub(crate) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }
}

impl Entered {
    pub(crate) fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// The list that the session is in.
    pub(crate) fn all(&self) -> &Arc<Activities> {
        &self.of
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.of.channels.leave(&self.activity.inbox);
        lock(&self.of.sessions).all.remove(&self.activity.pid);
    }
}

impl Activity {
    /// The number of the session.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// What it was told by channels that it listens to, and its client has not taken yet.
    #[must_use]
    pub fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
    }

    /// Where it comes from, once that was told.
    #[must_use]
    pub fn client(&self) -> Option<&Client> {
        self.client.get()
    }

    /// Tells where the session comes from, once; it waits for its client from now on.
    pub fn belongs_to(&self, client: Client) {
        // It is told by who has made the session, once.
        let _ = self.client.set(client);
        self.rests(Phase::Idle);
    }

    /// A statement begins.
    pub fn begins(&self, query: &Arc<str>) {
        let now = now();
        let mut doing = lock(&self.doing);
        if !Arc::ptr_eq(&doing.query, query) {
            doing.query = Arc::clone(query);
        }
        doing.query_start = now;
        if doing.transaction_start == 0 {
            doing.transaction_start = now;
        }
        if doing.phase != Phase::Active {
            doing.phase = Phase::Active;
            doing.phase_since = now;
        }
    }

    /// The session waits for its client.
    pub(crate) fn rests(&self, phase: Phase) {
        let mut doing = lock(&self.doing);
        if doing.phase == phase {
            return;
        }
        doing.phase = phase;
        doing.phase_since = now();
        if phase == Phase::Idle {
            doing.transaction_start = 0;
        }
    }

    /// What it does now.
    pub(crate) fn doing(&self) -> Doing {
        lock(&self.doing).clone()
    }

    /// What it is about.
    #[must_use]
    pub fn phase(&self) -> Phase {
        lock(&self.doing).phase
    }

    /// The program calls itself so.
    pub(crate) fn set_application(&self, name: &str) {
        let mut doing = lock(&self.doing);
        if *doing.application != *name {
            doing.application = name.into();
        }
    }

    /// The role that has signed in.
    pub(crate) fn role(&self) -> RoleId {
        self.role.get().copied().unwrap_or(RoleId::SUPERUSER)
    }

    /// A role has signed in.
    pub(crate) fn set_role(&self, role: RoleId) {
        // A session is signed in once.
        let _ = self.role.set(role);
    }

    /// When it began, in microseconds since 1970-01-01 UTC.
    pub(crate) fn began(&self) -> i64 {
        self.began
    }

    /// It works in a transaction.
    #[inline]
    pub(crate) fn set_transaction(&self, transaction: Owner) {
        self.transaction.store(transaction.to_bits(), Ordering::Relaxed);
    }

    /// Whether it is the session or the transaction that it began last, which may have ended.
    pub(crate) fn is(&self, owner: Owner) -> bool {
        owner == self.session || owner.to_bits() == self.transaction.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Activity").field("pid", &self.pid).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Microseconds since 1970-01-01 UTC.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
