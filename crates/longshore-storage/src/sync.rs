//! The locks and atomics by which threads meet: those of the standard library, of `shuttle`, or of `parking_lot`.
//!
//! In which order they are taken, [`order`] says and checks.
//!
//! With the feature `interleave`, `shuttle` runs the threads of a test one at a time and decides at each of these which
//! one goes on, so that a seed gives one interleaving (`tests/interleave.rs`, `interleave_log.rs`, `interleave_waits.rs`). What is reached while one of these locks
//! is held must be one of these too, or `shuttle` could not see who waits for whom. Others, which are held for a moment
//! and call nothing, are [`brief`]: those of memory and arenas, and of the lists in [`order`]; cells that are filled
//! once are the standard library's.
//!
//! With the feature `sanitize-threads`, all locks are those of `parking_lot`, which are compiled with the test, so that
//! `ThreadSanitizer` sees what they put in order (`seen`).

pub(crate) mod order;
#[cfg(feature = "sanitize-threads")]
mod seen;

/// Locks that are held for a moment and under which no other is asked for.
pub(crate) mod brief {
    #[cfg(feature = "sanitize-threads")]
    pub(crate) use super::seen::{Mutex, MutexGuard};
    #[cfg(not(feature = "sanitize-threads"))]
    pub(crate) use std::sync::{Mutex, MutexGuard};
}

#[cfg(not(any(feature = "interleave", feature = "sanitize-threads")))]
mod imp {
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic};
    pub(crate) use std::thread;
}

#[cfg(all(feature = "sanitize-threads", not(feature = "interleave")))]
mod imp {
    pub(crate) use super::seen::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
    pub(crate) use std::sync::atomic;
    pub(crate) use std::thread;
}

#[cfg(feature = "interleave")]
mod imp {
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic};
    pub(crate) use shuttle::thread;
}

pub use order::held as locks_held;
pub(crate) use order::{Rank, Ranked, assert_nothing_held};

/// Sleeps, with no lock in hand.
#[track_caller]
pub(crate) fn sleep(duration: std::time::Duration) {
    assert_nothing_held();
    thread::sleep(duration);
}

pub(crate) use imp::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic, thread};
