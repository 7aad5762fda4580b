//! What it costs transactions that they are safe on disk, and what a checkpoint beside them costs.
//!
//! The same terminals work on a database in memory and on one in a directory. Many are served in two ways. Either each has a
//! thread, which waits at every commit; or a thread serves many of them, and waits for the commit of one when its turn comes
//! again. What is not awaited is written soon all the same (`synchronous_commit = off`). What a plain write of as many bytes
//! as a small record takes until it is safe is measured in the same run.
//!
//! In the end the directory is opened as after a kill, with all that was logged since its last checkpoint, and what comes back
//! is compared with what the tables held.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use longshore_storage::checksum::{Checksum, checksum};
use longshore_storage::data_directory::{DataDirectory, DirectoryOptions};
use longshore_storage::disk::{Disk, OpenMode, SystemDisk};
use longshore_storage::{Isolation, Memory, Relation, Transactions};

use super::consistency::{self, Totals};
use super::schema::Database;
use super::sizes::Sizes;
use super::terminal::{Safety, Tally, Terminal, streams};
use super::values::LastNames;
use super::{TRANSACTION_BYTES, TRANSACTIONS, TRANSACTIONS_MIN};
use crate::measure::{Amount, Case, Measured, measure, threads_of};
use crate::workload::fill::have_at_hand;
use crate::workload::threads::timed;
use crate::{Failure, Settings};

/// Terminals, where there are many.
const TERMINALS: usize = 64;

/// The bytes of a small record in its frame, for the disk alone.
const RECORD_BYTES: usize = 600;

/// Syncs of the disk alone at scale factor 1.
const SYNCS: f64 = 2_000.0;

/// How terminals are served.
#[derive(Clone, Copy, Debug)]
struct Service {
    threads: usize,
    safety: Safety,
    /// In how many threads checkpoints are made all the while, if they are.
    checkpoints: Option<usize>,
}

/// A database, and what is known of it.
pub(super) struct Populated {
    db: Database,
    directory: Option<DataDirectory>,
    /// What the tables held after the last run.
    pub(super) totals: RefCell<Totals>,
}

/// What came of all runs of a case.
#[derive(Clone, Copy, Default)]
struct Found {
    tally: Tally,
    /// The longest time from the beginning of a transaction to that of the next.
    longest: Duration,
    checkpoints: u32,
    /// How long these took, together.
    checkpointing: Duration,
}

struct Bench {
    in_memory: Populated,
    durable: Populated,
    folder: PathBuf,
    names: LastNames,
    transactions: usize,
    seed: Cell<u64>,
    /// By case.
    found: RefCell<HashMap<String, Found>>,
}

pub(super) fn run(settings: &Settings, warehouses: u16) -> Result<Vec<Measured>, Failure> {
    let folder = settings.data.join(format!("tpcc-durable-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let rows = run_in(settings, warehouses, folder.clone());
    std::fs::remove_dir_all(folder)?;
    rows
}

fn run_in(settings: &Settings, warehouses: u16, folder: PathBuf) -> Result<Vec<Measured>, Failure> {
    let sizes = Sizes::new(warehouses.into(), settings.scale);
    let bench = Bench {
        in_memory: Populated::in_memory(sizes)?,
        durable: Populated::durable(sizes, &folder.join("db"), settings.threads)?,
        folder,
        names: LastNames::new(),
        transactions: ((TRANSACTIONS * settings.scale) as usize).max(TRANSACTIONS_MIN),
        seed: Cell::new(0),
        found: RefCell::default(),
    };
    let mut measured = measure(bench.cases(settings), settings)?;
    let found = bench.found.take();
    for row in &mut measured {
        row.note = found.get(&row.case).map_or(String::new(), Found::note);
    }
    if "opened behind a kill".contains(&settings.only) {
        measured.push(bench.opened(settings)?);
    }
    Ok(measured)
}

impl Populated {
    fn in_memory(sizes: Sizes) -> Result<Populated, Failure> {
        let db = Database::populated(sizes)?;
        Ok(Populated { totals: RefCell::new(consistency::check(&db)?), db, directory: None })
    }

    pub(super) fn durable(sizes: Sizes, path: &Path, threads: usize) -> Result<Populated, Failure> {
        let transactions = Transactions::new();
        let disk = Arc::new(SystemDisk) as Arc<dyn Disk>;
        let directory = DataDirectory::create(&disk, path, &transactions, options(threads))?;
        let db = Database::populated_in(Arc::clone(&transactions), sizes, |relations| {
            let mut joining = transactions.begin(Isolation::Snapshot);
            relations.iter().try_for_each(|relation| joining.log_created(relation))?;
            Ok(transactions.wait_until_safe(joining.commit()?)?)
        })?;
        directory.begin_checkpoint()?.write(&[])?;
        Ok(Populated { totals: RefCell::new(consistency::check(&db)?), db, directory: Some(directory) })
    }
}

fn options(threads: usize) -> DirectoryOptions {
    DirectoryOptions { threads, ..DirectoryOptions::default() }
}

impl Bench {
    fn cases<'b>(&'b self, settings: &Settings) -> Vec<Case<'b>> {
        let service = |threads, safety| Service { threads, safety, checkpoints: None };
        let (waiting, off) = (Safety::UnderWay(0), Safety::NotAwaited);
        let mut cases = vec![self.disk(settings)];
        let mut add = |title: &str, service: Service| {
            let (in_memory, directory) = (format!("{title}, in memory"), format!("{title}, safe on disk"));
            let not_awaited = Service { safety: off, ..service };
            cases.push(self.case(in_memory, &self.in_memory, not_awaited));
            cases.push(self.case(directory, &self.durable, service));
            cases.push(self.case(format!("{title}, not awaited"), &self.durable, not_awaited));
        };
        add("1 terminal", service(1, waiting));
        // A thread that waits for the disk leaves its core to another one.
        let threads = 2 * settings.threads;
        let each = TERMINALS.div_ceil(threads);
        let title = format!("{TERMINALS} terminals on {}", threads_of(threads));
        add(&title, service(threads, Safety::UnderWay(each - 1)));
        add(&format!("{TERMINALS} terminals, a thread each"), service(TERMINALS, waiting));
        for checkpointing in settings.thread_counts() {
            let how = format!("beside checkpoints by {}", threads_of(checkpointing));
            let beside = Service { checkpoints: Some(checkpointing), ..service(threads, Safety::UnderWay(each - 1)) };
            cases.push(self.case(format!("{title}, safe on disk, {how}"), &self.durable, beside));
            let beside = Service { checkpoints: Some(checkpointing), ..service(1, off) };
            cases.push(self.case(format!("1 terminal, not awaited, {how}"), &self.durable, beside));
        }
        cases
    }

    fn case<'b>(&'b self, name: String, on: &'b Populated, service: Service) -> Case<'b> {
        let amount = Amount::Transactions(self.transactions as u64);
        Case::new(name.clone(), amount, move || self.once(&name, on, service))
    }

    fn once(&self, case: &str, on: &Populated, service: Service) -> Result<Duration, Failure> {
        self.seed.set(self.seed.get() + 1);
        let streams = streams(on.db.sizes, service.threads, self.transactions, self.seed.get());
        have_at_hand(on.db.orders.relation.memory(), self.transactions * TRANSACTION_BYTES)?;
        let (db, names, is_over) = (&on.db, &self.names, AtomicBool::new(false));
        let (run, checkpoints) = std::thread::scope(|scope| {
            let checkpointer = on.directory.as_ref().zip(service.checkpoints).map(|(directory, threads)| {
                let is_over = &is_over;
                scope.spawn(move || checkpoint_until(directory, threads, is_over))
            });
            let run = timed(&streams, |stream| {
                let terminal = Terminal::new(db, names, stream, Isolation::Serializable);
                let mut terminal = terminal.awaiting(service.safety);
                let (mut begun, mut longest) = (Instant::now(), Duration::ZERO);
                terminal.run(|_| {
                    let now = Instant::now();
                    longest = longest.max(now - std::mem::replace(&mut begun, now));
                    false
                })?;
                Ok((terminal.tally(), longest))
            });
            is_over.store(true, Ordering::Relaxed);
            (run, checkpointer.map(|thread| thread.join().expect("a checkpoint does not panic")))
        });
        let ((time, done), (checkpoints, checkpointing)) = (run?, checkpoints.transpose()?.unwrap_or_default());
        let tally = Tally::sum(&done.iter().map(|(tally, _)| *tally).collect::<Vec<_>>());
        tally.check(&streams)?;
        let totals = consistency::check(&on.db)?;
        on.totals.borrow().after(&tally.effects).check(&totals)?;
        *on.totals.borrow_mut() = totals;
        let mut found = self.found.borrow_mut();
        let found = found.entry(case.to_owned()).or_default();
        found.tally.add(&tally);
        found.longest = done.iter().map(|(_, longest)| *longest).fold(found.longest, Duration::max);
        found.checkpoints += checkpoints;
        found.checkpointing += checkpointing;
        Ok(time)
    }

    /// Writes of a small record each, to a file of which the room is reserved, each safe before the next.
    fn disk(&self, settings: &Settings) -> Case<'_> {
        let syncs = ((SYNCS * settings.scale) as usize).max(10);
        let name = format!("the disk alone, syncs of {RECORD_BYTES} bytes");
        Case::new(name, Amount::Transactions(syncs as u64), move || {
            let (disk, path) = (SystemDisk, self.folder.join("plain"));
            let file = disk.open(&path, OpenMode::Create)?;
            file.allocate((syncs * RECORD_BYTES) as u64)?;
            file.sync()?;
            let (begun, record) = (Instant::now(), [7; RECORD_BYTES]);
            for number in 0..syncs {
                file.write_at(&record, (number * RECORD_BYTES) as u64)?;
                file.sync()?;
            }
            let time = begun.elapsed();
            disk.remove(&path)?;
            Ok(time)
        })
    }

    /// Opens the directory as a kill has left it: with what a run has logged behind the last checkpoint.
    fn opened(mut self, settings: &Settings) -> Result<Measured, Failure> {
        if let Some(directory) = &self.durable.directory {
            directory.begin_checkpoint()?.write(&[])?;
        }
        let service = Service { threads: 1, safety: Safety::NotAwaited, checkpoints: None };
        self.once("what is replayed", &self.durable, service)?;
        // Closed, it writes what was not awaited, and makes no checkpoint.
        let log_bytes = self.durable.directory.as_ref().map_or(0, DataDirectory::log_bytes);
        self.durable.directory.take().map_or(Ok(()), DataDirectory::close)?;
        let expected: Vec<Checksum> = relations(&self.durable.db).map(|of| checksum(&of.snapshot(), 1)).collect();
        let mut times = Vec::new();
        for _ in 0..settings.runs {
            let (memory, transactions) = (Memory::new(None), Transactions::new());
            let disk = Arc::new(SystemDisk) as Arc<dyn Disk>;
            let begun = Instant::now();
            let path = self.folder.join("db");
            let (_directory, recovered) =
                DataDirectory::open(&disk, &path, &memory, &transactions, options(settings.threads))?;
            times.push(begun.elapsed());
            let found: Vec<Checksum> = recovered.relations.values().map(|of| checksum(&of.snapshot(), 1)).collect();
            if found != expected {
                return Err(format!("{found:?} where {expected:?} is right").into());
            }
        }
        times.sort();
        let (best, median) = (times[0], times[times.len() / 2]);
        Ok(Measured {
            case: format!("opened behind a kill, {}", threads_of(settings.threads)),
            best,
            median,
            rate: self.transactions as f64 / best.as_secs_f64() / 1e3,
            unit: "k tx/s",
            note: format!("{:.1} MB of log; without indexes; fresh memory", log_bytes as f64 / 1e6),
        })
    }
}

/// The tables in the order in which they are declared.
fn relations(db: &Database) -> impl Iterator<Item = &Relation> {
    super::replay::relations(db).into_iter().map(|relation| &**relation)
}

/// Makes checkpoints one after the other; how many, and how long they took.
fn checkpoint_until(
    directory: &DataDirectory,
    threads: usize,
    is_over: &AtomicBool,
) -> Result<(u32, Duration), Failure> {
    let (mut count, begun) = (0, Instant::now());
    while !is_over.load(Ordering::Relaxed) {
        directory.begin_checkpoint()?.in_threads(threads).write(&[])?;
        count += 1;
    }
    Ok((count, begun.elapsed()))
}

impl Found {
    fn note(&self) -> String {
        let checkpoints = if self.checkpoints == 0 {
            String::new()
        } else {
            let each = self.checkpointing.as_secs_f64() * 1e3 / f64::from(self.checkpoints);
            format!("; {} checkpoints of {each:.0} ms", self.checkpoints)
        };
        let longest = self.longest.as_secs_f64() * 1e3;
        format!("{} conflicts retried; the longest took {longest:.1} ms{checkpoints}", self.tally.conflicts)
    }
}
