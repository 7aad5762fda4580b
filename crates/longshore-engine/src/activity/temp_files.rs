//! How much queries have put into temporary files.

use std::sync::atomic::{AtomicU64, Ordering};

/// Temporary files since the database was opened.
#[derive(Debug, Default)]
pub(crate) struct TempFiles {
    files: AtomicU64,
    bytes: AtomicU64,
}

impl TempFiles {
    /// One more was made.
    pub(crate) fn made(&self) {
        self.files.fetch_add(1, Ordering::Relaxed);
    }

    /// So many bytes were written.
    pub(crate) fn written(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// How many files there were, and the bytes of all of them.
    pub(crate) fn get(&self) -> (u64, u64) {
        (self.files.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }
}
