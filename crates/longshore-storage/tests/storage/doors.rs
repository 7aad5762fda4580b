//! Every way by which a transaction learns of rows is a read, errors included: nobody who is serializable may change what
//! another one has learned, if that one has changed what he has read.
//!
//! Each case is write skew. The first transaction learns something of `keys` or `child`, and writes it down in `log`; the
//! second one reads the empty log, and changes what the first has learned. Whichever came first, the other one would have
//! seen something else, so both must not commit. A control shows that the case is none if the second changes other rows.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringViewArray};
use longshore_storage::{
    Arena, Column, ColumnType, ConflictAction, Datum, Direction, ForeignKeyProblem, Index, IndexKind, Isolation,
    Memory, MergeKind, OnConflict, PartitionBuffer, ReferenceAction, ReferenceMatch, ReferenceRules, ReferenceTiming,
    Relation, RowId, Schema, Transaction, TransactionError, Transactions, Uniqueness, key,
};

/// `keys (id PRIMARY KEY, value UNIQUE, text UNIQUE)` with rows 1 to 9, `child (id REFERENCES keys)` with a row that
/// refers to 8, `log (id, value)`.
struct World {
    transactions: Arc<Transactions>,
    keys: Relation,
    by_id: Arc<Index>,
    child: Relation,
    log: Relation,
    rows: Vec<RowId>,
}

/// As long as the column allows.
fn text(id: i32) -> String {
    format!("{id:05}")
}

fn relation(transactions: &Arc<Transactions>, name: &str, columns: Vec<Column>) -> Relation {
    Relation::in_database(Arc::new(Schema::new(columns)), Memory::new(None), transactions).with_name(name)
}

impl World {
    fn new(on_delete: ReferenceAction, kind: IndexKind) -> World {
        let transactions = Transactions::new();
        let integer = |name: &str| Column::new(name, ColumnType::Integer, false);
        let fixed = Column::new("text", ColumnType::Varchar(5), false);
        let keys = relation(&transactions, "keys", vec![integer("id"), integer("value"), fixed]);
        let child = relation(&transactions, "child", vec![integer("id"), integer("value")]);
        let log = relation(&transactions, "log", vec![integer("id"), integer("value")]);
        let by_id = keys.create_index("by_id", &[0], kind, Uniqueness::Unique).unwrap();
        keys.create_index("by_value", &[1], IndexKind::Art, Uniqueness::Unique).unwrap();
        keys.create_index("by_text", &[2], IndexKind::Art, Uniqueness::Unique).unwrap();
        let rules = ReferenceRules {
            name: "child_id_fkey".to_owned(),
            columns: vec![(0, 0)],
            matching: ReferenceMatch::Simple,
            timing: ReferenceTiming::Immediate,
            on_delete,
            on_update: on_delete,
            defaults: None,
        };
        child.add_foreign_key(rules, &keys, &by_id, false).unwrap();
        let mut setup = transactions.begin(Isolation::Snapshot);
        let insert = |id: i32| setup.insert(&keys, key![id, id, text(id).as_str()]).unwrap();
        let rows = (1..=9).map(insert).collect();
        setup.insert(&child, key![8, 8]).unwrap();
        setup.commit().unwrap();
        World { transactions, keys, by_id, child, log, rows }
    }

    fn row(&self, id: i32) -> RowId {
        self.rows[id as usize - 1]
    }

    /// Appends rows in bulk.
    fn append(&self, t: &mut Transaction, ids: &[i32], on: &OnConflict) -> Result<(), TransactionError> {
        let numbers: ArrayRef = Arc::new(Int32Array::from(ids.to_vec()));
        let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values(ids.iter().map(|&id| text(id))));
        let batch = RecordBatch::try_new(self.keys.schema().arrow(), vec![Arc::clone(&numbers), numbers, texts]);
        let mut arena = Arena::new(Arc::clone(self.keys.memory()), 1 << 16);
        let append = self.keys.begin_append(MergeKind::Chunk);
        append.merge(0, PartitionBuffer::from_batch(self.keys.schema(), &batch.unwrap(), &mut arena).unwrap()).unwrap();
        append.commit_resolving(t, on, |_| Ok(())).map(drop)
    }
}

fn scan(t: &mut Transaction, relation: &Relation) -> usize {
    let mut rows = 0;
    t.scan(relation, &[], |_, _| {
        rows += 1;
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    rows
}

type Change = fn(&World, &mut Transaction);

/// Whether both commit, in either order.
fn both_commit(world: &World, learns: impl Fn(&World, &mut Transaction), changes: Change, first_first: bool) -> bool {
    let mut first = world.transactions.begin(Isolation::Serializable);
    let mut second = world.transactions.begin(Isolation::Serializable);
    learns(world, &mut first);
    first.insert(&world.log, key![1, 1]).unwrap();
    assert_eq!(scan(&mut second, &world.log), 0);
    changes(world, &mut second);
    if first_first {
        let done = first.commit().is_ok();
        done & second.commit().is_ok()
    } else {
        let done = second.commit().is_ok();
        done & first.commit().is_ok()
    }
}

/// What the first learns is a read of what `changes` changes, and of nothing that `others` changes.
fn is_a_read(on_delete: ReferenceAction, learns: impl Fn(&World, &mut Transaction), changes: Change, others: Change) {
    for kind in [IndexKind::Art, IndexKind::Hash] {
        for first_first in [false, true] {
            let world = || World::new(on_delete, kind);
            assert!(!both_commit(&world(), &learns, changes, first_first), "{kind:?}, first first: {first_first}");
            // The first one to commit writes the log, which the other has read.
            if !first_first {
                assert!(both_commit(&world(), &learns, others, first_first), "{kind:?}: other rows");
            }
        }
    }
}

fn duplicate<T: std::fmt::Debug>(result: &Result<T, TransactionError>, of: &str) {
    assert!(matches!(result, Err(TransactionError::Duplicate { index, .. }) if index == of), "{result:?}");
}

const NONE: ReferenceAction = ReferenceAction::NoAction;

fn delete(world: &World, t: &mut Transaction, id: i32) {
    t.delete(&world.keys, world.row(id)).unwrap();
}

fn insert(world: &World, t: &mut Transaction, id: i32) {
    t.insert(&world.keys, key![id, id, text(id).as_str()]).unwrap();
}

fn refer(world: &World, t: &mut Transaction, id: i32) {
    t.insert(&world.child, key![id, id]).unwrap();
}

const DELETE_2: Change = |world, t| delete(world, t, 2);
const DELETE_9: Change = |world, t| delete(world, t, 9);
const INSERT_20: Change = |world, t| insert(world, t, 20);
const INSERT_30: Change = |world, t| insert(world, t, 30);

#[test]
fn a_duplicate_of_an_insert() {
    is_a_read(NONE, |w, t| duplicate(&t.insert(&w.keys, key![2, 20, "20"]), "by_id"), DELETE_2, DELETE_9);
}

#[test]
fn a_duplicate_of_an_update() {
    is_a_read(NONE, |w, t| duplicate(&t.update(&w.keys, w.row(1), &[(0, Datum::I32(2))]), "by_id"), DELETE_2, DELETE_9);
}

/// Blanks are cut off before the text is stored.
#[test]
fn a_duplicate_of_a_text_with_blanks() {
    is_a_read(NONE, |w, t| duplicate(&t.insert(&w.keys, key![20, 20, "00002     "]), "by_text"), DELETE_2, DELETE_9);
}

#[test]
fn a_duplicate_of_an_append() {
    let learns = |w: &World, t: &mut Transaction| duplicate(&w.append(t, &[20, 2, 21], &OnConflict::stop()), "by_id");
    is_a_read(NONE, learns, DELETE_2, DELETE_9);
    // The rows before it were none.
    is_a_read(NONE, learns, INSERT_20, INSERT_30);
}

#[test]
fn a_duplicate_of_an_append_of_many_rows() {
    let ids: Vec<i32> = (20..70_000).chain([2]).collect();
    let learns = |w: &World, t: &mut Transaction| duplicate(&w.append(t, &ids, &OnConflict::stop()), "by_id");
    is_a_read(NONE, learns, DELETE_2, |w, t| refer(w, t, 9));
}

#[test]
fn rows_that_an_append_leaves_out() {
    let keep = OnConflict { action: ConflictAction::KeepFirst, index: Some("by_id".to_owned()) };
    is_a_read(NONE, |w, t| w.append(t, &[2, 21], &keep).unwrap(), DELETE_2, DELETE_9);
}

/// Of several keys, those that were free are known as well.
#[test]
fn keys_that_were_free_before_the_one_that_was_not() {
    is_a_read(NONE, |w, t| duplicate(&t.insert(&w.keys, key![20, 2, "x"]), "by_value"), INSERT_20, INSERT_30);
}

/// What was inserted and undone has shown that the key was free.
#[test]
fn an_insert_that_is_undone() {
    let learns = |w: &World, t: &mut Transaction| {
        let savepoint = t.savepoint();
        insert(w, t, 20);
        t.rollback_to(savepoint);
    };
    is_a_read(NONE, learns, INSERT_20, INSERT_30);
    let learns = |w: &World, t: &mut Transaction| {
        let savepoint = t.savepoint();
        w.append(t, &[20, 21], &OnConflict::stop()).unwrap();
        t.rollback_to(savepoint);
    };
    is_a_read(NONE, learns, INSERT_20, INSERT_30);
    let learns = |w: &World, t: &mut Transaction| {
        let savepoint = t.savepoint();
        t.update(&w.keys, w.row(1), &[(0, Datum::I32(20))]).unwrap();
        t.rollback_to(savepoint);
    };
    is_a_read(NONE, learns, INSERT_20, INSERT_30);
}

#[test]
fn truncate() {
    let learns = |w: &World, t: &mut Transaction| t.truncate(&w.log).unwrap();
    // Both are about the log here: the second counts what the first removes.
    for first_first in [false, true] {
        let world = World::new(NONE, IndexKind::Art);
        let mut setup = world.transactions.begin(Isolation::Snapshot);
        setup.insert(&world.log, key![1, 1]).unwrap();
        setup.commit().unwrap();
        let mut first = world.transactions.begin(Isolation::Serializable);
        let mut second = world.transactions.begin(Isolation::Serializable);
        learns(&world, &mut first);
        let count = scan(&mut second, &world.log) as i32;
        second.insert(&world.log, key![100, count]).unwrap();
        let (one, other) = if first_first { (first, second) } else { (second, first) };
        assert!(!(one.commit().is_ok() & other.commit().is_ok()), "first first: {first_first}");
    }
}

fn fails_by_reference(t: &mut Transaction, is: fn(&ForeignKeyProblem) -> bool) {
    match t.run_foreign_key_actions() {
        Err(TransactionError::ForeignKey(error)) => assert!(is(&error.problem), "{error}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_parent_that_is_not_there() {
    let learns = |w: &World, t: &mut Transaction| {
        let savepoint = t.savepoint();
        t.insert(&w.child, key![20, 0]).unwrap();
        fails_by_reference(t, |problem| matches!(problem, ForeignKeyProblem::NotPresent { .. }));
        t.rollback_to(savepoint);
    };
    is_a_read(NONE, learns, INSERT_20, INSERT_30);
}

/// The only row that refers to 8 goes, or one that refers to 7 does not come.
#[test]
fn rows_that_still_refer() {
    for action in [NONE, ReferenceAction::Restrict] {
        let learns = |w: &World, t: &mut Transaction| {
            let savepoint = t.savepoint();
            delete(w, t, 8);
            fails_by_reference(t, |problem| matches!(problem, ForeignKeyProblem::StillReferenced { .. }));
            t.rollback_to(savepoint);
        };
        let unrefer: Change = |w, t| {
            let mut found = None;
            t.scan(&w.child, &[], |_, row| {
                found = Some(row);
                Ok(ControlFlow::Break(()))
            })
            .unwrap();
            t.delete(&w.child, found.unwrap()).unwrap();
        };
        is_a_read(action, learns, unrefer, |w, t| refer(w, t, 7));
    }
}

/// An action that fails tells of the rows that it was about: their column is NOT NULL.
#[test]
fn an_action_that_fails() {
    let learns = |w: &World, t: &mut Transaction| {
        let savepoint = t.savepoint();
        delete(w, t, 8);
        let settled = t.run_foreign_key_actions();
        assert!(matches!(settled, Err(TransactionError::NotNull { .. })), "{settled:?}");
        t.rollback_to(savepoint);
    };
    let unrefer: Change = |w, t| {
        let mut rows = Vec::new();
        t.scan(&w.child, &[], |_, row| {
            rows.push(row);
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        for row in rows {
            t.delete(&w.child, row).unwrap();
        }
    };
    is_a_read(ReferenceAction::SetNull, learns, unrefer, |w, t| refer(w, t, 7));
}

/// The place of a dead row of the batch is taken by an insert of the closure, whose key is not in the range.
#[test]
fn a_range_gives_no_row_that_took_the_place_of_another() {
    let world = World::new(NONE, IndexKind::Art);
    // Somebody old keeps the row of key 3 from being reclaimed.
    let mut old = Some(world.transactions.begin_read_only(Isolation::Snapshot));
    let mut deleting = world.transactions.begin(Isolation::Snapshot);
    delete(&world, &mut deleting, 3);
    deleting.commit().unwrap();
    let id = world.keys.column::<i32>("id").unwrap();
    let mut t = world.transactions.begin(Isolation::Serializable);
    let (low, high) = ([Datum::I32(1)], [Datum::I32(5)]);
    let range = (Bound::Included(&low[..]), Bound::Included(&high[..]));
    let mut seen = Vec::new();
    t.range(&world.keys, &world.by_id, range, Direction::Forward, |t, row| {
        seen.push(t.get(&world.keys, row, id)?);
        if old.take().is_some() {
            // The same numbers of rows of another relation do not matter.
            for value in 0..9 {
                t.insert(&world.log, key![value, value])?;
            }
            insert(&world, t, 1000);
            let savepoint = t.savepoint();
            insert(&world, t, 1001);
            t.rollback_to(savepoint);
        }
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    assert_eq!(seen, [1, 2, 4, 5], "the keys between 1 and 5");
}
