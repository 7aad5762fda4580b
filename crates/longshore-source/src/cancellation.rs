//! Whether what is being read is still wanted.
//!
//! Not here: progress and notices (`longshore-load`), who decides (a session).

use std::sync::atomic::{AtomicBool, Ordering};

/// A request to stop, shared between those who read and whoever may ask them to.
#[derive(Debug, Default)]
pub struct Cancellation(AtomicBool);

impl Cancellation {
    /// Asks the readers to stop at the next piece, batch or block.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Cancellation::cancel`] was called since the last [`Cancellation::reset`].
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes the request back, for the next use.
    pub fn reset(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
