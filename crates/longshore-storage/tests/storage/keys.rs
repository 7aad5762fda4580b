//! Transactions by key: what indexes find, and what unique ones refuse.

use std::ops::ControlFlow;
use std::sync::Arc;

use longshore_storage::{
    Column, ColumnType, ConflictKind, Datum, Direction, Field, Index, IndexKind, Isolation, Memory, MergeKind,
    Relation, RowId, Schema, Transaction, TransactionError, Transactions, Uniqueness, key,
};
use longshore_testing::Random;

use crate::support::random_rows;

struct Stock {
    transactions: Arc<Transactions>,
    items: Relation,
    pk: Arc<Index>,
    by_name: Arc<Index>,
    count: Field<i32>,
}

impl Stock {
    fn new(kind: IndexKind) -> Stock {
        let schema = Schema::new(vec![
            Column::new("id", ColumnType::BigInt, false),
            Column::new("name", ColumnType::Text, true),
            Column::new("count", ColumnType::Integer, false),
        ]);
        let transactions = Transactions::new();
        let items = Relation::in_database(Arc::new(schema), Memory::new(None), &transactions).with_name("items");
        let pk = items.create_index("pk", &[0], kind, Uniqueness::Unique).unwrap();
        let by_name = items.create_index("by_name", &[1, 0], IndexKind::Art, Uniqueness::Multiple).unwrap();
        let count = items.column("count").unwrap();
        Stock { transactions, items, pk, by_name, count }
    }

    fn begin(&self) -> Transaction {
        self.transactions.begin(Isolation::Snapshot)
    }

    fn insert(&self, transaction: &mut Transaction, id: i64, count: i32) -> Result<RowId, TransactionError> {
        let name = format!("{}{}", ["bolt", "nut"][id as usize % 2], " of some length".repeat(id as usize / 4 % 2));
        transaction.insert(&self.items, key![id, &name, count])
    }

    fn find(&self, transaction: &mut Transaction, id: i64) -> Option<RowId> {
        transaction.find(&self.items, &self.pk, key![id]).unwrap()
    }

    /// Ids in the order of names, then of ids.
    fn named(&self, transaction: &mut Transaction, name: &str, direction: Direction) -> Vec<i64> {
        let id: Field<i64> = self.items.column("id").unwrap();
        let mut found = Vec::new();
        let name = key![name];
        transaction
            .range(&self.items, &self.by_name, name..=name, direction, |transaction, row| {
                found.push(transaction.get(&self.items, row, id)?);
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        found
    }
}

const KINDS: [IndexKind; 2] = [IndexKind::Hash, IndexKind::Art];

#[test]
fn rows_are_found_by_who_sees_them() {
    for kind in KINDS {
        let stock = Stock::new(kind);
        let mut writer = stock.begin();
        for id in 0..40 {
            stock.insert(&mut writer, id, 1).unwrap();
        }
        let mut before = stock.begin();
        assert!(stock.find(&mut before, 7).is_none() && stock.find(&mut writer, 7).is_some());
        writer.commit().unwrap();
        assert!(stock.find(&mut before, 7).is_none());
        let mut reader = stock.begin();
        let row = stock.find(&mut reader, 7).unwrap();
        let mut writer = stock.begin();
        writer.delete(&stock.items, row).unwrap();
        assert!(stock.find(&mut writer, 7).is_none());
        writer.commit().unwrap();
        assert_eq!(stock.find(&mut reader, 7), Some(row));
        assert_eq!(stock.named(&mut reader, "nut", Direction::Forward)[..3], [1, 3, 9]);
        assert_eq!(stock.named(&mut reader, "nut of some length", Direction::Backward)[..3], [39, 37, 31]);
        drop((before, reader));
        assert_eq!(stock.pk.rows(), 39, "what nobody sees has left the index");
        assert_eq!(stock.named(&mut stock.begin(), "nut of some length", Direction::Forward)[..3], [5, 13, 15]);
    }
}

#[test]
fn a_unique_key_is_there_once() {
    for kind in KINDS {
        let stock = Stock::new(kind);
        let mut first = stock.begin();
        let row = stock.insert(&mut first, 1, 1).unwrap();
        let duplicate = |row| {
            let (relation, index, key) = ("items".to_owned(), "pk".to_owned(), "(1)".to_owned());
            Err(TransactionError::Duplicate { relation, index, key, row, appended: None })
        };
        let conflict = |row, kind| Err(TransactionError::Conflict { relation: "items".to_owned(), row, kind });
        assert_eq!(stock.insert(&mut first, 1, 2), duplicate(row));
        let (mut second, mut third) = (stock.begin(), stock.begin());
        assert_eq!(stock.insert(&mut second, 1, 3), conflict(row, ConflictKind::Uncommitted(Some(first.owner()))));
        first.commit().unwrap();
        assert_eq!(stock.insert(&mut third, 1, 3), conflict(row, ConflictKind::Committed));
        drop((second, third));
        let mut deleter = stock.begin();
        let mut other = stock.begin();
        deleter.delete(&stock.items, row).unwrap();
        assert_eq!(stock.insert(&mut other, 1, 4), conflict(row, ConflictKind::Uncommitted(Some(deleter.owner()))));
        let again = stock.insert(&mut deleter, 1, 5).unwrap();
        assert_ne!(again, row);
        deleter.rollback();
        assert_eq!(stock.find(&mut other, 1), Some(row));
        let mut updater = stock.begin();
        updater.set(&stock.items, row, stock.count, 9).unwrap();
        assert_eq!(stock.insert(&mut other, 1, 4), duplicate(row), "an update leaves the key taken");
        assert_eq!(stock.pk.rows(), 1);
    }
}

#[test]
fn a_key_that_changes_moves_the_row() {
    let stock = Stock::new(IndexKind::Hash);
    let mut writer = stock.begin();
    let row = stock.insert(&mut writer, 1, 1).unwrap();
    stock.insert(&mut writer, 2, 2).unwrap();
    assert!(matches!(writer.set_datum(&stock.items, row, 0, Datum::I64(3)), Err(TransactionError::Indexed { .. })));
    writer.commit().unwrap();
    let mut writer = stock.begin();
    assert!(matches!(writer.update(&stock.items, row, &[(0, Datum::I64(2))]), Err(TransactionError::Duplicate { .. })));
    assert_eq!(stock.find(&mut writer, 1), Some(row));
    let moved = writer.update(&stock.items, row, &[(0, Datum::I64(3)), (2, Datum::I32(7))]).unwrap();
    assert_ne!(moved, row);
    writer.commit().unwrap();
    let mut reader = stock.begin();
    assert_eq!((stock.find(&mut reader, 1), stock.find(&mut reader, 3)), (None, Some(moved)));
    assert_eq!(reader.get(&stock.items, moved, stock.count), Ok(7));
    assert_eq!(stock.named(&mut reader, "nut", Direction::Forward), [3]);
}

#[test]
fn loads_enter_the_indexes_or_fail() {
    let schema = crate::support::id_and_text();
    for merge in [MergeKind::Insert, MergeKind::Copy, MergeKind::Chunk] {
        for (first, second) in [(10, 20), (10, 20_000), (20_000, 10)] {
            let relation = crate::support::relation(&schema);
            let pk = relation.create_index("pk", &[0], IndexKind::Hash, Uniqueness::Unique).unwrap();
            let load = |from: i64, count: usize| {
                let rows = random_rows(&mut Random::new(1), &schema, from, count);
                let mut arena = longshore_storage::Arena::new(Arc::clone(relation.memory()), 1 << 20);
                let append = relation.begin_append(merge);
                append.merge(0, crate::support::buffers(&schema, &rows, &mut arena)).unwrap();
                append.commit()
            };
            assert_eq!(load(0, first), Ok(first as u64));
            assert_eq!(load(first as i64, second), Ok(second as u64));
            let last = (first + second) as i64 - 1;
            let failed = load(last, 5_000);
            assert!(matches!(&failed, Err(TransactionError::Duplicate { key, .. }) if *key == format!("({last})")));
            assert_eq!(relation.snapshot().rows(), (first + second) as u64);
            assert_eq!(pk.rows(), first + second);
            assert_eq!(load(last + 1, 3), Ok(3));
            let mut reader = relation.transactions().begin(Isolation::Snapshot);
            for id in [0, last, last + 3] {
                let row = reader.find(&relation, &pk, key![id]).unwrap().unwrap();
                assert_eq!(reader.get(&relation, row, relation.column::<i64>("id").unwrap()), Ok(id));
            }
            relation.truncate().unwrap();
            drop(reader);
            assert_eq!((relation.snapshot().rows(), pk.rows()), (0, 0));
            assert_eq!(load(0, first), Ok(first as u64));
        }
    }
}

#[test]
fn an_index_is_built_over_the_rows_that_there_are() {
    let stock = Stock::new(IndexKind::Hash);
    let mut writer = stock.begin();
    let rows: Vec<RowId> = (0..100).map(|id| stock.insert(&mut writer, id, id as i32 / 2).unwrap()).collect();
    writer.commit().unwrap();
    let reader = stock.begin();
    let create = |name: &str| stock.items.create_index(name, &[2], IndexKind::Art, Uniqueness::Unique);
    assert!(matches!(create("pk"), Err(TransactionError::IndexName { .. })));
    assert!(matches!(create("u"), Err(TransactionError::Duplicate { .. })));
    let mut writer = stock.begin();
    for row in rows.iter().step_by(2) {
        writer.delete(&stock.items, *row).unwrap();
    }
    assert!(matches!(create("u"), Err(TransactionError::Conflict { .. })), "the deletes may yet be undone");
    writer.commit().unwrap();
    let unique = create("u").unwrap();
    let mut reader = reader;
    assert_eq!(reader.find_all(&stock.items, &unique, key![0_i32]).unwrap(), rows[..2]);
    drop(reader);
    assert_eq!(unique.rows(), 50);
    assert_eq!(stock.begin().find(&stock.items, &unique, key![49_i32]).unwrap(), Some(rows[99]));
}
