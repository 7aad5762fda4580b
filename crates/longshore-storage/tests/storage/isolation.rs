//! What transactions may and may not see of each other: the anomalies of Hermitage (Martin Kleppmann's collection, after
//! Adya's definitions), each with the outcome that is expected at each level, and the write skew of the thesis (2.3.2).
//!
//! The steps of several transactions are taken in turn by one thread, so each outcome is the only one possible. Where
//! Hermitage's databases let a writer wait for another, here it fails at once.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use longshore_storage::{
    Column, ColumnRange, ColumnType, CommitError, ConflictKind, Datum, Field, Isolation, Memory, Relation, RowId,
    Schema, Transaction, TransactionError, Transactions, key,
};

const LEVELS: [Isolation; 2] = [Isolation::Serializable, Isolation::Snapshot];

/// Hermitage's table `test (id, value)`.
struct Test {
    transactions: Arc<Transactions>,
    relation: Relation,
    id: Field<i32>,
    value: Field<i32>,
}

const ID: usize = 0;
const VALUE: usize = 1;

impl Test {
    fn with(rows: &[(i32, i32)]) -> Test {
        let columns = vec![
            Column::new("id", ColumnType::Integer, false),
            Column::new("value", ColumnType::Integer, false),
            Column::new("note", ColumnType::Integer, true),
        ];
        let transactions = Transactions::new();
        let relation = Relation::in_database(Arc::new(Schema::new(columns)), Memory::new(None), &transactions);
        let relation = relation.with_name("test");
        let (id, value) = (relation.column("id").unwrap(), relation.column("value").unwrap());
        let test = Test { transactions, relation, id, value };
        let mut setup = test.begin(Isolation::Snapshot);
        for &(id, value) in rows {
            test.insert(&mut setup, id, value);
        }
        setup.commit().unwrap();
        test
    }

    /// As Hermitage has it.
    fn new() -> Test {
        Test::with(&[(1, 10), (2, 20)])
    }

    fn begin(&self, isolation: Isolation) -> Transaction {
        self.transactions.begin(isolation)
    }

    /// `select * from test where ...`
    fn select(&self, t: &mut Transaction, range: &[ColumnRange<'_>]) -> Vec<(i32, i32)> {
        let mut rows = Vec::new();
        t.scan(&self.relation, range, |t, row| {
            rows.push((t.get(&self.relation, row, self.id)?, t.get(&self.relation, row, self.value)?));
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        rows.sort_unstable();
        rows
    }

    fn row(&self, t: &mut Transaction, id: i32) -> Option<RowId> {
        let mut found = None;
        t.scan(&self.relation, &[ColumnRange::equal(ID, id)], |_, row| {
            found = Some(row);
            Ok(ControlFlow::Break(()))
        })
        .unwrap();
        found
    }

    /// `select value from test where id = ...`
    fn get(&self, t: &mut Transaction, id: i32) -> i32 {
        let row = self.row(t, id).unwrap();
        t.get(&self.relation, row, self.value).unwrap()
    }

    /// `update test set value = ... where id = ...`
    fn set(&self, t: &mut Transaction, id: i32, value: i32) -> Result<(), TransactionError> {
        let row = self.row(t, id).unwrap();
        t.set(&self.relation, row, self.value, value)
    }

    fn insert(&self, t: &mut Transaction, id: i32, value: i32) {
        t.insert(&self.relation, key![id, value, None::<i32>]).unwrap();
    }

    /// `delete from test where value = ...`
    fn delete_valued(&self, t: &mut Transaction, value: i32) -> Result<(), TransactionError> {
        t.scan(&self.relation, &[ColumnRange::equal(VALUE, value)], |t, row| {
            t.delete(&self.relation, row)?;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// What everybody sees in the end.
    fn all(&self) -> Vec<(i32, i32)> {
        self.select(&mut self.transactions.begin_read_only(Isolation::Snapshot), &[])
    }

    /// That it commits under SNAPSHOT, and under SERIALIZABLE is told of a conflict with what it read.
    fn commits_as_snapshot_only(&self, t: Transaction) {
        let before = self.all();
        match (t.isolation(), t.commit()) {
            (Isolation::Snapshot, Ok(_)) => {}
            (Isolation::Serializable, Err(CommitError::Conflict { relation, .. })) => {
                assert_eq!(relation, "test");
                assert_eq!(self.all(), before, "it is rolled back");
            }
            (isolation, other) => panic!("{isolation:?}: {other:?}"),
        }
    }
}

fn at_least(value: i32) -> [ColumnRange<'static>; 1] {
    [ColumnRange::between(VALUE, Bound::Included(Datum::I32(value)), Bound::Unbounded)]
}

fn fails(result: Result<(), TransactionError>, expected: &ConflictKind) {
    match result {
        Err(TransactionError::Conflict { relation, kind, .. }) => {
            assert_eq!((relation.as_str(), &kind), ("test", expected));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn g0_write_cycles() {
    for level in LEVELS {
        let test = Test::new();
        let (mut t1, mut t2) = (test.begin(level), test.begin(level));
        test.set(&mut t1, 1, 11).unwrap();
        fails(test.set(&mut t2, 1, 12), &ConflictKind::Uncommitted(Some(t1.owner())));
        t2.rollback();
        test.set(&mut t1, 2, 21).unwrap();
        t1.commit().unwrap();
        assert_eq!(test.all(), [(1, 11), (2, 21)]);
    }
}

#[test]
fn g1a_aborted_reads() {
    for level in LEVELS {
        let test = Test::new();
        let (mut t1, mut t2) = (test.begin(level), test.begin(level));
        test.set(&mut t1, 1, 101).unwrap();
        assert_eq!(test.select(&mut t2, &[]), [(1, 10), (2, 20)]);
        t1.rollback();
        assert_eq!(test.select(&mut t2, &[]), [(1, 10), (2, 20)]);
        test.set(&mut t2, 2, 22).unwrap();
        t2.commit().unwrap();
    }
}

#[test]
fn g1b_intermediate_reads() {
    for level in LEVELS {
        let test = Test::new();
        let (mut t1, mut t2) = (test.begin(level), test.begin(level));
        test.set(&mut t1, 1, 101).unwrap();
        assert_eq!(test.select(&mut t2, &[]), [(1, 10), (2, 20)]);
        test.set(&mut t1, 1, 11).unwrap();
        t1.commit().unwrap();
        assert_eq!(test.select(&mut t2, &[]), [(1, 10), (2, 20)]);
        t2.commit().unwrap();
        assert_eq!(test.all(), [(1, 11), (2, 20)]);
    }
}

#[test]
fn g1c_circular_information_flow() {
    for level in LEVELS {
        let test = Test::new();
        let (mut t1, mut t2) = (test.begin(level), test.begin(level));
        test.set(&mut t1, 1, 11).unwrap();
        test.set(&mut t2, 2, 22).unwrap();
        assert_eq!(test.get(&mut t1, 2), 20);
        assert_eq!(test.get(&mut t2, 1), 10);
        t1.commit().unwrap();
        // Neither saw the other: that is no order of the two.
        test.commits_as_snapshot_only(t2);
    }
}

#[test]
fn otv_observed_transaction_vanishes() {
    for level in LEVELS {
        let test = Test::new();
        let (mut t1, mut t2) = (test.begin(level), test.begin(level));
        test.set(&mut t1, 1, 11).unwrap();
        test.set(&mut t1, 2, 19).unwrap();
        fails(test.set(&mut t2, 1, 12), &ConflictKind::Uncommitted(Some(t1.owner())));
        t2.rollback();
        t1.commit().unwrap();
        let (mut t2, mut t3) = (test.begin(level), test.begin(level));
        test.set(&mut t2, 1, 12).unwrap();
        assert_eq!(test.get(&mut t3, 1), 11);
        test.set(&mut t2, 2, 18).unwrap();
        assert_eq!(test.get(&mut t3, 2), 19);
        t2.commit().unwrap();
        assert_eq!((test.get(&mut t3, 2), test.get(&mut t3, 1)), (19, 11));
        t3.commit().unwrap();
    }
}

#[test]
fn pmp_predicate_many_preceders() {
    for level in LEVELS {
        let test = Test::new();
        let (mut t1, mut t2) = (test.begin(level), test.begin(level));
        assert_eq!(test.select(&mut t1, &[ColumnRange::equal(VALUE, 30)]), []);
        test.insert(&mut t2, 3, 30);
        t2.commit().unwrap();
        assert_eq!(test.select(&mut t1, &at_least(25)), []);
        t1.commit().unwrap();
    }
}

#[test]
fn pmp_with_a_write_predicate() {
    for level in LEVELS {
        for commits_first in [false, true] {
            let test = Test::new();
            let (mut t1, mut t2) = (test.begin(level), test.begin(level));
            for (id, value) in test.select(&mut t1, &[]) {
                test.set(&mut t1, id, value + 10).unwrap();
            }
            if commits_first {
                t1.commit().unwrap();
                // It sees (2, 20), which is not so any more, and row 1 has 20 now.
                fails(test.delete_valued(&mut t2, 20), &ConflictKind::Committed);
            } else {
                fails(test.delete_valued(&mut t2, 20), &ConflictKind::Uncommitted(Some(t1.owner())));
                t1.commit().unwrap();
            }
            t2.rollback();
            assert_eq!(test.all(), [(1, 20), (2, 30)]);
        }
    }
}

#[test]
fn p4_lost_update() {
    for level in LEVELS {
        for commits_first in [false, true] {
            let test = Test::new();
            let (mut t1, mut t2) = (test.begin(level), test.begin(level));
            assert_eq!((test.get(&mut t1, 1), test.get(&mut t2, 1)), (10, 10));
            test.set(&mut t1, 1, 11).unwrap();
            if commits_first {
                t1.commit().unwrap();
                fails(test.set(&mut t2, 1, 11), &ConflictKind::Committed);
            } else {
                fails(test.set(&mut t2, 1, 11), &ConflictKind::Uncommitted(Some(t1.owner())));
                t1.commit().unwrap();
            }
        }
    }
}

#[test]
fn g_single_read_skew() {
    for level in LEVELS {
        let test = Test::new();
        let (mut t1, mut t2) = (test.begin(level), test.begin(level));
        assert_eq!(test.get(&mut t1, 1), 10);
        assert_eq!((test.get(&mut t2, 1), test.get(&mut t2, 2)), (10, 20));
        test.set(&mut t2, 1, 12).unwrap();
        test.set(&mut t2, 2, 18).unwrap();
        t2.commit().unwrap();
        assert_eq!(test.get(&mut t1, 2), 20);
        t1.commit().unwrap();
    }
}

#[test]
fn g_single_by_predicates() {
    for level in LEVELS {
        let test = Test::new();
        let (mut t1, mut t2) = (test.begin(level), test.begin(level));
        assert_eq!(test.select(&mut t1, &at_least(0)), [(1, 10), (2, 20)]);
        test.set(&mut t2, 1, 12).unwrap();
        t2.commit().unwrap();
        assert_eq!(test.select(&mut t1, &[ColumnRange::equal(VALUE, 12)]), []);
        t1.commit().unwrap();
    }
}

#[test]
fn g_single_with_a_write_predicate() {
    for level in LEVELS {
        let test = Test::new();
        let (mut t1, mut t2) = (test.begin(level), test.begin(level));
        assert_eq!(test.get(&mut t1, 1), 10);
        assert_eq!(test.select(&mut t2, &[]), [(1, 10), (2, 20)]);
        test.set(&mut t2, 1, 12).unwrap();
        test.set(&mut t2, 2, 18).unwrap();
        t2.commit().unwrap();
        fails(test.delete_valued(&mut t1, 20), &ConflictKind::Committed);
    }
}

#[test]
fn g_single_of_one_that_writes_elsewhere() {
    for level in LEVELS {
        let test = Test::with(&[(1, 10), (2, 20), (3, 30)]);
        let (mut t1, mut t2) = (test.begin(level), test.begin(level));
        assert_eq!(test.get(&mut t1, 1), 10);
        test.set(&mut t2, 1, 12).unwrap();
        test.set(&mut t2, 2, 18).unwrap();
        t2.commit().unwrap();
        assert_eq!(test.get(&mut t1, 2), 20);
        test.set(&mut t1, 3, 31).unwrap();
        // It could stand before the other one, but the order is that of the commits.
        test.commits_as_snapshot_only(t1);
    }
}

#[test]
fn g2_item_write_skew() {
    for level in LEVELS {
        let test = Test::new();
        let (mut t1, mut t2) = (test.begin(level), test.begin(level));
        for t in [&mut t1, &mut t2] {
            assert_eq!((test.get(t, 1), test.get(t, 2)), (10, 20));
        }
        test.set(&mut t1, 1, 11).unwrap();
        test.set(&mut t2, 2, 21).unwrap();
        t1.commit().unwrap();
        test.commits_as_snapshot_only(t2);
    }
}

#[test]
fn g2_anti_dependency_cycles() {
    for level in LEVELS {
        let test = Test::new();
        let (mut t1, mut t2) = (test.begin(level), test.begin(level));
        for t in [&mut t1, &mut t2] {
            assert_eq!(test.select(t, &at_least(30)), []);
        }
        test.insert(&mut t1, 3, 30);
        test.insert(&mut t2, 4, 42);
        t1.commit().unwrap();
        test.commits_as_snapshot_only(t2);
    }
}

#[test]
fn g2_two_edges() {
    // Fekete, O'Neil and O'Neil's anomaly of a read-only transaction.
    for level in LEVELS {
        let test = Test::new();
        let mut t1 = test.begin(level);
        assert_eq!(test.select(&mut t1, &[]), [(1, 10), (2, 20)]);
        let mut t2 = test.begin(level);
        test.set(&mut t2, 2, 25).unwrap();
        t2.commit().unwrap();
        let mut t3 = test.begin(level);
        assert_eq!(test.select(&mut t3, &[]), [(1, 10), (2, 25)]);
        t3.commit().unwrap();
        test.set(&mut t1, 1, 0).unwrap();
        test.commits_as_snapshot_only(t1);
    }
}

#[test]
fn write_skew_of_a_mortgage() {
    // Figure 2.7: a couple's accounts may be overdrawn one by one, together they must cover the mortgage.
    for level in LEVELS {
        let test = Test::with(&[(1, 60), (2, 60)]);
        let withdraw = |t: &mut Transaction, id: i32| {
            if test.get(t, 1) + test.get(t, 2) >= 100 {
                let balance = test.get(t, id);
                test.set(t, id, balance - 100)?;
            }
            Ok::<(), TransactionError>(())
        };
        let (mut t1, mut t2) = (test.begin(level), test.begin(level));
        withdraw(&mut t1, 1).unwrap();
        withdraw(&mut t2, 2).unwrap();
        t1.commit().unwrap();
        test.commits_as_snapshot_only(t2);
        let sum: i32 = test.all().iter().map(|(_, value)| value).sum();
        assert_eq!(sum, if level == Isolation::Serializable { 20 } else { -80 });
        // Tried again, it sees that there is not enough.
        test.transactions.retry(level, |t| withdraw(t, 2)).unwrap();
        assert_eq!(test.all().iter().map(|(_, value)| value).sum::<i32>(), sum);
    }
}

#[test]
fn readers_are_never_in_the_way_nor_told_off() {
    for level in LEVELS {
        let test = Test::new();
        let mut readers = [test.begin(level), test.transactions.begin_read_only(level)];
        let mut writer = test.begin(level);
        test.set(&mut writer, 1, 11).unwrap();
        for reader in &mut readers {
            assert_eq!(test.select(reader, &[]), [(1, 10), (2, 20)]);
        }
        test.delete_valued(&mut writer, 20).unwrap();
        test.insert(&mut writer, 3, 30);
        writer.commit().unwrap();
        for mut reader in readers {
            assert_eq!(test.select(&mut reader, &[]), [(1, 10), (2, 20)]);
            reader.commit().unwrap();
        }
    }
}
