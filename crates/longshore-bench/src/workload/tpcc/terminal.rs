//! Decides how transactions are run: one thread for each stream of inputs, conflicts retried with the same input.
//!
//! Deliveries are deferred (clause 2.7.2): they wait in a queue while the terminal goes on, and are worked off one at a
//! time behind the next transactions.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Duration;

use longshore_storage::{Commit, Isolation, Transaction, TransactionError};

use super::input::{Input, Stream};
use super::schema::Database;
use super::sizes::Sizes;
use super::transactions::{Effects, Screen, Stop, delivery, new_order, order_status, payment, stock_level};
use super::values::LastNames;
use crate::Failure;
use crate::workload::threads::timed;

/// What came of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) effects: Effects,
    /// Transactions that were committed.
    pub(super) committed: u64,
    /// Those that were rolled back because their input asks for it.
    pub(super) rolled_back: u64,
    /// Those that met a conflict and were begun again.
    pub(super) conflicts: u64,
}

impl Tally {
    /// What came of several.
    pub(super) fn sum(tallies: &[Tally]) -> Tally {
        let mut sum = Tally::default();
        for tally in tallies {
            sum.add(tally);
        }
        sum
    }

    /// Adds that of others.
    pub(super) fn add(&mut self, other: &Tally) {
        self.effects.add(&other.effects);
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.conflicts += other.conflicts;
    }

    /// Fails unless something came of every input of the streams.
    pub(super) fn check(&self, streams: &[Stream]) -> Result<(), Failure> {
        let asked: usize = streams.iter().map(|stream| stream.inputs.len()).sum();
        if self.committed + self.rolled_back != asked as u64 {
            return Err(format!("{self:?} where {asked} transactions were asked for").into());
        }
        Ok(())
    }

    /// What a record says of it.
    pub(super) fn note(&self) -> String {
        let Self { committed, rolled_back, conflicts, .. } = self;
        format!("{committed} committed, {rolled_back} rolled back as asked, {conflicts} conflicts retried")
    }
}

/// How the transactions of a stream follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Each begins when the one before has been committed.
    Serial,
    /// Each is committed when the next one has done its work, so that every two are concurrent (thesis, 2.4.4).
    Interleaved,
}

/// Whether a terminal waits until what it has committed is safe on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Safety {
    /// It does not.
    NotAwaited,
    /// When it has committed so many transactions more: as many are under way, of as many terminals that a thread serves.
    /// With 0 it waits at once.
    UnderWay(usize),
}

/// Runs all inputs, each stream in a thread of its own.
///
/// # Errors
///
/// When the database refuses for another reason than a conflict, or something is missing.
pub(super) fn run(
    db: &Database,
    names: &LastNames,
    streams: &[Stream],
    isolation: Isolation,
    order: Order,
) -> Result<(Duration, Tally), Failure> {
    let (time, tallies) = timed(streams, |stream| {
        let mut terminal = Terminal::new(db, names, stream, isolation);
        match order {
            Order::Serial => terminal.run(|_| false)?,
            Order::Interleaved => terminal.run_interleaved()?,
        }
        Ok(terminal.tally())
    })?;
    Ok((time, Tally::sum(&tallies)))
}

/// The inputs of so many threads, altogether `count`: each has the terminals of every so many warehouses, one at least.
pub(super) fn streams(sizes: Sizes, threads: usize, count: usize, seed: u64) -> Vec<Stream> {
    let stream = |thread: usize| {
        // More threads than warehouses share these, as the terminals of a warehouse do.
        let first = 1 + (thread % sizes.warehouses as usize) as i32;
        let homes: Vec<i32> = (first..=sizes.warehouses).step_by(threads).collect();
        Stream::new(sizes, &homes, (count + thread) / threads, seed * threads as u64 + thread as u64)
    };
    (0..threads).map(stream).collect()
}

/// A transaction that has done its work and is to be committed.
struct Done<'a> {
    input: &'a Input,
    effects: Effects,
    t: Transaction,
}

/// What came of the work of a transaction.
#[expect(clippy::large_enum_variant, reason = "most are done, and each lives as long as its commit takes")]
enum Outcome<'a> {
    Done(Done<'a>),
    /// Its input asked for it.
    RolledBack,
    Conflict,
}

/// Whoever runs the inputs of a stream, one after the other.
pub(super) struct Terminal<'a> {
    db: &'a Database,
    names: &'a LastNames,
    stream: &'a Stream,
    isolation: Isolation,
    safety: Safety,
    /// What is not known to be safe yet.
    under_way: VecDeque<Commit>,
    deferred: VecDeque<&'a Input>,
    screen: Screen,
    tally: Tally,
}

impl<'a> Terminal<'a> {
    /// One that has done nothing yet.
    pub(super) fn new(
        db: &'a Database,
        names: &'a LastNames,
        stream: &'a Stream,
        isolation: Isolation,
    ) -> Terminal<'a> {
        Terminal {
            db,
            names,
            stream,
            isolation,
            safety: Safety::NotAwaited,
            under_way: VecDeque::new(),
            deferred: VecDeque::new(),
            screen: Screen::default(),
            tally: Tally::default(),
        }
    }

    /// The same, which waits for the disk.
    pub(super) fn awaiting(self, safety: Safety) -> Terminal<'a> {
        Terminal { safety, ..self }
    }

    /// What it has done.
    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    /// Runs all inputs, or until it is to end, which it asks before each of them, with what it has done.
    ///
    /// # Errors
    ///
    /// As [`run`].
    pub(super) fn run(&mut self, mut is_over: impl FnMut(&Tally) -> bool) -> Result<(), Failure> {
        for input in &self.stream.inputs {
            if is_over(&self.tally) {
                break;
            }
            if matches!(input, Input::Delivery { .. }) {
                self.deferred.push_back(input);
                continue;
            }
            self.execute(input)?;
            if let Some(delivery) = self.deferred.pop_front() {
                self.execute(delivery)?;
            }
        }
        while let Some(delivery) = self.deferred.pop_front() {
            self.execute(delivery)?;
        }
        self.wait_but_for(0)
    }

    /// Runs all inputs, each committed behind the work of the next one.
    ///
    /// # Errors
    ///
    /// As [`run`].
    fn run_interleaved(&mut self) -> Result<(), Failure> {
        let mut open: Option<Done<'a>> = None;
        for input in &self.stream.inputs {
            let done = match self.work(input)? {
                Outcome::Conflict => {
                    // Perhaps with the one that is open.
                    self.finish(open.take())?;
                    self.execute(input)?;
                    continue;
                }
                Outcome::RolledBack => continue,
                Outcome::Done(done) => done,
            };
            self.finish(open.replace(done))?;
        }
        self.finish(open)
    }

    /// Commits a transaction, or runs it again if it cannot be.
    fn finish(&mut self, done: Option<Done<'a>>) -> Result<(), Failure> {
        let Some(done) = done else { return Ok(()) };
        let input = done.input;
        if self.commit(done)? { Ok(()) } else { self.execute(input) }
    }

    /// Runs a transaction until it is committed, or rolled back because its input asks for it.
    fn execute(&mut self, input: &'a Input) -> Result<(), Failure> {
        loop {
            match self.work(input)? {
                Outcome::Done(done) => {
                    if self.commit(done)? {
                        return Ok(());
                    }
                }
                Outcome::RolledBack => return Ok(()),
                Outcome::Conflict => {}
            }
            // Who was faster may need this core to come to its end.
            std::thread::yield_now();
        }
    }

    /// Does the work of a transaction.
    fn work(&mut self, input: &'a Input) -> Result<Outcome<'a>, Failure> {
        let transactions = &self.db.transactions;
        let mut t = match input {
            Input::OrderStatus { .. } | Input::StockLevel { .. } => transactions.begin_read_only(self.isolation),
            _ => transactions.begin(self.isolation),
        };
        self.screen.clear();
        match self.call(&mut t, input) {
            Ok(effects) => {
                black_box(&self.screen);
                Ok(Outcome::Done(Done { input, effects, t }))
            }
            Err(Stop::UnknownItem) => {
                t.rollback();
                self.tally.rolled_back += 1;
                Ok(Outcome::RolledBack)
            }
            Err(Stop::Refused(error)) if error.is_conflict() => {
                t.rollback();
                self.tally.conflicts += 1;
                Ok(Outcome::Conflict)
            }
            Err(Stop::Refused(error)) => Err(error.into()),
            Err(Stop::Wrong(what)) => Err(format!("{what}: {input:?}").into()),
        }
    }

    /// Commits a transaction; says whether it could be.
    fn commit(&mut self, Done { effects, t, .. }: Done<'a>) -> Result<bool, Failure> {
        match t.commit().map_err(TransactionError::from) {
            Ok(commit) => {
                self.tally.committed += 1;
                self.tally.effects.add(&effects);
                if let Safety::UnderWay(count) = self.safety {
                    self.under_way.push_back(commit);
                    self.wait_but_for(count)?;
                }
                Ok(true)
            }
            Err(error) if error.is_conflict() => {
                self.tally.conflicts += 1;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until all are safe but for the last ones, so many.
    fn wait_but_for(&mut self, count: usize) -> Result<(), Failure> {
        while self.under_way.len() > count
            && let Some(commit) = self.under_way.pop_front()
        {
            self.db.transactions.wait_until_safe(commit)?;
        }
        Ok(())
    }

    fn call(&mut self, t: &mut Transaction, input: &Input) -> Result<Effects, Stop> {
        let (db, names, screen) = (self.db, self.names, &mut self.screen);
        match *input {
            Input::NewOrder(ref order) => new_order(db, t, order, self.stream.lines(order), screen),
            Input::Payment(ref paid) => payment(db, t, paid, names, screen),
            Input::OrderStatus { warehouse, district, customer } => {
                order_status(db, t, (warehouse, district), customer, names, screen)
            }
            Input::Delivery { warehouse, carrier, at } => delivery(db, t, warehouse, carrier, at, screen),
            Input::StockLevel { warehouse, district, threshold } => {
                stock_level(db, t, (warehouse, district), threshold, screen)
            }
        }
    }
}
