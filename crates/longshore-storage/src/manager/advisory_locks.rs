//! Locks by numbers to which applications give a meaning, or whoever names objects by numbers. They belong to sessions, to their
//! end or to that of a transaction.

use std::collections::HashMap;
use std::sync::PoisonError;

use super::Transactions;
use crate::sync::{Mutex, MutexGuard, Rank, Ranked};
use crate::visibility::Owner;

/// What is locked: one number, or two; these are different keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdvisoryKey {
    /// A number of 64 bits.
    One(i64),
    /// Two numbers of 32 bits.
    Two(i32, i32),
    /// An object that is defined anew: the number of its kind, and its own.
    Object(u32, u32),
}

/// A lock by a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AdvisoryLock {
    /// What is locked.
    pub key: AdvisoryKey,
    /// Whether others may share it.
    pub is_shared: bool,
}

/// All such locks: who holds each, and how many times.
#[derive(Default)]
pub(crate) struct AdvisoryLocks(Mutex<HashMap<AdvisoryKey, Vec<Holder>>>);

struct Holder {
    session: Owner,
    is_shared: bool,
    times: u32,
}

impl AdvisoryLocks {
    fn lock(&self) -> Ranked<MutexGuard<'_, HashMap<AdvisoryKey, Vec<Holder>>>> {
        Ranked::take(Rank::TableLocks, &self.0, |locks| locks.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl AdvisoryLocks {
    /// All of them, and the session that holds each.
    pub(super) fn all(&self) -> Vec<(Owner, AdvisoryLock)> {
        let locks = self.lock();
        let held = |(key, holders): (&AdvisoryKey, &Vec<Holder>)| {
            let key = *key;
            let one = move |holder: &Holder| (holder.session, AdvisoryLock { key, is_shared: holder.is_shared });
            holders.iter().map(one).collect::<Vec<_>>()
        };
        locks.iter().flat_map(held).collect()
    }
}

impl Transactions {
    /// Locks a number for a session, once more if it has it.
    ///
    /// # Errors
    ///
    /// Who is in the way.
    pub fn lock_advisory(&self, session: Owner, lock: AdvisoryLock) -> Result<(), Owner> {
        let mut locks = self.advisory_locks.lock();
        let holders = locks.entry(lock.key).or_default();
        let is_in_the_way = |holder: &&Holder| holder.session != session && !(holder.is_shared && lock.is_shared);
        if let Some(blocker) = holders.iter().find(is_in_the_way) {
            return Err(blocker.session);
        }
        let own = |holder: &&mut Holder| holder.session == session && holder.is_shared == lock.is_shared;
        match holders.iter_mut().find(own) {
            Some(own) => own.times += 1,
            None => holders.push(Holder { session, is_shared: lock.is_shared, times: 1 }),
        }
        Ok(())
    }

    /// Gives a lock back that a session has taken, once; `false` if it has it not.
    pub fn unlock_advisory(&self, session: Owner, lock: AdvisoryLock) -> bool {
        let mut locks = self.advisory_locks.lock();
        let Some(holders) = locks.get_mut(&lock.key) else { return false };
        let own = |holder: &Holder| holder.session == session && holder.is_shared == lock.is_shared;
        let Some(at) = holders.iter().position(own) else { return false };
        holders[at].times -= 1;
        if holders[at].times > 0 {
            return true;
        }
        holders.swap_remove(at);
        if holders.is_empty() {
            locks.remove(&lock.key);
        }
        drop(locks);
        self.waits.session_gave_up(session);
        true
    }
}
