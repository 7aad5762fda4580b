//! Threads that must not wait for each other for ever, nor for themselves: what once did, under a watchdog. In debug builds
//! a lock that is taken out of order ends the test even if nobody is in the way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::watchdog::watched;
use longshore_storage::{
    Column, ColumnType, IndexKind, Isolation, KeptIndex, Memory, NewColumn, Relation, Schema, Transactions, Uniqueness,
    key,
};

fn schema(nullable: bool) -> Arc<Schema> {
    let column = |name| Column::new(name, ColumnType::BigInt, nullable);
    Arc::new(Schema::new(vec![column("id"), column("value")]))
}

fn table(transactions: &Arc<Transactions>) -> Relation {
    Relation::in_database(schema(false), Memory::new(None), transactions).with_name("t")
}

/// The end of a TRUNCATE takes rows out of the indexes of slots that readers latch meanwhile.
#[test]
fn truncate_beside_snapshots() {
    let transactions = Transactions::new();
    let t = table(&transactions);
    t.create_index("pk", &[0], IndexKind::Art, Uniqueness::Unique).unwrap();
    let is_done = AtomicBool::new(false);
    watched(&[
        ("truncates", &|progress| {
            for _ in 0..100 {
                let mut w = transactions.begin(Isolation::Snapshot);
                (0..200_i64).for_each(|id| assert!(w.insert(&t, key![id, id]).is_ok()));
                w.commit().unwrap();
                let mut w = transactions.begin(Isolation::Snapshot);
                w.truncate(&t).unwrap();
                w.commit().unwrap();
                progress.step();
            }
            is_done.store(true, Ordering::Relaxed);
        }),
        ("reads", &|progress| {
            while !is_done.load(Ordering::Relaxed) {
                let r = transactions.begin_read_only(Isolation::Snapshot);
                let rows = r.snapshot(&t).rows();
                assert!(rows == 0 || rows == 200, "{rows}");
                progress.step();
            }
        }),
    ]);
}

/// What others commit while an index is built is reclaimed when it is done, which reads the list of indexes.
#[test]
fn create_index_beside_deletes() {
    let transactions = Transactions::new();
    let t = table(&transactions);
    let mut w = transactions.begin(Isolation::Snapshot);
    let ids: Vec<_> = (0..20_000_i64).map(|id| w.insert(&t, key![id, id]).unwrap()).collect();
    w.commit().unwrap();
    let is_done = AtomicBool::new(false);
    watched(&[
        ("deletes", &|progress| {
            for &id in ids.iter().rev().take_while(|_| !is_done.load(Ordering::Relaxed)) {
                let mut w = transactions.begin(Isolation::Snapshot);
                w.delete(&t, id).unwrap();
                w.commit().unwrap();
                progress.step();
            }
        }),
        ("builds", &|progress| {
            // Whoever builds beside a deletion that is not committed yet is told so, however often. At the latest when all
            // rows are deleted nobody is in the way.
            let mut built = 0;
            for round in 0.. {
                let index = t.create_index(&format!("i{round}"), &[0], IndexKind::Art, Uniqueness::Unique);
                built += usize::from(index.is_ok());
                progress.step();
                if round >= 30 && built > 0 {
                    break;
                }
            }
            is_done.store(true, Ordering::Relaxed);
        }),
    ]);
    for index in t.indexes() {
        assert_eq!(index.rows() as u64, t.snapshot().rows(), "{}", index.name());
    }
}

/// An altered relation builds an index anew while what was committed to the one before is still to be reclaimed.
#[test]
fn an_alteration_reclaims_what_the_relation_before_has() {
    let transactions = Transactions::new();
    let t = table(&transactions);
    t.create_index("pk", &[0], IndexKind::Art, Uniqueness::Unique).unwrap();
    let mut w = transactions.begin(Isolation::Snapshot);
    let rows: Vec<_> = (0..20_000_i64).map(|id| w.insert(&t, key![id, id]).unwrap()).collect();
    w.commit().unwrap();
    let old = transactions.begin_read_only(Isolation::Snapshot);
    let mut w = transactions.begin(Isolation::Snapshot);
    w.delete(&t, rows[0]).unwrap();
    w.commit().unwrap();
    let alteration = t.begin_alteration(Duration::from_secs(1)).unwrap();
    // Only the reader that builds the index keeps the deleted row.
    let ending = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1));
        drop(old);
    });
    let kept = [NewColumn::Kept(0), NewColumn::Kept(1)];
    let index = [KeptIndex { from: "pk", name: "pk", columns: &[0] }];
    // Where a column may be NULL, keys look otherwise.
    let after = alteration.reshape("t", &schema(true), &kept, &index).unwrap();
    ending.join().unwrap();
    alteration.commit(&after, Arc::new(()));
    assert_eq!((after.snapshot().rows(), after.indexes()[0].rows()), (19_999, 19_999));
}

/// Whoever waits for others to end lets them use what they need to end.
#[test]
fn an_alteration_waits_without_a_latch() {
    let transactions = Transactions::new();
    let t = table(&transactions);
    watched(&[("alters", &|progress| {
        for _ in 0..3 {
            let mut w = transactions.begin(Isolation::Snapshot);
            w.insert(&t, key![1_i64, 1_i64]).unwrap();
            assert!(t.begin_alteration(Duration::from_millis(5)).is_err());
            w.rollback();
            progress.step();
        }
    })]);
    assert_eq!(t.snapshot().rows(), 0);
}
