//! What stays behind where rows come and go: the same few rows are removed and put back, by every way there is, alone,
//! beside a reader that began before all of it, and beside a transaction that did and may yet write.
//!
//! What counts is not how long a round takes but that the last one takes no longer than the first, and no more memory:
//! the median of the last tenth of all rounds is held against that of the first, and what the process has in the end
//! against what it had then. Every round checks what it finds, and the old reader in the end what it sees.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use longshore_storage::{
    Arena, Column, ColumnType, Datum, Index, IndexKind, Isolation, Memory, MergeKind, PartitionBuffer, Relation,
    Schema, Transaction, Transactions, Uniqueness, key,
};

use crate::measure::{Amount, Case, Measured, measure};
use crate::{Failure, Settings};

/// Rounds at scale factor 1.
const ROUNDS: f64 = 100_000.0;

/// The fewest rounds.
const ROUNDS_MIN: f64 = 300.0;

/// Of so many rounds and more it is an error if the cost grows, or the memory.
const ROUNDS_TOLD: usize = 20_000;

/// Rounds that are timed together.
const BATCH_ROUNDS: usize = 10;

/// What the median of the last tenth may be of that of the first.
const GROWTH_MAX: f64 = 1.2;

/// Bytes that a process may have more in the end than after the first tenth. What rows of a queue leave beside an old reader
/// settles below that: 8 to 11 MB were seen after 100,000 rounds, and no more after 400,000.
const GROWTH_BYTES_MAX: usize = 16 << 20;

/// Rows that are there.
const ROWS: i64 = 10;

/// Rows of the queue.
const QUEUED: i64 = 1_000;

/// How rows come and go.
#[derive(Clone, Copy, Debug)]
enum Way {
    TruncateAndLoad,
    TruncateAndInsert,
    DeleteAndInsert,
    Update,
    Queue,
    UndoneLoad,
}

/// Who else is there.
#[derive(Clone, Copy, Debug)]
enum Beside {
    Nobody,
    Reader,
    Writer,
}

const WAYS: [(Way, &str); 6] = [
    (Way::TruncateAndLoad, "truncate and load"),
    (Way::TruncateAndInsert, "truncate and insert"),
    (Way::DeleteAndInsert, "delete and insert"),
    (Way::Update, "update"),
    (Way::Queue, "load behind, delete in front"),
    (Way::UndoneLoad, "load and roll back"),
];

const BESIDES: [(Beside, &str); 3] = [
    (Beside::Nobody, "alone"),
    (Beside::Reader, "beside an old reader"),
    (Beside::Writer, "beside an old transaction"),
];

/// What a run has found.
struct Growth {
    case: String,
    /// Of the last tenth, by that of the first.
    times: f64,
    bytes: isize,
}

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let rounds = (ROUNDS * settings.scale).max(ROUNDS_MIN) as usize;
    let growths = RefCell::new(Vec::new());
    let mut cases = Vec::new();
    for (way, way_name) in WAYS {
        for (beside, beside_name) in BESIDES {
            let (name, growths) = (format!("{way_name}, {beside_name}"), &growths);
            cases.push(Case::new(name.clone(), Amount::Transactions(rounds as u64), move || {
                let (times, growth) = Churn::new()?.run(way, beside, rounds)?;
                growths.borrow_mut().push(Growth { case: name.clone(), ..growth });
                Ok(times)
            }));
        }
    }
    let mut measured = measure(cases, settings)?;
    for measured in &mut measured {
        // A machine that does something else makes a run look worse, none better.
        let growths = growths.borrow();
        let of_case = || growths.iter().filter(|growth| growth.case == measured.case);
        let times = of_case().map(|growth| growth.times).fold(f64::INFINITY, f64::min);
        let bytes = of_case().map(|growth| growth.bytes).min().unwrap_or(0);
        measured.note = format!("last tenth {times:.2} x the first, {} KB more", bytes / 1024);
        if rounds >= ROUNDS_TOLD && (times > GROWTH_MAX || bytes > GROWTH_BYTES_MAX as isize) {
            return Err(format!("{}: {}", measured.case, measured.note).into());
        }
    }
    Ok(measured)
}

struct Churn {
    transactions: Arc<Transactions>,
    table: Relation,
    pk: Arc<Index>,
    value: longshore_storage::Field<i64>,
}

impl Churn {
    fn new() -> Result<Churn, Failure> {
        let transactions = Transactions::new();
        let schema = Schema::new(vec![
            Column::new("id", ColumnType::BigInt, false),
            Column::new("value", ColumnType::BigInt, false),
            Column::new("text", ColumnType::Text, false),
        ]);
        let table = Relation::in_database(Arc::new(schema), Memory::new(None), &transactions).with_name("churned");
        let pk = table.create_index("pk", &[0], IndexKind::Art, Uniqueness::Unique)?;
        let value = table.column("value")?;
        Ok(Churn { transactions, table, pk, value })
    }

    fn begin(&self) -> Transaction {
        self.transactions.begin(Isolation::Serializable)
    }

    fn run(&self, way: Way, beside: Beside, rounds: usize) -> Result<(Duration, Growth), Failure> {
        let rows = if matches!(way, Way::Queue) { QUEUED } else { ROWS };
        self.load(0, rows, true)?;
        let old = match beside {
            Beside::Nobody => None,
            Beside::Reader => Some(self.transactions.begin_read_only(Isolation::Serializable)),
            Beside::Writer => Some(self.begin()),
        };
        let mut batches = Vec::with_capacity(rounds / BATCH_ROUNDS);
        let (mut time, mut bytes) = (Duration::ZERO, 0);
        for batch in 0..rounds / BATCH_ROUNDS {
            let begun = Instant::now();
            for round in batch * BATCH_ROUNDS..(batch + 1) * BATCH_ROUNDS {
                self.round(way, round as i64)?;
            }
            batches.push(begun.elapsed());
            time += begun.elapsed();
            if batch == rounds / BATCH_ROUNDS / 10 {
                bytes = resident()?;
            }
        }
        let more = resident()? as isize - bytes as isize;
        if let Some(mut old) = old {
            self.check_old(&mut old, rows)?;
        }
        let left = self.table.snapshot().rows();
        if left != rows as u64 || self.pk.rows() as u64 != left {
            return Err(format!("{left} rows, {} in the index, where {rows} are right", self.pk.rows()).into());
        }
        let tenth = batches.len() / 10;
        let (first, last) = (median(&batches[..tenth]), median(&batches[batches.len() - tenth..]));
        Ok((time, Growth { case: String::new(), times: last / first, bytes: more }))
    }

    fn round(&self, way: Way, round: i64) -> Result<(), Failure> {
        let hot = round % ROWS;
        match way {
            Way::TruncateAndLoad => {
                self.truncate()?;
                self.load(0, ROWS, true)?;
            }
            Way::TruncateAndInsert => {
                self.truncate()?;
                let mut t = self.begin();
                for id in 0..ROWS {
                    t.insert(&self.table, key![id, id, "a text that is too long for its view"])?;
                }
                t.commit()?;
            }
            Way::DeleteAndInsert => {
                let mut t = self.begin();
                let row = t.find(&self.table, &self.pk, key![hot])?.ok_or("a key is not there")?;
                t.delete(&self.table, row)?;
                t.insert(&self.table, key![hot, hot, "a text that is too long for its view"])?;
                t.commit()?;
            }
            Way::Update => {
                let mut t = self.begin();
                let row = t.find(&self.table, &self.pk, key![hot])?.ok_or("a key is not there")?;
                t.set(&self.table, row, self.value, hot)?;
                t.set_datum(&self.table, row, 2, Datum::Text("another text that is too long for its view"))?;
                t.commit()?;
            }
            Way::Queue => {
                self.load(QUEUED + round, 1, true)?;
                let mut t = self.begin();
                let row = t.find(&self.table, &self.pk, key![round])?.ok_or("a key is not there")?;
                t.delete(&self.table, row)?;
                t.commit()?;
            }
            Way::UndoneLoad => self.load(ROWS, ROWS, false)?,
        }
        let mut t = self.transactions.begin_read_only(Isolation::Serializable);
        let (id, rows) = if matches!(way, Way::Queue) { (QUEUED + round, QUEUED) } else { (hot, ROWS) };
        let row = t.find(&self.table, &self.pk, key![id])?.ok_or("a key is not there")?;
        let (value, seen) = (t.get(&self.table, row, self.value)?, t.snapshot(&self.table).rows());
        if value != id || seen != rows as u64 {
            return Err(format!("round {round}: value {value} of {id}, {seen} rows of {rows}").into());
        }
        Ok(())
    }

    fn truncate(&self) -> Result<(), Failure> {
        let mut t = self.begin();
        t.truncate(&self.table)?;
        t.commit()?;
        Ok(())
    }

    /// Loads rows with these keys, and commits them or not.
    fn load(&self, first: i64, rows: i64, commits: bool) -> Result<(), Failure> {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + rows));
        let texts = (0..rows).map(|_| "a text that is too long for its view");
        let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts));
        let batch = RecordBatch::try_new(self.table.schema().arrow(), vec![Arc::clone(&ids), ids, texts])?;
        let mut arena = Arena::new(Arc::clone(self.table.memory()), 1 << 16);
        let append = self.table.begin_append(MergeKind::Chunk);
        append.merge(0, PartitionBuffer::from_batch(self.table.schema(), &batch, &mut arena)?)?;
        let mut t = self.begin();
        append.commit_in(&mut t)?;
        if commits {
            t.commit()?;
        }
        Ok(())
    }

    /// Who began before all rounds sees the first rows.
    fn check_old(&self, old: &mut Transaction, rows: i64) -> Result<(), Failure> {
        let seen = old.snapshot(&self.table).rows();
        let mut found = 0;
        for id in 0..rows {
            let Some(row) = old.find(&self.table, &self.pk, key![id])? else { continue };
            found += i64::from(old.get(&self.table, row, self.value)? == id);
        }
        if seen == rows as u64 && found == rows {
            return Ok(());
        }
        Err(format!("the old reader sees {seen} rows and finds {found} where {rows} are right").into())
    }
}

/// Nanoseconds.
fn median(times: &[Duration]) -> f64 {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() / 2).map_or(f64::NAN, |time| time.as_nanos() as f64)
}

/// Bytes of memory that the process has.
fn resident() -> Result<usize, Failure> {
    let pages = std::fs::read_to_string("/proc/self/statm")?;
    let pages: usize = pages.split(' ').nth(1).ok_or("/proc/self/statm has no second number")?.parse()?;
    // SAFETY: it reads a number.
    Ok(pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize)
}
