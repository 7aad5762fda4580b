//! Relations that are emptied by themselves, whoever works on them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use longshore_storage::{
    Column, ColumnType, Datum, IndexKind, Isolation, Memory, ReferenceAction, ReferenceMatch, ReferenceRules,
    ReferenceTiming, Relation, RowId, Schema, TransactionError, Transactions, Uniqueness, key,
};

fn table(transactions: &Arc<Transactions>, name: &str) -> Relation {
    let column = |name| Column::new(name, ColumnType::Integer, false);
    let schema = Schema::new(vec![column("id"), column("value")]);
    Relation::in_database(Arc::new(schema), Memory::new(None), transactions).with_name(name)
}

fn insert(t: &Relation, id: i32) {
    let mut w = t.transactions().begin(Isolation::Snapshot);
    w.insert(t, key![id, 1_i32]).unwrap();
    w.commit().unwrap();
}

#[test]
fn a_relation_that_others_refer_to_keeps_its_rows() {
    let transactions = Transactions::new();
    let (parent, child) = (table(&transactions, "parent"), table(&transactions, "child"));
    let pk = parent.create_index("pk", &[0], IndexKind::Art, Uniqueness::Unique).unwrap();
    let rules = ReferenceRules {
        name: "fk".to_owned(),
        columns: vec![(1, 0)],
        matching: ReferenceMatch::Simple,
        timing: ReferenceTiming::Immediate,
        on_delete: ReferenceAction::NoAction,
        on_update: ReferenceAction::NoAction,
        defaults: None,
    };
    child.add_foreign_key(rules, &parent, &pk, false).unwrap();
    insert(&parent, 1);
    insert(&child, 1);
    let error = parent.truncate().unwrap_err();
    assert!(error.to_string().contains("fk"), "{error}");
    assert_eq!((parent.snapshot().rows(), pk.rows()), (1, 1));
    child.truncate().unwrap();
    parent.truncate().unwrap();
    assert_eq!((parent.snapshot().rows(), pk.rows()), (0, 0));
}

/// Somebody else has removed the rows and not committed yet; with or without somebody who still sees them.
#[test]
fn a_truncation_stays_whatever_becomes_of_an_earlier_one() {
    for (is_rolled_back, has_old) in [(true, true), (true, false), (false, true), (false, false)] {
        let transactions = Transactions::new();
        let t = table(&transactions, "t");
        insert(&t, 1);
        let old = has_old.then(|| transactions.begin_read_only(Isolation::Snapshot));
        let mut first = transactions.begin(Isolation::Snapshot);
        first.truncate(&t).unwrap();
        t.truncate().unwrap();
        assert_eq!(t.snapshot().rows(), 0);
        insert(&t, 2);
        if is_rolled_back {
            first.rollback();
        } else {
            first.commit().unwrap();
        }
        assert_eq!(t.snapshot().rows(), 1, "what was removed does not come back, nor goes what came behind it");
        if let Some(old) = old {
            assert_eq!(old.snapshot(&t).rows(), 1);
        }
        assert_eq!(t.snapshot().rows(), 1);
    }
}

#[test]
fn a_relation_that_is_being_altered_is_not_emptied() {
    let transactions = Transactions::new();
    let t = table(&transactions, "t");
    insert(&t, 1);
    let alteration = t.begin_alteration(std::time::Duration::from_secs(1)).unwrap();
    assert!(matches!(t.truncate(), Err(TransactionError::Altered { .. })));
    drop(alteration);
    t.truncate().unwrap();
    assert_eq!(t.snapshot().rows(), 0);
}

/// Rows lie in their order, at places that were taken again in any.
#[test]
fn rows_are_found_behind_those_of_a_later_place() {
    let transactions = Transactions::new();
    let t = table(&transactions, "t");
    insert(&t, 1);
    let old = transactions.begin_read_only(Isolation::Snapshot);
    t.truncate().unwrap();
    let ids = 2..70_000;
    let mut old = Some(old);
    for id in ids.clone() {
        // The first two have the same value.
        transactions.retry(Isolation::Snapshot, |w| w.insert(&t, key![id, id.max(3)]).map(|_| ())).unwrap();
        drop(old.take());
    }
    let snapshot = t.snapshot();
    let slots: Vec<_> = snapshot.pieces().iter().map(|piece| piece.row_id(0).chunk()).collect();
    assert!(!slots.is_sorted(), "{slots:?}");
    for index in [IndexKind::Art, IndexKind::Hash] {
        let index = t.create_index(&format!("{index:?}"), &[0], index, Uniqueness::Unique).unwrap();
        for id in ids.clone().step_by(1000).chain([3, 69_999]) {
            let [row] = index.find(&index.key(&[Datum::I32(id)]).unwrap()).iter().collect::<Vec<_>>()[..] else {
                panic!("{id}")
            };
            let (piece, offset) = snapshot.find(row).unwrap();
            let ids = snapshot.pieces()[piece].array(0, offset, 1);
            assert_eq!(ids.as_primitive::<Int32Type>().value(0), id);
        }
    }
    assert_eq!(snapshot.find(RowId::new(slots.len(), 0)), None);
    assert_eq!(snapshot.find(RowId::new(slots[1], snapshot.pieces()[1].rows())), None);
    for kind in [IndexKind::Art, IndexKind::Hash] {
        let refused = t.create_index("values", &[1], kind, Uniqueness::Unique);
        assert!(matches!(refused, Err(TransactionError::Duplicate { .. })), "{refused:?}");
    }
}
