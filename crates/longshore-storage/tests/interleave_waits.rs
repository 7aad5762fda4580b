//! Statements at READ COMMITTED whose threads are interleaved at every lock and atomic, as a seed says (`shuttle`).
//!
//! Run as `tests/interleave.rs` is.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

mod interleave_support;

use std::sync::Arc;

use longshore_storage::{
    Column, ColumnType, Index, IndexKind, Isolation, Memory, Relation, RowLock, Schema, Transaction, TransactionError,
    Transactions, Uniqueness, key,
};
use shuttle::thread;

use interleave_support::interleaved;

/// A table of numbers and their doubles.
struct Numbers {
    transactions: Arc<Transactions>,
    relation: Relation,
    index: Arc<Index>,
}

impl Numbers {
    fn new(kind: IndexKind) -> Arc<Numbers> {
        let columns =
            vec![Column::new("n", ColumnType::BigInt, false), Column::new("double", ColumnType::BigInt, false)];
        let transactions = Transactions::new();
        let relation = Relation::in_database(Arc::new(Schema::new(columns)), Memory::new(None), &transactions);
        let index = relation.create_index("pk", &[0], kind, Uniqueness::Unique).unwrap();
        let mut t = transactions.begin(Isolation::Snapshot);
        for n in 0..2_i64 {
            t.insert(&relation, key![n, 2 * n]).unwrap();
        }
        t.commit().unwrap();
        Arc::new(Numbers { transactions, relation, index })
    }
}

/// Adds to the double of a number in a statement of its own.
fn add(numbers: &Numbers, t: &mut Transaction, n: i64) -> Result<(), TransactionError> {
    let double = numbers.relation.column("double")?;
    t.statement(|t| {
        let row = t.find(&numbers.relation, &numbers.index, key![n])?.expect("it stays");
        let before: i64 = t.get(&numbers.relation, row, double)?;
        t.set(&numbers.relation, row, double, before + 1)
    })
}

/// At READ COMMITTED nothing is lost, every wait ends, and who waits in a circle is told.
#[test]
fn statements_wait_for_each_other() {
    interleaved(300, |seed| {
        let kind = if seed.is_multiple_of(2) { IndexKind::Art } else { IndexKind::Hash };
        let numbers = Numbers::new(kind);
        let threads: Vec<_> = (0..3_i64)
            .map(|thread| {
                let numbers = Arc::clone(&numbers);
                thread::spawn(move || {
                    let mut t = numbers.transactions.begin(Isolation::ReadCommitted);
                    let both = add(&numbers, &mut t, thread % 2).and_then(|()| {
                        if seed.is_multiple_of(3) {
                            let row = t.find(&numbers.relation, &numbers.index, key![0_i64])?.expect("it stays");
                            t.statement(|t| t.lock_row(&numbers.relation, row, RowLock::Update))?;
                        }
                        add(&numbers, &mut t, 1 - thread % 2)
                    });
                    match both {
                        Ok(()) => t.commit().map(|_| 1).unwrap(),
                        Err(TransactionError::Deadlock) => 0,
                        Err(error) => panic!("seed {seed}: {error}"),
                    }
                })
            })
            .collect();
        let done: i64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert!(done > 0, "seed {seed}: somebody goes on");
        let double = numbers.relation.column::<i64>("double").unwrap();
        let mut t = numbers.transactions.begin_read_only(Isolation::Snapshot);
        for n in 0..2 {
            let row = t.find(&numbers.relation, &numbers.index, key![n]).unwrap().unwrap();
            assert_eq!(t.get(&numbers.relation, row, double), Ok(2 * n + done), "seed {seed}");
        }
    });
}
