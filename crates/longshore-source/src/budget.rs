//! What the buffers of an open file count against: the memory of the load that reads it, told before its first read.
//!
//! Where nobody tells, for a look at the head of a file, nothing is counted; buffers are bounded all the same.

use std::io;
use std::sync::{Arc, OnceLock};

#[cfg(feature = "remote")]
use tokio::sync::Notify;

use crate::memory::{MemoryPool, MemoryReservation};

/// What the buffers of one file count against.
#[derive(Clone, Default)]
pub(crate) struct Budget(Arc<State>);

#[derive(Default)]
struct State {
    pool: OnceLock<Option<Arc<dyn MemoryPool>>>,
    /// Wakes the requests that wait for it.
    #[cfg(feature = "remote")]
    fixed: Notify,
}

impl Budget {
    /// Everything from now on counts against `pool`.
    pub(crate) fn count_against(&self, pool: &Arc<dyn MemoryPool>) {
        // A pool that comes after the first read is not taken.
        let _ = self.0.pool.set(Some(Arc::clone(pool)));
        self.announce();
    }

    /// Fixes the pool at the first read: there is none unless one was given before.
    pub(crate) fn fix(&self) {
        self.pool();
        self.announce();
    }

    #[cfg(feature = "remote")]
    fn announce(&self) {
        self.0.fixed.notify_one();
    }

    /// Nobody waits for it but requests.
    #[cfg(not(feature = "remote"))]
    #[expect(clippy::unused_self, reason = "with the feature `remote` it is used")]
    fn announce(&self) {}

    /// Waits until the pool is fixed.
    #[cfg(feature = "remote")]
    pub(crate) async fn fixed(&self) {
        while self.0.pool.get().is_none() {
            self.0.fixed.notified().await;
        }
    }

    fn pool(&self) -> Option<&Arc<dyn MemoryPool>> {
        self.0.pool.get_or_init(|| None).as_ref()
    }

    /// Bytes that are left of the limit, if there is one.
    pub(crate) fn room(&self) -> Option<usize> {
        self.pool()?.room()
    }

    /// The part of what is left that a buffer may take which would otherwise have up to `bytes_max`: one in `share`,
    /// but no less than `bytes_min`.
    pub(crate) fn share(&self, share: usize, bytes_min: usize, bytes_max: usize) -> usize {
        self.room().map_or(bytes_max, |room| (room / share).clamp(bytes_min, bytes_max))
    }

    /// Counts in `bytes`, until what comes back is dropped.
    ///
    /// # Errors
    /// When the limit is reached.
    pub(crate) fn reserve(&self, bytes: usize) -> io::Result<Reserved> {
        let mut reserved = Reserved(self.pool().map(|pool| pool.reservation()));
        reserved.grow(bytes)?;
        Ok(reserved)
    }
}

/// Bytes that are counted as used.
#[derive(Default)]
pub(crate) struct Reserved(Option<Box<dyn MemoryReservation>>);

impl Reserved {
    /// Counts in `bytes` more.
    ///
    /// # Errors
    /// When the limit is reached; the load knows the error by its type.
    pub(crate) fn grow(&mut self, bytes: usize) -> io::Result<()> {
        let Some(reservation) = &mut self.0 else { return Ok(()) };
        reservation.grow(bytes).map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, error))
    }
}
