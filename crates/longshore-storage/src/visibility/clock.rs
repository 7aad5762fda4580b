//! The clock of a database: the time of the last commit, and the stamps by which commits are seen.

use super::stamp::{StampId, Stamps};
use super::time::Time;
use crate::sync::atomic::{AtomicU64, Ordering};

/// The time of the last commit, and all stamps.
pub(crate) struct Clock {
    now: AtomicU64,
    stamps: Stamps,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock { now: AtomicU64::new(0), stamps: Stamps::new() }
    }

    /// The time of the last commit.
    #[inline]
    pub(crate) fn now(&self) -> Time {
        Time(self.now.load(Ordering::Acquire))
    }

    #[inline]
    pub(crate) fn stamps(&self) -> &Stamps {
        &self.stamps
    }

    /// Makes a commit visible: its stamp says the time before the clock does.
    pub(crate) fn advance(&self, stamp: StampId, time: Time) {
        self.stamps.set(stamp, time.0);
        self.set(time);
    }

    /// Moves on to a time.
    pub(crate) fn set(&self, time: Time) {
        self.now.store(time.0, Ordering::Release);
    }
}
