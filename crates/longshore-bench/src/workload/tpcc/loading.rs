//! Transactions while a product catalog is loaded into the tables that they work on (*Instant Loading*, 5.5 and
//! Figure 14).
//!
//! Terminals run alone for a while, and then beside the load until its last row is committed. The rate of the second
//! part is what is reported, with that of the first beside it; the time is that of the load.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use longshore_load::{Control, Dialect, InputFile, Source, TextOptions, Tuning, copy_from};
use longshore_storage::{Isolation, Relation};

use super::catalog::Catalog;
use super::consistency;
use super::input::Stream;
use super::populate::Sizes;
use super::schema::Database;
use super::terminal::{Tally, Terminal, streams};
use super::values::LastNames;
use crate::measure::{Measured, threads_of};
use crate::workload::threads::timed;
use crate::{Failure, Settings};

/// Warehouses, and items of the catalog at scale factor 1.
const WAREHOUSES: i32 = 4;
const ITEMS: f64 = 1e6;

/// How long terminals run alone at scale factor 1.
const ALONE_SECONDS: f64 = 1.0;

/// Inputs of each terminal, which begin anew when all are done.
const INPUTS: usize = 100_000;

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let sizes = Sizes::new(WAREHOUSES, settings.scale);
    let catalog = Catalog::new(&settings.data, sizes, (ITEMS * settings.scale).max(1_000.0) as i32)?;
    let mut measured = Vec::new();
    for terminals in settings.thread_counts() {
        for loaders in settings.thread_counts() {
            let case = format!("{} of transactions, load by {}", threads_of(terminals), threads_of(loaders));
            if !case.contains(&settings.only) {
                continue;
            }
            let mut runs = Vec::new();
            for _ in 0..settings.runs {
                runs.push(once(settings, sizes, &catalog, terminals, loaders)?);
            }
            measured.push(report(case, &catalog, runs)?);
        }
    }
    Ok(measured)
}

/// A run: the rates in transactions a second, and the time of the load.
struct Run {
    alone: f64,
    beside: f64,
    load: Duration,
}

fn report(case: String, catalog: &Catalog, mut runs: Vec<Run>) -> Result<Measured, Failure> {
    runs.sort_by_key(|run| run.load);
    let (best, median) = (&runs[0], &runs[runs.len() / 2]);
    let note = format!(
        "{:.1} k tx/s alone; the load at {:.2} GB/s",
        best.alone / 1e3,
        catalog.bytes()? as f64 / best.load.as_secs_f64() / 1e9
    );
    Ok(Measured { case, best: best.load, median: median.load, rate: best.beside / 1e3, unit: "k tx/s", note })
}

fn once(
    settings: &Settings,
    sizes: Sizes,
    catalog: &Catalog,
    terminals: usize,
    loaders: usize,
) -> Result<Run, Failure> {
    let db = Database::populated(sizes)?;
    let before = consistency::check(&db)?;
    let names = LastNames::new();
    let streams = streams(sizes, terminals, INPUTS * terminals, 1);
    let is_over = AtomicBool::new(false);
    let run = || timed(&streams, |stream| terminal(&db, &names, stream, &is_over));

    let alone = Duration::from_secs_f64(ALONE_SECONDS * settings.scale.min(1.0));
    let (time, tally) = beside(&is_over, run, || {
        std::thread::sleep(alone);
        Ok(())
    })?;
    let rate_alone = tally.committed as f64 / time.as_secs_f64();
    let after = before.after(&tally.effects);

    let mut load = Duration::ZERO;
    let (time, tally) = beside(&is_over, run, || {
        let started = Instant::now();
        copy(&catalog.item, &db.item.relation, loaders)?;
        copy(&catalog.stock, &db.stock.relation, loaders)?;
        load = started.elapsed();
        Ok(())
    })?;
    after.after(&tally.effects).check(&consistency::check(&db)?)?;
    let items = i64::from(sizes.items + catalog.items);
    for (relation, rows) in [(&db.item.relation, items), (&db.stock.relation, items * i64::from(sizes.warehouses))] {
        let found = relation.snapshot().rows() as i64;
        if found != rows {
            return Err(format!("{found} rows after the load where {rows} are right").into());
        }
    }
    Ok(Run { alone: rate_alone, beside: tally.committed as f64 / time.as_secs_f64(), load })
}

/// Runs terminals in other threads while this one does something else.
fn beside(
    is_over: &AtomicBool,
    run: impl FnOnce() -> Result<(Duration, Vec<Tally>), Failure> + Send,
    other: impl FnOnce() -> Result<(), Failure>,
) -> Result<(Duration, Tally), Failure> {
    is_over.store(false, Ordering::Relaxed);
    std::thread::scope(|scope| {
        let terminals = scope.spawn(run);
        let done = other();
        is_over.store(true, Ordering::Relaxed);
        let (time, tallies) = terminals.join().expect("terminals do not panic")?;
        done?;
        Ok((time, Tally::sum(&tallies)))
    })
}

/// Runs the inputs of a stream again and again until it is over.
fn terminal(db: &Database, names: &LastNames, stream: &Stream, is_over: &AtomicBool) -> Result<Tally, Failure> {
    let mut terminal = Terminal::new(db, names, stream, Isolation::Serializable);
    while !is_over.load(Ordering::Relaxed) {
        terminal.run(|| is_over.load(Ordering::Relaxed))?;
    }
    Ok(terminal.tally())
}

fn copy(path: &Path, relation: &Relation, threads: usize) -> Result<(), Failure> {
    let options = TextOptions::new(Dialect::new(b'|', None, None)?);
    let fields: Vec<usize> = (0..relation.schema().columns().len()).collect();
    let file = InputFile::opened(Source::open(path)?, &fields);
    copy_from(vec![file], relation, &options, &Tuning::new(threads), &Control::new())?;
    Ok(())
}
