//! What is logged and what is not, and what comes back of it, one thing at a time.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::redo_support::{MemoryLog, datums, join, logged_relation, positioned, replayed, rows_by_id, try_replay};
use crate::support::{Row, all_types, buffers, id_and_text, random_rows};
use longshore_storage::log::Lsn;
use longshore_storage::{
    Arena, ColumnType, Isolation, Memory, MergeKind, NewColumn, Relation, RelationId, Replay, ReplayError,
    ReplayProblem, RowId, Schema, Transaction, TransactionError, Transactions, key,
};
use longshore_testing::Random;

fn begin(relation: &Relation) -> Transaction {
    relation.transactions().begin(Isolation::Snapshot)
}

/// Appends rows in bulk as part of a transaction.
fn append(transaction: &mut Transaction, relation: &Relation, rows: &[Row], kind: MergeKind) {
    let mut arena = Arena::new(Memory::new(None), 1 << 20);
    let append = relation.begin_append(kind);
    append.merge(0, buffers(relation.schema(), rows, &mut arena)).unwrap();
    append.commit_in(transaction).unwrap();
}

fn another(schema: Arc<Schema>, relation: &Relation) -> Relation {
    Relation::in_database(schema, Memory::new(None), relation.transactions())
}

/// The database of a log has what the relations of the other one have.
fn assert_same(log: &MemoryLog, relations: &[&Relation]) {
    let replayed = replayed(&log.records(), 2);
    assert_eq!(replayed.len(), relations.len());
    for relation in relations {
        let found = &replayed[&relation.relation_id().expect("it has joined")];
        assert_eq!(found.schema(), relation.schema());
        assert!(rows_by_id(&found.snapshot()) == rows_by_id(&relation.snapshot()));
    }
}

#[test]
fn what_was_undone_or_is_not_logged_leaves_nothing() {
    let (relation, log) = logged_relation(&id_and_text());
    let unlogged = another(id_and_text(), &relation);
    let before = log.records().len();
    let mut t = begin(&relation);
    t.insert(&relation, key![1_i64, "undone"]).unwrap();
    t.rollback();
    let mut t = begin(&relation);
    t.insert(&unlogged, key![1_i64, "not logged"]).unwrap();
    assert_eq!(t.commit().unwrap().lsn, None);
    let mut t = begin(&relation);
    let savepoint = t.savepoint();
    t.insert(&relation, key![1_i64, "undone"]).unwrap();
    t.log_payload(b"undone").unwrap();
    t.rollback_to(savepoint);
    let row = t.insert(&relation, key![1_i64, "gone"]).unwrap();
    t.delete(&relation, row).unwrap();
    t.commit().unwrap();
    assert!(log.records()[before..].iter().all(|(_, record)| record.len() < 8), "at most an empty item");
    let mut t = begin(&relation);
    t.insert(&relation, key![1_i64, "there"]).unwrap();
    let commit = t.commit().unwrap();
    assert_eq!(commit.lsn.map(Lsn::get), Some(log.records().len() as u64));
    assert_same(&log, &[&relation]);
}

#[test]
fn relations_come_and_go_with_what_is_logged_beside_them() {
    let (first, log) = logged_relation(&id_and_text());
    let mut random = Random::new(3);
    // One whose rows were always there, another one that is filled by the transaction by which it joins.
    let alone = Relation::new(all_types(), Memory::new(None));
    let mut t = begin(&alone);
    append(&mut t, &alone, &random_rows(&mut random, &all_types(), 0, 3_000), MergeKind::Chunk);
    t.commit().unwrap();
    let second = alone.into_database(first.transactions(), 1).unwrap();
    let third = another(all_types(), &first);
    let mut t = begin(&first);
    t.log_payload(b"one").unwrap();
    t.insert(&third, &datums(&random_rows(&mut random, &all_types(), 7, 1)[0], &all_types())).unwrap();
    t.log_created(&second).unwrap();
    t.log_created(&third).unwrap();
    append(&mut t, &third, &random_rows(&mut random, &all_types(), 10, 2_000), MergeKind::Copy);
    t.log_payload(b"two").unwrap();
    t.commit().unwrap();
    assert_same(&log, &[&first, &second, &third]);
    // Who has written to what goes in the meantime.
    let mut late = begin(&first);
    late.insert(&first, key![1_i64, "late"]).unwrap();
    late.insert(&third, &datums(&random_rows(&mut random, &all_types(), 8, 1)[0], &all_types())).unwrap();
    let mut t = begin(&first);
    t.truncate(&third).unwrap_err();
    drop(t);
    let mut t = begin(&first);
    t.log_dropped(&third).unwrap();
    t.log_payload(b"three").unwrap();
    t.commit().unwrap();
    late.commit().unwrap();
    assert_same(&log, &[&first, &second]);
    let mut payloads = Vec::new();
    let mut replay = Replay::new(&Transactions::new(), &Memory::new(None));
    let records = log.records();
    let mut take = |position: Lsn, payload: &[u8]| {
        payloads.push((position.get(), String::from_utf8(payload.to_vec()).unwrap()));
    };
    replay.apply(&positioned(&records), 2, &mut take).unwrap();
    let end = records.len() as u64;
    assert_eq!(payloads, [(2, "one".to_owned()), (2, "two".to_owned()), (end - 1, "three".to_owned())]);
    // Its number is given to no other one.
    let fourth = another(id_and_text(), &first);
    assert_eq!(join(&fourth), RelationId(4));
}

#[test]
fn what_joined_in_vain_may_join_again() {
    let (relation, log) = logged_relation(&id_and_text());
    let other = another(id_and_text(), &relation);
    let mut t = begin(&relation);
    t.log_created(&other).unwrap();
    t.rollback();
    assert_eq!(other.relation_id(), None);
    let mut t = begin(&relation);
    let savepoint = t.savepoint();
    t.log_created(&other).unwrap();
    t.insert(&other, key![1_i64, "undone"]).unwrap();
    t.rollback_to(savepoint);
    t.insert(&other, key![2_i64, "was there, as far as the log knows"]).unwrap();
    assert_eq!(t.commit().unwrap().lsn, None);
    log.is_closed.store(true, Ordering::Relaxed);
    let mut t = begin(&relation);
    t.log_created(&other).unwrap();
    t.commit().unwrap_err();
    log.is_closed.store(false, Ordering::Relaxed);
    join(&other);
    let mut t = begin(&relation);
    t.insert(&other, key![3_i64, "logged"]).unwrap();
    t.commit().unwrap();
    assert_same(&log, &[&relation, &other]);
}

#[test]
fn rows_that_came_together_are_logged_as_they_are_in_the_end() {
    for (count, kind) in [(20, MergeKind::Chunk), (9_000, MergeKind::Chunk), (9_000, MergeKind::Insert)] {
        let (relation, log) = logged_relation(&all_types());
        let mut random = Random::new(count as u64);
        let rows = random_rows(&mut random, relation.schema(), 0, count);
        let mut t = begin(&relation);
        append(&mut t, &relation, &rows, kind);
        let there: Vec<RowId> = rows_by_id(&t.snapshot(&relation)).into_keys().collect();
        for row in there.iter().copied().filter(|_| random.below(10) == 0).collect::<Vec<_>>() {
            if random.below(2) == 0 {
                t.delete(&relation, row).unwrap();
            } else {
                let text = "changed by who has appended it".repeat(random.below(3));
                t.update(&relation, row, &[(10, (&text).into()), (3, Some(5_i64).into())]).unwrap();
            }
        }
        t.commit().unwrap();
        let bytes: usize = log.records().iter().map(|(_, record)| record.len()).sum();
        assert!(count < 1_000 || bytes < count * 600, "{bytes} bytes of {count} rows are packed");
        assert_same(&log, &[&relation]);
        // All of them go, and others come to their places.
        let mut t = begin(&relation);
        t.truncate(&relation).unwrap();
        t.commit().unwrap();
        let mut t = begin(&relation);
        append(&mut t, &relation, &rows[..count / 2], kind);
        t.commit().unwrap();
        assert_same(&log, &[&relation]);
    }
}

#[test]
fn a_log_that_is_closed_fails_the_commit() {
    let (relation, log) = logged_relation(&id_and_text());
    let commit = |id: i64| {
        let mut t = begin(&relation);
        t.insert(&relation, key![id, "row"]).unwrap();
        t.commit().map_err(TransactionError::from)
    };
    commit(1).unwrap();
    log.is_closed.store(true, Ordering::Relaxed);
    let error = commit(2).unwrap_err();
    assert!(
        matches!(&error, TransactionError::NotLogged { reason } if reason.contains("the log was closed")),
        "{error}"
    );
    assert_eq!(relation.snapshot().rows(), 1, "it was rolled back");
    log.is_closed.store(false, Ordering::Relaxed);
    commit(3).unwrap();
    assert_same(&log, &[&relation]);
}

#[test]
fn places_of_rows_that_come_later_stay_free() {
    let (relation, log) = logged_relation(&id_and_text());
    let (mut first, mut second) = (begin(&relation), begin(&relation));
    for id in 0..5_i64 {
        first.insert(&relation, key![id, "first, and long enough to need the heap"]).unwrap();
        second.insert(&relation, key![id + 10, "second, and long enough to need the heap"]).unwrap();
    }
    second.commit().unwrap();
    assert_same(&log, &[&relation]);
    let half = replayed(&log.records(), 1).into_values().next().unwrap();
    let mut t = begin(&half);
    let again: Vec<RowId> = (0..6).map(|_| t.insert(&half, key![0_i64, "x"]).unwrap()).collect();
    assert_eq!(again, [0, 2, 4, 6, 8, 10].map(RowId), "free places are taken first");
    first.commit().unwrap();
    assert_same(&log, &[&relation]);
}

/// What is wrong with records.
fn problem(records: &[(u64, Vec<u8>)]) -> ReplayError {
    try_replay(records, &Memory::new(Some(1 << 26)), 2).unwrap_err()
}

#[test]
fn what_does_not_fit_is_told_by_record_relation_and_row() {
    let (relation, log) = logged_relation(&id_and_text());
    let mut t = begin(&relation);
    let row = t.insert(&relation, key![7_i64, "seven"]).unwrap();
    t.commit().unwrap();
    let mut t = begin(&relation);
    t.set_datum(&relation, row, 1, "eight".into()).unwrap();
    t.commit().unwrap();
    let mut t = begin(&relation);
    t.delete(&relation, row).unwrap();
    t.commit().unwrap();
    let records = log.records();
    let [created, inserted, updated, deleted] = records.as_slice() else { panic!("{} records", records.len()) };
    let of = |records: &[&(u64, Vec<u8>)]| problem(&records.iter().map(|record| (*record).clone()).collect::<Vec<_>>());
    for (records, expected) in [
        (&[created, created][..], ReplayProblem::RelationExists),
        (&[created, inserted, inserted], ReplayProblem::RowExists),
        (&[created, updated], ReplayProblem::NoRow),
        (&[created, inserted, deleted, deleted], ReplayProblem::NoRow),
        (&[created, inserted, deleted, updated], ReplayProblem::NoRow),
        (&[inserted], ReplayProblem::NoRelation),
    ] {
        let error = of(records);
        assert_eq!((error.position.get(), error.relation), (records.len() as u64, Some(RelationId(1))), "{error}");
        assert_eq!(error.problem, expected, "{error}");
        let names_row = matches!(expected, ReplayProblem::RowExists | ReplayProblem::NoRow);
        assert_eq!(error.row, names_row.then_some(row), "{error}");
    }
    let error = of(&[created, updated]);
    assert_eq!(error.to_string(), "the record that ends at 0/00000002, relation 1, row 0:0: there is no such row");
    // The first in the order of the log counts.
    assert_eq!(of(&[created, updated, created, inserted]).position.get(), 2);
    // Rows of relation 1, of which the first has a number of 64 bits.
    let far = (9, [&[1, 10 << 1 | 1, 1 << 1 | 1, 0][..], &[0xF8; 8]].concat());
    assert!(matches!(of(&[created, &far]).problem, ReplayProblem::Malformed(_)));
}

#[test]
fn a_row_beyond_what_memory_can_hold_is_refused() {
    let (relation, log) = logged_relation(&id_and_text());
    let mut t = begin(&relation);
    t.insert(&relation, key![7_i64, "seven"]).unwrap();
    t.commit().unwrap();
    let mut records = log.records();
    // The change begins behind the kind and the length of its item, and the number of its relation.
    let (_, record) = records.last_mut().unwrap();
    assert_eq!(record[..4], [1, (record.len() as u8 - 2) << 1 | 1, 1 << 1 | 1, 1], "an insert of row 0:0");
    record.splice(3..4, [0x80, 0, 0, 0, 0, 0, 0, 2]);
    record[1] += 7 << 1;
    let error = problem(&records);
    assert_eq!((error.problem, error.row), (ReplayProblem::RowBeyond, Some(RowId(1 << 45))));
}

/// An alteration that keeps a column as one of another type says that all values suit that type.
#[test]
fn a_column_kept_as_a_type_that_its_values_do_not_suit_is_refused() {
    let altered = |longest: u32| {
        let (relation, log) = logged_relation(&id_and_text());
        let mut t = begin(&relation);
        let gone = t.insert(&relation, key![1_i64, "of nobody any more"]).unwrap();
        t.insert(&relation, key![2_i64, "abc"]).unwrap();
        let row = t.insert(&relation, key![3_i64, "abcd"]).unwrap();
        t.commit().unwrap();
        let mut t = begin(&relation);
        t.delete(&relation, gone).unwrap();
        t.commit().unwrap();
        let mut columns = relation.schema().all_columns().to_vec();
        columns[1].column_type = ColumnType::Varchar(longest);
        let kept = [NewColumn::Kept(0), NewColumn::Kept(1)];
        let alteration = relation.begin_alteration(Duration::ZERO).unwrap();
        let after = alteration.reshape("t", &Arc::new(Schema::new(columns)), &kept, &[]).unwrap();
        alteration.commit(&after, Arc::new(()));
        (after, log, row)
    };
    let (relation, log, _) = altered(4);
    assert_same(&log, &[&relation]);
    let (_, log, row) = altered(3);
    let error = problem(&log.records());
    assert_eq!(error.row, Some(row));
    assert!(error.to_string().ends_with("\"abcd\" is too long (4 characters)"), "{error}");
}

#[test]
fn a_relation_at_work_is_no_image() {
    let (relation, _) = logged_relation(&id_and_text());
    let mut replay = Replay::new(&Transactions::new(), &Memory::new(None));
    let mut t = begin(&relation);
    t.insert(&relation, key![1_i64, "x"]).unwrap();
    assert_eq!(replay.add(RelationId(1), &relation).unwrap_err().problem, ReplayProblem::RelationInUse);
    drop(t);
    let other = another(id_and_text(), &relation);
    replay.add(RelationId(2), &other).unwrap();
    assert_eq!(replay.add(RelationId(2), &other).unwrap_err().problem, ReplayProblem::RelationExists);
}
