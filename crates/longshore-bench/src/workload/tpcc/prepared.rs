//! TPC-C over prepared SQL: the same inputs as over the typed API, by statements of sessions that are prepared once.
//!
//! The tables are those of `schema.rs`, made by SQL and filled by COPY with the same population. After every run the
//! consistency conditions are checked by queries, and what the transactions say they changed is compared with what the
//! tables hold. All statements pass the query planner by, but for the join of stock level, whose plan is kept.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use longshore_engine::{Config, Database, ErrorKind, Isolation, Session};

use super::input::{Input, Stream};
use super::sizes::Sizes;
use super::terminal::{Tally, streams};
use super::values::LastNames;
use crate::measure::{Amount, Case, Measured, measure, threads_of};
use crate::workload::threads::timed;
use crate::{Failure, Settings};
use conditions::Totals;
use statements::{Connection, Statements};
use transactions::{Stop, call};

mod conditions;
mod statements;
mod tables;
mod transactions;

/// Transactions of a run at scale factor 1, and the fewest.
const TRANSACTIONS: f64 = 20e3;
const TRANSACTIONS_MIN: usize = 200;

pub(in crate::workload) fn run(settings: &Settings, warehouses: u16) -> Result<Vec<Measured>, Failure> {
    let sizes = Sizes::new(warehouses.into(), settings.scale);
    let database = Database::open(Config { threads: settings.threads, ..Config::default() })?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(tables::create(&mut database.session(), sizes))?;
    let bench = Bench {
        statements: Statements::prepare(&database.session())?,
        totals: RefCell::new(runtime.block_on(conditions::check(&mut database.session()))?),
        database,
        sizes,
        names: LastNames::new(),
        transactions: ((TRANSACTIONS * settings.scale) as usize).max(TRANSACTIONS_MIN),
        seed: Cell::new(0),
        tallies: RefCell::default(),
    };
    let mut cases = Vec::new();
    for threads in settings.thread_counts().into_iter().filter(|&threads| threads <= usize::from(warehouses)) {
        for (isolation, name) in [(Isolation::Serializable, "serializable"), (Isolation::Snapshot, "snapshot")] {
            let name = format!("{warehouses} warehouses, {name}, {}", threads_of(threads));
            let (bench, runtime, amount) = (&bench, &runtime, Amount::Transactions(bench.transactions as u64));
            cases.push(Case::new(name.clone(), amount, move || {
                let (time, tally) = bench.once(isolation, threads)?;
                let found = runtime.block_on(conditions::check(&mut bench.database.session()))?;
                bench.totals.borrow().after(&tally.effects).check(&found)?;
                *bench.totals.borrow_mut() = found;
                bench.tallies.borrow_mut().entry(name.clone()).or_default().add(&tally);
                Ok(time)
            }));
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
    database: Arc<Database>,
    statements: Statements,
    sizes: Sizes,
    names: LastNames,
    transactions: usize,
    seed: Cell<u64>,
    /// What the tables held after the last run.
    totals: RefCell<Totals>,
    /// By case, over all its runs.
    tallies: RefCell<HashMap<String, Tally>>,
}

impl Bench {
    fn once(&self, isolation: Isolation, threads: usize) -> Result<(Duration, Tally), Failure> {
        self.seed.set(self.seed.get() + 1);
        let streams = streams(self.sizes, threads, self.transactions, self.seed.get());
        let (database, statements, names) = (&self.database, &self.statements, &self.names);
        let (time, tallies) = timed(&streams, |stream| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(terminal(database.session(), statements, names, stream, isolation))
        })?;
        let tally = Tally::sum(&tallies);
        tally.check(&streams)?;
        Ok((time, tally))
    }
}

/// Runs all inputs of a stream, each until it is committed, or rolled back because its input asks for it.
async fn terminal(
    session: Session,
    statements: &Statements,
    names: &LastNames,
    stream: &Stream,
    isolation: Isolation,
) -> Result<Tally, Failure> {
    let mut connection = Connection::new(session, statements);
    let level = if isolation == Isolation::Serializable { "SERIALIZABLE" } else { "SNAPSHOT" };
    let mut tally = Tally::default();
    for input in &stream.inputs {
        loop {
            let access = match input {
                Input::OrderStatus { .. } | Input::StockLevel { .. } => "READ ONLY",
                _ => "READ WRITE",
            };
            connection.run(&format!("BEGIN ISOLATION LEVEL {level}, {access}")).await?;
            let done = match call(&mut connection, names, stream, input).await {
                Ok(effects) => connection.run("COMMIT").await.map(|()| effects).map_err(Stop::from),
                Err(stop) => {
                    connection.run("ROLLBACK").await?;
                    Err(stop)
                }
            };
            match done {
                Ok(effects) => {
                    tally.committed += 1;
                    tally.effects.add(&effects);
                    break;
                }
                Err(Stop::UnknownItem) => {
                    tally.rolled_back += 1;
                    break;
                }
                Err(Stop::Refused(error)) if error.kind() == ErrorKind::Conflict => tally.conflicts += 1,
                Err(Stop::Refused(error)) => return Err(error.into()),
                Err(Stop::Wrong(what)) => return Err(format!("{what}: {input:?}").into()),
            }
            // Who was faster may need this core to come to its end.
            std::thread::yield_now();
        }
    }
    Ok(tally)
}
