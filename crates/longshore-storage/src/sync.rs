//! The locks and atomics by which threads meet: those of the standard library, or of `shuttle`.
//!
//! With the feature `interleave`, `shuttle` runs the threads of a test one at a time and decides at each of these which
//! one goes on, so that a seed gives one interleaving (`tests/interleave.rs`). What is reached while one of these locks
//! is held must be one of these too, or `shuttle` could not see who waits for whom. Others, which are held for a moment
//! and call nothing, are the standard library's: those of memory and arenas, and cells that are filled once.

#[cfg(not(feature = "interleave"))]
mod imp {
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic};
    pub(crate) use std::thread;
}

#[cfg(feature = "interleave")]
mod imp {
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic};
    pub(crate) use shuttle::thread;
}

pub(crate) use imp::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic, thread};
