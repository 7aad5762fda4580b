//! The order in which locks are taken, checked wherever a debug build takes one.
//!
//! A thread that holds a lock takes only locks of a higher [`Rank`], so that no two threads ever wait for each other, nor
//! a thread for itself: a lock for reading, too, is taken once, since a writer that waits in between would stand before
//! the second reader. In debug builds each thread keeps a list of what it holds and what it waits for. A lock out of order
//! is a panic that names both places, whether or not anybody was in the way this time; and [`held`] says who holds what
//! when nothing moves. Release builds check nothing and keep nothing.
//!
//! With `shuttle` several threads of a test share one of the system, so nothing is checked there.

use std::ops::{Deref, DerefMut};

use self::imp::{Held, Waiting};

/// The locks of which the order is checked, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// The mutex that orders begins and commits.
    Commits,
    /// The list of a relation's indexes.
    IndexList,
    /// An index, or one of the parts that it has latches of.
    Index,
    /// The list of slots with room.
    Roomy,
    /// The list of a relation's slots.
    SlotList,
    /// A slot.
    Slot,
    /// The foreign keys of a relation.
    References,
    /// A part of the table of row locks.
    RowLocks,
    /// The table of table locks, or that of advisory locks.
    TableLocks,
    /// What gathers to be written to the log.
    Log,
    /// Who waits for whom.
    Waits,
}

/// A guard of a lock that has a rank.
pub(crate) struct Ranked<G> {
    guard: G,
    // Behind the guard: what is dropped is held until it is gone.
    _held: Held,
}

impl<G> Ranked<G> {
    /// Takes a lock.
    #[inline]
    #[track_caller]
    pub(crate) fn take<'l, L>(rank: Rank, lock: &'l L, take: impl FnOnce(&'l L) -> G) -> Ranked<G> {
        let waiting = Waiting::new(rank, std::ptr::from_ref(lock).addr());
        let guard = take(lock);
        Ranked { guard, _held: waiting.taken() }
    }

    /// Lets go of the lock for a while, as a condition variable does.
    pub(crate) fn pass(self, wait: impl FnOnce(G) -> G) -> Ranked<G> {
        Ranked { guard: wait(self.guard), ..self }
    }
}

impl<G: Deref> Deref for Ranked<G> {
    type Target = G::Target;

    #[inline]
    fn deref(&self) -> &G::Target {
        &self.guard
    }
}

impl<G: DerefMut> DerefMut for Ranked<G> {
    #[inline]
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.guard
    }
}

pub(crate) use imp::assert_nothing_held;
pub use imp::held;

#[cfg(any(not(debug_assertions), feature = "interleave"))]
mod imp {
    use super::Rank;

    pub(super) struct Waiting;
    pub(super) struct Held;

    impl Waiting {
        #[inline]
        pub(super) fn new(_: Rank, _: usize) -> Waiting {
            Waiting
        }

        #[inline]
        #[allow(clippy::unused_self, reason = "as where it is checked")]
        pub(super) fn taken(self) -> Held {
            Held
        }
    }

    /// Debug builds check that a thread which is about to sleep holds no lock.
    pub(crate) fn assert_nothing_held() {}

    /// The locks of storage that threads hold or wait for, one in a line; in release builds nothing is known of them. For
    /// tests that tell why nothing moves.
    #[must_use]
    pub fn held() -> Vec<String> {
        Vec::new()
    }
}

#[cfg(all(debug_assertions, not(feature = "interleave")))]
mod imp {
    use std::fmt;
    use std::panic::Location;
    use std::sync::{Arc, PoisonError, Weak};

    use super::Rank;
    use crate::sync::brief::{Mutex, MutexGuard};

    /// What a thread holds and waits for.
    type Locks = Mutex<Vec<Entry>>;

    /// The same of all threads, by their names.
    static THREADS: Mutex<Vec<(String, Weak<Locks>)>> = Mutex::new(Vec::new());

    thread_local! {
        static LOCKS: Arc<Locks> = register();
    }

    #[derive(Clone, Copy)]
    struct Entry {
        rank: Rank,
        /// The address of the lock.
        lock: usize,
        is_held: bool,
        place: &'static Location<'static>,
    }

    impl fmt::Display for Entry {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let does = if self.is_held { "holds" } else { "waits for" };
            write!(f, "{does} {:?} {:#x}, {}", self.rank, self.lock, self.place)
        }
    }

    pub(super) struct Waiting(Entry);

    pub(super) struct Held(Entry);

    impl Waiting {
        #[track_caller]
        pub(super) fn new(rank: Rank, lock: usize) -> Waiting {
            let entry = Entry { rank, lock, is_held: false, place: Location::caller() };
            let before = with(|locks| {
                let before = locks.iter().find(|before| before.rank >= rank).copied();
                locks.push(entry);
                before
            });
            if let Some(before) = before {
                forget(&entry);
                panic!("locks out of order: a thread that {before}, takes {rank:?} {lock:#x}, {}", entry.place);
            }
            Waiting(entry)
        }

        pub(super) fn taken(self) -> Held {
            with(|locks| {
                if let Some(last) = locks.last_mut() {
                    last.is_held = true;
                }
            });
            Held(self.0)
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            forget(&self.0);
        }
    }

    /// Asserts that the thread, which is about to sleep, holds no lock.
    #[track_caller]
    pub(crate) fn assert_nothing_held() {
        if let Some(held) = with(|locks| locks.first().copied()) {
            panic!("a thread that is about to sleep {held}");
        }
    }

    /// The locks of storage that threads hold or wait for, one in a line; in release builds nothing is known of them. For
    /// tests that tell why nothing moves.
    #[must_use]
    pub fn held() -> Vec<String> {
        let threads = latched(&THREADS);
        let known = threads.iter().filter_map(|(name, locks)| Some((name, locks.upgrade()?)));
        known
            .flat_map(|(name, locks)| latched(&locks).iter().map(|entry| format!("{name} {entry}")).collect::<Vec<_>>())
            .collect()
    }

    fn register() -> Arc<Locks> {
        let locks = Arc::new(Mutex::new(Vec::new()));
        let thread = std::thread::current();
        let name = thread.name().map_or_else(|| format!("{:?}", thread.id()), str::to_owned);
        let mut threads = latched(&THREADS);
        threads.retain(|(_, locks)| locks.strong_count() > 0);
        threads.push((name, Arc::downgrade(&locks)));
        locks
    }

    /// Does something with the list of this thread; nothing where the thread is ending.
    fn with<R: Default>(act: impl FnOnce(&mut Vec<Entry>) -> R) -> R {
        LOCKS.try_with(|locks| act(&mut latched(locks))).unwrap_or_default()
    }

    fn forget(entry: &Entry) {
        with(|locks| {
            if let Some(at) = locks.iter().rposition(|known| known.lock == entry.lock && known.rank == entry.rank) {
                locks.remove(at);
            }
        });
    }

    fn latched<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    mod tests {
        use std::panic::{AssertUnwindSafe, catch_unwind};
        use std::sync::RwLock;

        use super::*;
        use crate::sync::order::Ranked;

        fn read(rank: Rank, lock: &RwLock<()>) -> Ranked<std::sync::RwLockReadGuard<'_, ()>> {
            Ranked::take(rank, lock, |lock| lock.read().unwrap_or_else(PoisonError::into_inner))
        }

        #[test]
        fn a_lock_is_taken_once_and_behind_those_before_it() {
            let (list, slot) = (RwLock::new(()), RwLock::new(()));
            for _ in 0..2 {
                let (_list, _slot) = (read(Rank::IndexList, &list), read(Rank::Slot, &slot));
                assert!(held().iter().filter(|line| line.contains(" holds ")).count() >= 2);
            }
            assert_nothing_held();
            for wrong in [Rank::IndexList, Rank::Slot] {
                let taken = catch_unwind(AssertUnwindSafe(|| {
                    let _slot = read(Rank::Slot, &slot);
                    let _other = read(wrong, &list);
                }));
                let message = *taken.expect_err("it is out of order").downcast::<String>().expect("a message");
                assert!(message.contains("locks out of order") && message.contains("order.rs"), "{message}");
            }
            assert_nothing_held();
        }
    }
}
