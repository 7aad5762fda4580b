//! Whether what is being read is still wanted.
//!
//! Not here: progress and notices (`longshore-load`), who decides (a session).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// A request to stop, shared between those who read and whoever may ask them to.
#[derive(Debug, Default)]
pub struct Cancellation {
    is_requested: AtomicBool,
    /// The tasks that wait for something else, and shall look here again.
    waiting: Mutex<Vec<(WaiterId, Waker)>>,
    waiters: AtomicU64,
}

/// One that waits, and is to be woken by a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaiterId(u64);

impl Cancellation {
    /// Asks the readers to stop at the next piece, batch or block, and wakes those who wait.
    pub fn cancel(&self) {
        self.is_requested.store(true, Ordering::Relaxed);
        // Whoever waits from now on takes the lock behind this, and sees the request.
        let waiting = std::mem::take(&mut *self.waiting());
        for (_, waker) in waiting {
            waker.wake();
        }
    }

    /// Whether [`Cancellation::cancel`] was called since the last [`Cancellation::reset`].
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.is_requested.load(Ordering::Relaxed)
    }

    /// Takes the request back, for the next use.
    pub fn reset(&self) {
        self.is_requested.store(false, Ordering::Relaxed);
        self.waiting().clear();
    }

    /// A name for one that will wait.
    #[must_use]
    pub fn waiter(&self) -> WaiterId {
        WaiterId(self.waiters.fetch_add(1, Ordering::Relaxed))
    }

    /// Has the task of `waker` woken by a request, in the place of the one that `waiter` gave before; false if there is a
    /// request already.
    #[must_use]
    pub fn wait(&self, waiter: WaiterId, waker: &Waker) -> bool {
        let mut waiting = self.waiting();
        if self.is_cancelled() {
            return false;
        }
        match waiting.iter_mut().find(|(id, _)| *id == waiter) {
            Some((_, known)) => known.clone_from(waker),
            None => waiting.push((waiter, waker.clone())),
        }
        true
    }

    /// Ends the wait of `waiter`.
    pub fn leave(&self, waiter: WaiterId) {
        self.waiting().retain(|(id, _)| *id != waiter);
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<(WaiterId, Waker)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_request_wakes_each_task_that_waits_once() {
        let cancellation = Cancellation::default();
        let counts = [(); 3].map(|()| Arc::new(Count::default()));
        let [stays, leaves, late] = [(); 3].map(|()| cancellation.waiter());
        assert!(cancellation.wait(stays, &Waker::from(Arc::clone(&counts[1]))));
        // The newer waker counts.
        assert!(cancellation.wait(stays, &Waker::from(Arc::clone(&counts[0]))));
        assert!(cancellation.wait(leaves, &Waker::from(Arc::clone(&counts[1]))));
        cancellation.leave(leaves);
        cancellation.cancel();
        cancellation.cancel();
        assert!(!cancellation.wait(late, &Waker::from(Arc::clone(&counts[2]))));
        let woken = counts.each_ref().map(|count| count.0.load(Ordering::Relaxed));
        assert_eq!(woken, [1, 0, 0]);
        cancellation.reset();
        assert!(cancellation.wait(late, &Waker::from(Arc::clone(&counts[2]))));
    }
}
