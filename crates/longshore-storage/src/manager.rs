//! Decides the order of transactions: the clock, who is active, who committed recently; and when what they have changed is
//! seen by all, so that nobody needs what was before.
//!
//! Source: the thesis, 2.2.1, 2.2.3 and 2.2.4. One mutex orders begins and commits; what takes long (validation against
//! most of the recent commits, reclaiming) is done outside of it. It is never taken by who holds a latch.
//!
//! Not here: what a transaction does (`transaction`).

use std::fmt;
use std::sync::{Arc, PoisonError};

use crate::predicate::PredicateLog;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Mutex, MutexGuard, Rank, Ranked};
use crate::table::RelationId;
use crate::visibility::{Clock, Owner, StampId, Stamps, TRANSACTION_ID_MIN, Time, View};

mod advisory_locks;
mod backlog;
mod commit_log;
mod freed_slots;
mod inspect;
mod prune;
mod reclaim;
mod row_locks;
mod table_locks;
mod waits;
mod write_set;

pub use advisory_locks::{AdvisoryKey, AdvisoryLock};
pub(crate) use commit_log::{BlockStore, CheckpointMoment, CommitLog, LoadWriter};
pub use commit_log::{Commit, RedoLog};
pub use inspect::{Counts, HeldLock, Locked, Waiting};
pub use row_locks::RowLock;
pub use table_locks::TableLock;
pub use waits::{Deadlock, Moment, Wait};
pub(crate) use write_set::{Committed, SchemaChanges, Write, WriteKind, WriteSet};

use advisory_locks::AdvisoryLocks;
use backlog::Backlog;
use freed_slots::{FreedSlotQueue, FreedSlots, release};
use prune::{Horizon, Pruning};
use row_locks::RowLocks;
use table_locks::TableLocks;
use waits::{Waits, Woken};

/// The transactions of a database.
pub struct Transactions {
    clock: Clock,
    state: Mutex<State>,
    log: CommitLog,
    pub(crate) row_locks: RowLocks,
    pub(crate) table_locks: TableLocks,
    advisory_locks: AdvisoryLocks,
    pub(crate) waits: Waits,
    /// The number of the next relation that joins.
    next_relation: AtomicU32,
}

/// The start of an active slot that no transaction has.
const NOBODY: u64 = u64::MAX;

/// Write sets, and logs of reads, that are kept for reuse.
const SPARE_WRITE_SETS_MAX: usize = 16;

pub(crate) struct State {
    next_id: u64,
    /// The transactions that are active.
    active_slots: Vec<ActiveTransaction>,
    free_active_slots: Vec<u32>,
    /// Commits that somebody does not see yet, in their order.
    recent: Backlog,
    freed_slots: FreedSlotQueue,
    next_stamp: u32,
    free_stamps: Vec<StampId>,
    spare: Vec<WriteSet>,
    #[allow(clippy::vec_box, reason = "transactions take the boxes")]
    spare_logs: Vec<Box<PredicateLog>>,
    /// How many transactions have committed, and how many were rolled back.
    committed: u64,
    rolled_back: u64,
}

/// How a transaction ends that leaves nothing to be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// It has committed, and had changed nothing.
    Committed,
    RolledBack,
    /// It was none, but a reader.
    Reader,
}

/// The state of all transactions, locked.
pub(crate) type StateGuard<'a> = Ranked<MutexGuard<'a, State>>;

/// The place of a transaction among the active ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActiveSlot(u32);

/// What is known of the transaction that has an active slot.
#[derive(Clone, Copy)]
struct ActiveTransaction {
    /// [`NOBODY`] if it is free.
    start: u64,
    id: u64,
    /// When it has undone something last.
    undone: Moment,
    /// Whether it may write.
    writes: bool,
}

impl fmt::Debug for Transactions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transactions").field("now", &self.now()).finish_non_exhaustive()
    }
}

impl Transactions {
    /// For a new database.
    #[must_use]
    #[allow(clippy::new_ret_no_self, reason = "it is shared from the start")]
    pub fn new() -> Arc<Transactions> {
        Arc::new(Transactions {
            clock: Clock::new(),
            log: CommitLog::default(),
            row_locks: RowLocks::new(),
            table_locks: TableLocks::default(),
            advisory_locks: AdvisoryLocks::default(),
            waits: Waits::default(),
            next_relation: AtomicU32::new(1),
            state: Mutex::new(State {
                next_id: TRANSACTION_ID_MIN,
                active_slots: Vec::new(),
                free_active_slots: Vec::new(),
                recent: Backlog::default(),
                freed_slots: FreedSlotQueue::default(),
                next_stamp: 0,
                free_stamps: Vec::new(),
                spare: Vec::new(),
                spare_logs: Vec::new(),
                committed: 0,
                rolled_back: 0,
            }),
        })
    }

    /// The time of the last commit.
    #[must_use]
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// A view for a moment, during which what it sees is kept.
    pub(crate) fn begin_reader(&self) -> Reader<'_> {
        self.reader(&mut self.lock())
    }

    fn reader(&self, state: &mut State) -> Reader<'_> {
        let (active_slot, view) = self.register(state, false);
        Reader { transactions: self, active_slot, view }
    }

    /// Where commits are logged, if they are.
    #[inline]
    pub(crate) fn log(&self) -> &CommitLog {
        &self.log
    }

    /// A number for a relation, which no other one has had.
    pub(crate) fn new_relation_id(&self) -> RelationId {
        RelationId(self.next_relation.fetch_add(1, Ordering::Relaxed))
    }

    /// The number that the next relation gets.
    fn next_relation_id(&self) -> RelationId {
        RelationId(self.next_relation.load(Ordering::Relaxed))
    }

    /// Takes note that a number is taken.
    pub(crate) fn has_relation_id(&self, id: RelationId) {
        self.has_relation_ids_below(RelationId(id.0.saturating_add(1)));
    }

    /// Takes note that all numbers below one are taken.
    pub(crate) fn has_relation_ids_below(&self, id: RelationId) {
        self.next_relation.fetch_max(id.0, Ordering::Relaxed);
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    #[inline]
    pub(crate) fn stamps(&self) -> &Stamps {
        self.clock.stamps()
    }

    /// Gives a transaction its place among the active ones, and a view of what has been committed so far.
    pub(crate) fn register(&self, state: &mut State, writes: bool) -> (ActiveSlot, View) {
        let view = View { start: self.now(), id: state.next_id };
        state.next_id += 1;
        let taken = ActiveTransaction { start: view.start.0, id: view.id, undone: Moment::default(), writes };
        let active_slot = if let Some(active_slot) = state.free_active_slots.pop() {
            state.active_slots[active_slot as usize] = taken;
            active_slot
        } else {
            state.active_slots.push(taken);
            state.active_slots.len() as u32 - 1
        };
        (ActiveSlot(active_slot), view)
    }

    /// Takes a transaction from the active ones; what comes back is to go without locks.
    pub(crate) fn unregister(&self, state: &mut State, ActiveSlot(active_slot): ActiveSlot) -> Woken {
        let taken = &mut state.active_slots[active_slot as usize];
        taken.start = NOBODY;
        let owner = Owner(taken.id);
        state.free_active_slots.push(active_slot);
        self.waits.ended(owner)
    }

    /// The commits after some time that have not been reclaimed, oldest first.
    pub(crate) fn recent_after(&self, time: Time) -> Vec<Arc<Committed>> {
        self.lock().recent_after(time)
    }

    /// Makes a commit visible.
    pub(crate) fn advance(&self, stamp: StampId, time: Time) {
        self.clock.advance(stamp, time);
    }

    /// Does something at a time of its own: who began before has an earlier start, and has not committed meanwhile.
    pub(crate) fn at_a_new_time(&self, act: impl FnOnce(Time)) {
        let state = self.lock();
        let time = Time(self.now().0 + 1);
        act(time);
        self.clock.set(time);
        drop(state);
    }

    /// Ends a transaction that has changed nothing, or nothing any more.
    pub(crate) fn leave(
        &self,
        active_slot: ActiveSlot,
        stamp: Option<StampId>,
        mut writes: WriteSet,
        log: Option<Box<PredicateLog>>,
        left: Left,
    ) {
        let mut freed = FreedSlots::default();
        // Who only reads has changed nothing.
        if stamp.is_some() {
            writes.clear();
            freed = std::mem::take(&mut writes.freed);
        }
        let mut state = self.lock();
        state.count(left);
        state.keep_log(log);
        state.free_stamps.extend(stamp);
        if state.spare.len() < SPARE_WRITE_SETS_MAX && stamp.is_some() {
            state.spare.push(writes);
        }
        let _woken = self.unregister(&mut state, active_slot);
        self.clean_up(state, freed);
    }

    /// Gives up what a transaction that has committed leaves, which everybody sees, and then what others have left.
    pub(crate) fn reclaim(&self, mut state: StateGuard<'_>, stamp: StampId, mut set: WriteSet) {
        let mut freed = std::mem::take(&mut set.freed);
        let ticket = state.freed_slots.begin();
        drop(state);
        set.reclaim(stamp, &mut freed);
        set.clear();
        let mut state = self.lock();
        state.freed_slots.end(ticket);
        state.free_stamps.push(stamp);
        if state.spare.len() < SPARE_WRITE_SETS_MAX {
            state.spare.push(set);
        }
        self.clean_up(state, freed);
    }

    /// Gives up what is left of commits that every active transaction sees, and of all to come, and what no active one
    /// needs of others; and lets others have places of slots that are gone.
    #[inline]
    pub(crate) fn clean_up<'a>(&'a self, state: StateGuard<'a>, freed: FreedSlots) {
        // The common end of transactions that follow each other.
        let is_clean = freed.is_empty() && state.recent.is_idle() && state.freed_slots.is_empty();
        if is_clean {
            // Nothing, which is not worth a call.
            std::mem::forget(freed);
        } else {
            self.clean_up_all(state, freed);
        }
    }

    fn clean_up_all<'a>(&'a self, mut state: StateGuard<'a>, freed: FreedSlots) {
        state.freed_slots.put(freed);
        loop {
            let (seen, pruning) = state.left_behind(self.now());
            let ready = state.freed_slots.ready();
            if seen.is_empty() && pruning.is_none() {
                drop(state);
                release(ready);
                return;
            }
            let ticket = state.freed_slots.begin();
            drop(state);
            release(ready);
            let mut freed = FreedSlots::default();
            for committed in &seen {
                committed.reclaim(&mut freed);
            }
            let pruned = pruning.map(|pruning| (pruning.run(self.stamps(), &mut freed), pruning.are_old));
            state = self.lock();
            state.free_stamps.extend(seen.iter().map(|committed| committed.stamp()));
            if let Some((pruned, are_old)) = pruned {
                state.free_stamps.extend(pruned.free_stamps);
                state.recent.put_back(pruned.left, are_old);
            }
            state.freed_slots.end(ticket);
            state.freed_slots.put(freed);
        }
    }

    #[track_caller]
    pub(crate) fn lock(&self) -> StateGuard<'_> {
        // It is consistent wherever a panic could occur.
        Ranked::take(Rank::Commits, &self.state, |state| state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    /// Counts a transaction that ends so.
    pub(crate) fn count(&mut self, left: Left) {
        match left {
            Left::Committed => self.committed += 1,
            Left::RolledBack => self.rolled_back += 1,
            Left::Reader => {}
        }
    }

    pub(crate) fn take_stamp(&mut self) -> StampId {
        self.free_stamps.pop().unwrap_or_else(|| {
            self.next_stamp += 1;
            StampId(self.next_stamp - 1)
        })
    }

    /// A set for changes, with the memory of one before.
    pub(crate) fn take_set(&mut self) -> WriteSet {
        self.spare.pop().unwrap_or_default()
    }

    /// A log for reads, with the memory of one before; it has to be cleared.
    #[expect(clippy::unnecessary_box_returns, reason = "the box is what is kept")]
    pub(crate) fn take_log(&mut self) -> Box<PredicateLog> {
        self.spare_logs.pop().unwrap_or_default()
    }

    pub(crate) fn recent_after(&self, time: Time) -> Vec<Arc<Committed>> {
        self.recent.after(time)
    }

    /// A transaction works on what was committed up to another time from now on.
    pub(crate) fn restart(&mut self, ActiveSlot(active_slot): ActiveSlot, start: Time) {
        self.active_slots[active_slot as usize].start = start.0;
    }

    /// A transaction has undone something.
    fn undid_at(&mut self, ActiveSlot(active_slot): ActiveSlot, undone: Moment) {
        self.active_slots[active_slot as usize].undone = undone;
    }

    /// Whether a transaction has not ended, nor undone anything since a moment.
    fn has_undone_nothing(&self, Owner(id): Owner, since: Moment) -> bool {
        self.active_slots.iter().any(|taken| taken.id == id && taken.start != NOBODY && taken.undone <= since)
    }

    /// The commits that everybody active, and all to come, see; and those of which it is time to give up what no active
    /// one needs.
    fn left_behind(&mut self, now: Time) -> (Vec<Arc<Committed>>, Option<Pruning>) {
        if self.recent.is_idle() {
            return (Vec::new(), None);
        }
        let oldest = self.active_slots.iter().map(|taken| taken.start).min().unwrap_or(NOBODY).min(now.0);
        let seen = self.recent.take_seen(Time(oldest));
        let active = self.active_slots.len() - self.free_active_slots.len();
        let pruning = self.recent.next_pruning(active, || {
            let active = self.active_slots.iter().filter(|taken| taken.start != NOBODY);
            let writer = active.clone().filter(|taken| taken.writes).map(|taken| taken.start).min();
            Horizon::new(active.map(|taken| taken.start).collect(), writer.unwrap_or(NOBODY), now)
        });
        (seen, pruning)
    }

    /// Keeps a log, with the memory it has, for the next transaction that needs one.
    pub(crate) fn keep_log(&mut self, log: Option<Box<PredicateLog>>) {
        if self.spare_logs.len() < SPARE_WRITE_SETS_MAX {
            self.spare_logs.extend(log);
        }
    }

    /// Whether nobody is active.
    pub(crate) fn is_idle(&self) -> bool {
        self.free_active_slots.len() == self.active_slots.len()
    }

    /// Remembers a commit.
    pub(crate) fn remember(&mut self, committed: Committed) {
        self.recent.push(Arc::new(committed));
    }
}

/// A view that is good as long as this lives.
pub(crate) struct Reader<'a> {
    transactions: &'a Transactions,
    active_slot: ActiveSlot,
    view: View,
}

impl Reader<'_> {
    pub(crate) fn view(&self) -> View {
        self.view
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        self.transactions.leave(self.active_slot, None, WriteSet::default(), None, Left::Reader);
    }
}
