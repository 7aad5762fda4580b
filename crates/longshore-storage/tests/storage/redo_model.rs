//! Histories of all kinds of changes against a log: wherever it is cut, what comes back is what the model had then, under
//! the same row ids; and transactions go on from there.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::redo_support::{MemoryLog, TimedRecord, datums, logged_relation, replayed, replayed_from, rows_by_id};
use crate::support::{Cell, Row, all_types, check_statistics, datum, id_and_text, random_rows, rows_in};
use crate::{alter_model, model};
use longshore_storage::{Freeze, IndexKind, Isolation, Relation, RelationId, RowId, TransactionError, Uniqueness, key};
use longshore_testing::{Random, share};

type Rows = BTreeMap<RowId, Row>;

/// Cuts of a log that are tried, of a history.
const CUTS: usize = 12;

/// The only relation of a database that came back.
fn only(mut relations: BTreeMap<RelationId, Relation>) -> Relation {
    let (_, relation) = relations.pop_first().expect("a relation");
    assert!(relations.is_empty());
    relation
}

fn check(relation: &Relation, expected: &Rows) {
    let snapshot = relation.snapshot();
    assert!(rows_by_id(&snapshot) == *expected, "the same rows under the same ids");
    assert_eq!(rows_in(&snapshot).len(), expected.len(), "the settled chunks have as many");
    check_statistics(&snapshot, &expected.values().cloned().collect::<Vec<_>>());
}

/// Transactions go on: indexes find what there is, places are taken again, keys hold, rows change and go.
fn go_on(relation: &Relation, mut expected: Rows, random: &mut Random) {
    let schema = Arc::clone(relation.schema());
    let id = schema.index_of("id").unwrap();
    let kind = [IndexKind::Hash, IndexKind::Art][random.below(2)];
    let pk = relation.create_index("pk", &[id], kind, Uniqueness::Unique).unwrap();
    assert_eq!(pk.rows(), expected.len());
    let mut t = relation.transactions().begin(Isolation::Serializable);
    let id_of = |row: &Row| if let Cell::Integer(id) = row[id] { id } else { panic!("an id is an integer") };
    for (row, cells) in &expected {
        assert_eq!(t.find(relation, &pk, key![id_of(cells)]).unwrap(), Some(*row));
    }
    let taken = expected.values().next().cloned();
    if let Some(taken) = taken {
        let error = t.insert(relation, &datums(&taken, &schema)).unwrap_err();
        assert!(matches!(error, TransactionError::Duplicate { .. }), "{error}");
    }
    // More than there are dead places, most often.
    for row in random_rows(random, &schema, 1 << 50, 60) {
        let at = t.insert(relation, &datums(&row, &schema)).unwrap();
        assert_eq!(expected.insert(at, row), None, "a row takes the place of none that is there");
    }
    let rows: Vec<RowId> = expected.keys().copied().collect();
    for row in rows {
        let (what, column) = (random.below(6), random.below(schema.columns().len()));
        if what == 0 {
            t.delete(relation, row).unwrap();
            expected.remove(&row);
        } else if what == 1 && column != id {
            let fresh = random_rows(random, &schema, 0, 1).remove(0).swap_remove(column);
            t.set_datum(relation, row, column, datum(&fresh, schema.columns()[column].column_type)).unwrap();
            expected.get_mut(&row).unwrap()[column] = fresh;
        }
    }
    t.commit().unwrap();
    check(relation, &expected);
    relation.freeze(Freeze::All, 0, &|| false).unwrap();
    check(relation, &expected);
    assert_eq!(pk.rows(), expected.len());
}

/// How many records there are of commits up to a time.
fn until(records: &[TimedRecord], time: u64) -> usize {
    records.partition_point(|(committed, _)| *committed <= time)
}

/// Some of the numbers below one, the last one among them.
fn some(of: usize, random: &mut Random) -> Vec<usize> {
    let mut some: Vec<usize> = (0..share(CUTS).min(of)).map(|_| random.below(of)).collect();
    some.extend(of.checked_sub(1));
    some
}

#[test]
fn a_log_gives_back_what_was_committed_wherever_it_is_cut() {
    for seed in 0..share(12) as u64 {
        let (relation, log) = logged_relation(&model::world_schema(seed));
        let mut world = model::World::new(seed, relation);
        let result = catch_unwind(AssertUnwindSafe(|| {
            world.run();
            let (records, mut random) = (log.records(), Random::new(seed));
            assert!(world.states.len() > 5 && records.len() > 5, "{} commits", world.states.len());
            for at in some(world.states.len(), &mut random) {
                let (time, expected) = &world.states[at];
                let records = &records[..until(&records, *time)];
                let relation = only(replayed(records, 1 + random.below(2)));
                check(&relation, expected);
                go_on(&relation, expected.clone(), &mut random);
                let relation = only(replayed_from(records, 1 + random.below(records.len())));
                check(&relation, expected);
                go_on(&relation, expected.clone(), &mut random);
            }
        }));
        assert!(result.is_ok(), "seed {seed}");
    }
}

#[test]
fn alterations_come_back() {
    for seed in 0..share(12) as u64 {
        let (relation, log) = logged_relation(&if seed % 2 == 0 { all_types() } else { id_and_text() });
        let mut world = alter_model::World::new(seed, relation);
        let result = catch_unwind(AssertUnwindSafe(|| {
            world.run();
            let (records, mut random) = (log.records(), Random::new(seed));
            for at in some(world.states.len(), &mut random) {
                let (time, schema, expected) = &world.states[at];
                let records = &records[..until(&records, *time)];
                for checkpoint in [None, Some(1 + random.below(records.len()))] {
                    let relations = match checkpoint {
                        None => replayed(records, 2),
                        Some(checkpoint) => replayed_from(records, checkpoint),
                    };
                    let relation = only(relations);
                    assert_eq!(relation.schema(), schema);
                    check(&relation, expected);
                    go_on(&relation, expected.clone(), &mut random);
                }
            }
        }));
        assert!(result.is_ok(), "seed {seed}");
    }
}

/// A database that came back logs on, and comes back again.
#[test]
fn a_log_goes_on_after_a_replay() {
    for seed in 0..share(4) as u64 {
        let (relation, log) = logged_relation(&model::world_schema(seed));
        let mut world = model::World::new(seed, relation);
        world.run();
        let mut records = log.records();
        let relation = only(replayed(&records, 2));
        let log = MemoryLog::of(relation.transactions());
        let (mut random, mut expected) = (Random::new(seed), world.states.last().unwrap().1.clone());
        let schema = Arc::clone(relation.schema());
        for round in 0..20 {
            let mut t = relation.transactions().begin(Isolation::Snapshot);
            for row in random_rows(&mut random, &schema, (1 << 50) + round * 100, 20) {
                let at = t.insert(&relation, &datums(&row, &schema)).unwrap();
                assert_eq!(expected.insert(at, row), None);
            }
            for row in expected.keys().copied().collect::<Vec<_>>() {
                if random.below(6) == 0 {
                    t.delete(&relation, row).unwrap();
                    expected.remove(&row);
                }
            }
            t.commit().unwrap();
            if random.below(8) == 0 {
                relation.truncate().unwrap();
                expected.clear();
            }
        }
        records.extend(log.records());
        check(&only(replayed(&records, 2)), &expected);
    }
}
