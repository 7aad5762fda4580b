//! Locks of which `ThreadSanitizer` sees every step. Those of the standard library are compiled without it, so that it
//! takes for unordered what a contended lock has put in order.

#![allow(clippy::unnecessary_wraps, reason = "as the locks of the standard library, which may be poisoned")]

use std::ops::{Deref, DerefMut};
use std::panic::RefUnwindSafe;
use std::sync::LockResult;
use std::time::Duration;

/// A [`std::sync::Mutex`] that is never poisoned.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T: ?Sized>(parking_lot::Mutex<T>);

pub(crate) struct MutexGuard<'a, T: ?Sized>(parking_lot::MutexGuard<'a, T>);

pub(crate) type RwLockReadGuard<'a, T> = parking_lot::RwLockReadGuard<'a, T>;

pub(crate) type RwLockWriteGuard<'a, T> = parking_lot::RwLockWriteGuard<'a, T>;

/// A [`std::sync::RwLock`] that is never poisoned.
#[derive(Debug, Default)]
pub(crate) struct RwLock<T: ?Sized>(parking_lot::RwLock<T>);

/// A [`std::sync::Condvar`] for [`Mutex`].
#[derive(Debug, Default)]
pub(crate) struct Condvar(parking_lot::Condvar);

// As the standard library's, which is poisoned instead; nothing here is used again after a panic.
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }

    pub(crate) fn into_inner(self) -> LockResult<T> {
        Ok(self.0.into_inner())
    }
}

impl<T: ?Sized> Mutex<T> {
    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        Ok(MutexGuard(self.0.lock()))
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> RwLock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(parking_lot::RwLock::new(value))
    }
}

impl<T: ?Sized> RwLock<T> {
    pub(crate) fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        Ok(self.0.read())
    }

    pub(crate) fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        Ok(self.0.write())
    }
}

impl Condvar {
    pub(crate) const fn new() -> Self {
        Self(parking_lot::Condvar::new())
    }

    pub(crate) fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.0.wait(&mut guard.0);
        Ok(guard)
    }

    /// Whether the time has run out is not told.
    pub(crate) fn wait_timeout<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, ())> {
        self.0.wait_for(&mut guard.0, timeout);
        Ok((guard, ()))
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}
