//! Processes under TPC-C that are killed: whether what they have acknowledged is there when the directory is opened again.
//!
//! A child has the directory open and runs terminals that wait at every commit, beside checkpoints that come at random. Before
//! each transaction a terminal tells its parent what those before have changed: these are safe. The parent kills the child
//! (SIGKILL) at a random moment and opens the directory. The consistency conditions must hold, and the tables must have what was
//! acknowledged, and beyond it no more than the transactions that were under way. Then comes the next child.
//!
//! Not here: crashes that lose what was not synced, which take a simulated disk (`longshore-storage`).

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_storage::data_directory::{DataDirectory, DirectoryOptions};
use longshore_storage::disk::{Disk, SystemDisk};
use longshore_storage::{Isolation, Memory, Transactions};

use super::consistency::{self, Totals};
use super::durable::Populated;
use super::schema::Database;
use super::sizes::Sizes;
use super::terminal::{Safety, Tally, Terminal, streams};
use super::transactions::Effects;
use super::values::LastNames;
use crate::measure::Measured;
use crate::workload::random::Random;
use crate::{Failure, Settings};

/// How long a child works before it is killed, at most.
const WORK: Duration = Duration::from_millis(200);

/// How long it is between checkpoints at most.
const CHECKPOINT_PAUSE_MILLIS: u64 = 60;

/// Inputs of each terminal, which begin anew when all are done.
const INPUTS: usize = 10_000;

/// Numbers of an acknowledgement: the terminal, and what it has changed so far.
const NUMBERS: usize = 6;
const ACKNOWLEDGEMENT_BYTES: usize = NUMBERS * 8;

/// Transactions that a terminal may have committed and not acknowledged: one, and a delivery that was deferred, of the ten
/// districts of a warehouse.
const UNDER_WAY: u64 = 1;
const DELIVERED_UNDER_WAY: u64 = 10;

/// What a child is told.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Child {
    /// The directory.
    path: PathBuf,
    /// Warehouses.
    #[arg(long)]
    warehouses: u16,
    /// What its transactions depend on.
    #[arg(long)]
    seed: u64,
}

/// Kills children, and says how long opening took after each.
pub(super) fn run(settings: &Settings, warehouses: u16, kills: usize) -> Result<Vec<Measured>, Failure> {
    let folder = settings.data.join(format!("tpcc-kills-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let rows = run_in(settings, warehouses, kills, &folder.join("db"));
    if rows.is_ok() {
        std::fs::remove_dir_all(folder)?;
    }
    rows
}

fn run_in(settings: &Settings, warehouses: u16, kills: usize, path: &Path) -> Result<Vec<Measured>, Failure> {
    let sizes = Sizes::new(warehouses.into(), settings.scale);
    let mut totals = Populated::durable(sizes, path, settings.threads)?.totals.into_inner();
    let (mut random, mut acknowledged) = (Random::new(0x6b69_6c6c), 0);
    let mut times = Vec::new();
    for kill in 0..kills {
        let told = killed(settings, warehouses, path, kill as u64, random.below(WORK.as_millis() as u64))?;
        let begun = Instant::now();
        let (db, directory) = open(sizes, path, settings.threads)?;
        times.push(begun.elapsed());
        let found = consistency::check(&db)?;
        check(totals, &told, &found).map_err(|error| format!("after kill {kill} of {}: {error}", path.display()))?;
        acknowledged += told.iter().map(|effects| effects.orders + effects.payments).sum::<u64>();
        totals = found;
        drop((db, directory));
    }
    times.sort();
    let (Some(best), Some(median)) = (times.first(), times.get(times.len() / 2)) else { return Ok(Vec::new()) };
    Ok(vec![Measured {
        case: format!("opened after kills, {} terminals", settings.threads),
        best: *best,
        median: *median,
        rate: best.as_secs_f64() * 1e3,
        unit: "ms",
        note: format!("{kills} kills; {acknowledged} orders and payments were acknowledged, and all were there"),
    }])
}

/// What the tables had before a child, what its terminals have acknowledged, and what the tables have.
fn check(before: Totals, told: &[Effects], found: &Totals) -> Result<(), Failure> {
    let mut sum = Effects::default();
    for effects in told {
        sum.add(effects);
    }
    let terminals = told.len() as u64;
    let mut most = sum;
    (most.orders, most.payments) = (sum.orders + terminals * UNDER_WAY, sum.payments + terminals * UNDER_WAY);
    most.delivered += terminals * DELIVERED_UNDER_WAY;
    found.check_between(&before, &sum, &most)
}

/// Lets a child work for so long, kills it, and returns what each of its terminals has acknowledged.
fn killed(settings: &Settings, warehouses: u16, path: &Path, seed: u64, millis: u64) -> Result<Vec<Effects>, Failure> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("tpcc-kills-child")
        .arg(path)
        .args(["--warehouses", &warehouses.to_string(), "--seed", &seed.to_string()])
        .args(["--scale", &settings.scale.to_string(), "--threads", &settings.threads.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut output = child.stdout.take().ok_or("the child has no output")?;
    let mut first = [0; ACKNOWLEDGEMENT_BYTES];
    if output.read_exact(&mut first).is_err() {
        let said = child.wait_with_output()?;
        return Err(format!("the child failed: {}", String::from_utf8_lossy(&said.stderr)).into());
    }
    let reader = std::thread::spawn(move || {
        let mut rest = Vec::new();
        output.read_to_end(&mut rest).map(|_| rest)
    });
    std::thread::sleep(Duration::from_millis(millis));
    child.kill()?;
    child.wait()?;
    let rest = reader.join().expect("reading does not panic")?;
    let mut told = vec![Effects::default(); settings.threads];
    for bytes in std::iter::once(&first[..]).chain(rest.chunks_exact(ACKNOWLEDGEMENT_BYTES)) {
        let mut numbers = [0; NUMBERS];
        for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(8)) {
            *number = u64::from_le_bytes(bytes.try_into()?);
        }
        let [terminal, orders, lines, delivered, payments, paid] = numbers;
        told[terminal as usize] = Effects { orders, lines, delivered, payments, paid: paid.cast_signed() };
    }
    Ok(told)
}

/// A child: works until it is killed.
pub(in crate::workload) fn child(settings: &Settings, child: &Child) -> Result<(), Failure> {
    let Child { path, warehouses, seed } = child;
    let (sizes, seed) = (Sizes::new((*warehouses).into(), settings.scale), *seed);
    let (db, directory) = open(sizes, path, settings.threads)?;
    let (db, names) = (&db, &LastNames::new());
    let streams = streams(sizes, settings.threads, INPUTS * settings.threads, seed);
    std::thread::scope(|scope| {
        let terminals = streams.iter().enumerate().map(|(number, stream)| {
            scope.spawn(move || -> Result<(), Failure> {
                let terminal = Terminal::new(db, names, stream, Isolation::Serializable);
                let mut terminal = terminal.awaiting(Safety::UnderWay(0));
                loop {
                    terminal.run(|tally| {
                        // Who is gone hears nothing.
                        acknowledge(number, tally).is_err()
                    })?;
                }
            })
        });
        let terminals: Vec<_> = terminals.collect();
        let mut random = Random::new(seed);
        while !terminals.iter().any(std::thread::ScopedJoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(random.below(CHECKPOINT_PAUSE_MILLIS)));
            directory.begin_checkpoint()?.write(&[])?;
        }
        terminals.into_iter().try_for_each(|terminal| terminal.join().expect("no terminal panics"))
    })
}

/// Tells what a terminal has changed so far, in one piece that is short enough for a pipe not to divide.
fn acknowledge(terminal: usize, tally: &Tally) -> std::io::Result<()> {
    let Effects { orders, lines, delivered, payments, paid } = tally.effects;
    let mut bytes = [0; ACKNOWLEDGEMENT_BYTES];
    let numbers = [terminal as u64, orders, lines, delivered, payments, paid.cast_unsigned()];
    for (bytes, number) in bytes.chunks_exact_mut(8).zip(numbers) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
    let mut output = std::io::stdout().lock();
    output.write_all(&bytes)?;
    output.flush()
}

fn open(sizes: Sizes, path: &Path, threads: usize) -> Result<(Database, DataDirectory), Failure> {
    let (memory, transactions) = (Memory::new(None), Transactions::new());
    let disk = Arc::new(SystemDisk) as Arc<dyn Disk>;
    let options = DirectoryOptions { threads, ..DirectoryOptions::default() };
    let (directory, recovered) = DataDirectory::open(&disk, path, &memory, &transactions, options)?;
    Ok((Database::of_relations(transactions, sizes, recovered.relations.into_values())?, directory))
}
