//! Random histories of sessions, checked for what must not be in them.
//!
//! Sessions run transactions of SQL text and of prepared statements: they read lists and registers by key, by ranges of
//! keys and by values, append to lists, write and delete registers, and load new ones by COPY within their transactions
//! and beside them. Once they take turns in one thread, so that the order of commits is known and a replay can tell
//! everything; once they are threads, with lists alone, whose versions say themselves in which order they came.
//!
//! Not here: the checkers, and the same over the typed API (`longshore-storage/tests/storage/history.rs`).

use std::collections::BTreeSet;
use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

use longshore_engine::{Database, Datum, Error, ErrorKind, Prepared, Session, key};
use longshore_testing::{Random, share};

use super::history_support::adya::{self, Kind};
use super::history_support::{End, History, Object, Op, Record, Table, Value, replay};
use super::{database, run, shown};

/// Lists and registers that are there from the start.
const KEYS: i32 = 10;
const MERGES: [&str; 3] = ["insert", "copy", "chunk"];

/// The seeds of `count` histories, or of as many times that as `LONGSHORE_HISTORY` says.
pub(super) fn seeds(count: usize) -> std::ops::Range<u64> {
    let times =
        std::env::var("LONGSHORE_HISTORY").map_or(1, |times| times.parse().expect("LONGSHORE_HISTORY is a number"));
    0..share(count) as u64 * times
}

/// What the sessions work on.
struct World {
    database: Arc<Database>,
    next_list: AtomicI32,
    next_register: AtomicI32,
    next_value: AtomicU32,
    /// Whether there are registers.
    registers: bool,
}

impl World {
    async fn new(registers: bool, lists_by: &str, registers_by: &str) -> World {
        let database = database();
        let mut session = database.session();
        for sql in [
            format!("CREATE TABLE lists (k int, items text NOT NULL, PRIMARY KEY (k) USING {lists_by})"),
            format!("CREATE TABLE registers (k int, v bigint NOT NULL, PRIMARY KEY (k) USING {registers_by})"),
            "CREATE INDEX ON registers (v, k)".to_owned(),
            format!("INSERT INTO lists SELECT value, '' FROM generate_series(0, {}) AS g(value)", KEYS - 1),
        ] {
            run(&mut session, &sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        let next = || AtomicI32::new(KEYS);
        World { database, next_list: next(), next_register: next(), next_value: AtomicU32::new(1), registers }
    }

    fn value(&self) -> u32 {
        self.next_value.fetch_add(1, Ordering::Relaxed)
    }

    fn keys(&self) -> i32 {
        self.next_list.load(Ordering::Relaxed).max(self.next_register.load(Ordering::Relaxed))
    }

    /// A transaction that reads everything, for the end of a history.
    async fn read_all(&self, at: u64) -> Record {
        let mut reader = Reader::new(self);
        let all = 0..=self.keys() - 1;
        let mut ops = vec![reader.range(Table::Lists, all.clone()).await.unwrap()];
        if self.registers {
            ops.push(reader.range(Table::Registers, all).await.unwrap());
        }
        Record { session: usize::MAX, start: at, end: End::Committed(at), ops }
    }
}

/// A session with the statements that it has prepared.
struct Reader<'w> {
    world: &'w World,
    session: Session,
    list: Prepared,
    set_list: Prepared,
    register: Prepared,
    set_register: Prepared,
    insert_register: Prepared,
    delete_register: Prepared,
}

impl<'w> Reader<'w> {
    fn new(world: &'w World) -> Reader<'w> {
        let session = world.database.session();
        let prepare = |sql: &str| session.prepare(sql).unwrap();
        Reader {
            world,
            list: prepare("SELECT items FROM lists WHERE k = $1"),
            set_list: prepare("UPDATE lists SET items = $2 WHERE k = $1"),
            register: prepare("SELECT v FROM registers WHERE k = $1"),
            set_register: prepare("UPDATE registers SET v = $2 WHERE k = $1"),
            insert_register: prepare("INSERT INTO registers VALUES ($1, $2)"),
            delete_register: prepare("DELETE FROM registers WHERE k = $1"),
            session,
        }
    }

    async fn run(&mut self, sql: &str) -> Result<String, Error> {
        run(&mut self.session, sql).await
    }

    async fn read(&mut self, object: Object) -> Result<Op, Error> {
        let prepared = if object.table == Table::Lists { &self.list } else { &self.register };
        let found = shown(self.session.execute_prepared(prepared, key![object.key]).await?).await?;
        Ok(Op::Read(object, value(&found)))
    }

    async fn range(&mut self, table: Table, keys: std::ops::RangeInclusive<i32>) -> Result<Op, Error> {
        let columns = if table == Table::Lists { "k, items FROM lists" } else { "k, v FROM registers" };
        let sql = format!("SELECT {columns} WHERE k BETWEEN {} AND {}", keys.start(), keys.end());
        Ok(Op::Range(table, keys, rows(&self.run(&sql).await?)))
    }

    async fn filter(&mut self, values: std::ops::RangeInclusive<u32>) -> Result<Op, Error> {
        let sql = format!("SELECT k, v FROM registers WHERE v BETWEEN {} AND {}", values.start(), values.end());
        Ok(Op::Filter(values, rows(&self.run(&sql).await?)))
    }

    /// In one statement, or by what was read before.
    async fn append(&mut self, object: Object, in_one: bool, ops: &mut Vec<Op>) -> Result<(), Error> {
        let item = self.world.value();
        let changed = if in_one {
            let sql = format!("UPDATE lists SET items = items || ',{item}' WHERE k = {}", object.key);
            self.run(&sql).await?
        } else {
            let read = self.read(object).await?;
            let Op::Read(_, before) = &read else { unreachable!() };
            let items: Vec<String> = before.0.iter().chain([&item]).map(u32::to_string).collect();
            ops.push(read);
            let values = [Datum::I32(object.key), Datum::Text(&items.join(","))];
            shown(self.session.execute_prepared(&self.set_list, &values).await?).await?
        };
        ops.push(if changed == "0" { Op::Read(object, Value::default()) } else { Op::Append(object, item) });
        Ok(())
    }

    async fn write(&mut self, object: Object, in_one: bool) -> Result<Op, Error> {
        let value = self.world.value();
        if in_one {
            let sql = format!(
                "INSERT INTO registers VALUES ({}, {value}) ON CONFLICT (k) DO UPDATE SET v = excluded.v",
                object.key
            );
            self.run(&sql).await?;
        } else {
            let values = [Datum::I32(object.key), Datum::I64(value.into())];
            let changed = self.session.execute_prepared(&self.set_register, &values).await?;
            if shown(changed).await? == "0" {
                self.session.execute_prepared(&self.insert_register, &values).await?;
            }
        }
        Ok(Op::Write(object, value))
    }

    async fn delete(&mut self, object: Object) -> Result<Op, Error> {
        let deleted = self.session.execute_prepared(&self.delete_register, key![object.key]).await?;
        Ok(if shown(deleted).await? == "0" { Op::Read(object, Value::default()) } else { Op::Delete(object) })
    }

    /// Loads objects that nobody has used yet, beside others that no history is about.
    async fn load(&mut self, table: Table, count: i32, others: i32, merge: &str) -> Result<Vec<Op>, Error> {
        let (name, next) = match table {
            Table::Lists => ("lists", &self.world.next_list),
            Table::Registers => ("registers", &self.world.next_register),
        };
        let first = next.fetch_add(count, Ordering::Relaxed);
        let (mut text, mut ops) = (String::new(), Vec::new());
        for key in first..first + count {
            let value = self.world.value();
            text.extend([key.to_string(), ",".to_owned(), value.to_string(), "\n".to_owned()]);
            ops.push(match table {
                Table::Lists => Op::Append(Object::list(key), value),
                Table::Registers => Op::Write(Object::register(key), value),
            });
        }
        let far = i32::MAX / 2 + first * 1_000;
        text.extend((far..far + others).map(|key| format!("{key},{}\n", u32::MAX)));
        self.session.set_input(Cursor::new(text));
        self.run(&format!("COPY {name} FROM STDIN (MERGE {merge})")).await?;
        Ok(ops)
    }

    /// A random step, with what it saw and did.
    async fn step(&mut self, random: &mut Random, ops: &mut Vec<Op>) -> Result<(), Error> {
        let lists = self.world.next_list.load(Ordering::Relaxed);
        let registers = self.world.next_register.load(Ordering::Relaxed);
        // Half of the time one of those that everybody works on.
        let among = |random: &mut Random, all: i32| {
            let below = if random.below(2) == 0 { KEYS } else { all };
            random.below(below as usize) as i32
        };
        let list = Object::list(among(random, lists));
        let register = Object::register(among(random, registers));
        let in_one = random.below(4) == 0;
        match random.below(if self.world.registers { 16 } else { 8 }) {
            0..=2 => ops.push(self.read(list).await?),
            3 => ops.push(self.range(Table::Lists, list.key..=list.key + 3).await?),
            4..=7 => self.append(list, in_one, ops).await?,
            8..=9 => ops.push(self.read(register).await?),
            10 => ops.push(self.range(Table::Registers, register.key..=register.key + 4).await?),
            11 => {
                let newest = self.world.next_value.load(Ordering::Relaxed);
                let low = newest.saturating_sub(random.below(60) as u32);
                ops.push(self.filter(low..=low + random.below(40) as u32).await?);
            }
            12..=13 => ops.push(self.write(register, in_one).await?),
            14 => ops.push(self.delete(register).await?),
            _ => {
                let table = if in_one { Table::Lists } else { Table::Registers };
                let count = 1 + random.below(3) as i32;
                if random.below(3) > 0 {
                    // A transaction begins with its first statement, so each step is one.
                    ops.push(self.read(list).await?);
                    return Ok(());
                }
                ops.extend(self.load(table, count, 0, MERGES[random.below(3)]).await?);
            }
        }
        Ok(())
    }
}

/// The items of a list, or the value of a register.
fn value(text: &str) -> Value {
    Value(text.split(',').filter(|item| !item.is_empty()).map(|item| item.trim().parse().unwrap()).collect())
}

/// Key and value of each row, of those that have one.
fn rows(shown: &str) -> Vec<(i32, Value)> {
    let rows = shown.split(", ").filter_map(|row| row.split_once(' '));
    let mut rows: Vec<_> = rows.map(|(key, items)| (key.parse().unwrap(), value(items))).collect();
    rows.retain(|(_, value)| !value.is_absent());
    rows.sort_by_key(|(key, _)| *key);
    rows
}

/// Whether a transaction that failed so may be tried again.
fn gives_way(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Conflict | ErrorKind::Duplicate)
}

/// The transaction that a session is in the middle of.
struct Open {
    start: Option<u64>,
    steps_left: usize,
    ops: Vec<Op>,
}

/// Sessions that take turns by chance: a statement at a time, so that what is counted as the time is that of commits.
async fn interleaved(level: &str, seed: u64, sessions: usize, transactions: usize) -> History {
    let world = if seed.is_multiple_of(2) { ("art", "hash") } else { ("hash", "art") };
    let world = World::new(true, world.0, world.1).await;
    let mut random = Random::new(seed << 8 | sessions as u64);
    let mut readers: Vec<(Reader<'_>, Option<Open>)> = (0..sessions).map(|_| (Reader::new(&world), None)).collect();
    let mut clock = 0;
    let mut records = Vec::new();
    while records.len() < transactions {
        let session = random.below(sessions);
        let (reader, open) = &mut readers[session];
        let Some(Open { start, steps_left, ops }) = open else {
            if random.below(40) == 0 {
                // A load that is a transaction by itself.
                let table = if random.below(2) == 0 { Table::Lists } else { Table::Registers };
                let start = clock;
                let loaded = reader.load(table, 1 + random.below(4) as i32, 0, MERGES[random.below(3)]).await;
                let (end, ops) = match loaded {
                    Ok(ops) => {
                        clock += 1;
                        (End::Committed(clock), ops)
                    }
                    Err(error) if gives_way(&error) => (End::Aborted, Vec::new()),
                    Err(error) => panic!("{error}"),
                };
                records.push(Record { session, start, end, ops });
                continue;
            }
            reader.run(&format!("BEGIN ISOLATION LEVEL {level}")).await.unwrap();
            *open = Some(Open { start: None, steps_left: 1 + random.below(5), ops: Vec::new() });
            continue;
        };
        // The first statement sees what has been committed before it.
        let start = *start.get_or_insert(clock);
        let end = if *steps_left > 0 {
            *steps_left -= 1;
            match reader.step(&mut random, ops).await {
                Ok(()) => continue,
                Err(error) if gives_way(&error) => {
                    reader.run("ROLLBACK").await.unwrap();
                    End::Aborted
                }
                Err(error) => panic!("{level}, seed {seed}: {error}"),
            }
        } else if random.below(12) == 0 {
            reader.run("ROLLBACK").await.unwrap();
            End::Aborted
        } else {
            match reader.run("COMMIT").await {
                Ok(_) if ops.iter().any(|op| op.writes().is_some()) => {
                    clock += 1;
                    End::Committed(clock)
                }
                Ok(_) => End::Committed(start),
                Err(error) if gives_way(&error) => End::Aborted,
                Err(error) => panic!("{level}, seed {seed}: {error}"),
            }
        };
        records.push(Record { session, start, end, ops: std::mem::take(ops) });
        *open = None;
    }
    for (reader, open) in &mut readers {
        if open.is_some() {
            reader.run("ROLLBACK").await.unwrap();
        }
    }
    records.push(Box::pin(world.read_all(clock)).await);
    History { keys: world.keys(), records }
}

/// Sessions that are threads, and one that loads all the while.
fn threaded(seed: u64, sessions: usize, transactions: usize) -> History {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let world = runtime().block_on(World::new(false, if seed.is_multiple_of(2) { "art" } else { "hash" }, "art"));
    let done = AtomicBool::new(false);
    let work = |session: usize| {
        let (mut random, mut records) = (Random::new(seed << 8 | session as u64), Vec::new());
        runtime().block_on(async {
            let mut reader = Reader::new(&world);
            while records.len() < transactions / sessions {
                reader.run("BEGIN").await.unwrap();
                let (mut ops, mut failed) = (Vec::new(), None);
                for _ in 0..=random.below(4) {
                    failed = reader.step(&mut random, &mut ops).await.err();
                    if failed.is_some() {
                        break;
                    }
                }
                let ended = match failed {
                    Some(error) => reader.run("ROLLBACK").await.and(Err(error)),
                    None => reader.run("COMMIT").await,
                };
                let end = match ended {
                    Ok(_) => End::Committed(0),
                    Err(error) if gives_way(&error) => End::Aborted,
                    Err(error) => panic!("seed {seed}: {error}"),
                };
                records.push(Record { session, start: 0, end, ops });
            }
        });
        records
    };
    let load = || {
        let (mut random, mut records) = (Random::new(seed), Vec::new());
        runtime().block_on(async {
            let mut reader = Reader::new(&world);
            while !done.load(Ordering::Relaxed) {
                let (count, merge) = (1 + random.below(3) as i32, MERGES[random.below(3)]);
                let ops = reader.load(Table::Lists, count, 800, merge).await.unwrap();
                records.push(Record { session: sessions, start: 0, end: End::Committed(0), ops });
            }
        });
        records
    };
    let mut records = std::thread::scope(|scope| {
        let loader = scope.spawn(load);
        let threads: Vec<_> = (0..sessions).map(|session| scope.spawn(move || work(session))).collect();
        let ended: Vec<_> = threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        // Also where one has panicked, or the load would go on for ever.
        done.store(true, Ordering::Relaxed);
        let mut records: Vec<Record> = ended.into_iter().flat_map(Result::unwrap).collect();
        records.extend(loader.join().unwrap());
        records
    });
    records.push(runtime().block_on(world.read_all(0)));
    History { keys: world.keys(), records }
}

/// Whether most transactions committed, so that there is something to be checked.
fn assert_progress(name: &str, seed: u64, history: &History) {
    let committed = history.records.iter().filter(|record| record.committed().is_some()).count();
    assert!(committed * 4 > history.records.len(), "{name}, seed {seed}: only {committed} transactions committed");
}

#[tokio::test]
async fn interleaved_sessions_are_serializable() {
    for seed in seeds(2) {
        for sessions in [3, 8] {
            let history = Box::pin(interleaved("SERIALIZABLE", seed, sessions, 400)).await;
            let faults = replay::faults(&history, true);
            assert!(faults.is_empty(), "seed {seed}: {} faults, the first: {}", faults.len(), faults[0]);
            let anomalies = adya::anomalies(&history);
            assert!(anomalies.is_empty(), "seed {seed}: {:?}", &anomalies[..anomalies.len().min(5)]);
            assert_progress("interleaved", seed, &history);
        }
    }
}

#[tokio::test]
async fn snapshots_allow_write_skew_and_nothing_else() {
    let mut found = 0;
    for seed in seeds(2) {
        let history = Box::pin(interleaved("REPEATABLE READ", seed, 8, 400)).await;
        let faults = replay::faults(&history, false);
        assert!(faults.is_empty(), "seed {seed}: {} faults, the first: {}", faults.len(), faults[0]);
        for anomaly in adya::anomalies(&history) {
            assert_eq!(anomaly.kind, Kind::G2, "seed {seed}: {}", anomaly.what);
            found += 1;
        }
        assert_progress("snapshots", seed, &history);
    }
    assert!(found > 0, "the checker finds write skew");
}

#[test]
fn threads_are_serializable_while_files_are_loaded() {
    for seed in seeds(2) {
        let history = threaded(seed, 3, 1_500);
        let anomalies = adya::anomalies(&history);
        assert!(anomalies.is_empty(), "seed {seed}: {:?}", &anomalies[..anomalies.len().min(5)]);
        assert_progress("threads", seed, &history);
        let seen: BTreeSet<u32> =
            history.records.last().unwrap().ops[0].reads().into_iter().flat_map(|(_, v)| v.0).collect();
        let committed = history.records.iter().filter(|record| record.committed().is_some());
        let items = committed.flat_map(|record| &record.ops).filter_map(|op| match op {
            Op::Append(_, item) => Some(*item),
            _ => None,
        });
        let written: BTreeSet<u32> = items.collect();
        assert_eq!(seen, written, "seed {seed}: what was committed is there, and nothing else");
    }
}
