//! Counts the bytes that a stream is made from, where they are read.
//!
//! Not here: what is made of them (`container`, `encoding`).

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes read at the origin of a stream: compressed bytes, or bytes off the network. The side that reads adds, the
/// side that shows progress takes.
#[derive(Debug, Default)]
pub struct ByteCounter {
    bytes: AtomicU64,
}

impl ByteCounter {
    /// Counts bytes that were read.
    pub fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The bytes that were read since the last call.
    #[must_use]
    pub fn take(&self) -> u64 {
        self.bytes.swap(0, Ordering::Relaxed)
    }
}
