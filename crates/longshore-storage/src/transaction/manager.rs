//! Decides the order of transactions: the clock, who is active, who committed recently.
//!
//! Source: the thesis, 2.2.1, 2.2.3 and 2.2.4. One mutex orders begins and commits; what takes long (validation against
//! most of the recent commits, reclaiming) is done outside of it. It is never taken by who holds a latch.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, PoisonError};

use super::predicate::PredicateLog;
use super::stamp::{StampId, Stamps};
use super::time::{Isolation, TRANSACTION_ID_MIN, Time, View};
use super::write_set::{Committed, WriteSet};
use super::{Transaction, TransactionError};
use crate::relation::Table;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard, thread};

/// The transactions of a database.
pub struct Transactions {
    clock: AtomicU64,
    stamps: Stamps,
    state: Mutex<State>,
}

/// The start of a seat that nobody has.
const NOBODY: u64 = u64::MAX;

/// Write sets, and logs of reads, that are kept for reuse.
const SPARE_WRITE_SETS_MAX: usize = 16;

pub(super) struct State {
    next_id: u64,
    /// The starts of those who are active, at their seats.
    seats: Vec<u64>,
    free_seats: Vec<u32>,
    /// Those whose versions somebody may need, in the order of their commits.
    recent: VecDeque<Arc<Committed>>,
    next_stamp: u32,
    free_stamps: Vec<StampId>,
    spare: Vec<WriteSet>,
    #[allow(clippy::vec_box, reason = "transactions take the boxes")]
    spare_logs: Vec<Box<PredicateLog>>,
}

/// A place among the active.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat(u32);

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
            clock: AtomicU64::new(0),
            stamps: Stamps::new(),
            state: Mutex::new(State {
                next_id: TRANSACTION_ID_MIN,
                seats: Vec::new(),
                free_seats: Vec::new(),
                recent: VecDeque::new(),
                next_stamp: 0,
                free_stamps: Vec::new(),
                spare: Vec::new(),
                spare_logs: Vec::new(),
            }),
        })
    }

    /// The time of the last commit.
    #[must_use]
    pub fn now(&self) -> Time {
        Time(self.clock.load(Ordering::Acquire))
    }

    /// Begins a transaction, which sees what has been committed so far.
    #[must_use]
    pub fn begin(self: &Arc<Transactions>, isolation: Isolation) -> Transaction {
        let mut state = self.lock();
        let (seat, view) = self.admit(&mut state);
        let stamp = state.take_stamp();
        self.stamps.set(stamp, view.id);
        let writes = state.spare.pop().unwrap_or_default();
        let mut log = (isolation == Isolation::Serializable).then(|| state.spare_logs.pop().unwrap_or_default());
        drop(state);
        if let Some(log) = &mut log {
            log.clear();
        }
        Transaction::new(Arc::clone(self), seat, view, Some(stamp), isolation, writes, log)
    }

    /// Begins a transaction that changes nothing. It never conflicts with any other.
    #[must_use]
    pub fn begin_read_only(self: &Arc<Transactions>, isolation: Isolation) -> Transaction {
        let mut state = self.lock();
        let (seat, view) = self.admit(&mut state);
        drop(state);
        Transaction::new(Arc::clone(self), seat, view, None, isolation, WriteSet::default(), None)
    }

    /// Runs a transaction until it commits: again whenever another one was in the way.
    ///
    /// # Errors
    ///
    /// When it fails for another reason; then it has been rolled back.
    pub fn retry<T>(
        self: &Arc<Transactions>,
        isolation: Isolation,
        mut run: impl FnMut(&mut Transaction) -> Result<T, TransactionError>,
    ) -> Result<T, TransactionError> {
        loop {
            let mut transaction = self.begin(isolation);
            let done = run(&mut transaction).and_then(|value| {
                transaction.commit()?;
                Ok(value)
            });
            match done {
                Err(error) if error.is_conflict() => thread::yield_now(),
                done => return done,
            }
        }
    }

    /// A view for a moment, during which what it sees is kept.
    pub(crate) fn begin_reader(&self) -> Reader<'_> {
        let (seat, view) = self.admit(&mut self.lock());
        Reader { transactions: self, seat, view }
    }

    pub(crate) fn stamps(&self) -> &Stamps {
        &self.stamps
    }

    /// Removes all rows of a table, whoever works on them.
    pub(crate) fn truncate(self: &Arc<Transactions>, table: &Arc<Table>) {
        let mut transaction = self.begin(Isolation::Snapshot);
        transaction.truncate_regardless(table);
        let committed = transaction.commit();
        assert!(committed.is_ok(), "without reads nothing is validated");
    }

    fn admit(&self, state: &mut State) -> (Seat, View) {
        let view = View { start: self.now(), id: state.next_id };
        state.next_id += 1;
        let seat = if let Some(seat) = state.free_seats.pop() {
            state.seats[seat as usize] = view.start.0;
            seat
        } else {
            state.seats.push(view.start.0);
            state.seats.len() as u32 - 1
        };
        (Seat(seat), view)
    }

    /// The commits after some time that have not been reclaimed, oldest first.
    pub(super) fn recent_after(&self, time: Time) -> Vec<Arc<Committed>> {
        self.lock().recent_after(time)
    }

    /// Makes a commit visible.
    pub(super) fn advance(&self, stamp: StampId, time: Time) {
        self.stamps.set(stamp, time.0);
        self.clock.store(time.0, Ordering::Release);
    }

    /// Does something at a time of its own: who began before has an earlier start, and has not committed meanwhile.
    pub(crate) fn at_a_new_time(&self, act: impl FnOnce(Time)) {
        let state = self.lock();
        let time = Time(self.now().0 + 1);
        act(time);
        self.clock.store(time.0, Ordering::Release);
        drop(state);
    }

    /// Ends a transaction that has changed nothing, or nothing any more.
    pub(super) fn leave(
        &self,
        seat: Seat,
        stamp: Option<StampId>,
        mut writes: WriteSet,
        log: Option<Box<PredicateLog>>,
    ) {
        writes.clear();
        let mut state = self.lock();
        state.keep_log(log);
        state.free_stamps.extend(stamp);
        if state.spare.len() < SPARE_WRITE_SETS_MAX && stamp.is_some() {
            state.spare.push(writes);
        }
        let done = state.stand_up(seat, self.now());
        drop(state);
        self.reclaim(&done);
    }

    /// Takes back what a transaction used, of which nothing is left.
    pub(super) fn recycle(&self, stamp: StampId, mut writes: WriteSet) {
        writes.clear();
        let mut state = self.lock();
        state.free_stamps.push(stamp);
        if state.spare.len() < SPARE_WRITE_SETS_MAX {
            state.spare.push(writes);
        }
    }

    /// Gives up what is left of commits that every active transaction sees, and of all to come.
    pub(super) fn reclaim(&self, done: &[Arc<Committed>]) {
        if done.is_empty() {
            return;
        }
        for committed in done {
            committed.reclaim();
        }
        self.lock().free_stamps.extend(done.iter().map(|committed| committed.stamp()));
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // It is consistent wherever a panic could occur.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take_stamp(&mut self) -> StampId {
        self.free_stamps.pop().unwrap_or_else(|| {
            self.next_stamp += 1;
            StampId(self.next_stamp - 1)
        })
    }

    pub(super) fn recent_after(&self, time: Time) -> Vec<Arc<Committed>> {
        let first = self.recent.partition_point(|committed| committed.time() <= time);
        self.recent.range(first..).cloned().collect()
    }

    /// Gives up a seat; says which commits everybody else, and all to come, see.
    pub(super) fn stand_up(&mut self, Seat(seat): Seat, now: Time) -> Vec<Arc<Committed>> {
        self.seats[seat as usize] = NOBODY;
        self.free_seats.push(seat);
        if self.recent.is_empty() {
            return Vec::new();
        }
        let oldest = self.seats.iter().copied().min().unwrap_or(NOBODY).min(now.0);
        let seen = self.recent.partition_point(|committed| committed.time() <= Time(oldest));
        self.recent.drain(..seen).collect()
    }

    /// Keeps a log, with the memory it has, for the next transaction that needs one.
    pub(super) fn keep_log(&mut self, log: Option<Box<PredicateLog>>) {
        if self.spare_logs.len() < SPARE_WRITE_SETS_MAX {
            self.spare_logs.extend(log);
        }
    }

    /// Whether nobody is active.
    pub(super) fn is_idle(&self) -> bool {
        self.free_seats.len() == self.seats.len()
    }

    /// Remembers a commit.
    pub(super) fn remember(&mut self, committed: Committed) {
        self.recent.push_back(Arc::new(committed));
    }
}

/// A view that is good as long as this lives.
pub(crate) struct Reader<'a> {
    transactions: &'a Transactions,
    seat: Seat,
    view: View,
}

impl Reader<'_> {
    pub(crate) fn view(&self) -> View {
        self.view
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        self.transactions.leave(self.seat, None, WriteSet::default(), None);
    }
}
