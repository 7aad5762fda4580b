//! LISTEN and NOTIFY: what the sessions of a database tell each other, by channels.
//!
//! As in PostgreSQL, a notification goes out when its transaction commits, to all sessions that listen to its channel by then, its
//! own among them, in the order of commits; LISTEN and UNLISTEN take effect at the commit, too, before what the transaction tells.
//! What a session was told waits in its [`Inbox`] until its client takes it.
//! Not here: what a transaction has said and not committed (`transaction/notifications`), the statements
//! (`statement/notifications`), the functions (`datafusion/planning/system_functions/notifications`).

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::{Error, ErrorKind};

/// The most bytes that may wait for one session, or that one transaction may say.
pub(crate) const BYTES_MAX: usize = 64 << 20;

/// What a session was told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Notification {
    /// The channel that it listens to.
    pub channel: Arc<str>,
    /// What was said; empty if nothing was.
    pub payload: Arc<str>,
    /// The number of the session that has said it ([`crate::Activity::pid`]).
    pub pid: i32,
}

impl Notification {
    /// What it takes while it waits, texts included, which it may share with others.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.channel.len() + self.payload.len()
    }
}

/// What a transaction does when it commits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    Listen(Arc<str>),
    Unlisten(Arc<str>),
    UnlistenAll,
    Notify(Notification),
}

/// What waits for the client of a session.
pub struct Inbox {
    /// The number of the session.
    pid: i32,
    waiting: Mutex<Waiting>,
    /// Whether anything does: of most sessions this is all that is looked at.
    has_any: AtomicBool,
    arrival: Notify,
}

#[derive(Default)]
struct Waiting {
    notifications: VecDeque<Notification>,
    bytes: usize,
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("pid", &self.pid).field("has_any", &self.has_any).finish_non_exhaustive()
    }
}

impl Inbox {
    pub(crate) fn new(pid: i32) -> Self {
        Self { pid, waiting: Mutex::default(), has_any: AtomicBool::new(false), arrival: Notify::new() }
    }

    /// Whether anything waits.
    #[must_use]
    pub fn has_any(&self) -> bool {
        self.has_any.load(Ordering::Acquire)
    }

    /// Takes what waits, in the order of commits. A client of PostgreSQL hears nothing while its transaction is open.
    #[must_use]
    pub fn take(&self) -> Vec<Notification> {
        if !self.has_any() {
            return Vec::new();
        }
        let mut waiting = lock(&self.waiting);
        self.has_any.store(false, Ordering::Release);
        std::mem::take(&mut *waiting).notifications.into()
    }

    /// Waits until something waits; one task at a time.
    pub async fn arrival(&self) {
        while !self.has_any() {
            self.arrival.notified().await;
        }
    }

    fn put(&self, notification: Notification) {
        let mut waiting = lock(&self.waiting);
        waiting.bytes += notification.bytes();
        waiting.notifications.push_back(notification);
        self.has_any.store(true, Ordering::Release);
        drop(waiting);
        self.arrival.notify_one();
    }

    /// Drops what was told by channels that are not listened to any more.
    fn retain(&self, is_listened_to: impl Fn(&str) -> bool) {
        let mut waiting = lock(&self.waiting);
        waiting.notifications.retain(|notification| is_listened_to(&notification.channel));
        waiting.bytes = waiting.notifications.iter().map(Notification::bytes).sum();
        self.has_any.store(!waiting.notifications.is_empty(), Ordering::Release);
    }
}

/// The channels of a database.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    listeners: Mutex<Listeners>,
    /// Had by who commits and tells something: all hear it in the order of commits.
    turn: Mutex<()>,
}

#[derive(Debug, Default)]
struct Listeners {
    /// The sessions that listen to a channel.
    of_channel: HashMap<Arc<str>, Vec<Arc<Inbox>>>,
    /// The channels that a session listens to, by its number.
    of_session: HashMap<i32, BTreeSet<Arc<str>>>,
}

impl Channels {
    /// Does what a transaction of the session that has this `inbox` has asked for, once `commit` has committed it.
    ///
    /// # Errors
    /// That of the commit; or 54000, when too much waits for a session that is to be told more. Nothing is committed then.
    pub(crate) fn commit<T>(
        &self,
        inbox: &Arc<Inbox>,
        actions: Vec<Action>,
        commit: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let _turn = lock(&self.turn);
        self.check_room(&actions)?;
        let committed = commit()?;
        let mut told = Vec::with_capacity(actions.len());
        let mut listeners = lock(&self.listeners);
        for action in actions {
            match action {
                Action::Listen(channel) => listeners.listen(inbox, channel),
                Action::Unlisten(channel) => listeners.unlisten(inbox, &channel),
                Action::UnlistenAll => listeners.leave(inbox),
                Action::Notify(notification) => told.push(notification),
            }
        }
        for notification in told {
            let to = listeners.of_channel.get(&notification.channel).into_iter().flatten();
            to.for_each(|inbox| inbox.put(notification.clone()));
        }
        Ok(committed)
    }

    /// Refuses to tell more to who has not taken what it was told before.
    fn check_room(&self, actions: &[Action]) -> Result<(), Error> {
        let mut bytes: HashMap<&str, usize> = HashMap::new();
        for action in actions {
            if let Action::Notify(notification) = action {
                *bytes.entry(&notification.channel).or_default() += notification.bytes();
            }
        }
        let listeners = lock(&self.listeners);
        let mut of_session: HashMap<i32, usize> = HashMap::new();
        for (channel, bytes) in bytes {
            for inbox in listeners.of_channel.get(channel).into_iter().flatten() {
                let sum = of_session.entry(inbox.pid).or_insert_with(|| lock(&inbox.waiting).bytes);
                *sum += bytes;
                if *sum > BYTES_MAX {
                    return Err(Error::new(
                        ErrorKind::TooLarge,
                        format!(
                            "too many notifications in the NOTIFY queue: session {} has not taken the {} MiB that wait \
                             for it; let it end its transaction, or UNLISTEN",
                            inbox.pid,
                            BYTES_MAX >> 20
                        ),
                    ));
                }
            }
        }
        Ok(())
    }

    /// The channels that a session listens to, sorted.
    pub(crate) fn of_session(&self, pid: i32) -> Vec<Arc<str>> {
        lock(&self.listeners).of_session.get(&pid).into_iter().flatten().cloned().collect()
    }

    /// How much of the room there is, of the session for which most waits.
    pub(crate) fn fullness(&self) -> f64 {
        let listeners = lock(&self.listeners);
        let inboxes = listeners.of_channel.values().flatten();
        let most = inboxes.map(|inbox| lock(&inbox.waiting).bytes).max();
        most.unwrap_or(0) as f64 / BYTES_MAX as f64
    }

    /// The session listens to nothing any more.
    pub(crate) fn leave(&self, inbox: &Inbox) {
        lock(&self.listeners).leave(inbox);
    }
}

impl Listeners {
    fn listen(&mut self, inbox: &Arc<Inbox>, channel: Arc<str>) {
        if self.of_session.entry(inbox.pid).or_default().insert(Arc::clone(&channel)) {
            self.of_channel.entry(channel).or_default().push(Arc::clone(inbox));
        }
    }

    fn unlisten(&mut self, inbox: &Inbox, channel: &str) {
        let Some(own) = self.of_session.get_mut(&inbox.pid) else { return };
        if own.remove(channel) {
            inbox.retain(|of| of != channel);
            if own.is_empty() {
                self.of_session.remove(&inbox.pid);
            }
            self.forget(inbox, channel);
        }
    }

    fn leave(&mut self, inbox: &Inbox) {
        let Some(own) = self.of_session.remove(&inbox.pid) else { return };
        inbox.retain(|_| false);
        for channel in own {
            self.forget(inbox, &channel);
        }
    }

    fn forget(&mut self, inbox: &Inbox, channel: &str) {
        if let Some(listeners) = self.of_channel.get_mut(channel) {
            listeners.retain(|other| other.pid != inbox.pid);
            if listeners.is_empty() {
                self.of_channel.remove(channel);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
