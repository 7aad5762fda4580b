//! Transactions whose threads are interleaved at every lock and atomic, as a seed says (`shuttle`).
//!
//! `cargo xtask ci interleave` runs it with the feature of that name, under which nothing else runs.
//! `LONGSHORE_INTERLEAVE=20` makes twenty times as many interleavings. A failure prints the one it is about, which
//! `shuttle::replay` repeats.
//!
//! Half of them are drawn step by step; the other half switch threads at few places (probabilistic concurrency testing),
//! which finds what needs a thread to stand still for long.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

#[path = "storage/history_support/database.rs"]
mod database;
#[path = "storage/history_support/mod.rs"]
mod history_support;
mod interleave_support;
#[path = "storage/support/mod.rs"]
mod support;

use std::sync::Arc;

use longshore_storage::{
    Column, ColumnType, Datum, Freeze, Index, IndexKind, Isolation, KeptIndex, Memory, MergeKind, NewColumn,
    ReferenceAction, ReferenceMatch, ReferenceRules, ReferenceTiming, Relation, Schema, Time, Transaction,
    TransactionError, Transactions, Uniqueness, key,
};
use longshore_testing::Random;
use shuttle::thread;

use database::Database;
use history_support::{End, History, Record, adya, replay};
use interleave_support::interleaved;

/// Runs a few transactions of a session, as `tests/storage/history.rs` does.
fn session(database: &Database, number: usize, isolation: Isolation, seed: u64) -> Vec<Record> {
    let mut random = Random::new(seed << 8 | number as u64);
    let mut records = Vec::new();
    for _ in 0..3 {
        let mut t = database.transactions.begin(isolation);
        let start = t.view().start().get();
        let (mut ops, mut failed) = (Vec::new(), false);
        for _ in 0..=random.below(3) {
            let step = database.plan(&mut random, false);
            match database.step(&mut t, &step) {
                Ok(op) => ops.push(op),
                Err(error) if error.is_conflict() || matches!(error, TransactionError::Duplicate { .. }) => {
                    failed = true;
                    break;
                }
                Err(error) => panic!("{step:?}: {error}"),
            }
        }
        let end = if failed || random.below(8) == 0 {
            t.rollback();
            End::Aborted
        } else {
            t.commit().map_or(End::Aborted, |commit| End::Committed(commit.time.get()))
        };
        records.push(Record { session: number, start, end, ops });
    }
    records
}

/// Three sessions and a load.
fn history(seed: u64, isolation: Isolation, indexed: bool) -> History {
    let database = Arc::new(Database::new(3, isolation, indexed));
    let sessions: Vec<_> = (0..3)
        .map(|number| {
            let database = Arc::clone(&database);
            thread::spawn(move || session(&database, number, isolation, seed))
        })
        .collect();
    let kind = [MergeKind::Insert, MergeKind::Copy, MergeKind::Chunk][seed as usize % 3];
    let load = {
        let database = Arc::clone(&database);
        thread::spawn(move || {
            database.freeze();
            let record = database.load(3, 2, kind);
            database.freeze();
            record
        })
    };
    let mut records: Vec<Record> = sessions.into_iter().flat_map(|session| session.join().unwrap()).collect();
    records.push(load.join().unwrap());
    records.push(database.read_all(usize::MAX));
    History { keys: database.key_count(), records }
}

#[test]
fn histories_are_serializable() {
    interleaved(300, |seed| {
        let history = history(seed, Isolation::Serializable, seed.is_multiple_of(2));
        let faults = replay::faults(&history, true);
        assert!(faults.is_empty(), "seed {seed}: {faults:?}");
        let anomalies = adya::anomalies(&history);
        assert!(anomalies.is_empty(), "seed {seed}: {anomalies:?}");
    });
}

#[test]
fn histories_under_snapshot_isolation_have_write_skew_at_most() {
    interleaved(150, |seed| {
        let history = history(seed, Isolation::Snapshot, seed.is_multiple_of(2));
        let faults = replay::faults(&history, false);
        assert!(faults.is_empty(), "seed {seed}: {faults:?}");
        let others = adya::anomalies(&history).into_iter().filter(|anomaly| anomaly.kind != adya::Kind::G2);
        assert!(replay::has_passed_over(&history) || others.count() == 0, "seed {seed}");
    });
}

/// A table of numbers and their doubles, with or without a key.
struct Numbers {
    transactions: Arc<Transactions>,
    relation: Relation,
}

impl Numbers {
    fn new(rows: i64) -> Arc<Numbers> {
        let columns =
            vec![Column::new("n", ColumnType::BigInt, false), Column::new("double", ColumnType::BigInt, false)];
        let transactions = Transactions::new();
        let relation = Relation::in_database(Arc::new(Schema::new(columns)), Memory::new(None), &transactions);
        let mut t = transactions.begin(Isolation::Snapshot);
        for n in 0..rows {
            t.insert(&relation, key![n, 2 * n]).unwrap();
        }
        t.commit().unwrap();
        Arc::new(Numbers { transactions, relation: relation.with_name("numbers") })
    }

    fn index(&self, kind: IndexKind) -> Result<Arc<Index>, TransactionError> {
        self.relation.create_index("pk", &[0], kind, Uniqueness::Unique)
    }
}

fn kind(seed: u64) -> IndexKind {
    if seed.is_multiple_of(2) { IndexKind::Art } else { IndexKind::Hash }
}

/// Of those who insert the same key one is let in; who deletes it makes room for one other.
#[test]
fn a_key_has_one_row() {
    interleaved(300, |seed| {
        let numbers = Numbers::new(1);
        let index = numbers.index(kind(seed)).unwrap();
        let threads: Vec<_> = (0..3)
            .map(|thread| {
                let (numbers, index) = (Arc::clone(&numbers), Arc::clone(&index));
                thread::spawn(move || {
                    let mut inserted = 0;
                    for _ in 0..2 {
                        let mut t = numbers.transactions.begin(Isolation::Serializable);
                        let done = match t.find(&numbers.relation, &index, key![0_i64]).unwrap() {
                            Some(row) => t.delete(&numbers.relation, row).map(|()| -1),
                            None => t.insert(&numbers.relation, key![0_i64, thread as i64]).map(|_| 1),
                        };
                        match done {
                            Ok(change) if t.commit().is_ok() => inserted += change,
                            Ok(_) | Err(TransactionError::Conflict { .. } | TransactionError::Duplicate { .. }) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                    inserted
                })
            })
            .collect();
        let rows = 1 + threads.into_iter().map(|thread| thread.join().unwrap()).sum::<i64>();
        let mut t = numbers.transactions.begin_read_only(Isolation::Snapshot);
        let found = t.find_all(&numbers.relation, &index, key![0_i64]).unwrap();
        assert_eq!(found.len() as i64, rows, "seed {seed}");
        assert_eq!(numbers.relation.snapshot().rows() as i64, rows, "seed {seed}");
        assert_eq!(index.rows() as i64, rows, "seed {seed}: nothing is left of what is gone");
    });
}

/// What a reader keeps for those to come does not outlive what others do beside him.
#[test]
fn nobody_keeps_what_is_gone() {
    interleaved(300, |seed| {
        let numbers = Numbers::new(5);
        let freezes = seed.is_multiple_of(2);
        let reader = {
            let numbers = Arc::clone(&numbers);
            thread::spawn(move || {
                let rows = numbers.relation.snapshot().rows();
                assert!(rows == 5 || rows == 0 && !freezes, "seed {seed}: {rows}");
            })
        };
        if freezes {
            numbers.relation.freeze(Freeze::All, 1, &|| false).unwrap();
        } else {
            let mut t = numbers.transactions.begin(Isolation::Serializable);
            t.truncate(&numbers.relation).unwrap();
            t.commit().unwrap();
        }
        reader.join().unwrap();
        if freezes {
            assert!(numbers.relation.snapshot().chunks()[0].packed(0).is_some(), "seed {seed}");
        } else {
            assert_eq!(numbers.relation.memory().used(), 0, "seed {seed}");
        }
    });
}

/// An index that is built while rows come and go has those that there are.
#[test]
fn an_index_is_built_among_changes() {
    interleaved(300, |seed| {
        let numbers = Numbers::new(3);
        let changes = {
            let numbers = Arc::clone(&numbers);
            thread::spawn(move || {
                for n in 3..6 {
                    let changed = numbers.transactions.retry(Isolation::Snapshot, |t| {
                        t.insert(&numbers.relation, key![n, 2 * n])?;
                        if seed.is_multiple_of(3) { Err(TransactionError::Abandoned) } else { Ok(()) }
                    });
                    assert!(matches!(changed, Ok(()) | Err(TransactionError::Abandoned)), "{changed:?}");
                }
            })
        };
        let built = numbers.index(kind(seed));
        changes.join().unwrap();
        let index = built.or_else(|error| match error {
            TransactionError::Conflict { .. } => numbers.index(kind(seed)),
            error => Err(error),
        });
        let index = index.unwrap();
        let rows = if seed.is_multiple_of(3) { 3 } else { 6 };
        assert_eq!(index.rows(), rows, "seed {seed}");
        let mut t = numbers.transactions.begin_read_only(Isolation::Snapshot);
        for n in 0..rows as i64 {
            assert!(t.find(&numbers.relation, &index, key![n]).unwrap().is_some(), "seed {seed}: {n}");
        }
    });
}

/// Readers see a state that was committed, whatever is changed, and given up, meanwhile.
#[test]
fn a_reader_sees_one_state() {
    interleaved(300, |seed| {
        let numbers = Numbers::new(2);
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let numbers = Arc::clone(&numbers);
                thread::spawn(move || {
                    let double = numbers.relation.column::<i64>("double").unwrap();
                    let moved = numbers.transactions.retry(Isolation::Snapshot, |t| {
                        let mut rows = Vec::new();
                        t.scan(&numbers.relation, &[], |_, row| {
                            rows.push(row);
                            Ok(std::ops::ControlFlow::Continue(()))
                        })?;
                        let (from, to) = (rows[writer], rows[1 - writer]);
                        let held = t.get(&numbers.relation, from, double)?;
                        t.set(&numbers.relation, from, double, held - 1)?;
                        let held = t.get(&numbers.relation, to, double)?;
                        t.set(&numbers.relation, to, double, held + 1)?;
                        if writer == 1 { Err(TransactionError::Abandoned) } else { Ok(()) }
                    });
                    assert!(matches!(moved, Ok(()) | Err(TransactionError::Abandoned)), "{moved:?}");
                })
            })
            .collect();
        let reader = {
            let numbers = Arc::clone(&numbers);
            thread::spawn(move || {
                let double = numbers.relation.column::<i64>("double").unwrap();
                for _ in 0..2 {
                    let mut t = numbers.transactions.begin_read_only(Isolation::Snapshot);
                    let snapshot = t.snapshot(&numbers.relation);
                    let mut sum = 0;
                    t.scan(&numbers.relation, &[], |t, row| {
                        sum += t.get_datum(&numbers.relation, row, double.column(), |value| match value {
                            Datum::I64(value) => value,
                            other => panic!("{other}"),
                        })?;
                        Ok(std::ops::ControlFlow::Continue(()))
                    })
                    .unwrap();
                    assert_eq!((sum, snapshot.rows()), (2, 2), "seed {seed}");
                }
            })
        };
        writers.into_iter().chain([reader]).for_each(|thread| thread.join().unwrap());
    });
}

/// Parents, and children that refer to them; all that the children were.
struct Family {
    transactions: Arc<Transactions>,
    parents: Relation,
    pk: Arc<Index>,
    children: std::sync::Mutex<Vec<Arc<Relation>>>,
    action: ReferenceAction,
}

impl Family {
    fn new(action: ReferenceAction, kind: IndexKind, has_index: bool) -> Arc<Family> {
        let transactions = Transactions::new();
        let relation = |names: [&str; 2]| {
            let columns = names.map(|name| Column::new(name, ColumnType::BigInt, true)).to_vec();
            Relation::in_database(Arc::new(Schema::new(columns)), Memory::new(None), &transactions).with_name(names[0])
        };
        let (parents, children) = (relation(["parent", "n"]), relation(["child", "of"]));
        let pk = parents.create_index("pk", &[0], kind, Uniqueness::Unique).unwrap();
        if has_index {
            children.create_index("by_of", &[1], IndexKind::Art, Uniqueness::Multiple).unwrap();
        }
        let mut t = transactions.begin(Isolation::Snapshot);
        for id in 0..2_i64 {
            t.insert(&parents, key![id, 0_i64]).unwrap();
        }
        t.commit().unwrap();
        let children = std::sync::Mutex::new(vec![Arc::new(children)]);
        Arc::new(Family { transactions, parents, pk, children, action })
    }

    /// Adds the foreign key of some children.
    fn refer(&self, children: &Relation) -> Result<(), TransactionError> {
        let rules = ReferenceRules {
            name: "fkey".to_owned(),
            columns: vec![(1, 0)],
            matching: ReferenceMatch::Simple,
            timing: ReferenceTiming::Immediate,
            on_delete: self.action,
            on_update: self.action,
            defaults: None,
        };
        children.add_foreign_key(rules, &self.parents, &self.pk, false).map(drop)
    }

    /// What the children are to who sees what was committed up to a time.
    fn children(&self, start: Time) -> Arc<Relation> {
        // Nobody else goes on while the lock is held.
        let all = self.children.lock().unwrap().clone();
        all.into_iter().rev().find(|children| children.is_current_at(start)).unwrap()
    }

    /// Inserts a child of parent 0; says whether that is committed.
    fn insert_child(&self, isolation: Isolation) -> bool {
        let mut t = self.transactions.begin(isolation);
        let children = self.children(t.view().start());
        let values = [Datum::I64(1), Datum::I64(0), Datum::Null];
        let inserted =
            t.insert(&children, &values[..children.schema().columns().len()]).and_then(|_| t.run_foreign_key_actions());
        Self::is_committed(inserted.map(drop), t)
    }

    /// Deletes parent 0; says whether that is committed.
    fn delete_parent(&self, isolation: Isolation) -> bool {
        let mut t = self.transactions.begin(isolation);
        let row = t.find(&self.parents, &self.pk, key![0_i64]).unwrap().unwrap();
        let deleted = t.delete(&self.parents, row).and_then(|()| t.run_foreign_key_actions());
        Self::is_committed(deleted.map(drop), t)
    }

    fn is_committed(done: Result<(), TransactionError>, t: Transaction) -> bool {
        match done.and_then(|()| Ok(t.commit().map(drop)?)) {
            Ok(()) => true,
            Err(error) if error.is_conflict() || matches!(error, TransactionError::ForeignKey(_)) => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Gives the children another column; says whether that could be.
    fn alter(&self) -> bool {
        let before = self.children(self.transactions.now());
        let Ok(alteration) = before.begin_alteration(std::time::Duration::ZERO) else { return false };
        let mut columns = before.schema().columns().to_vec();
        columns.push(Column::new("more", ColumnType::BigInt, true));
        let sources = [NewColumn::Kept(0), NewColumn::Kept(1), NewColumn::Filled(Datum::Null)];
        let by_of = [KeptIndex { from: "by_of", name: "by_of", columns: &[1] }];
        let kept = &by_of[..before.indexes().len()];
        let after = alteration.reshape("child", &Arc::new(Schema::new(columns)), &sources, kept).unwrap();
        self.refer(&after).unwrap();
        let after = Arc::new(after);
        self.children.lock().unwrap().push(Arc::clone(&after));
        alteration.commit(&after, before);
        true
    }

    /// How many children there are, and whether parent 0 is there.
    fn count(&self) -> (u64, bool) {
        let mut t = self.transactions.begin_read_only(Isolation::Snapshot);
        let children = self.children(t.view().start());
        let is_there = t.find(&self.parents, &self.pk, key![0_i64]).unwrap().is_some();
        (t.snapshot(&children).rows(), is_there)
    }
}

/// Of a new child and the end of its parent one is committed, or both one after the other with the child gone as well, also
/// while the foreign key is only added, or the children are altered.
#[test]
fn no_child_is_left_without_its_parent() {
    const ACTIONS: [ReferenceAction; 3] =
        [ReferenceAction::NoAction, ReferenceAction::Restrict, ReferenceAction::Cascade];
    interleaved(400, |seed| {
        let action = ACTIONS[seed as usize % 3];
        let family = Family::new(action, kind(seed / 3), seed.is_multiple_of(5));
        let isolation = if seed.is_multiple_of(7) { Isolation::Serializable } else { Isolation::Snapshot };
        let (is_late, alters) = (seed % 4 == 1, seed % 4 == 3);
        if !is_late {
            family.refer(&family.children(Time::default())).unwrap();
        }
        let other = {
            let family = Arc::clone(&family);
            thread::spawn(move || match (is_late, alters) {
                (true, _) => family.refer(&family.children(Time::default())).is_ok(),
                (false, true) => family.alter(),
                (false, false) => true,
            })
        };
        let insert = {
            let family = Arc::clone(&family);
            thread::spawn(move || family.insert_child(isolation))
        };
        let deleted = family.delete_parent(isolation);
        let (inserted, other) = (insert.join().unwrap(), other.join().unwrap());
        let (children, is_there) = family.count();
        assert_eq!(is_there, !deleted, "seed {seed}");
        if is_late && !other {
            assert!(children == 1 && deleted, "seed {seed}: why the foreign key could not be added");
            return;
        }
        assert!(children == 0 || is_there, "seed {seed}: a child without its parent");
        assert_eq!(children == 1, inserted && !deleted, "seed {seed}");
        if action != ReferenceAction::Cascade {
            assert!(!(inserted && deleted), "seed {seed}");
        }
        if !is_late && !alters {
            assert!(inserted || deleted, "seed {seed}: nobody else was in the way");
        }
    });
}
