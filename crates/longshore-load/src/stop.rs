//! How the workers of a pass stop: at the first failure in the order of the files, or because one of them panicked.
//!
//! Not here: cancellation by the user (`control`).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::LoadError;

/// Why workers shall no longer go on.
#[derive(Default)]
pub(crate) struct Stops {
    stopped: AtomicBool,
    abandoned: AtomicBool,
}

impl Stops {
    /// Nothing more shall be claimed.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    /// Nobody shall wait for another worker either.
    pub(crate) fn abandon(&self) {
        self.stop();
        self.abandoned.store(true, Ordering::Release);
    }

    /// Whether nothing more shall be claimed.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Whether nobody shall wait for another worker.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }
}

/// The failure that counts: of the first span in the order of the file.
#[derive(Default)]
pub(crate) struct Failure {
    first: Mutex<Option<(u64, LoadError)>>,
    /// One more than the number of the span that failed; 0 while none did.
    sequence: AtomicU64,
}

impl Failure {
    pub(crate) fn record(&self, sequence: u64, error: LoadError) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(earlier, _)| sequence < *earlier) {
            *first = Some((sequence, error));
            self.sequence.store(sequence + 1, Ordering::Release);
        }
    }

    /// Whether any span failed: then no further one needs to be claimed.
    pub(crate) fn exists(&self) -> bool {
        self.sequence.load(Ordering::Acquire) != 0
    }

    /// Whether a span before `sequence` failed: then this one does not count.
    pub(crate) fn is_before(&self, sequence: u64) -> bool {
        let failed = self.sequence.load(Ordering::Acquire);
        failed != 0 && failed - 1 < sequence
    }

    pub(crate) fn take_first(&self) -> Option<LoadError> {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.take().map(|(_, error)| error)
    }
}

/// Frees workers that wait for this one's span when it panics, so that the panic is seen.
pub(crate) struct StopOnPanic<'a>(pub(crate) &'a Stops);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abandon();
        }
    }
}
