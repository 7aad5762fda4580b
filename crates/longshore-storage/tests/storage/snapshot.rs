//! What readers see while a relation grows, fails to grow, is emptied or goes away; and where the memory goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{all_types, buffers, id_and_text, ids_in, random_rows, relation, rows_in};
use longshore_storage::{
    Append, Arena, CHUNK_ROWS_MAX, Memory, MergeKind, PartitionBuffer, Relation, Snapshot, TransactionError,
};
use longshore_testing::Random;

const KINDS: [MergeKind; 3] = [MergeKind::Insert, MergeKind::Copy, MergeKind::Chunk];

fn append(relation: &Relation, kind: MergeKind, first_id: i64, count: usize) -> Result<(), TransactionError> {
    let rows = random_rows(&mut Random::new(first_id as u64), relation.schema(), first_id, count);
    let mut arena = Arena::new(Arc::clone(relation.memory()), 1 << 20);
    let append = relation.begin_append(kind);
    append.merge(0, buffers(relation.schema(), &rows, &mut arena))?;
    assert_eq!(append.commit().expect("no duplicates"), count as u64);
    Ok(())
}

fn thread_safe<T: Send + Sync>() {}

#[test]
fn what_threads_share_may_be_shared() {
    thread_safe::<Relation>();
    thread_safe::<Append<'_>>();
    thread_safe::<Snapshot>();
    thread_safe::<PartitionBuffer>();
    thread_safe::<Arena>();
}

#[test]
fn a_snapshot_outlives_later_appends_and_the_relation() {
    let schema = all_types();
    for kind in KINDS {
        let relation = relation(&schema);
        append(&relation, kind, 0, 100).expect("memory is enough");
        let snapshot = relation.snapshot();
        let before = rows_in(&snapshot);
        let statistics: Vec<_> = (0..schema.columns().len()).map(|column| snapshot.statistics(column)).collect();
        for at in 1..60 {
            append(&relation, KINDS[at % 3], at as i64 * 100, 100).expect("memory is enough");
        }
        relation.truncate().expect("nobody refers to it");
        assert_eq!(relation.snapshot().rows(), 0);
        append(&relation, kind, 0, 5000).expect("memory is enough");
        drop(relation);
        assert!(rows_in(&snapshot) == before, "{kind:?}");
        for (column, before) in statistics.iter().enumerate() {
            assert_eq!(snapshot.statistics(column), *before);
        }
    }
}

#[test]
fn readers_and_an_append_do_not_disturb_each_other() {
    let schema = id_and_text();
    let relation = relation(&schema);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let snapshot = relation.snapshot();
                    let rows = rows_in(&snapshot);
                    let whole =
                        rows.iter().enumerate().all(|(at, row)| row[0] == crate::support::Cell::Integer(at as i64));
                    assert!(whole && rows.len().is_multiple_of(40));
                }
            });
        }
        for at in 0..400 {
            if at % 7 == 0 {
                // One that comes to nothing, on the rows that the next one will write.
                let doomed = relation.begin_append(MergeKind::Copy);
                let rows = random_rows(&mut Random::new(1), &schema, -1000, 90);
                let mut arena = Arena::new(Arc::clone(relation.memory()), 1 << 20);
                doomed.merge(0, buffers(&schema, &rows, &mut arena)).expect("memory is enough");
            }
            append(&relation, [MergeKind::Copy, MergeKind::Insert][at % 2], at as i64 * 40, 40)
                .expect("memory is enough");
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(ids_in(&relation.snapshot()), (0..16_000).collect::<Vec<i64>>());
}

#[test]
fn a_dropped_append_returns_its_memory() {
    let schema = all_types();
    let rows = random_rows(&mut Random::new(9), &schema, 0, 12_000);
    for kind in KINDS {
        for rows_before in [0, 10, 20_000] {
            let relation = relation(&schema);
            if rows_before > 0 {
                append(&relation, MergeKind::Copy, 0, rows_before).expect("memory is enough");
            }
            let used = relation.memory().used();
            {
                let mut arena = Arena::new(Arc::clone(relation.memory()), 1 << 20);
                let doomed = relation.begin_append(kind);
                for sequence in [0, 1, 2, 4] {
                    doomed.merge(sequence, buffers(&schema, &rows, &mut arena)).expect("memory is enough");
                }
                assert!(relation.memory().used() > used);
            }
            assert_eq!(relation.memory().used(), used, "{kind:?} after {rows_before} rows");
            assert_eq!(relation.snapshot().rows(), rows_before as u64);
        }
    }
}

#[test]
fn everything_is_returned_in_the_end() {
    let memory = Memory::new(None);
    let relation = Relation::new(all_types(), Arc::clone(&memory));
    for (at, kind) in KINDS.into_iter().enumerate() {
        append(&relation, kind, 0, 3_000 + 30_000 * at).expect("memory is enough");
    }
    assert!(memory.used() >= relation.snapshot().bytes());
    drop(relation);
    assert_eq!(memory.used(), 0);
    assert!(memory.peak() > 0);
}

#[test]
fn copied_rows_take_about_the_memory_they_need() {
    let relation = relation(&id_and_text());
    append(&relation, MergeKind::Copy, 0, 6 * CHUNK_ROWS_MAX).expect("memory is enough");
    let (used, bytes) = (relation.memory().used(), relation.snapshot().bytes());
    assert!(used <= bytes + bytes / 4 + (4 << 20), "{used} bytes are used for {bytes}");
}

#[test]
fn a_small_relation_takes_little() {
    for kind in KINDS {
        let relation = relation(&id_and_text());
        append(&relation, kind, 0, 5).expect("memory is enough");
        assert!(relation.memory().used() <= 128 << 10, "{kind:?}: {} bytes", relation.memory().used());
    }
}

#[test]
fn the_limit_stops_an_append_and_spares_the_relation() {
    let schema = id_and_text();
    let memory = Memory::new(Some(8 << 20));
    let relation = Relation::new(Arc::clone(&schema), Arc::clone(&memory));
    append(&relation, MergeKind::Copy, 0, 1000).expect("memory is enough");
    let used = memory.used();
    for kind in KINDS {
        let rows = random_rows(&mut Random::new(5), &schema, 1000, 8_000);
        let doomed = relation.begin_append(kind);
        let mut arena = Arena::new(Arc::clone(&memory), 1 << 20);
        let failed = (0..200).find_map(|sequence| {
            let batch = longshore_storage::lists::encode_batch(&crate::support::batch(&schema, &rows));
            match PartitionBuffer::from_batch(&schema, &batch, &mut arena) {
                Ok(buffers) => doomed.merge(sequence, buffers).err().map(|error| error.to_string()),
                Err(error) => Some(error.to_string()),
            }
        });
        let message = failed.expect("8 MiB do not hold 1.6 million rows");
        assert!(message.contains("--memory-limit") && message.contains("8388608"), "{message}");
        drop((doomed, arena));
        assert_eq!(memory.used(), used, "{kind:?}");
        assert!(memory.peak() <= 8 << 20);
    }
    append(&relation, MergeKind::Insert, 1000, 10).expect("memory is enough again");
    assert_eq!(ids_in(&relation.snapshot()), (0..1010).collect::<Vec<i64>>());
}
