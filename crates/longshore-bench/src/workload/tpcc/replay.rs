//! What a log costs transactions before it reaches a disk, and how fast a database comes back from it.
//!
//! The log copies records into memory. The same transactions run on a database without a log and on one with it; then the
//! records of the first run are done again, on relations that begin as they were populated. What comes back is compared
//! with what the tables held, by their checksums.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use longshore_storage::checksum::{Checksum, checksum};
use longshore_storage::log::{LogError, Lsn};
use longshore_storage::{Isolation, Memory, RedoLog, Relation, Replay, Replayed, Transactions};

use super::schema::Database;
use super::sizes::Sizes;
use super::terminal::{self, Order};
use super::values::LastNames;
use super::{TRANSACTION_BYTES, TRANSACTIONS, TRANSACTIONS_MIN};
use crate::measure::{Amount, Case, Measured, measure, threads_of};
use crate::workload::fill::have_at_hand;
use crate::{Failure, Settings};

/// Bytes by which a log frames a record.
const FRAME_BYTES: usize = 20;

/// Records that are done again at a time, as a log would be read.
const BATCH_RECORDS: usize = 1 << 16;

/// Takes records into memory, one behind the other.
#[derive(Default)]
struct MemoryLog {
    records: Mutex<Records>,
}

#[derive(Clone, Default)]
struct Records {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl RedoLog for MemoryLog {
    fn append(&self, record: &[u8], _: usize) -> Result<Lsn, LogError> {
        let mut records = self.lock();
        records.bytes.extend_from_slice(record);
        let end = records.bytes.len();
        records.ends.push(end);
        Ok(Lsn::new(end as u64))
    }
}

impl MemoryLog {
    fn lock(&self) -> std::sync::MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it has taken, which it forgets.
    fn take(&self) -> Records {
        let mut records = self.lock();
        let taken = records.clone();
        records.bytes.clear();
        records.ends.clear();
        taken
    }
}

impl Records {
    fn iter(&self) -> impl Iterator<Item = (Lsn, &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| (Lsn::new(end as u64), &self.bytes[start..end]))
    }

    fn apply(&self, replay: &mut Replay, threads: usize) -> Result<Replayed, Failure> {
        let all: Vec<_> = self.iter().collect();
        let mut replayed = Replayed::default();
        for batch in all.chunks(BATCH_RECORDS) {
            replayed.add(replay.apply(batch, threads, &mut |_, _| {})?);
        }
        Ok(replayed)
    }
}

/// A database, and what it logs, if it does.
struct Logged {
    db: Database,
    log: Option<Arc<MemoryLog>>,
    /// The tables as they were populated.
    image: Records,
}

impl Logged {
    fn new(sizes: Sizes, is_logged: bool) -> Result<Logged, Failure> {
        let db = Database::populated(sizes)?;
        if !is_logged {
            return Ok(Logged { db, log: None, image: Records::default() });
        }
        let log = Arc::new(MemoryLog::default());
        db.transactions.log_to(Arc::clone(&log) as Arc<dyn RedoLog>);
        let mut t = db.transactions.begin(Isolation::Snapshot);
        relations(&db).iter().try_for_each(|relation| t.log_created(relation))?;
        t.commit()?;
        let image = log.take();
        Ok(Logged { db, log: Some(log), image })
    }
}

/// The tables in the order in which they join.
pub(super) fn relations(db: &Database) -> [&Arc<Relation>; 9] {
    [
        &db.warehouse.relation,
        &db.district.relation,
        &db.customer.relation,
        &db.history.relation,
        &db.new_order.relation,
        &db.orders.relation,
        &db.order_line.relation,
        &db.item.relation,
        &db.stock.relation,
    ]
}

/// The records of a run, and what the tables held after it.
struct Recorded {
    records: Records,
    expected: Vec<Checksum>,
}

struct Bench {
    plain: Logged,
    logged: Logged,
    names: LastNames,
    transactions: usize,
    seed: Cell<u64>,
    recorded: RefCell<Option<Recorded>>,
    replayed: Cell<Replayed>,
}

pub(super) fn run(settings: &Settings, warehouses: u16) -> Result<Vec<Measured>, Failure> {
    let sizes = Sizes::new(warehouses.into(), settings.scale);
    let bench = Bench {
        plain: Logged::new(sizes, false)?,
        logged: Logged::new(sizes, true)?,
        names: LastNames::new(),
        transactions: ((TRANSACTIONS * settings.scale) as usize).max(TRANSACTIONS_MIN),
        seed: Cell::new(0),
        recorded: RefCell::default(),
        replayed: Cell::default(),
    };
    let (bench, amount) = (&bench, Amount::Transactions(bench.transactions as u64));
    bench.record()?;
    let mut cases = vec![
        Case::new("transactions without a log, 1 thread", amount, || bench.work(&bench.plain)),
        Case::new("transactions that are logged, 1 thread", amount, || bench.work(&bench.logged)),
    ];
    for threads in settings.thread_counts() {
        let name = format!("replay, {}", threads_of(threads));
        cases.push(Case::new(name, amount, move || bench.replay(threads)));
    }
    let mut measured = measure(cases, settings)?;
    for case in measured.iter_mut().filter(|case| case.case.starts_with("replay")) {
        case.note = bench.note(case.best);
    }
    Ok(measured)
}

impl Bench {
    /// Keeps the records of a run.
    fn record(&self) -> Result<(), Failure> {
        self.work(&self.logged)?;
        let Some(log) = &self.logged.log else { return Err("nothing is logged".into()) };
        let expected = relations(&self.logged.db).map(|relation| checksum(&relation.snapshot(), 1)).to_vec();
        *self.recorded.borrow_mut() = Some(Recorded { records: log.take(), expected });
        Ok(())
    }

    fn work(&self, on: &Logged) -> Result<Duration, Failure> {
        self.seed.set(self.seed.get() + 1);
        let streams = terminal::streams(on.db.sizes, 1, self.transactions, self.seed.get());
        have_at_hand(on.db.orders.relation.memory(), self.transactions * TRANSACTION_BYTES)?;
        let (time, tally) = terminal::run(&on.db, &self.names, &streams, Isolation::Serializable, Order::Serial)?;
        tally.check(&streams)?;
        if self.recorded.borrow().is_some()
            && let Some(log) = &on.log
        {
            drop(log.take());
        }
        Ok(time)
    }

    fn replay(&self, threads: usize) -> Result<Duration, Failure> {
        let recorded = self.recorded.borrow();
        let Some(Recorded { records, expected }) = &*recorded else { return Err("nothing was recorded".into()) };
        let (transactions, memory) = (Transactions::new(), Memory::new(None));
        let mut replay = Replay::new(&transactions, &memory);
        self.logged.image.apply(&mut replay, threads)?;
        have_at_hand(&memory, self.transactions * TRANSACTION_BYTES)?;
        let begun = Instant::now();
        self.replayed.set(records.apply(&mut replay, threads)?);
        let relations = replay.finish();
        let time = begun.elapsed();
        let found: Vec<Checksum> = relations.values().map(|relation| checksum(&relation.snapshot(), 1)).collect();
        if found == *expected { Ok(time) } else { Err(format!("{found:?} where {expected:?} is right").into()) }
    }

    /// How large records are, and what a second does.
    fn note(&self, time: Duration) -> String {
        let (recorded, Replayed { changes, image_bytes }) = (self.recorded.borrow(), self.replayed.get());
        let (bytes, records) = recorded.as_ref().map_or((0, 0), |of| (of.records.bytes.len(), of.records.ends.len()));
        let seconds = time.as_secs_f64();
        format!(
            "{records} records, {changes} changes; {:.0} bytes each record, {:.2} of its after-images with a frame of \
             {FRAME_BYTES} bytes; {:.0} MB/s, {:.2} M changes/s",
            bytes as f64 / records as f64,
            (bytes + records * FRAME_BYTES) as f64 / image_bytes as f64,
            bytes as f64 / seconds / 1e6,
            changes as f64 / seconds / 1e6,
        )
    }
}
