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
use crate::sync::{Mutex, MutexGuard, Rank, Ranked};
use crate::visibility::{Clock, StampId, Stamps, TRANSACTION_ID_MIN, Time, View};

mod backlog;
mod prune;
mod reclaim;
mod vacancies;
mod write_set;

pub(crate) use write_set::{Committed, Write, WriteKind, WriteSet};

use backlog::Backlog;
use prune::{Horizon, Pruning};
use vacancies::{Vacancies, VacatedPlaces, vacate};

/// The transactions of a database.
pub struct Transactions {
    clock: Clock,
    state: Mutex<State>,
}

/// The start of a seat that nobody has.
const NOBODY: u64 = u64::MAX;

/// Write sets, and logs of reads, that are kept for reuse.
const SPARE_WRITE_SETS_MAX: usize = 16;

pub(crate) struct State {
    next_id: u64,
    /// Those who are active.
    seats: Vec<Taken>,
    free_seats: Vec<u32>,
    /// Commits that somebody does not see yet, in their order.
    recent: Backlog,
    vacancies: Vacancies,
    next_stamp: u32,
    free_stamps: Vec<StampId>,
    spare: Vec<WriteSet>,
    #[allow(clippy::vec_box, reason = "transactions take the boxes")]
    spare_logs: Vec<Box<PredicateLog>>,
}

/// The state of all transactions, locked.
pub(crate) type StateGuard<'a> = Ranked<MutexGuard<'a, State>>;

/// A place among the active.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat(u32);

/// Who has a seat.
#[derive(Clone, Copy)]
struct Taken {
    /// [`NOBODY`] if it is free.
    start: u64,
    /// Whether he may write.
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
            state: Mutex::new(State {
                next_id: TRANSACTION_ID_MIN,
                seats: Vec::new(),
                free_seats: Vec::new(),
                recent: Backlog::default(),
                vacancies: Vacancies::default(),
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
        self.clock.now()
    }

    /// A view for a moment, during which what it sees is kept.
    pub(crate) fn begin_reader(&self) -> Reader<'_> {
        let (seat, view) = self.admit(&mut self.lock(), false);
        Reader { transactions: self, seat, view }
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    #[inline]
    pub(crate) fn stamps(&self) -> &Stamps {
        self.clock.stamps()
    }

    /// Gives a seat to a transaction, and a view of what has been committed so far.
    pub(crate) fn admit(&self, state: &mut State, writes: bool) -> (Seat, View) {
        let view = View { start: self.now(), id: state.next_id };
        state.next_id += 1;
        let taken = Taken { start: view.start.0, writes };
        let seat = if let Some(seat) = state.free_seats.pop() {
            state.seats[seat as usize] = taken;
            seat
        } else {
            state.seats.push(taken);
            state.seats.len() as u32 - 1
        };
        (Seat(seat), view)
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
        seat: Seat,
        stamp: Option<StampId>,
        mut writes: WriteSet,
        log: Option<Box<PredicateLog>>,
    ) {
        let mut vacated = VacatedPlaces::default();
        // Who only reads has changed nothing.
        if stamp.is_some() {
            writes.clear();
            vacated = std::mem::take(&mut writes.vacated);
        }
        let mut state = self.lock();
        state.keep_log(log);
        state.free_stamps.extend(stamp);
        if state.spare.len() < SPARE_WRITE_SETS_MAX && stamp.is_some() {
            state.spare.push(writes);
        }
        state.stand_up(seat);
        self.clean_up(state, vacated);
    }

    /// Gives up what a transaction that has committed leaves, which everybody sees, and then what others have left.
    pub(crate) fn reclaim(&self, mut state: StateGuard<'_>, stamp: StampId, mut set: WriteSet) {
        let mut vacated = std::mem::take(&mut set.vacated);
        let ticket = state.vacancies.begin();
        drop(state);
        set.reclaim(stamp, &mut vacated);
        set.clear();
        let mut state = self.lock();
        state.vacancies.end(ticket);
        state.free_stamps.push(stamp);
        if state.spare.len() < SPARE_WRITE_SETS_MAX {
            state.spare.push(set);
        }
        self.clean_up(state, vacated);
    }

    /// Gives up what is left of commits that every active transaction sees, and of all to come, and what no active one
    /// needs of others; and lets others have places of slots that are gone.
    #[inline]
    pub(crate) fn clean_up<'a>(&'a self, state: StateGuard<'a>, vacated: VacatedPlaces) {
        // The common end of transactions that follow each other.
        let is_clean = vacated.is_empty() && state.recent.is_idle() && state.vacancies.is_empty();
        if is_clean {
            // Nothing, which is not worth a call.
            std::mem::forget(vacated);
        } else {
            self.clean_up_all(state, vacated);
        }
    }

    fn clean_up_all<'a>(&'a self, mut state: StateGuard<'a>, vacated: VacatedPlaces) {
        state.vacancies.put(vacated);
        loop {
            let (seen, pruning) = state.left_behind(self.now());
            let ready = state.vacancies.ready();
            if seen.is_empty() && pruning.is_none() {
                drop(state);
                vacate(ready);
                return;
            }
            let ticket = state.vacancies.begin();
            drop(state);
            vacate(ready);
            let mut vacated = VacatedPlaces::default();
            for committed in &seen {
                committed.reclaim(&mut vacated);
            }
            let pruned = pruning.map(|pruning| (pruning.run(self.stamps(), &mut vacated), pruning.are_old));
            state = self.lock();
            state.free_stamps.extend(seen.iter().map(|committed| committed.stamp()));
            if let Some((pruned, are_old)) = pruned {
                state.free_stamps.extend(pruned.free_stamps);
                state.recent.put_back(pruned.left, are_old);
            }
            state.vacancies.end(ticket);
            state.vacancies.put(vacated);
        }
    }

    #[track_caller]
    pub(crate) fn lock(&self) -> StateGuard<'_> {
        // It is consistent wherever a panic could occur.
        Ranked::take(Rank::Commits, &self.state, |state| state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
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

    /// Gives up a seat.
    pub(crate) fn stand_up(&mut self, Seat(seat): Seat) {
        self.seats[seat as usize].start = NOBODY;
        self.free_seats.push(seat);
    }

    /// The commits that everybody active, and all to come, see; and those of which it is time to give up what no active
    /// one needs.
    fn left_behind(&mut self, now: Time) -> (Vec<Arc<Committed>>, Option<Pruning>) {
        if self.recent.is_idle() {
            return (Vec::new(), None);
        }
        let oldest = self.seats.iter().map(|taken| taken.start).min().unwrap_or(NOBODY).min(now.0);
        let seen = self.recent.take_seen(Time(oldest));
        let active = self.seats.len() - self.free_seats.len();
        let pruning = self.recent.next_pruning(active, || {
            let active = self.seats.iter().filter(|taken| taken.start != NOBODY);
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
        self.free_seats.len() == self.seats.len()
    }

    /// Remembers a commit.
    pub(crate) fn remember(&mut self, committed: Committed) {
        self.recent.push(Arc::new(committed));
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
