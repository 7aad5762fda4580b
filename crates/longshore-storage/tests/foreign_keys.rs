//! Foreign keys: what a statement may leave behind, and what becomes of rows that refer to what goes.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use longshore_storage::{
    Arena, Column, ColumnType, Datum, ForeignKey, ForeignKeyProblem, Index, IndexKind, Isolation, Memory, MergeKind,
    PartitionBuffer, ReferenceAction, ReferenceMatch, ReferenceRules, Relation, RowId, Schema, Transaction,
    TransactionError, Transactions, Uniqueness, key,
};
use support::Random;

use ReferenceAction::{Cascade, NoAction, Restrict, SetDefault, SetNull};

/// Parents have an id, children an id and the parent's.
struct Family {
    transactions: Arc<Transactions>,
    parents: Relation,
    children: Relation,
    parents_pk: Arc<Index>,
    children_pk: Arc<Index>,
}

fn rules(columns: &[(usize, usize)], on_delete: ReferenceAction, on_update: ReferenceAction) -> ReferenceRules {
    ReferenceRules {
        name: "children_parent_fkey".to_owned(),
        columns: columns.to_vec(),
        matching: ReferenceMatch::Simple,
        on_delete,
        on_update,
        defaults: None,
    }
}

impl Family {
    fn new(kind: IndexKind) -> Family {
        let transactions = Transactions::new();
        let relation = |name: &str, columns: Vec<Column>| {
            let schema = Arc::new(Schema::new(columns));
            Relation::in_database(schema, Memory::new(None), &transactions).with_name(name)
        };
        let parents = relation(
            "parents",
            vec![Column::new("id", ColumnType::BigInt, false), Column::new("name", ColumnType::Text, true)],
        );
        let children = relation(
            "children",
            vec![Column::new("id", ColumnType::BigInt, false), Column::new("parent", ColumnType::BigInt, true)],
        );
        let parents_pk = parents.create_index("parents_pkey", &[0], kind, Uniqueness::Unique).unwrap();
        let children_pk = children.create_index("children_pkey", &[0], kind, Uniqueness::Unique).unwrap();
        Family { transactions, parents, children, parents_pk, children_pk }
    }

    fn with(kind: IndexKind, on_delete: ReferenceAction, on_update: ReferenceAction) -> Family {
        let family = Family::new(kind);
        family.refer(rules(&[(1, 0)], on_delete, on_update)).unwrap();
        family
    }

    fn refer(&self, rules: ReferenceRules) -> Result<Arc<ForeignKey>, TransactionError> {
        self.children.add_foreign_key(rules, &self.parents, &self.parents_pk, false)
    }

    fn begin(&self) -> Transaction {
        self.transactions.begin(Isolation::Snapshot)
    }

    fn parent(&self, transaction: &mut Transaction, id: i64) -> RowId {
        transaction.find(&self.parents, &self.parents_pk, key![id]).unwrap().unwrap()
    }

    fn child(&self, transaction: &mut Transaction, id: i64) -> RowId {
        transaction.find(&self.children, &self.children_pk, key![id]).unwrap().unwrap()
    }

    fn fill(&self, parents: &[i64], children: &[(i64, Option<i64>)]) {
        let mut transaction = self.begin();
        for &parent in parents {
            transaction.insert(&self.parents, key![parent, "x"]).unwrap();
        }
        for &(id, parent) in children {
            transaction.insert(&self.children, key![id, parent]).unwrap();
        }
        transaction.commit().unwrap();
    }

    /// All children with their parents, in the order of ids.
    fn children(&self, transaction: &mut Transaction) -> Vec<(i64, Option<i64>)> {
        let (id, parent) = (self.children.column::<i64>("id").unwrap(), self.children.column::<i64>("parent").unwrap());
        let mut found = Vec::new();
        transaction
            .scan(&self.children, &[], |transaction, row| {
                let parent = transaction.get_nullable(&self.children, row, parent)?;
                found.push((transaction.get(&self.children, row, id)?, parent));
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        found.sort_unstable();
        found
    }

    fn ids(&self, transaction: &mut Transaction) -> BTreeSet<i64> {
        let id = self.parents.column::<i64>("id").unwrap();
        let mut found = BTreeSet::new();
        transaction
            .scan(&self.parents, &[], |transaction, row| {
                found.insert(transaction.get(&self.parents, row, id)?);
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        found
    }
}

fn refused<T: std::fmt::Debug>(result: Result<T, TransactionError>) -> String {
    match result.unwrap_err() {
        TransactionError::ForeignKey(error) => error.to_string(),
        other => panic!("a violation expected, not {other}"),
    }
}

#[test]
fn a_row_refers_to_one_that_is_there() {
    for kind in [IndexKind::Art, IndexKind::Hash] {
        let family = Family::with(kind, NoAction, NoAction);
        family.fill(&[1, 2], &[(10, Some(1)), (11, None)]);
        let mut transaction = family.begin();
        transaction.insert(&family.children, key![12_i64, 3_i64]).unwrap();
        let message = refused(transaction.settle());
        assert_eq!(
            message,
            "insert or update on table \"children\" violates foreign key constraint \"children_parent_fkey\": Key \
             (parent)=(3) is not present in table \"parents\"; insert it there first"
        );
        // The order does not matter within a statement.
        transaction.insert(&family.parents, key![3_i64, "late"]).unwrap();
        transaction.settle().unwrap();
        let row = family.child(&mut transaction, 12);
        transaction.set_datum(&family.children, row, 1, Datum::I64(2)).unwrap();
        transaction.settle().unwrap();
        // A second change of the same value is checked, too, though it leaves no version that anybody could miss.
        transaction.set_datum(&family.children, row, 1, Datum::I64(9)).unwrap();
        assert!(refused(transaction.settle()).contains("(parent)=(9)"));
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
        let message = refused(transaction.settle());
        assert_eq!(
            message,
            "update or delete on table \"parents\" violates foreign key constraint \"children_parent_fkey\" on table \
             \"children\": Key (id)=(1) is still referenced from table \"children\"; delete or change the rows there \
             first"
        );
        transaction.rollback_to(start);
        let row = family.parent(&mut transaction, 1);
        transaction.update(&family.parents, row, &[(0, Datum::I64(7))]).unwrap();
        assert!(refused(transaction.settle()).contains("(id)=(1) is still referenced"));
        // A change that leaves the key as it is is none.
        transaction.rollback_to(start);
        let row = family.parent(&mut transaction, 1);
        transaction.update(&family.parents, row, &[(0, Datum::I64(1)), (1, Datum::Text("y"))]).unwrap();
        transaction.settle().unwrap();
        // Nor is it one to put the key back, unless the action is RESTRICT.
        let row = family.parent(&mut transaction, 1);
        transaction.delete(&family.parents, row).unwrap();
        transaction.insert(&family.parents, key![1_i64, "new"]).unwrap();
        assert_eq!(transaction.settle().is_ok(), action == NoAction);
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
                let acted_on = transaction.settle().unwrap();
                let changed: usize = acted_on.iter().map(|acted_on| acted_on.rows.len()).sum();
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
    assert!(refused(transaction.settle()).contains("(id)=(1) is still referenced"));
    drop(transaction);
    let mut transaction = family.begin();
    transaction.truncate(&family.parents).unwrap();
    transaction.truncate(&family.children).unwrap();
    transaction.commit().unwrap();
    assert!(family.children(&mut family.begin()).is_empty());
}

/// Random statements against sets and maps.
#[test]
fn statements_do_what_a_model_does() {
    for (seed, (on_delete, on_update)) in
        [(NoAction, Restrict), (Cascade, Cascade), (SetNull, SetNull), (SetNull, Cascade), (Cascade, NoAction)]
            .into_iter()
            .enumerate()
    {
        for with_index in [false, true] {
            let family = Family::with(if with_index { IndexKind::Art } else { IndexKind::Hash }, on_delete, on_update);
            if with_index {
                let kind = IndexKind::Hash;
                family.children.create_index("by_parent", &[1], kind, Uniqueness::Multiple).unwrap();
            }
            run_against_model(&family, on_delete, on_update, seed as u64);
        }
    }
}

fn run_against_model(family: &Family, on_delete: ReferenceAction, on_update: ReferenceAction, seed: u64) {
    let mut random = Random(seed);
    let (mut parents, mut children) = (BTreeSet::<i64>::new(), BTreeMap::<i64, Option<i64>>::new());
    for _ in 0..60 {
        let isolation = if random.below(2) == 0 { Isolation::Snapshot } else { Isolation::Serializable };
        let mut transaction = family.transactions.begin(isolation);
        let before = (parents.clone(), children.clone());
        for _ in 0..random.below(12) {
            let (model, savepoint) = ((parents.clone(), children.clone()), transaction.savepoint());
            let is_allowed =
                step(family, &mut transaction, &mut random, &mut parents, &mut children, [on_delete, on_update]);
            let settled = transaction.settle();
            assert_eq!(settled.is_ok(), is_allowed, "{settled:?}");
            if !is_allowed {
                transaction.rollback_to(savepoint);
                (parents, children) = model;
            }
            let expected: Vec<(i64, Option<i64>)> = children.iter().map(|(id, parent)| (*id, *parent)).collect();
            assert_eq!(family.children(&mut transaction), expected);
            assert_eq!(family.ids(&mut transaction), parents);
        }
        if random.below(4) == 0 {
            transaction.rollback();
            (parents, children) = before;
        } else {
            transaction.commit().unwrap();
        }
    }
}

/// One statement of several changes; says whether the model allows it.
fn step(
    family: &Family,
    transaction: &mut Transaction,
    random: &mut Random,
    parents: &mut BTreeSet<i64>,
    children: &mut BTreeMap<i64, Option<i64>>,
    [on_delete, on_update]: [ReferenceAction; 2],
) -> bool {
    let any = |random: &mut Random, of: usize| random.below(of) as i64;
    match random.below(5) {
        0 => {
            let id = any(random, 20);
            if parents.insert(id) {
                transaction.insert(&family.parents, key![id, "new"]).unwrap();
            }
            true
        }
        1 => {
            let (id, parent) = (any(random, 40), (random.below(4) > 0).then(|| any(random, 20)));
            if let Some(known) = children.get_mut(&id) {
                *known = parent;
                let row = family.child(transaction, id);
                let values = [(1, Datum::from(parent))];
                transaction.update(&family.children, row, &values).unwrap();
            } else {
                children.insert(id, parent);
                transaction.insert(&family.children, key![id, parent]).unwrap();
            }
            parent.is_none_or(|parent| parents.contains(&parent))
        }
        2 => {
            let gone: Vec<i64> = parents.iter().copied().filter(|_| random.below(6) == 0).collect();
            for id in &gone {
                parents.remove(id);
                let row = family.parent(transaction, *id);
                transaction.delete(&family.parents, row).unwrap();
            }
            let refers = |parent: &Option<i64>| parent.is_some_and(|parent| gone.contains(&parent));
            let is_referred = children.values().any(refers);
            match on_delete {
                Cascade => children.retain(|_, parent| !refers(parent)),
                SetNull => children.values_mut().filter(|parent| refers(parent)).for_each(|parent| *parent = None),
                _ => return !is_referred,
            }
            true
        }
        3 => {
            let (from, to) = (any(random, 20), any(random, 20));
            if !parents.contains(&from) || parents.contains(&to) {
                return true;
            }
            parents.remove(&from);
            parents.insert(to);
            let row = family.parent(transaction, from);
            transaction.update(&family.parents, row, &[(0, Datum::I64(to))]).unwrap();
            let is_referred = children.values().any(|parent| *parent == Some(from));
            let referring = children.values_mut().filter(|parent| **parent == Some(from));
            match on_update {
                Cascade => referring.for_each(|parent| *parent = Some(to)),
                SetNull => referring.for_each(|parent| *parent = None),
                _ => return !is_referred,
            }
            true
        }
        _ => {
            let id = any(random, 40);
            if children.remove(&id).is_some() {
                let row = family.child(transaction, id);
                transaction.delete(&family.children, row).unwrap();
            }
            true
        }
    }
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
            transaction.note_checked(since, checks);
        }
        (transaction.settle().map(|_| rows), found, transaction)
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
    let rows: Vec<support::Row> = ids
        .map(|id| {
            let parent =
                if bad.contains(&id) { support::Cell::Integer(-id) } else { support::Cell::Integer(id % 1000) };
            vec![
                support::Cell::Integer(id),
                if id % 13 == 0 && !bad.contains(&id) { support::Cell::Null } else { parent },
            ]
        })
        .collect();
    support::buffers(family.children.schema(), &rows, arena).pop().unwrap()
}
