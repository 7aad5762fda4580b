//! The memory of rows that have gone is free as soon as nobody sees them: what a relation keeps for readers to come does
//! not hold it.

use std::sync::Arc;

use longshore_storage::{
    Arena, CHUNK_ROWS_MAX, Column, ColumnType, Freeze, Isolation, Memory, MergeKind, NewColumn, Relation, RowId,
    Schema, Storage, Transactions,
};
use longshore_testing::Random;

use crate::support::{all_types, buffers, id_and_text, random_rows};

const ROWS: usize = 20_000;

fn table(schema: &Arc<Schema>, storage: Storage) -> Relation {
    let relation = Relation::in_database(Arc::clone(schema), Memory::new(None), &Transactions::new()).with_name("t");
    relation.set_storage(storage);
    relation
}

fn append(relation: &Relation, rows: usize) {
    let rows = random_rows(&mut Random::new(7), relation.schema(), 0, rows);
    let mut arena = Arena::new(Arc::clone(relation.memory()), 1 << 20);
    let append = relation.begin_append(MergeKind::Chunk);
    append.merge(0, buffers(relation.schema(), &rows, &mut arena)).unwrap();
    append.commit().unwrap();
}

/// Readers ask for a snapshot without keeping it.
fn look(relation: &Relation) -> u64 {
    let rows = relation.snapshot().rows();
    assert_eq!(relation.snapshot().rows(), rows);
    rows
}

fn truncate(relation: &Relation) {
    let mut transaction = relation.transactions().begin(Isolation::Serializable);
    transaction.truncate(relation).unwrap();
    look(relation);
    transaction.commit().unwrap();
}

fn truncate_regardless(relation: &Relation) {
    relation.truncate().unwrap();
}

fn delete_in_two_parts(relation: &Relation) {
    for part in 0..2 {
        let mut transaction = relation.transactions().begin(Isolation::Snapshot);
        for row in (0..ROWS).filter(|row| row % 2 == part) {
            transaction.delete(relation, RowId::new(0, row)).unwrap();
            if row < 4 {
                look(relation);
            }
        }
        look(relation);
        transaction.commit().unwrap();
        look(relation);
    }
}

#[test]
fn rows_that_nobody_sees_take_no_memory() {
    for remove in [truncate, truncate_regardless, delete_in_two_parts] {
        for storage in [Storage::Packed, Storage::Plain] {
            let t = table(&all_types(), storage);
            append(&t, ROWS);
            assert_eq!(look(&t), ROWS as u64);
            assert!(t.memory().used() > 0);
            remove(&t);
            assert_eq!(t.memory().used(), 0, "{storage:?}: at once");
            assert_eq!(look(&t), 0);

            append(&t, ROWS);
            look(&t);
            assert!(t.memory().used() > 0, "{storage:?}: there are rows again");
        }
    }
}

#[test]
fn rows_that_an_old_reader_sees_take_memory_until_he_ends() {
    for storage in [Storage::Packed, Storage::Plain] {
        let t = table(&all_types(), storage);
        append(&t, ROWS);
        let old = t.transactions().begin_read_only(Isolation::Snapshot);
        let snapshot = t.snapshot();
        truncate(&t);
        assert_eq!((look(&t), old.snapshot(&t).rows(), snapshot.rows()), (0, ROWS as u64, ROWS as u64));
        assert!(t.memory().used() > 0);
        old.rollback();
        assert_eq!((look(&t), snapshot.rows()), (0, ROWS as u64));
        assert!(t.memory().used() > 0, "{storage:?}: the snapshot is kept");
        drop(snapshot);
        assert_eq!(t.memory().used(), 0, "{storage:?}");
    }
}

#[test]
fn rows_of_an_append_that_is_undone_take_no_memory() {
    for storage in [Storage::Packed, Storage::Plain] {
        let t = table(&all_types(), storage);
        look(&t);
        let rows = random_rows(&mut Random::new(7), t.schema(), 0, ROWS);
        let mut transaction = t.transactions().begin(Isolation::Snapshot);
        {
            let mut arena = Arena::new(Arc::clone(t.memory()), 1 << 20);
            let append = t.begin_append(MergeKind::Chunk);
            append.merge(0, buffers(t.schema(), &rows, &mut arena)).unwrap();
            append.commit_in(&mut transaction).unwrap();
        }
        assert_eq!((look(&t), transaction.snapshot(&t).rows()), (0, ROWS as u64));
        transaction.rollback();
        assert_eq!((look(&t), t.memory().used()), (0, 0), "{storage:?}");
    }
}

#[test]
fn columns_that_were_packed_take_no_memory_as_they_were() {
    let t = table(&id_and_text(), Storage::Plain);
    append(&t, CHUNK_ROWS_MAX);
    look(&t);
    let plain = t.memory().used();
    assert_eq!(t.freeze(Freeze::All, 1, &|| false).unwrap(), 1);
    let packed = t.memory().used();
    look(&t);
    assert!(t.snapshot().chunks()[0].packed(0).is_some() && packed < plain, "{packed} of {plain}");
    assert_eq!(t.memory().used(), packed);
}

#[test]
fn what_a_relation_was_before_it_was_altered_takes_no_memory() {
    let t = table(&all_types(), Storage::Packed);
    append(&t, ROWS);
    look(&t);
    let alteration = t.begin_alteration(std::time::Duration::from_secs(1)).unwrap();
    let kept = t.schema().columns().len() - 1;
    let schema = Arc::new(Schema::new(vec![Column::new("id", ColumnType::BigInt, false)]));
    let after = alteration.reshape("t", &schema, &[NewColumn::Kept(kept)], &[]).unwrap();
    look(&t);
    alteration.commit(&after, Arc::new(()));
    let memory = Arc::clone(t.memory());
    drop(t);
    assert_eq!(look(&after), ROWS as u64);
    truncate(&after);
    assert_eq!(memory.used(), 0);
}
