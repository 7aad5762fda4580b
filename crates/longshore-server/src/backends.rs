//! The connections that are there, and how one cancels what another does.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_engine::Control;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::Notify;

use crate::stream::Failure;

/// Bytes of a key for cancellation that every client can take.
const KEY_BYTES: usize = 4;
/// The same for clients of protocol 3.2.
const LONG_KEY_BYTES: usize = 32;

/// All connections that have signed in, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Backends {
    all: Mutex<HashMap<i32, Arc<Backend>>>,
}

/// A connection as others see it.
#[derive(Debug)]
pub(crate) struct Backend {
    /// What PostgreSQL's programs take for the id of a process.
    pub(crate) process: i32,
    /// What proves that a cancellation comes from its client.
    pub(crate) key: Vec<u8>,
    running: Mutex<Option<Arc<Control>>>,
    is_terminated: AtomicBool,
    terminated: Notify,
}

/// A connection among all others, until it is dropped.
#[derive(Debug)]
pub(crate) struct Registered {
    backends: Arc<Backends>,
    pub(crate) backend: Arc<Backend>,
}

impl Backends {
    /// Adds a connection by the number of its session, whose client can take a long key or not; `None` if there are `max`
    /// already or the system gives no random numbers.
    pub(crate) fn register(self: &Arc<Self>, process: i32, has_long_key: bool, max: usize) -> Option<Registered> {
        let mut key = vec![0; if has_long_key { LONG_KEY_BYTES } else { KEY_BYTES }];
        SystemRandom::new().fill(&mut key).ok()?;
        let mut all = lock(&self.all);
        if all.len() >= max {
            return None;
        }
        let (is_terminated, terminated) = (AtomicBool::new(false), Notify::new());
        let backend = Arc::new(Backend { process, key, running: Mutex::new(None), is_terminated, terminated });
        all.insert(process, Arc::clone(&backend));
        Some(Registered { backends: Arc::clone(self), backend })
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        lock(&self.all).len()
    }

    /// Cancels what a connection does, if the key is its own.
    pub(crate) fn cancel(&self, process: i32, key: &[u8]) {
        let backend = lock(&self.all).get(&process).cloned();
        if let Some(backend) = backend
            && is_same(&backend.key, key)
        {
            backend.cancel();
        }
    }

    /// Ends all connections.
    pub(crate) fn terminate_all(&self) {
        lock(&self.all).values().for_each(|backend| backend.terminate());
    }
}

impl Backend {
    /// Notes what runs from now on.
    pub(crate) fn runs(&self, control: Option<Arc<Control>>) {
        *lock(&self.running) = control;
    }

    /// Ends the connection: what it does is cancelled.
    pub(crate) fn terminate(&self) {
        self.is_terminated.store(true, Ordering::SeqCst);
        self.terminated.notify_one();
        self.cancel();
    }

    /// Whether somebody has ended the connection.
    pub(crate) fn is_terminated(&self) -> bool {
        self.is_terminated.load(Ordering::SeqCst)
    }

    /// Waits until somebody ends the connection.
    pub(crate) async fn terminated(&self) {
        while !self.is_terminated() {
            self.terminated.notified().await;
        }
    }

    /// What `sending` comes to, unless somebody ends the connection: a client that takes nothing does not keep it.
    pub(crate) async fn unless_terminated(
        &self,
        sending: impl Future<Output = Result<(), Failure>>,
    ) -> Result<(), Failure> {
        tokio::select! {
            biased;
            sent = sending => sent,
            () = self.terminated() => Err(Failure::Gone),
        }
    }

    pub(crate) fn cancel(&self) {
        if let Some(control) = lock(&self.running).as_ref() {
            control.cancel();
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        lock(&self.backends.all).remove(&self.backend.process);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether two keys are the same, in a time that does not tell how much of them is.
fn is_same(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |all, (left, right)| all | (left ^ right)) == 0
}
