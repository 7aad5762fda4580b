//! Who waits for whom, so that nobody waits in a circle; and the end of the wait.
//!
//! A wait is told to this list before it begins, with what is to be called when it is over. It is over when the one who is
//! waited for ends, undoes a part of what it has done, or gives up a lock: whoever waited then looks again. So a wait that
//! ends too early costs a look, and none is too long. If it would close a circle, it is refused: the one that comes last
//! is told of the deadlock.
//!
//! Whoever ends looks at one counter, which says whether anybody waits at all.
//!
//! Not here: how a thread sleeps meanwhile (`transaction/statement.rs`), what is waited for (rows, `row_locks.rs`).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError};

use super::{ActiveSlot, Transactions, Waiting};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard, Rank, Ranked};
use crate::visibility::{Owner, TRANSACTION_ID_MIN};

/// What is called when a wait is over.
type Wake = Box<dyn FnOnce() + Send>;

/// All waits of a database.
#[derive(Default)]
pub(crate) struct Waits {
    /// How many there are.
    count: AtomicUsize,
    /// How often a transaction has undone a part of what it had done.
    undone: AtomicU64,
    next_session: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    waiting: Vec<Waiter>,
    /// How many waits were refused because they would have closed a circle.
    deadlocks: u64,
    /// When each session has given up a lock last.
    sessions: HashMap<Owner, Moment>,
}

struct Waiter {
    number: u64,
    /// Who waits: a transaction, its session, or both.
    who: Vec<Owner>,
    blocker: Owner,
    wake: Wake,
}

/// Waits that are over; who waited is called when this goes.
#[must_use = "who waited is called when it goes, without locks"]
pub(crate) struct Woken(Vec<Wake>);

impl Drop for Woken {
    fn drop(&mut self) {
        self.0.drain(..).for_each(|wake| wake());
    }
}

/// A moment: what was undone before it was not met after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

/// To wait would be to wait for oneself: transactions wait for each other in a circle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlock;

/// A wait. Dropped, it is given up.
pub struct Wait {
    transactions: Arc<Transactions>,
    number: u64,
}

impl fmt::Debug for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let waits = &self.transactions.waits;
        let mut state = waits.lock();
        if let Some(at) = state.waiting.iter().position(|waiter| waiter.number == self.number) {
            let waiter = state.waiting.swap_remove(at);
            waits.count.fetch_sub(1, Ordering::SeqCst);
            drop(state);
            drop(waiter);
        }
    }
}

impl Waits {
    #[track_caller]
    fn lock(&self) -> Ranked<MutexGuard<'_, State>> {
        Ranked::take(Rank::Waits, &self.state, |state| state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends the waits for somebody who ends.
    #[inline]
    pub(super) fn ended(&self, owner: Owner) -> Woken {
        // Whoever waits has been entered before he looked whether that one is active, under the lock that is held here.
        if self.count.load(Ordering::SeqCst) == 0 { Woken(Vec::new()) } else { self.wake(owner) }
    }

    /// Ends the waits for somebody who has given up something of what he had.
    pub(crate) fn gave_up(&self, owner: Owner) -> Woken {
        if self.count.load(Ordering::SeqCst) == 0 { Woken(Vec::new()) } else { self.wake(owner) }
    }

    /// A session has given up a lock: whoever waits for it looks again.
    pub(super) fn session_gave_up(&self, session: Owner) {
        let moment = Moment(self.undone.fetch_add(1, Ordering::SeqCst) + 1);
        self.lock().sessions.insert(session, moment);
        drop(self.gave_up(session));
    }

    #[cold]
    fn wake(&self, owner: Owner) -> Woken {
        let mut state = self.lock();
        let (mut woken, mut at) = (Vec::new(), 0);
        while at < state.waiting.len() {
            if state.waiting[at].blocker == owner {
                woken.push(state.waiting.swap_remove(at));
            } else {
                at += 1;
            }
        }
        drop(state);
        self.count.fetch_sub(woken.len(), Ordering::SeqCst);
        // Who came first goes first.
        woken.sort_by_key(|waiter| waiter.number);
        Woken(woken.into_iter().map(|waiter| waiter.wake).collect())
    }

    /// Who waits for whom.
    pub(super) fn all(&self) -> Vec<Waiting> {
        let state = self.lock();
        state.waiting.iter().map(|waiter| Waiting { who: waiter.who.clone(), blocker: waiter.blocker }).collect()
    }

    /// How many waits there were, and how many were refused as deadlocks.
    pub(super) fn counts(&self) -> (u64, u64) {
        let state = self.lock();
        (state.next, state.deadlocks)
    }

    /// Enters a wait, unless it closes a circle.
    fn enter(&self, who: &[Owner], blocker: Owner, wake: Wake) -> Result<u64, Deadlock> {
        let mut state = self.lock();
        if state.is_circle(who, blocker) {
            state.deadlocks += 1;
            return Err(Deadlock);
        }
        state.next += 1;
        let number = state.next;
        state.waiting.push(Waiter { number, who: who.to_vec(), blocker, wake });
        self.count.fetch_add(1, Ordering::SeqCst);
        Ok(number)
    }
}

impl State {
    /// Whether somebody would wait for himself if he waited for `blocker`. Everybody waits for one at a time.
    fn is_circle(&self, who: &[Owner], mut blocker: Owner) -> bool {
        for _ in 0..=self.waiting.len() {
            if who.contains(&blocker) {
                return true;
            }
            match self.waiting.iter().find(|waiter| waiter.who.contains(&blocker)) {
                Some(waiter) => blocker = waiter.blocker,
                None => return false,
            }
        }
        false
    }
}

impl Transactions {
    /// A number for a session, by which it may hold locks that no transaction ends.
    #[must_use]
    pub fn new_session(&self) -> Owner {
        // Ids of transactions are above.
        Owner(self.waits.next_session.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The moment that it is: to be asked before one meets what somebody else may undo.
    #[must_use]
    pub fn moment(&self) -> Moment {
        Moment(self.waits.undone.load(Ordering::SeqCst))
    }

    /// A transaction has undone a part of what it had done, or given up locks: whoever waits for it looks again.
    pub(crate) fn undid(&self, active_slot: ActiveSlot, owner: Owner) {
        let mut state = self.lock();
        state.undid_at(active_slot, Moment(self.waits.undone.fetch_add(1, Ordering::SeqCst) + 1));
        drop(state);
        drop(self.waits.gave_up(owner));
    }

    /// Begins to wait for `blocker` on behalf of those in `who`, which are the same: a transaction and its session. `wake`
    /// is called once when it is time to look again. `None` if that is now: the blocker has ended, or has undone something
    /// since the moment `since`.
    ///
    /// # Errors
    ///
    /// When `blocker` waits for one of `who`, if by way of others.
    pub fn wait_for(
        self: &Arc<Transactions>,
        who: &[Owner],
        blocker: Owner,
        since: Moment,
        wake: impl FnOnce() + Send + 'static,
    ) -> Result<Option<Wait>, Deadlock> {
        let number = self.waits.enter(who, blocker, Box::new(wake))?;
        let wait = Wait { transactions: Arc::clone(self), number };
        let goes_on = if blocker.0 < TRANSACTION_ID_MIN {
            self.waits.lock().sessions.get(&blocker).is_none_or(|given_up| *given_up <= since)
        } else {
            self.lock().has_undone_nothing(blocker, since)
        };
        Ok(goes_on.then_some(wait))
    }
}

#[cfg(all(test, not(feature = "interleave")))]
mod tests {
    use super::*;
    use crate::transaction::Isolation;

    #[test]
    fn a_wait_that_closes_a_circle_is_refused_and_an_end_is_told() {
        let transactions = Transactions::new();
        let all: Vec<_> = (0..3).map(|_| transactions.begin(Isolation::Snapshot)).collect();
        let ids: Vec<Owner> = all.iter().map(crate::transaction::Transaction::owner).collect();
        let session = transactions.new_session();
        let woken = Arc::new(AtomicUsize::new(0));
        let wait = |who: &[Owner], blocker| {
            let woken = Arc::clone(&woken);
            transactions.wait_for(who, blocker, transactions.moment(), move || {
                woken.fetch_add(1, Ordering::SeqCst);
            })
        };
        let first = wait(&[ids[0]], ids[1]).unwrap();
        let second = wait(&[session, ids[1]], ids[2]).unwrap();
        assert!(first.is_some() && second.is_some());
        assert_eq!(wait(&[ids[2]], ids[0]).unwrap_err(), Deadlock);
        assert_eq!(wait(&[ids[2]], session).unwrap_err(), Deadlock);
        drop(first);
        assert!(wait(&[ids[2]], ids[0]).unwrap().is_some(), "nobody waits for it any more");
        drop(all);
        assert_eq!(woken.load(Ordering::SeqCst), 1);
        assert!(wait(&[session], ids[1]).unwrap().is_none(), "it has ended");
        let (since, mut giver) = (transactions.moment(), transactions.begin(Isolation::Snapshot));
        let wait = |since| transactions.wait_for(&[session], giver.owner(), since, || ()).unwrap();
        assert!(wait(since).is_some());
        transactions.undid(giver.active_slot(), giver.owner());
        assert!(wait(since).is_none(), "it may be free by now");
        assert!(wait(transactions.moment()).is_some());
        let savepoint = giver.savepoint();
        giver.rollback_to(savepoint);
        assert_eq!(transactions.moment(), Moment(1), "there was nothing to undo");
        assert_eq!(transactions.waits.count.load(Ordering::SeqCst), 0);
    }
}
