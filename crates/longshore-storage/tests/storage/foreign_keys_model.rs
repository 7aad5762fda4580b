//! Foreign keys against a model of sets and maps, under random statements.

use std::collections::{BTreeMap, BTreeSet};

use crate::family_support::Family;
use crate::redo_support::{MemoryLog, join, replayed, rows_by_id};
use crate::support::{Cell, Row};
use longshore_storage::{Datum, IndexKind, Isolation, ReferenceAction, Transaction, Uniqueness, key};
use longshore_testing::Random;

use ReferenceAction::{Cascade, NoAction, Restrict, SetNull};

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
            let log = MemoryLog::of(&family.transactions);
            let ids = [&family.parents, &family.children].map(join);
            let states = run_against_model(&family, on_delete, on_update, seed as u64);
            let records = log.records();
            for (time, children) in states.iter().step_by(7).chain(states.last()) {
                let until = records.partition_point(|(committed, _)| committed <= time);
                let replayed = replayed(&records[..until], 2);
                let rows: Vec<Row> = rows_by_id(&replayed[&ids[1]].snapshot()).into_values().collect();
                let cell = |id: &Option<i64>| id.map_or(Cell::Null, Cell::Integer);
                let expected = children.iter().map(|(id, parent)| vec![Cell::Integer(*id), cell(parent)]);
                assert_eq!(sorted(rows), sorted(expected.collect()), "the log says the same");
            }
        }
    }
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| format!("{row:?}"));
    rows
}

/// Says what children there were after each commit, and when that was.
fn run_against_model(
    family: &Family,
    on_delete: ReferenceAction,
    on_update: ReferenceAction,
    seed: u64,
) -> Vec<(u64, BTreeMap<i64, Option<i64>>)> {
    let mut states = Vec::new();
    let mut random = Random::new(seed);
    let (mut parents, mut children) = (BTreeSet::<i64>::new(), BTreeMap::<i64, Option<i64>>::new());
    for _ in 0..60 {
        let isolation = if random.below(2) == 0 { Isolation::Snapshot } else { Isolation::Serializable };
        let mut transaction = family.transactions.begin(isolation);
        let before = (parents.clone(), children.clone());
        for _ in 0..random.below(12) {
            let (model, savepoint) = ((parents.clone(), children.clone()), transaction.savepoint());
            let is_allowed =
                step(family, &mut transaction, &mut random, &mut parents, &mut children, [on_delete, on_update]);
            let settled = transaction.run_foreign_key_actions();
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
            let commit = transaction.commit().unwrap();
            states.push((commit.time.get(), children.clone()));
        }
    }
    states
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
