//! Foreign keys: what a statement may leave behind, and what becomes of rows that refer to what goes.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::family_support::{Family, refused, rules};
use longshore_storage::{
    Arena, Column, ColumnType, Datum, ForeignKeyProblem, IndexKind, Isolation, Memory, MergeKind, PartitionBuffer,
    ReferenceAction, ReferenceMatch, ReferenceRules, Relation, Schema, TransactionError, Transactions, Uniqueness, key,
};

use ReferenceAction::{Cascade, NoAction, Restrict, SetDefault, SetNull};

#[test]
fn a_row_refers_to_one_that_is_there() {
    for kind in [IndexKind::Art, IndexKind::Hash] {
        let family = Family::with(kind, NoAction, NoAction);
        family.fill(&[1, 2], &[(10, Some(1)), (11, None)]);
        let mut transaction = family.begin();
        transaction.insert(&family.children, key![12_i64, 3_i64]).unwrap();
        let message = refused(transaction.run_foreign_key_actions());
        assert_eq!(
            message,
            "insert or update on table \"children\" violates foreign key constraint \"children_parent_fkey\": Key \
             (parent)=(3) is not present in table \"parents\"; insert it there first"
        );
        // The order does not matter within a statement.
        transaction.insert(&family.parents, key![3_i64, "late"]).unwrap();
        transaction.run_foreign_key_actions().unwrap();
        let row = family.child(&mut transaction, 12);
        transaction.set_datum(&family.children, row, 1, Datum::I64(2)).unwrap();
        transaction.run_foreign_key_actions().unwrap();
        // A second change of the same value is checked, too, though it leaves no version that anybody could miss.
        transaction.set_datum(&family.children, row, 1, Datum::I64(9)).unwrap();
        assert!(refused(transaction.run_foreign_key_actions()).contains("(parent)=(9)"));
        transaction.set_datum(&family.children, row, 1, Datum::Null).unwrap();
        transaction.commit().unwrap();
    }
}

#[test]
fn a_commit_settles_what_was_not_settled() {
    let family = Family::with(IndexKind::Art, NoAction, NoAction);
    let mut transaction = family.begin();
    transaction.insert(&family.children, key![1_i64, 1_i64]).unwrap();
    let error = TransactionError::from(transaction.commit().unwrap_err());
    assert!(matches!(&error, TransactionError::ForeignKey(_)), "{error}");
    assert!(family.children(&mut family.begin()).is_empty());
}

#[test]
fn a_row_that_is_referred_to_stays() {
    for (kind, action) in [(IndexKind::Art, NoAction), (IndexKind::Hash, NoAction), (IndexKind::Art, Restrict)] {
        let family = Family::with(kind, action, action);
        family.fill(&[1, 2], &[(10, Some(1))]);
        let mut transaction = family.begin();
        let start = transaction.savepoint();
        let row = family.parent(&mut transaction, 1);
        transaction.delete(&family.parents, row).unwrap();
        let message = refused(transaction.run_foreign_key_actions());
        assert_eq!(
            message,
            "update or delete on table \"parents\" violates foreign key constraint \"children_parent_fkey\" on table \
             \"children\": Key (id)=(1) is still referenced from table \"children\"; delete or change the rows there \
             first"
        );
        transaction.rollback_to(start);
        let row = family.parent(&mut transaction, 1);
        transaction.update(&family.parents, row, &[(0, Datum::I64(7))]).unwrap();
        assert!(refused(transaction.run_foreign_key_actions()).contains("(id)=(1) is still referenced"));
        // A change that leaves the key as it is is none.
        transaction.rollback_to(start);
        let row = family.parent(&mut transaction, 1);
        transaction.update(&family.parents, row, &[(0, Datum::I64(1)), (1, Datum::Text("y"))]).unwrap();
        transaction.run_foreign_key_actions().unwrap();
        // Nor is it one to put the key back, unless the action is RESTRICT.
        let row = family.parent(&mut transaction, 1);
        transaction.delete(&family.parents, row).unwrap();
        transaction.insert(&family.parents, key![1_i64, "new"]).unwrap();
        assert_eq!(transaction.run_foreign_key_actions().is_ok(), action == NoAction);
        transaction.rollback_to(start);
        let (row, child) = (family.parent(&mut transaction, 1), family.child(&mut transaction, 10));
        transaction.delete(&family.parents, row).unwrap();
        transaction.delete(&family.children, child).unwrap();
        transaction.commit().unwrap();
    }
}

#[test]
fn actions_follow_what_is_referred_to() {
    for with_index in [false, true] {
        for (action, deleted, updated) in [
            (Cascade, vec![(11, Some(2))], vec![(10, Some(7)), (11, Some(2)), (12, Some(7))]),
            (SetNull, vec![(10, None), (11, Some(2)), (12, None)], vec![(10, None), (11, Some(2)), (12, None)]),
            (
                SetDefault,
                vec![(10, Some(2)), (11, Some(2)), (12, Some(2))],
                vec![(10, Some(2)), (11, Some(2)), (12, Some(2))],
            ),
        ] {
            for is_update in [false, true] {
                let family = Family::new(IndexKind::Art);
                if with_index {
                    let columns = [1, 0];
                    let kind = IndexKind::Art;
                    family.children.create_index("by_parent", &columns, kind, Uniqueness::Multiple).unwrap();
                }
                let mut rules = rules(&[(1, 0)], action, action);
                rules.defaults = Some(Arc::new(|_, take| {
                    take(Datum::I64(2));
                    Ok(())
                }));
                family.refer(rules).unwrap();
                family.fill(&[1, 2], &[(10, Some(1)), (11, Some(2)), (12, Some(1))]);
                let mut transaction = family.begin();
                let row = family.parent(&mut transaction, 1);
                if is_update {
                    transaction.update(&family.parents, row, &[(0, Datum::I64(7))]).unwrap();
                } else {
                    transaction.delete(&family.parents, row).unwrap();
                }
                let action_rows = transaction.run_foreign_key_actions().unwrap();
                let changed: usize = action_rows.iter().map(|action_rows| action_rows.rows.len()).sum();
                assert_eq!(changed, if action == Cascade && !is_update { 0 } else { 2 });
                transaction.commit().unwrap();
                let found = family.children(&mut family.begin());
                assert_eq!(found, if is_update { updated.clone() } else { deleted.clone() }, "{action:?}");
            }
        }
    }
}

#[test]
fn keys_that_move_up_take_their_rows_along() {
    let family = Family::with(IndexKind::Art, Cascade, Cascade);
    family.fill(&[1, 2, 3], &[(10, Some(1)), (20, Some(2)), (30, Some(3))]);
    let mut transaction = family.begin();
    for id in [3, 2, 1] {
        let row = family.parent(&mut transaction, id);
        transaction.update(&family.parents, row, &[(0, Datum::I64(id + 1))]).unwrap();
    }
    transaction.commit().unwrap();
    let mut transaction = family.begin();
    assert_eq!(family.children(&mut transaction), [(10, Some(2)), (20, Some(3)), (30, Some(4))]);
}

/// A tree of rows that refer to their own relation.
#[test]
fn a_relation_may_refer_to_itself() {
    let transactions = Transactions::new();
    let schema = Schema::new(vec![
        Column::new("id", ColumnType::Integer, false),
        Column::new("above", ColumnType::Integer, true),
    ]);
    let tree = Relation::in_database(Arc::new(schema), Memory::new(None), &transactions).with_name("tree");
    let pk = tree.create_index("tree_pkey", &[0], IndexKind::Art, Uniqueness::Unique).unwrap();
    tree.add_foreign_key(rules(&[(1, 0)], Cascade, Cascade), &tree, &pk, false).unwrap();
    let mut transaction = transactions.begin(Isolation::Serializable);
    for id in 1..100_i32 {
        let above = (id > 1).then_some(id / 2);
        transaction.insert(&tree, key![id, above]).unwrap();
    }
    // One that refers to itself is there by then.
    transaction.insert(&tree, key![500_i32, 500_i32]).unwrap();
    transaction.commit().unwrap();
    let mut transaction = transactions.begin(Isolation::Serializable);
    let row = transaction.find(&tree, &pk, key![3_i32]).unwrap().unwrap();
    transaction.delete(&tree, row).unwrap();
    transaction.commit().unwrap();
    let is_below_3 = |mut id: i32| {
        while id > 3 {
            id /= 2;
        }
        id == 3
    };
    let mut transaction = transactions.begin(Isolation::Serializable);
    for id in 1..100 {
        let found = transaction.find(&tree, &pk, key![id]).unwrap();
        assert_eq!(found.is_none(), is_below_3(id), "{id}");
    }
}

#[test]
fn keys_of_several_columns_match_as_a_whole() {
    for (matching, mixed_is_fine) in [(ReferenceMatch::Simple, true), (ReferenceMatch::Full, false)] {
        let transactions = Transactions::new();
        let relation = |name: &str, nullable| {
            let columns = vec![
                Column::new("a", ColumnType::Integer, nullable),
                Column::new("b", ColumnType::Varchar(20), nullable),
            ];
            let schema = Arc::new(Schema::new(columns));
            Relation::in_database(schema, Memory::new(None), &transactions).with_name(name)
        };
        let (parents, children) = (relation("p", false), relation("c", true));
        let index = parents.create_index("p_key", &[1, 0], IndexKind::Art, Uniqueness::Unique).unwrap();
        let rules = ReferenceRules { matching, ..rules(&[(0, 0), (1, 1)], NoAction, NoAction) };
        children.add_foreign_key(rules, &parents, &index, false).unwrap();
        let mut first = transactions.begin(Isolation::Snapshot);
        first.insert(&parents, key![1_i32, "a long text of a key"]).unwrap();
        first.commit().unwrap();
        let insert = |a: Option<i32>, b: Option<&str>| {
            let mut transaction = transactions.begin(Isolation::Snapshot);
            transaction.insert(&children, key![a, b]).unwrap();
            transaction.commit().map_err(TransactionError::from)
        };
        insert(Some(1), Some("a long text of a key")).unwrap();
        insert(None, None).unwrap();
        for (a, b) in [(Some(5), None), (None, Some("x"))] {
            let inserted = insert(a, b);
            assert_eq!(inserted.is_ok(), mixed_is_fine);
            if let Err(TransactionError::ForeignKey(error)) = inserted {
                assert_eq!(error.problem, ForeignKeyProblem::Mixed);
            }
        }
        assert!(refused(insert(Some(2), Some("a long text of a key"))).contains("(b, a)=('a long text of a key', 2)"));
    }
}

#[test]
fn a_foreign_key_is_added_to_rows_that_obey_it() {
    let family = Family::new(IndexKind::Art);
    family.fill(&[1], &[(10, Some(1)), (11, Some(4)), (12, Some(5))]);
    let rules = || rules(&[(1, 0)], NoAction, NoAction);
    // The first row in the order of rows is told.
    assert!(refused(family.refer(rules())).contains("(parent)=(4)"));
    assert!(family.children.foreign_keys().is_empty() && family.parents.referenced_by().is_empty());
    family.fill(&[4, 5], &[]);
    // One that began before cannot know of it.
    let mut late = family.begin();
    late.insert(&family.children, key![13_i64, 99_i64]).unwrap();
    let key = family.refer(rules()).unwrap();
    assert_eq!((family.children.foreign_keys().len(), family.parents.referenced_by().len()), (1, 1));
    assert!(late.commit().is_err());
    let mut late = family.begin();
    late.insert(&family.children, key![13_i64, 1_i64]).unwrap();
    late.commit().unwrap();
    family.children.drop_foreign_key(&key);
    family.fill(&[], &[(14, Some(77))]);
}

/// What becomes of a truncated relation's rows, and of those that refer to them.
#[test]
fn a_relation_is_emptied_with_those_that_refer_to_it() {
    let family = Family::with(IndexKind::Art, Cascade, Cascade);
    family.fill(&[1, 2], &[(10, Some(1)), (11, None)]);
    let mut transaction = family.begin();
    transaction.truncate(&family.parents).unwrap();
    assert!(refused(transaction.run_foreign_key_actions()).contains("(id)=(1) is still referenced"));
    drop(transaction);
    let mut transaction = family.begin();
    transaction.truncate(&family.parents).unwrap();
    transaction.truncate(&family.children).unwrap();
    transaction.commit().unwrap();
    assert!(family.children(&mut family.begin()).is_empty());
}

/// Rows that come many at a time: the first one in their order that refers to none is told.
#[test]
fn appends_are_checked_in_their_order() {
    let family = Family::with(IndexKind::Art, NoAction, NoAction);
    let parents: Vec<i64> = (0..1000).collect();
    family.fill(&parents, &[]);
    let append = |bad: &[i64], merge: MergeKind, beforehand: bool| {
        let mut transaction = family.begin();
        let append = family.children.begin_append(merge);
        let checks = transaction.reference_checks(&family.children).filter(|_| beforehand);
        let mut arena = Arena::new(Memory::new(None), 1 << 20);
        let mut found = Vec::new();
        for sequence in 0..4_i64 {
            let mut buffer = buffer_of(&family, sequence * 5000..(sequence + 1) * 5000, bad, &mut arena);
            if let Some(checks) = &checks {
                let missing = checks.each_missing(&buffer, 0..buffer.rows(), false);
                let rows: Vec<u32> = missing.iter().map(|(row, _)| *row as u32).collect();
                found.extend(rows.iter().map(|&row| sequence * 5000 + i64::from(row)));
                buffer.remove(&rows);
            }
            append.merge(sequence as u64, vec![buffer]).unwrap();
        }
        let since = transaction.writes();
        let rows = append.commit_in(&mut transaction).unwrap();
        if let Some(checks) = &checks {
            transaction.note_checked(since, checks).unwrap();
        }
        (transaction.run_foreign_key_actions().map(|_| rows), found, transaction)
    };
    for merge in [MergeKind::Chunk, MergeKind::Copy] {
        let (settled, ..) = append(&[], merge, false);
        assert_eq!(settled.unwrap(), 20_000);
        let (settled, ..) = append(&[17_000, 6001, 6002], merge, false);
        assert!(refused(settled).contains("(parent)=(-6001)"));
        let (settled, found, mut transaction) = append(&[17_000, 6001, 6002], merge, true);
        assert_eq!((settled.unwrap(), found), (19_997, vec![6001, 6002, 17_000]));
        let ids: BTreeSet<i64> = family.children(&mut transaction).into_iter().map(|(id, _)| id).collect();
        assert!(ids.len() == 19_997 && ids.is_disjoint(&BTreeSet::from([6001, 6002, 17_000])));
        // Parents that go before the commit are noticed there.
        let mut other = family.begin();
        let row = family.parent(&mut other, 7);
        other.delete(&family.parents, row).unwrap();
        other.commit().unwrap();
        assert!(transaction.commit().is_err());
        family.fill(&[7], &[]);
    }
}

/// Children with the ids of a range, whose parent is the rest by 1000, or none that is there.
fn buffer_of(family: &Family, ids: std::ops::Range<i64>, bad: &[i64], arena: &mut Arena) -> PartitionBuffer {
    let rows: Vec<crate::support::Row> = ids
        .map(|id| {
            let parent = if bad.contains(&id) {
                crate::support::Cell::Integer(-id)
            } else {
                crate::support::Cell::Integer(id % 1000)
            };
            vec![
                crate::support::Cell::Integer(id),
                if id % 13 == 0 && !bad.contains(&id) { crate::support::Cell::Null } else { parent },
            ]
        })
        .collect();
    crate::support::buffers(family.children.schema(), &rows, arena).pop().unwrap()
}
