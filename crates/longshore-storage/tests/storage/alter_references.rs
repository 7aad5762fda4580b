//! Altered relations that have foreign keys, or are referred to: what was checked against the one before is not relied on.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::family_support::{refused, rules};
use longshore_storage::{
    Alteration, Column, ColumnType, ConflictKind, Datum, IndexKind, Isolation, KeptIndex, Memory, NewColumn,
    ReferenceAction, Relation, Schema, Transaction, TransactionError, Transactions, Uniqueness, key,
};
use longshore_testing::Random;

/// A relation, and all that it was.
#[derive(Default)]
struct Shapes(Mutex<Vec<Arc<Relation>>>);

impl Shapes {
    fn at(&self, transaction: &Transaction) -> Arc<Relation> {
        let start = transaction.view().start();
        Arc::clone(self.0.lock().unwrap().iter().rev().find(|shape| shape.is_current_at(start)).unwrap())
    }

    fn newest(&self) -> Arc<Relation> {
        Arc::clone(self.0.lock().unwrap().last().unwrap())
    }
}

struct Family {
    transactions: Arc<Transactions>,
    parents: Shapes,
    children: Shapes,
    action: ReferenceAction,
    /// Altered by one at a time.
    alone: Mutex<()>,
}

impl Family {
    fn new(action: ReferenceAction, parents: i64) -> Family {
        let transactions = Transactions::new();
        let relation = |name: &str| {
            let columns = [("id", false), ("of", true)];
            let columns = columns.map(|(name, nullable)| Column::new(name, ColumnType::BigInt, nullable)).to_vec();
            let schema = Arc::new(Schema::new(columns));
            let relation = Relation::in_database(schema, Memory::new(None), &transactions).with_name(name);
            relation.create_index("pk", &[0], IndexKind::Art, Uniqueness::Unique).unwrap();
            Arc::new(relation)
        };
        let (made, children) = (relation("parents"), relation("children"));
        let mut first = transactions.begin(Isolation::Snapshot);
        for id in 0..parents {
            first.insert(&made, key![id, 0_i64]).unwrap();
        }
        first.commit().unwrap();
        let family = Family {
            transactions,
            parents: Shapes(Mutex::new(vec![made])),
            children: Shapes(Mutex::new(vec![children])),
            action,
            alone: Mutex::default(),
        };
        family.refer(&family.children.newest(), &family.parents.newest()).unwrap();
        family
    }

    fn refer(&self, children: &Relation, parents: &Relation) -> Result<(), TransactionError> {
        let pk = parents.indexes().into_iter().next().unwrap();
        children.add_foreign_key(rules(&[(1, 0)], self.action, self.action), parents, &pk, false).map(drop)
    }

    fn reshape(alteration: &Alteration, before: &Relation) -> Result<Arc<Relation>, TransactionError> {
        let mut columns = before.schema().columns().to_vec();
        let mut sources: Vec<NewColumn<'_>> = (0..columns.len()).map(NewColumn::Kept).collect();
        if columns.len() < 4 {
            columns.push(Column::new(format!("c{}", columns.len()), ColumnType::BigInt, true));
            sources.push(NewColumn::Filled(Datum::I64(7)));
        } else {
            columns.truncate(2);
            sources.truncate(2);
        }
        let kept = [KeptIndex { from: "pk", name: "pk", columns: &[0] }];
        Ok(Arc::new(alteration.reshape(&before.name(), &Arc::new(Schema::new(columns)), &sources, &kept)?))
    }

    fn alter(&self, shapes: &Shapes, patience: Duration) -> Result<(), TransactionError> {
        let _alone = self.alone.lock().unwrap();
        let before = shapes.newest();
        let alteration = before.begin_alteration(patience)?;
        let after = Self::reshape(&alteration, &before)?;
        if std::ptr::eq(shapes, &raw const self.parents) {
            self.refer(&self.children.newest(), &after)?;
        } else {
            self.refer(&after, &self.parents.newest())?;
        }
        shapes.0.lock().unwrap().push(Arc::clone(&after));
        alteration.commit(&after, before);
        Ok(())
    }

    fn delete_parent(&self, transaction: &mut Transaction, id: i64) -> Result<bool, TransactionError> {
        let parents = self.parents.at(transaction);
        let pk = parents.indexes().into_iter().next().unwrap();
        let Some(row) = transaction.find(&parents, &pk, key![id])? else { return Ok(false) };
        transaction.delete(&parents, row)?;
        transaction.run_foreign_key_actions()?;
        Ok(true)
    }

    fn insert(transaction: &mut Transaction, shapes: &Shapes, id: i64, of: i64) -> Result<(), TransactionError> {
        let relation = shapes.at(transaction);
        let mut values = vec![Datum::Null; relation.schema().columns().len()];
        (values[0], values[1]) = (Datum::I64(id), Datum::I64(of));
        transaction.insert(&relation, &values)?;
        transaction.run_foreign_key_actions()?;
        Ok(())
    }

    fn insert_child(&self, transaction: &mut Transaction, id: i64, of: i64) -> Result<(), TransactionError> {
        Self::insert(transaction, &self.children, id, of)
    }

    fn column(transaction: &mut Transaction, relation: &Relation, name: &str) -> Vec<Option<i64>> {
        let column = relation.column::<i64>(name).unwrap();
        let mut found = Vec::new();
        transaction
            .scan(relation, &[], |transaction, row| {
                found.push(transaction.get_nullable(relation, row, column)?);
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        found
    }

    /// How many children there are; all of them have a parent.
    fn assert_sound(&self) -> usize {
        let mut reader = self.transactions.begin_read_only(Isolation::Snapshot);
        let (parents, children) = (self.parents.at(&reader), self.children.at(&reader));
        let parents = Self::column(&mut reader, &parents, "id");
        let children = Self::column(&mut reader, &children, "of");
        for of in &children {
            assert!(of.is_none() || parents.contains(of), "{of:?} is not there");
        }
        children.len()
    }
}

fn is_new_reference(error: &TransactionError) -> bool {
    matches!(error, TransactionError::Conflict { kind: ConflictKind::NewReference, .. }) && error.is_conflict()
}

#[test]
fn who_began_before_cannot_leave_a_row_that_refers_to_none() {
    for isolation in [Isolation::Snapshot, Isolation::Serializable] {
        for alters_children in [false, true] {
            let family = Family::new(ReferenceAction::NoAction, 4);
            let altered = if alters_children { &family.children } else { &family.parents };
            let other = if alters_children { &family.parents } else { &family.children };
            let (mut one, mut late) = (family.transactions.begin(isolation), family.transactions.begin(isolation));
            // Checked against the relation before, or not yet.
            if alters_children {
                assert!(family.delete_parent(&mut one, 1).unwrap());
            } else {
                family.insert_child(&mut one, 1, 1).unwrap();
            }
            family.alter(altered, Duration::ZERO).unwrap();
            let mut after = family.transactions.begin(isolation);
            if alters_children {
                family.insert_child(&mut after, 1, 1).unwrap();
            } else {
                assert!(family.delete_parent(&mut after, 1).unwrap());
            }
            after.commit().unwrap();
            assert!(is_new_reference(&TransactionError::from(one.commit().unwrap_err())));
            let error = Family::insert(&mut late, other, 9, 2).unwrap_err();
            assert!(is_new_reference(&error), "{error}");
            family.assert_sound();
        }
    }
}

#[test]
fn foreign_keys_hold_for_what_took_the_place() {
    for action in [ReferenceAction::NoAction, ReferenceAction::Cascade] {
        let family = Family::new(action, 4);
        for round in 0..6 {
            family.alter(if round % 2 == 0 { &family.children } else { &family.parents }, Duration::ZERO).unwrap();
            let (children, parents) = (family.children.newest(), family.parents.newest());
            assert_eq!((children.foreign_keys().len(), parents.referenced_by().len()), (1, 1));
            let mut transaction = family.transactions.begin(Isolation::Snapshot);
            let missing = refused(family.insert_child(&mut transaction, 100, 100));
            assert!(missing.contains("(of)=(100) is not present in table \"parents\""), "{missing}");
            drop(transaction);
            let mut transaction = family.transactions.begin(Isolation::Snapshot);
            family.insert_child(&mut transaction, round, 1).unwrap();
            transaction.commit().unwrap();
            let mut transaction = family.transactions.begin(Isolation::Snapshot);
            let deleted = family.delete_parent(&mut transaction, 1);
            if action == ReferenceAction::NoAction {
                assert!(refused(deleted).contains("is still referenced from table \"children\""));
            } else {
                deleted.unwrap();
            }
        }
        assert_eq!(family.assert_sound(), 6);
    }
}

#[test]
fn nothing_is_left_of_an_alteration_that_is_given_up() {
    let family = Family::new(ReferenceAction::Cascade, 4);
    let mut first = family.transactions.begin(Isolation::Snapshot);
    family.insert_child(&mut first, 1, 1).unwrap();
    first.commit().unwrap();
    let (before, parents) = (family.children.newest(), family.parents.newest());
    before.drop_foreign_key(&before.foreign_keys()[0]);
    let alteration = before.begin_alteration(Duration::ZERO).unwrap();
    let after = Family::reshape(&alteration, &before).unwrap();
    family.refer(&after, &parents).unwrap();
    // What may yet be given up is not written to.
    let mut meanwhile = family.transactions.begin(Isolation::Snapshot);
    let error = family.delete_parent(&mut meanwhile, 1).unwrap_err();
    assert!(matches!(error, TransactionError::Altered { retry: true, .. }), "{error}");
    drop(meanwhile);
    let mut meanwhile = family.transactions.begin(Isolation::Snapshot);
    assert!(family.delete_parent(&mut meanwhile, 2).unwrap());
    meanwhile.commit().unwrap();
    after.drop_foreign_key(&after.foreign_keys()[0]);
    drop((alteration, after));
    assert!(parents.referenced_by().is_empty());
    let mut later = family.transactions.begin(Isolation::Snapshot);
    assert!(family.delete_parent(&mut later, 1).unwrap());
    family.insert_child(&mut later, 2, 77).unwrap();
    later.commit().unwrap();
}

#[test]
fn rows_refer_to_rows_while_both_relations_are_altered() {
    const PARENTS: i64 = 40;
    for action in [ReferenceAction::NoAction, ReferenceAction::Cascade] {
        let family = Family::new(action, PARENTS);
        let (next, seeds, left) = (AtomicI64::new(0), AtomicU64::new(1), AtomicUsize::new(3));
        let done = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut random = Random::new(seeds.fetch_add(1, Ordering::Relaxed) * 0x9e37);
                    for _ in 0..150 {
                        let isolation =
                            if random.below(2) == 0 { Isolation::Snapshot } else { Isolation::Serializable };
                        let mut transaction = family.transactions.begin(isolation);
                        let parent = random.below(PARENTS as usize) as i64;
                        let changed = match random.below(4) {
                            0 => family.delete_parent(&mut transaction, parent).map(drop),
                            1 => Family::insert(&mut transaction, &family.parents, parent, 0),
                            _ => family.insert_child(&mut transaction, next.fetch_add(1, Ordering::Relaxed), parent),
                        };
                        match changed.and_then(|()| Ok(transaction.commit().map(drop)?)) {
                            Ok(()) => _ = done.fetch_add(1, Ordering::Relaxed),
                            Err(error) => assert!(
                                error.is_conflict()
                                    || matches!(
                                        error,
                                        TransactionError::ForeignKey(_) | TransactionError::Duplicate { .. }
                                    ),
                                "{error}"
                            ),
                        }
                    }
                    left.fetch_sub(1, Ordering::Relaxed);
                });
            }
            let mut altered = 0;
            while left.load(Ordering::Relaxed) > 0 || altered == 0 {
                let shapes = if altered % 2 == 0 { &family.children } else { &family.parents };
                match family.alter(shapes, Duration::from_millis(5)) {
                    Ok(()) => altered += 1,
                    Err(error) => assert!(error.is_conflict(), "{error}"),
                }
                family.assert_sound();
                thread::sleep(Duration::from_micros(200));
            }
        });
        assert!(done.load(Ordering::Relaxed) > 0);
        family.assert_sound();
    }
}
