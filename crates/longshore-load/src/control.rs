//! What a running statement shares with whoever watches it: how far it is, whether it shall stop, and what else is to be
//! said of it.
//!
//! Not here: drawing a progress display (`longshore-cli`), deciding when to cancel (a session).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use longshore_source::Cancellation;

/// Progress and cancellation of one statement, shared between its workers and its watchers.
#[derive(Debug, Default)]
pub struct Control {
    /// How far the work is.
    pub progress: Progress,
    cancellation: Cancellation,
    notices: Mutex<Vec<String>>,
    has_notices: AtomicBool,
}

impl Control {
    /// A fresh control: nothing done, not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the workers to stop at the next piece, batch or block.
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }

    /// Whether [`Control::cancel`] was called since the last [`Control::reset`].
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// What sources look at, which know nothing of the rest.
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    /// Says something that is no error; the same is said once.
    pub fn notice(&self, text: String) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        if !notices.contains(&text) {
            notices.push(text);
        }
        self.has_notices.store(true, Ordering::Release);
    }

    /// Whether something was said since the last [`Control::reset`].
    #[must_use]
    pub fn has_notices(&self) -> bool {
        self.has_notices.load(Ordering::Acquire)
    }

    /// What was said since this was last asked for.
    #[must_use]
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes the control ready for the next statement.
    pub fn reset(&self) {
        drop(self.take_notices());
        self.has_notices.store(false, Ordering::Release);
        self.cancellation.reset();
        self.progress.start(0);
    }
}

/// Counters that workers add to and a display reads; each is monotonic within a statement.
#[derive(Debug, Default)]
pub struct Progress {
    bytes_total: AtomicU64,
    bytes_done: AtomicU64,
    rows: AtomicU64,
}

impl Progress {
    /// Starts anew with `bytes_total` bytes to do; 0 means that the total is unknown.
    pub fn start(&self, bytes_total: u64) {
        self.bytes_total.store(bytes_total, Ordering::Relaxed);
        self.bytes_done.store(0, Ordering::Relaxed);
        self.rows.store(0, Ordering::Relaxed);
    }

    /// Adds work that is done.
    pub fn add(&self, bytes: u64, rows: u64) {
        self.bytes_done.fetch_add(bytes, Ordering::Relaxed);
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// Bytes to do in all; 0 if unknown.
    #[must_use]
    pub fn bytes_total(&self) -> u64 {
        self.bytes_total.load(Ordering::Relaxed)
    }

    /// Bytes done so far.
    #[must_use]
    pub fn bytes_done(&self) -> u64 {
        self.bytes_done.load(Ordering::Relaxed)
    }

    /// Rows done so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }
}
