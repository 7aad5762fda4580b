//! Transactions while a product catalog is loaded into the tables that they work on (*Instant Loading*, 5.5 and
//! Figure 14).
//!
//! Terminals run alone for a while, then beside the load, until its last row is committed, and for a while after it. The
//! rate beside the load is what is reported, with those before and after it, and with what was done in each tenth of a
//! second; the time is that of the load. Either all is merged in one step in the end, or each chunk when its turn comes.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use longshore_load::{Control, Dialect, InputFile, Source, TextOptions, Tuning, copy_from, load_interleaved};
use longshore_storage::{Isolation, Relation};

use super::catalog::Catalog;
use super::consistency;
use super::input::Stream;
use super::schema::Database;
use super::sizes::Sizes;
use super::terminal::{Tally, Terminal, streams};
use super::values::LastNames;
use crate::measure::{Measured, threads_of};
use crate::workload::threads::timed;
use crate::{Failure, Settings};

/// Warehouses, and items of the catalog at scale factor 1.
const WAREHOUSES: i32 = 4;
const ITEMS: f64 = 1e6;

/// How long terminals run before the load and after it, at scale factor 1.
const BEFORE_SECONDS: f64 = 1.0;
const AFTER_SECONDS: f64 = 0.5;

/// How long a step of the timeline is, and how many there are; the last one has all that comes later.
const STEP: Duration = Duration::from_millis(100);
const STEPS: usize = 600;

/// Inputs of each terminal, which begin anew when all are done.
const INPUTS: usize = 100_000;

/// When rows that are loaded become part of their table.
#[derive(Clone, Copy, Debug)]
enum Merge {
    Short,
    Interleaved,
}

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let sizes = Sizes::new(WAREHOUSES, settings.scale);
    let catalog = Catalog::new(&settings.data, sizes, (ITEMS * settings.scale).max(1_000.0) as i32)?;
    let mut measured = Vec::new();
    for terminals in settings.thread_counts() {
        for loaders in settings.thread_counts() {
            for (merge, merged) in [(Merge::Short, "merged at the end"), (Merge::Interleaved, "merged chunk by chunk")]
            {
                let case =
                    format!("{} of transactions, load by {}, {merged}", threads_of(terminals), threads_of(loaders));
                if !case.contains(&settings.only) {
                    continue;
                }
                let mut runs = Vec::new();
                for _ in 0..settings.runs {
                    runs.push(once(settings, sizes, &catalog, terminals, Load { threads: loaders, merge })?);
                }
                measured.push(report(case, &catalog, runs)?);
            }
        }
    }
    Ok(measured)
}

/// How the catalog is loaded.
#[derive(Clone, Copy)]
struct Load {
    threads: usize,
    merge: Merge,
}

/// A run: the rates in transactions a second, and the time of the load.
struct Run {
    before: f64,
    beside: f64,
    after: f64,
    load: Duration,
    /// Thousands of transactions a second, step by step, strokes where the load begins and ends.
    steps: String,
}

fn report(case: String, catalog: &Catalog, mut runs: Vec<Run>) -> Result<Measured, Failure> {
    runs.sort_by_key(|run| run.load);
    let (best, median) = (&runs[0], &runs[runs.len() / 2]);
    let note = format!(
        "{:.1} k tx/s before, {:.1} after; the load at {:.2} GB/s; each 0.1 s: {}",
        best.before / 1e3,
        best.after / 1e3,
        catalog.bytes()? as f64 / best.load.as_secs_f64() / 1e9,
        best.steps
    );
    Ok(Measured { case, best: best.load, median: median.load, rate: best.beside / 1e3, unit: "k tx/s", note })
}

/// What was begun when.
struct Timeline {
    started: Instant,
    steps: Vec<AtomicU64>,
}

impl Timeline {
    fn new() -> Timeline {
        Timeline { started: Instant::now(), steps: (0..STEPS).map(|_| AtomicU64::new(0)).collect() }
    }

    fn step_of(&self, time: Instant) -> usize {
        ((time.duration_since(self.started).as_nanos() / STEP.as_nanos()) as usize).min(STEPS - 1)
    }

    fn count(&self) {
        self.steps[self.step_of(Instant::now())].fetch_add(1, Ordering::Relaxed);
    }

    /// Now, and what was begun so far.
    fn now(&self) -> (Instant, u64) {
        (Instant::now(), self.steps.iter().map(|step| step.load(Ordering::Relaxed)).sum())
    }

    /// Thousands a second in each whole step.
    fn shown(&self, load: [Instant; 2]) -> String {
        let mut shown = String::new();
        for (at, count) in self.steps.iter().enumerate().take(self.step_of(Instant::now())) {
            for _ in load.iter().filter(|time| self.step_of(**time) == at) {
                shown.push_str("/ ");
            }
            // Writing to a string cannot fail.
            let _ = write!(shown, "{:.0} ", count.load(Ordering::Relaxed) as f64 / STEP.as_secs_f64() / 1e3);
        }
        shown.trim_end().to_owned()
    }
}

fn once(settings: &Settings, sizes: Sizes, catalog: &Catalog, terminals: usize, load: Load) -> Result<Run, Failure> {
    let db = Database::populated(sizes)?;
    let before = consistency::check(&db)?;
    let names = LastNames::new();
    let streams = streams(sizes, terminals, INPUTS * terminals, 1);
    let is_over = AtomicBool::new(false);
    let timeline = Timeline::new();
    let wait = |seconds: f64| std::thread::sleep(Duration::from_secs_f64(seconds * settings.scale.min(1.0)));
    let mut times = Vec::new();
    let tally = beside(
        &is_over,
        || timed(&streams, |stream| terminal(&db, &names, stream, &is_over, &timeline)),
        || {
            times.push(timeline.now());
            wait(BEFORE_SECONDS);
            times.push(timeline.now());
            copy(&catalog.item, &db.item.relation, load)?;
            copy(&catalog.stock, &db.stock.relation, load)?;
            times.push(timeline.now());
            wait(AFTER_SECONDS);
            times.push(timeline.now());
            Ok(())
        },
    )?;
    before.after(&tally.effects).check(&consistency::check(&db)?)?;
    let items = i64::from(sizes.items + catalog.items);
    for (relation, rows) in [(&db.item.relation, items), (&db.stock.relation, items * i64::from(sizes.warehouses))] {
        let found = relation.snapshot().rows() as i64;
        if found != rows {
            return Err(format!("{found} rows after the load where {rows} are right").into());
        }
    }
    let rate = |phase: usize| {
        let ((from, count), (to, more)) = (times[phase], times[phase + 1]);
        (more - count) as f64 / to.duration_since(from).as_secs_f64()
    };
    let (from, to) = (times[1].0, times[2].0);
    Ok(Run {
        before: rate(0),
        beside: rate(1),
        after: rate(2),
        load: to.duration_since(from),
        steps: timeline.shown([from, to]),
    })
}

/// Runs terminals in other threads while this one does something else.
fn beside(
    is_over: &AtomicBool,
    run: impl FnOnce() -> Result<(Duration, Vec<Tally>), Failure> + Send,
    other: impl FnOnce() -> Result<(), Failure>,
) -> Result<Tally, Failure> {
    std::thread::scope(|scope| {
        let terminals = scope.spawn(run);
        let done = other();
        is_over.store(true, Ordering::Relaxed);
        let (_, tallies) = terminals.join().expect("terminals do not panic")?;
        done?;
        Ok(Tally::sum(&tallies))
    })
}

/// Runs the inputs of a stream again and again until it is over.
fn terminal(
    db: &Database,
    names: &LastNames,
    stream: &Stream,
    is_over: &AtomicBool,
    timeline: &Timeline,
) -> Result<Tally, Failure> {
    let mut terminal = Terminal::new(db, names, stream, Isolation::Serializable);
    while !is_over.load(Ordering::Relaxed) {
        terminal.run(|_| {
            timeline.count();
            is_over.load(Ordering::Relaxed)
        })?;
    }
    Ok(terminal.tally())
}

fn copy(path: &Path, relation: &Relation, load: Load) -> Result<(), Failure> {
    let options = TextOptions::new(Dialect::new(b'|', None, None)?);
    let fields: Vec<usize> = (0..relation.schema().columns().len()).collect();
    let files = vec![InputFile::opened(Source::open(path)?, &fields)];
    let (tuning, control) = (Tuning::new(load.threads), Control::new());
    match load.merge {
        Merge::Short => {
            copy_from(files, relation, &options, &tuning, &control)?;
        }
        Merge::Interleaved => {
            let mut transaction = relation.transactions().begin(Isolation::Serializable);
            load_interleaved(files, relation, &mut transaction, &options, &tuning, &control, |_| Ok(()))?;
            transaction.commit()?;
        }
    }
    Ok(())
}
