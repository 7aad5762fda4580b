//! Random histories of concurrent transactions, checked for what must not be in them.
//!
//! Sessions run transactions that read by key, by ranges of keys and by values, through indexes or by scans, append to
//! lists, write and delete registers, while loads bring new ones in bulk. What each read and wrote is recorded; then [`adya`] looks for cycles
//! of dependencies, and [`replay`] does it all again in the order of the commits. Once the sessions take turns in one
//! thread, so that a seed gives one history with as much concurrency as there are sessions; once they are threads.
//!
//! `LONGSHORE_HISTORY=20` makes the histories twenty times as many.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::database::{Database, Step};
use crate::history_support::adya::{self, Kind};
use crate::history_support::{End, History, Op, Record, replay};
use crate::redo_support::{MemoryLog, join, replayed};
use longshore_storage::{Isolation, MergeKind, Transaction, TransactionError};
use longshore_testing::{Random, share};

const KEYS: i32 = 12;
const KINDS: [MergeKind; 3] = [MergeKind::Insert, MergeKind::Copy, MergeKind::Chunk];

/// The seeds of `count` histories, or of as many times that as `LONGSHORE_HISTORY` says.
fn seeds(count: usize) -> std::ops::Range<u64> {
    let times =
        std::env::var("LONGSHORE_HISTORY").map_or(1, |times| times.parse().expect("LONGSHORE_HISTORY is a number"));
    0..share(count) as u64 * times
}

/// A session, with the transaction that it is in the middle of.
struct Session<'a> {
    database: &'a Database,
    number: usize,
    isolation: Isolation,
    random: Random,
    open: Option<Open>,
    records: Vec<Record>,
}

struct Open {
    transaction: Transaction,
    start: u64,
    only_reads: bool,
    steps_left: usize,
    ops: Vec<Op>,
}

impl<'a> Session<'a> {
    fn new(database: &'a Database, number: usize, isolation: Isolation, seed: u64) -> Session<'a> {
        let random = Random::new(seed << 8 | number as u64);
        Session { database, number, isolation, random, open: None, records: Vec::new() }
    }

    /// Begins a transaction, takes its next step, or ends it.
    fn go_on(&mut self) {
        let Some(open) = &mut self.open else {
            let only_reads = self.random.below(5) == 0;
            let transactions = &self.database.transactions;
            let transaction = if only_reads && self.random.below(2) == 0 {
                transactions.begin_read_only(self.isolation)
            } else {
                transactions.begin(self.isolation)
            };
            let start = transaction.view().start().get();
            let steps_left = 1 + self.random.below(6);
            self.open = Some(Open { transaction, start, only_reads, steps_left, ops: Vec::new() });
            return;
        };
        if open.steps_left > 0 {
            open.steps_left -= 1;
            let step: Step = self.database.plan(&mut self.random, open.only_reads);
            match self.database.step(&mut open.transaction, &step) {
                Ok(op) => open.ops.push(op),
                Err(error) if error.is_conflict() || matches!(error, TransactionError::Duplicate { .. }) => {
                    self.end(false);
                }
                Err(error) => panic!("{step:?}: {error}"),
            }
            return;
        }
        let commits = self.random.below(12) > 0;
        self.end(commits);
    }

    fn end(&mut self, commits: bool) {
        let Some(Open { transaction, start, ops, .. }) = self.open.take() else { return };
        let end = if commits {
            transaction.commit().map_or(End::Aborted, |commit| End::Committed(commit.time.get()))
        } else {
            transaction.rollback();
            End::Aborted
        };
        self.records.push(Record { session: self.number, start, end, ops });
    }
}

fn history(database: &Database, mut records: Vec<Record>) -> History {
    records.push(database.read_all(usize::MAX));
    History { keys: database.key_count(), records }
}

/// Sessions that take turns by chance, with a load now and then.
fn interleaved(isolation: Isolation, indexed: bool, seed: u64, sessions: usize, transactions: usize) -> History {
    interleaved_on(&Database::new(KEYS, isolation, indexed), isolation, seed, sessions, transactions)
}

fn interleaved_on(
    database: &Database,
    isolation: Isolation,
    seed: u64,
    sessions: usize,
    transactions: usize,
) -> History {
    let mut random = Random::new(seed);
    let mut all: Vec<Session<'_>> =
        (0..sessions).map(|number| Session::new(database, number, isolation, seed)).collect();
    let mut loads = Vec::new();
    while all.iter().map(|session| session.records.len()).sum::<usize>() < transactions {
        all[random.below(sessions)].go_on();
        if random.below(30) == 0 {
            database.freeze();
        }
        if random.below(2_000) == 0 {
            loads.push(database.load(sessions, 1 + random.below(4) as i32, KINDS[random.below(3)]));
        }
    }
    for session in &mut all {
        session.end(true);
    }
    let records = all.into_iter().flat_map(|session| session.records).chain(loads).collect();
    history(database, records)
}

/// Sessions that are threads, and a thread that loads.
fn threaded(isolation: Isolation, indexed: bool, seed: u64, sessions: usize, transactions: usize) -> History {
    threaded_on(&Database::new(KEYS, isolation, indexed), isolation, seed, sessions, transactions)
}

fn threaded_on(database: &Database, isolation: Isolation, seed: u64, sessions: usize, transactions: usize) -> History {
    let done = AtomicBool::new(false);
    let run = |number: usize| {
        let mut session = Session::new(database, number, isolation, seed);
        while session.records.len() < transactions / sessions || session.open.is_some() {
            session.go_on();
            if session.random.below(3) == 0 {
                std::thread::yield_now();
            }
        }
        session.records
    };
    let load = || {
        let (mut records, mut random) = (Vec::new(), Random::new(seed));
        while !done.load(Ordering::Relaxed) {
            if records.len() < transactions / 200 {
                records.push(database.load(sessions, 1 + random.below(4) as i32, KINDS[random.below(3)]));
            }
            database.freeze();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        records
    };
    let records = std::thread::scope(|scope| {
        let loader = scope.spawn(load);
        let threads: Vec<_> = (0..sessions).map(|number| scope.spawn(move || run(number))).collect();
        let ended: Vec<_> = threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        // Also where one has panicked, or the load would go on for ever.
        done.store(true, Ordering::Relaxed);
        let mut records: Vec<Record> = ended.into_iter().flat_map(Result::unwrap).collect();
        records.extend(loader.join().unwrap());
        records
    });
    history(database, records)
}

/// Committed and all transactions.
fn counts(history: &History) -> (usize, usize) {
    (history.records.iter().filter(|record| record.committed().is_some()).count(), history.records.len())
}

/// Nothing may be wrong with a history under SERIALIZABLE.
fn assert_serializable(name: &str, seed: u64, history: &History) {
    let faults = replay::faults(history, true);
    assert!(faults.is_empty(), "{name}, seed {seed}: {} faults, the first: {}", faults.len(), faults[0]);
    let anomalies = adya::anomalies(history);
    assert!(anomalies.is_empty(), "{name}, seed {seed}: {:?}", &anomalies[..anomalies.len().min(5)]);
    let (committed, all) = counts(history);
    assert!(committed * 4 > all, "{name}, seed {seed}: only {committed} of {all} transactions committed");
}

/// Under SNAPSHOT there may be write skew and nothing else; says what kinds of anomalies there are.
fn assert_snapshot(name: &str, seed: u64, history: &History) -> BTreeMap<Kind, usize> {
    let faults = replay::faults(history, false);
    assert!(faults.is_empty(), "{name}, seed {seed}: {} faults, the first: {}", faults.len(), faults[0]);
    let mut kinds = BTreeMap::new();
    for anomaly in adya::anomalies(history) {
        assert_eq!(anomaly.kind, Kind::G2, "{name}, seed {seed}: {}", anomaly.what);
        *kinds.entry(anomaly.kind).or_default() += 1;
    }
    kinds
}

#[test]
fn interleaved_sessions_are_serializable() {
    for seed in seeds(6) {
        for sessions in [2, 5, 12] {
            let history = interleaved(Isolation::Serializable, seed % 2 == 0, seed, sessions, 1_500);
            assert_serializable("interleaved", seed, &history);
        }
    }
}

#[test]
fn threads_are_serializable() {
    for seed in seeds(4) {
        let history = threaded(Isolation::Serializable, seed % 2 == 0, seed, 4, 5_000);
        assert_serializable("threads", seed, &history);
    }
}

#[test]
fn snapshots_allow_write_skew_and_nothing_else() {
    let mut found = 0;
    for seed in seeds(4) {
        let history = interleaved(Isolation::Snapshot, seed % 2 == 0, seed, 5, 1_500);
        found += assert_snapshot("interleaved", seed, &history).len();
        assert!(!replay::faults(&history, true).is_empty(), "seed {seed}: the replay finds it too");
    }
    assert_eq!(found as u64, seeds(4).end, "the checker finds write skew in every one");
    for seed in seeds(2) {
        assert_snapshot("threads", seed, &threaded(Isolation::Snapshot, seed % 2 == 0, seed, 4, 3_000));
    }
}

/// What the log of a history gives back, wherever it is cut: the state that the model has at that commit.
fn assert_replayed(database: &Database, log: &MemoryLog, history: &History, seed: u64) {
    let (records, mut random) = (log.records(), Random::new(seed));
    let states = replay::States::new(history, &mut Vec::new());
    for _ in 0..8 {
        let until = 2 + random.below(records.len() - 1);
        let (time, _) = records[until - 1];
        let relations = replayed(&records[..until], 1 + random.below(2));
        let found = database.values_in(&relations.into_values().collect::<Vec<_>>());
        assert!(found == states.all_at(time), "seed {seed}: the log up to time {time}");
    }
}

#[test]
fn logs_of_histories_give_back_each_commit() {
    for seed in seeds(4) {
        let isolation = [Isolation::Serializable, Isolation::Snapshot][seed as usize / 2 % 2];
        for sessions in [4, 9] {
            let database = Database::new(KEYS, isolation, seed % 2 == 0);
            let log = MemoryLog::of(&database.transactions);
            for relation in database.relations() {
                join(relation);
            }
            let history = if sessions == 4 {
                threaded_on(&database, isolation, seed, sessions, 3_000)
            } else {
                interleaved_on(&database, isolation, seed, sessions, 1_500)
            };
            assert_replayed(&database, &log, &history, seed);
        }
    }
}
