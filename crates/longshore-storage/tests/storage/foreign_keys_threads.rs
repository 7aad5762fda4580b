//! Foreign keys between transactions that run at the same time: no row is ever left that refers to none, under snapshot
//! isolation neither.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::support::Cell;
use longshore_storage::{
    Arena, Column, ColumnType, ConflictKind, Datum, Index, IndexKind, Isolation, Memory, MergeKind, ReferenceAction,
    ReferenceMatch, ReferenceRules, ReferenceTiming, Relation, Schema, Transaction, TransactionError, Transactions,
    Uniqueness, key,
};
use longshore_testing::Random;

struct Family {
    transactions: Arc<Transactions>,
    parents: Relation,
    children: Relation,
    pk: Arc<Index>,
}

fn rules(action: ReferenceAction) -> ReferenceRules {
    ReferenceRules {
        name: "fkey".to_owned(),
        columns: vec![(1, 0)],
        matching: ReferenceMatch::Simple,
        timing: ReferenceTiming::Immediate,
        on_delete: action,
        on_update: action,
        defaults: None,
    }
}

impl Family {
    fn new(parents: i64) -> Family {
        let transactions = Transactions::new();
        let relation = |name: &str, nullable| {
            let schema = Schema::new(vec![
                Column::new("id", ColumnType::BigInt, false),
                Column::new("of", ColumnType::BigInt, nullable),
            ]);
            Relation::in_database(Arc::new(schema), Memory::new(None), &transactions).with_name(name)
        };
        let (parents_made, children) = (relation("parents", true), relation("children", true));
        let pk = parents_made.create_index("pk", &[0], IndexKind::Art, Uniqueness::Unique).unwrap();
        // Another index, so that a change of `of` replaces the row and leaves its key.
        parents_made.create_index("by_of", &[1], IndexKind::Art, Uniqueness::Multiple).unwrap();
        let mut first = transactions.begin(Isolation::Snapshot);
        for id in 0..parents {
            first.insert(&parents_made, key![id, 0_i64]).unwrap();
        }
        first.commit().unwrap();
        Family { transactions, parents: parents_made, children, pk }
    }

    fn refer(&self, action: ReferenceAction) {
        self.children.add_foreign_key(rules(action), &self.parents, &self.pk, false).unwrap();
    }

    fn delete_parent(&self, transaction: &mut Transaction, id: i64) -> Result<bool, TransactionError> {
        let Some(row) = transaction.find(&self.parents, &self.pk, key![id])? else { return Ok(false) };
        transaction.delete(&self.parents, row)?;
        transaction.run_foreign_key_actions()?;
        Ok(true)
    }

    fn insert_child(&self, transaction: &mut Transaction, id: i64, of: i64) -> Result<(), TransactionError> {
        transaction.insert(&self.children, key![id, of])?;
        transaction.run_foreign_key_actions()?;
        Ok(())
    }

    /// How many children there are; all of them have a parent.
    fn assert_sound(&self) -> usize {
        let mut reader = self.transactions.begin_read_only(Isolation::Snapshot);
        let (id, of) = (self.parents.column::<i64>("id").unwrap(), self.children.column::<i64>("of").unwrap());
        let (mut parents, mut children) = (BTreeSet::new(), 0);
        reader
            .scan(&self.parents, &[], |transaction, row| {
                parents.insert(transaction.get(&self.parents, row, id)?);
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        reader
            .scan(&self.children, &[], |transaction, row| {
                children += 1;
                if let Some(of) = transaction.get_nullable(&self.children, row, of)? {
                    assert!(parents.contains(&of), "{of} is not there");
                }
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        children
    }
}

const BOTH: [Isolation; 2] = [Isolation::Snapshot, Isolation::Serializable];

fn is_reference_conflict(result: Result<impl std::fmt::Debug, longshore_storage::CommitError>) -> bool {
    matches!(
        TransactionError::from(result.unwrap_err()),
        TransactionError::Conflict { kind: ConflictKind::Reference { .. }, .. }
    )
}

#[test]
fn of_a_new_child_and_the_end_of_its_parent_one_commits() {
    for isolation in BOTH {
        for child_first in [false, true] {
            let family = Family::new(3);
            family.refer(ReferenceAction::NoAction);
            let (mut one, mut other) = (family.transactions.begin(isolation), family.transactions.begin(isolation));
            family.insert_child(&mut one, 1, 1).unwrap();
            assert!(family.delete_parent(&mut other, 1).unwrap());
            let (first, second) = if child_first { (one, other) } else { (other, one) };
            first.commit().unwrap();
            assert!(is_reference_conflict(second.commit()), "{isolation:?}");
            family.assert_sound();
        }
    }
}

#[test]
fn who_is_not_concerned_commits() {
    for isolation in BOTH {
        let family = Family::new(5);
        family.refer(ReferenceAction::NoAction);
        let mut child = family.transactions.begin(isolation);
        family.insert_child(&mut child, 1, 1).unwrap();
        let mut deletes = family.transactions.begin(isolation);
        family.delete_parent(&mut deletes, 3).unwrap();
        // Another parent goes, others come, this one changes in place or is replaced by one with its key, and another
        // child comes.
        let mut others = family.transactions.begin(isolation);
        family.delete_parent(&mut others, 2).unwrap();
        others.insert(&family.parents, key![9_i64, 9_i64]).unwrap();
        for of in [5_i64, 6] {
            let row = others.find(&family.parents, &family.pk, key![1_i64]).unwrap().unwrap();
            others.update(&family.parents, row, &[(1, Datum::I64(of))]).unwrap();
        }
        family.insert_child(&mut others, 2, 4).unwrap();
        others.commit().unwrap();
        child.commit().unwrap();
        deletes.commit().unwrap();
        assert_eq!(family.assert_sound(), 2);
    }
}

#[test]
fn a_parents_successor_must_stay_too() {
    for isolation in BOTH {
        let family = Family::new(2);
        family.refer(ReferenceAction::NoAction);
        let mut child = family.transactions.begin(isolation);
        family.insert_child(&mut child, 1, 1).unwrap();
        let mut replaces = family.transactions.begin(isolation);
        let row = replaces.find(&family.parents, &family.pk, key![1_i64]).unwrap().unwrap();
        replaces.update(&family.parents, row, &[(1, Datum::I64(8))]).unwrap();
        replaces.commit().unwrap();
        let mut deletes = family.transactions.begin(isolation);
        family.delete_parent(&mut deletes, 1).unwrap();
        deletes.commit().unwrap();
        assert!(is_reference_conflict(child.commit()));
        family.assert_sound();
    }
}

#[test]
fn a_truncated_parent_is_noticed_and_a_truncation_notices() {
    for child_first in [false, true] {
        let family = Family::new(3);
        family.refer(ReferenceAction::NoAction);
        let begin = || family.transactions.begin(Isolation::Snapshot);
        let (mut child, mut truncate) = (begin(), begin());
        family.insert_child(&mut child, 1, 1).unwrap();
        truncate.truncate(&family.parents).unwrap();
        truncate.run_foreign_key_actions().unwrap();
        let (first, second) = if child_first { (child, truncate) } else { (truncate, child) };
        first.commit().unwrap();
        assert!(is_reference_conflict(second.commit()));
        family.assert_sound();
    }
}

/// Threads insert and move children while others delete parents, bring them back and load more children.
fn stress(isolation: Isolation, action: ReferenceAction, seed: u64) {
    const PARENTS: i64 = 40;
    let family = Family::new(PARENTS);
    let next = AtomicI64::new(0);
    let (children, deleted, conflicts) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let count = |result: Result<bool, TransactionError>, done: &AtomicU64| match result {
        Ok(true) => drop(done.fetch_add(1, Ordering::Relaxed)),
        Ok(false) | Err(TransactionError::ForeignKey(_) | TransactionError::Duplicate { .. }) => {}
        Err(error) if error.is_conflict() => drop(conflicts.fetch_add(1, Ordering::Relaxed)),
        Err(error) => panic!("{error}"),
    };
    let run = |act: &mut dyn FnMut(&mut Transaction) -> Result<bool, TransactionError>| {
        let mut transaction = family.transactions.begin(isolation);
        let done = act(&mut transaction)?;
        std::thread::yield_now();
        transaction.commit()?;
        Ok(done)
    };
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (family, next, count, run, children) = (&family, &next, &count, &run, &children);
            scope.spawn(move || {
                let mut random = Random::new(seed * 10 + thread);
                for _ in 0..150 {
                    let of = random.below(PARENTS as usize) as i64;
                    let id = next.fetch_add(1, Ordering::Relaxed);
                    if random.below(30) == 0 {
                        count(load(family, isolation, id * 1000, of), children);
                        continue;
                    }
                    count(run(&mut |transaction| family.insert_child(transaction, id, of).map(|()| true)), children);
                }
            });
        }
        for thread in 0..2 {
            let (family, count, run, deleted) = (&family, &count, &run, &deleted);
            scope.spawn(move || {
                let mut random = Random::new(seed * 10 + 5 + thread);
                for at in 0..150 {
                    // The foreign key comes while all are at work.
                    if at == 15 && thread == 0 {
                        clear(family);
                        while family
                            .children
                            .add_foreign_key(rules(action), &family.parents, &family.pk, false)
                            .is_err()
                        {
                            clear(family);
                        }
                    }
                    let id = random.below(PARENTS as usize) as i64;
                    let back = random.below(3) > 0;
                    count(
                        run(&mut |transaction| {
                            let is_deleted = family.delete_parent(transaction, id)?;
                            if !is_deleted && back {
                                transaction.insert(&family.parents, key![id, 0_i64])?;
                            }
                            Ok(is_deleted)
                        }),
                        deleted,
                    );
                }
            });
        }
    });
    family.assert_sound();
    assert!(children.load(Ordering::Relaxed) > 0 && deleted.load(Ordering::Relaxed) > 0);
}

/// Children of one parent, many at a time.
fn load(family: &Family, isolation: Isolation, first: i64, of: i64) -> Result<bool, TransactionError> {
    let mut transaction = family.transactions.begin(isolation);
    let append = family.children.begin_append(MergeKind::Chunk);
    let checks = transaction.reference_checks(&family.children);
    let mut arena = Arena::new(Memory::new(None), 1 << 20);
    let rows: Vec<_> = (first..first + 300).map(|id| vec![Cell::Integer(id), Cell::Integer(of)]).collect();
    let buffers = crate::support::buffers(family.children.schema(), &rows, &mut arena);
    if let Some(checks) = &checks {
        for buffer in &buffers {
            if let Some((_, error)) = checks.each_missing(buffer, 0..buffer.rows(), true).into_iter().next() {
                return Err(error.into());
            }
        }
    }
    append.merge(0, buffers)?;
    let since = transaction.writes();
    append.commit_in(&mut transaction)?;
    if let Some(checks) = &checks {
        transaction.note_checked(since, checks)?;
    }
    transaction.run_foreign_key_actions()?;
    transaction.commit()?;
    Ok(true)
}

/// Takes the parents away from children that have lost theirs before there was a foreign key.
fn clear(family: &Family) {
    let cleared = family.transactions.retry(Isolation::Snapshot, |transaction| {
        let of = family.children.column::<i64>("of")?;
        let mut lost = Vec::new();
        transaction.scan(&family.children, &[], |transaction, row| {
            if let Some(of) = transaction.get_nullable(&family.children, row, of)?
                && transaction.find(&family.parents, &family.pk, key![of])?.is_none()
            {
                lost.push(row);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        lost.into_iter().try_for_each(|row| transaction.delete(&family.children, row))
    });
    cleared.unwrap();
}

#[test]
fn no_child_is_left_without_a_parent() {
    for (seed, action) in
        [ReferenceAction::NoAction, ReferenceAction::Cascade, ReferenceAction::SetNull].into_iter().enumerate()
    {
        for isolation in BOTH {
            stress(isolation, action, seed as u64);
        }
    }
}
