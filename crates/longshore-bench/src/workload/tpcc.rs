//! TPC-C (specification 5.11) over the typed API: all five transactions in the standard mix, no think times.
//!
//! One database serves all cases, which take turns, so that its growth falls on all of them alike. After every run the
//! consistency conditions are checked, and what the transactions say they changed is compared with what the tables
//! hold: a lost update has no time. Interleaved, every two transactions that follow each other are concurrent, so that
//! what they read has to be validated. Two threads have the terminals of different warehouses; one order line in a hundred
//! and 15 payments in a hundred go beyond that.
//!
//! Not here: rivals; the same over prepared SQL is in `tpcc/prepared.rs`.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::Duration;

use longshore_storage::Isolation;

use super::Report;
use super::fill::have_at_hand;
use crate::measure::{Amount, Case, Measured, measure, threads_of};
use crate::{Failure, Settings};
use schema::Database;
use sizes::Sizes;
use terminal::{Order, Tally};
use values::LastNames;

mod catalog;
mod consistency;
mod durable;
mod input;
pub(super) mod kills;
mod loading;
mod populate;
#[cfg(feature = "queries")]
pub(super) mod prepared;
mod replay;
mod schema;
mod sizes;
mod terminal;
mod transactions;
mod values;

/// Warehouses, if nobody says otherwise.
pub(super) const WAREHOUSES: u16 = 5;

/// The same where processes are killed.
pub(super) const KILLED_WAREHOUSES: u16 = 2;

/// The same over prepared SQL.
#[cfg(feature = "queries")]
pub(super) const PREPARED_WAREHOUSES: u16 = 2;

/// Transactions of a run at scale factor 1.
const TRANSACTIONS: f64 = 300e3;

/// The fewest transactions of a run.
const TRANSACTIONS_MIN: usize = 1_000;

/// More bytes than a transaction adds to the database, on average.
const TRANSACTION_BYTES: usize = 2 << 10;

pub(super) fn run(settings: &Settings, warehouses: u16, report: &mut Report<'_>) -> Result<(), Failure> {
    report("tpcc", "TPC-C", &mix(settings, warehouses)?)?;
    report("tpcc-loading", "TPC-C while a catalog is loaded (Figure 14)", &loading::run(settings)?)
}

/// What a log costs the transactions, and how fast they are done again.
pub(super) fn replay(settings: &Settings, warehouses: u16) -> Result<Vec<Measured>, Failure> {
    replay::run(settings, warehouses)
}

/// What it costs transactions that they are safe on disk.
pub(super) fn durable(settings: &Settings, warehouses: u16) -> Result<Vec<Measured>, Failure> {
    durable::run(settings, warehouses)
}

/// Whether what was acknowledged survives kills.
pub(super) fn kills(settings: &Settings, warehouses: u16, kills: usize) -> Result<Vec<Measured>, Failure> {
    kills::run(settings, warehouses, kills)
}

fn mix(settings: &Settings, warehouses: u16) -> Result<Vec<Measured>, Failure> {
    let sizes = Sizes::new(warehouses.into(), settings.scale);
    let db = Database::populated(sizes)?;
    let bench = Bench {
        totals: RefCell::new(consistency::check(&db)?),
        db,
        names: LastNames::new(),
        transactions: ((TRANSACTIONS * settings.scale) as usize).max(TRANSACTIONS_MIN),
        seed: Cell::new(0),
        tallies: RefCell::default(),
    };
    let mut cases = Vec::new();
    let thread_counts = settings.thread_counts().into_iter().filter(|&threads| threads <= usize::from(warehouses));
    let kinds = thread_counts.map(|threads| (threads, Order::Serial)).chain([(1, Order::Interleaved)]);
    for (threads, order) in kinds {
        for (isolation, name) in [(Isolation::Serializable, "serializable"), (Isolation::Snapshot, "snapshot")] {
            let order_name = if order == Order::Interleaved { ", interleaved" } else { "" };
            let name = format!("{warehouses} warehouses, {name}{order_name}, {}", threads_of(threads));
            let (bench, amount) = (&bench, Amount::Transactions(bench.transactions as u64));
            cases.push(Case::new(name.clone(), amount, move || bench.once(&name, isolation, order, threads)));
        }
    }
    let mut measured = measure(cases, settings)?;
    for case in &mut measured {
        let tally = bench.tallies.borrow().get(&case.case).copied().unwrap_or_default();
        case.note = tally.note();
    }
    Ok(measured)
}

struct Bench {
    db: Database,
    names: LastNames,
    transactions: usize,
    seed: Cell<u64>,
    /// What the tables held after the last run.
    totals: RefCell<consistency::Totals>,
    /// By case, over all its runs.
    tallies: RefCell<HashMap<String, Tally>>,
}

impl Bench {
    fn once(&self, case: &str, isolation: Isolation, order: Order, threads: usize) -> Result<Duration, Failure> {
        self.seed.set(self.seed.get() + 1);
        let streams = terminal::streams(self.db.sizes, threads, self.transactions, self.seed.get());
        have_at_hand(self.db.orders.relation.memory(), self.transactions * TRANSACTION_BYTES)?;
        let (time, tally) = terminal::run(&self.db, &self.names, &streams, isolation, order)?;
        tally.check(&streams)?;
        let found = consistency::check(&self.db)?;
        self.totals.borrow().after(&tally.effects).check(&found)?;
        *self.totals.borrow_mut() = found;
        self.tallies.borrow_mut().entry(case.to_owned()).or_default().add(&tally);
        Ok(time)
    }
}
