//! Records whose bytes were changed, as those of a log whose checksums somebody has forged: an error, or other values, but
//! values that their columns take.

use crate::model;
use crate::redo_support::{TimedRecord, datums, logged_relation, rows_by_id, try_replay};
use longshore_storage::{Isolation, Memory, Relation};
use longshore_testing::{Random, share};

/// More than the sample needs; forged numbers must not ask for more.
const MEMORY_BYTES_MAX: usize = 1 << 27;

fn mutate(records: &mut Vec<TimedRecord>, random: &mut Random) {
    let at = random.below(records.len());
    let swapped = random.below(records.len());
    let record = &mut records[at].1;
    for _ in 0..=random.below(3) {
        let place = random.below(record.len().max(1)).min(record.len().saturating_sub(1));
        match random.below(8) {
            0 if !record.is_empty() => drop(record.remove(place)),
            1 => record.insert(place, random.next() as u8),
            2 => record.truncate(place),
            3 if !record.is_empty() => record[place] = record[place].wrapping_add(1),
            4 if !record.is_empty() => record[place] ^= 1 << random.below(8),
            5 => {
                // A part comes twice.
                let part = record[place..record.len().min(place + 1 + random.below(30))].to_vec();
                record.splice(place..place, part);
            }
            _ if !record.is_empty() => record[place] = random.next() as u8,
            _ => {}
        }
    }
    match random.below(30) {
        0 => records.swap(at, swapped),
        1 => drop(records.remove(at)),
        2 => records.insert(swapped, records[at].clone()),
        _ => {}
    }
}

/// Everything that a relation has is taken by another one of its columns, and the same there.
fn check_values(relation: &Relation) {
    let found = rows_by_id(&relation.snapshot());
    let other = Relation::new(relation.schema().clone(), Memory::new(None));
    let mut t = other.transactions().begin(Isolation::Snapshot);
    for row in found.values() {
        t.insert(&other, &datums(row, relation.schema())).unwrap_or_else(|error| panic!("{row:?}: {error}"));
    }
    t.commit().unwrap();
    assert!(rows_by_id(&other.snapshot()).into_values().eq(found.into_values()));
}

#[test]
fn changed_bytes_are_an_error_or_values_of_their_columns() {
    let (mut errors, mut read) = (0, 0);
    for seed in 0..4 {
        let (relation, log) = logged_relation(&model::world_schema(seed));
        let mut world = model::World::new(seed, relation);
        world.run();
        let mut records = log.records();
        records.truncate(24);
        for round in 0..share(300) {
            let mut random = Random::new(seed << 32 | round as u64);
            let mut records = records.clone();
            mutate(&mut records, &mut random);
            match try_replay(&records, &Memory::new(Some(MEMORY_BYTES_MAX)), 1 + round % 2) {
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    errors += 1;
                }
                Ok(relations) => {
                    relations.values().for_each(check_values);
                    read += 1;
                }
            }
        }
    }
    assert!(errors > 10 * share(1) && read > 0, "{errors} errors, {read} read");
}
