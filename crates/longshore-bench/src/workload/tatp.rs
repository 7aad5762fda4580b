//! TATP (version 1.0) over the typed API: seven transactions in the standard mix, 80 % of them reading.
//!
//! After every run the tables are read as chunks have them: forwardings are as many as were inserted and deleted, none
//! twice and none without its facility; and every location and every facility's data is the last that one of the
//! threads wrote.
//!
//! Not here: prepared SQL, rivals.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hint::black_box;
use std::time::Duration;

use longshore_storage::{Isolation, TransactionError};

use super::threads::timed;
use crate::measure::{Amount, Case, Measured, measure, threads_of};
use crate::{Failure, Settings};
use input::{Input, inputs};
use schema::Database;
use transactions::{Answer, End, call};

mod check;
mod input;
mod populate;
mod schema;
mod transactions;

/// Subscribers, and transactions of a run, at scale factor 1.
const SUBSCRIBERS: f64 = 1e6;
const TRANSACTIONS: f64 = 1e6;

/// The fewest of both.
const COUNT_MIN: f64 = 1e3;

/// What came of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    done: u64,
    /// Transactions that found nothing, or a key that is taken, as the specification expects of one in four.
    failed: u64,
    /// Those that met a conflict and were begun again.
    conflicts: u64,
    /// Forwardings inserted less those deleted.
    forwardings: i64,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.done += other.done;
        self.failed += other.failed;
        self.conflicts += other.conflicts;
        self.forwardings += other.forwardings;
    }
}

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let db = Database::populated((SUBSCRIBERS * settings.scale).max(COUNT_MIN) as i64)?;
    let bench = Bench {
        forwardings: Cell::new(check::forwardings(&db)?),
        db,
        transactions: (TRANSACTIONS * settings.scale).max(COUNT_MIN) as usize,
        seed: Cell::new(0),
        tallies: RefCell::default(),
    };
    let mut cases = Vec::new();
    for threads in settings.thread_counts() {
        for (isolation, name) in [(Isolation::Serializable, "serializable"), (Isolation::Snapshot, "snapshot")] {
            let name = format!("{} subscribers, {name}, {}", bench.db.subscribers, threads_of(threads));
            let (bench, amount) = (&bench, Amount::Transactions(bench.transactions as u64));
            cases.push(Case::new(name.clone(), amount, move || bench.once(&name, isolation, threads)));
        }
    }
    let mut measured = measure(cases, settings)?;
    for case in &mut measured {
        let tally = bench.tallies.borrow().get(&case.case).copied().unwrap_or_default();
        case.note =
            format!("{} done, {} found nothing, {} conflicts retried", tally.done, tally.failed, tally.conflicts);
    }
    Ok(measured)
}

struct Bench {
    db: Database,
    transactions: usize,
    seed: Cell<u64>,
    /// How many there were after the last run.
    forwardings: Cell<i64>,
    /// By case, over all its runs.
    tallies: RefCell<HashMap<String, Tally>>,
}

impl Bench {
    fn once(&self, case: &str, isolation: Isolation, threads: usize) -> Result<Duration, Failure> {
        let streams: Vec<Vec<Input>> = (0..threads).map(|thread| self.stream(thread, threads)).collect();
        let db = &self.db;
        let (time, tallies) = timed(&streams, |stream| client(db, stream, isolation))?;
        let mut tally = Tally::default();
        for part in &tallies {
            tally.add(part);
        }
        let asked: usize = streams.iter().map(Vec::len).sum();
        if tally.done + tally.failed != asked as u64 {
            return Err(format!("{tally:?} where {asked} transactions were asked for").into());
        }
        self.forwardings.set(self.forwardings.get() + tally.forwardings);
        check::check(&self.db, self.forwardings.get(), &streams)?;
        self.tallies.borrow_mut().entry(case.to_owned()).or_default().add(&tally);
        Ok(time)
    }

    fn stream(&self, thread: usize, threads: usize) -> Vec<Input> {
        self.seed.set(self.seed.get() + 1);
        inputs(self.db.subscribers, (self.transactions + thread) / threads, self.seed.get())
    }
}

fn client(db: &Database, stream: &[Input], isolation: Isolation) -> Result<Tally, Failure> {
    let mut tally = Tally::default();
    let mut answer = Answer::default();
    for input in stream {
        loop {
            answer.clear();
            match once(db, input, isolation, &mut answer)? {
                Some(End::Done(forwardings)) => {
                    tally.done += 1;
                    tally.forwardings += forwardings;
                }
                Some(End::Failed) => tally.failed += 1,
                None => {
                    tally.conflicts += 1;
                    // Who was faster may need this core to come to its end.
                    std::thread::yield_now();
                    continue;
                }
            }
            black_box(&answer);
            break;
        }
    }
    Ok(tally)
}

/// Runs a transaction; `None` where it met a conflict.
fn once(
    db: &Database,
    input: &Input,
    isolation: Isolation,
    answer: &mut Answer,
) -> Result<Option<End>, TransactionError> {
    let transactions = &db.transactions;
    let mut t =
        if input.is_read_only() { transactions.begin_read_only(isolation) } else { transactions.begin(isolation) };
    let end = match call(db, &mut t, input, answer) {
        // What found nothing has nothing to undo, but what it has not found is to be true as well.
        Ok(End::Failed) if matches!(input, Input::UpdateSubscriberData { .. }) => {
            t.rollback();
            return Ok(Some(End::Failed));
        }
        Ok(end) => end,
        Err(error) if error.is_conflict() => return Ok(None),
        Err(error) => return Err(error),
    };
    match t.commit().map_err(TransactionError::from) {
        Ok(_) => Ok(Some(end)),
        Err(error) if error.is_conflict() => Ok(None),
        Err(error) => Err(error),
    }
}
