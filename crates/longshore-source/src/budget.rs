//! What the buffers of an open file count against: the memory of the load that reads it, told before its first read.
//!
//! Where nobody tells, for a look at the head of a file, nothing is counted; buffers are bounded all the same.

use std::io;
use std::sync::{Arc, OnceLock};

use longshore_storage::{Memory, Reservation};
use tokio::sync::Notify;

/// What the buffers of one file count against.
#[derive(Clone, Default)]
pub(crate) struct Budget(Arc<State>);

#[derive(Default)]
struct State {
    memory: OnceLock<Option<Arc<Memory>>>,
    settled: Notify,
}

impl Budget {
    /// Everything from now on counts against `memory`.
    pub(crate) fn tell(&self, memory: &Arc<Memory>) {
        // Whoever reads without having told does not tell later.
        let _ = self.0.memory.set(Some(Arc::clone(memory)));
        self.0.settled.notify_one();
    }

    /// To be called at the first read: what was not told until now will not be.
    pub(crate) fn settle(&self) {
        self.memory();
        self.0.settled.notify_one();
    }

    /// Waits until it is told, or settled without.
    pub(crate) async fn settled(&self) {
        while self.0.memory.get().is_none() {
            self.0.settled.notified().await;
        }
    }

    fn memory(&self) -> Option<&Arc<Memory>> {
        self.0.memory.get_or_init(|| None).as_ref()
    }

    /// Bytes that are left of the limit, if there is one.
    pub(crate) fn room(&self) -> Option<usize> {
        let memory = self.memory()?;
        memory.limit().map(|limit| limit.saturating_sub(memory.used()))
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
        let mut reserved = Reserved(self.memory().map(Reservation::new));
        reserved.grow(bytes)?;
        Ok(reserved)
    }
}

/// Bytes that are counted as used.
#[derive(Default)]
pub(crate) struct Reserved(Option<Reservation>);

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
