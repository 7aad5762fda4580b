//! The three merges against a model, in parallel and in any order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{
    Cell, Row, all_types, batch, buffers, check_statistics, id_and_text, ids_in, on_threads, random_rows, relation,
    rows_in,
};
use arrow_array::Array;
use longshore_storage::{Append, Arena, CHUNK_ROWS_MAX, Memory, MergeKind, Relation, Schema, Snapshot};
use longshore_testing::{Random, share};

const KINDS: [MergeKind; 3] = [MergeKind::Insert, MergeKind::Copy, MergeKind::Chunk];

/// Rows of one append, cut into the buffers of one sequence number each.
fn pieces(random: &mut Random, schema: &Schema, first_id: i64, rows_max: usize) -> Vec<Vec<Row>> {
    let mut next = first_id;
    let mut piece = || {
        let rows = random.below(rows_max);
        let rows = random_rows(random, schema, next, rows);
        next += rows.len() as i64;
        rows
    };
    (0..6).map(|_| piece()).collect()
}

/// Merges pieces from several threads in a random order.
fn merge_shuffled(
    append: &Append<'_>,
    memory: &Arc<Memory>,
    pieces: &[Vec<Row>],
    threads: usize,
    random: &mut Random,
    schema: &Arc<Schema>,
) {
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    random.shuffle(&mut order);
    let next = AtomicUsize::new(0);
    on_threads(threads, |_| {
        let mut arena = Arena::new(Arc::clone(memory), 1 << 20);
        while let Some(&sequence) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let buffers = buffers(schema, &pieces[sequence], &mut arena);
            append.merge(sequence as u64, buffers).expect("memory is enough");
        }
    });
}

#[test]
fn appends_of_every_kind_add_up_to_the_model() {
    let schema = all_types();
    for seed in 0..share(6) as u64 {
        let mut random = Random::new(seed);
        let relation = relation(&schema);
        let mut model: Vec<Row> = Vec::new();
        for _ in 0..6 {
            let kind = KINDS[random.below(3)];
            let rows_max = [2, 40, 3000][random.below(3)];
            let pieces = pieces(&mut random, &schema, model.len() as i64, rows_max);
            let append = relation.begin_append(kind);
            let before = relation.snapshot();
            merge_shuffled(&append, relation.memory(), &pieces, 3, &mut random, &schema);
            assert!(Arc::ptr_eq(&before, &relation.snapshot()), "nothing is visible before the commit");
            let added: usize = pieces.iter().map(Vec::len).sum();
            if random.below(4) == 0 {
                drop(append);
            } else {
                assert_eq!(append.commit().expect("no duplicates"), added as u64);
                model.extend(pieces.into_iter().flatten());
            }
            assert!(rows_in(&relation.snapshot()) == model, "seed {seed}, {kind:?}");
        }
        crate::support::check_statistics(&relation.snapshot(), &model);
    }
}

/// More rows than a chunk has, in buffers that do not divide it.
fn load(relation: &Relation, kind: MergeKind, threads: usize) -> Arc<Snapshot> {
    let schema = relation.schema();
    let mut random = Random::new(42);
    let pieces: Vec<Vec<Row>> = (0..16).map(|at| random_rows(&mut random, schema, at * 9_999, 9_999)).collect();
    let append = relation.begin_append(kind);
    merge_shuffled(&append, relation.memory(), &pieces, threads, &mut random, schema);
    assert_eq!(append.commit().expect("no duplicates"), 16 * 9_999);
    relation.snapshot()
}

#[test]
fn large_appends_are_equal_whatever_the_merge() {
    let schema = id_and_text();
    let expected: Vec<i64> = (0..16 * 9_999).collect();
    let mut first: Option<Vec<Row>> = None;
    for kind in KINDS {
        for threads in [1, 4] {
            let relation = relation(&schema);
            let snapshot = load(&relation, kind, threads);
            assert_eq!(ids_in(&snapshot), expected, "{kind:?}");
            let rows = rows_in(&snapshot);
            assert!(first.get_or_insert_with(|| rows.clone()) == &rows, "{kind:?}");
            let sizes: Vec<usize> = snapshot.chunks().iter().map(|chunk| chunk.rows()).collect();
            if kind == MergeKind::Chunk {
                assert_eq!(sizes, [9_999; 16]);
            } else {
                assert_eq!(sizes, [CHUNK_ROWS_MAX, CHUNK_ROWS_MAX, 16 * 9_999 - 2 * CHUNK_ROWS_MAX]);
            }
            crate::support::check_statistics(&snapshot, &rows);
        }
    }
}

#[test]
fn many_small_appends_make_few_chunks() {
    let schema = id_and_text();
    let chunk_and_more = CHUNK_ROWS_MAX as i64 + 1000;
    for (kind, count) in [(MergeKind::Copy, chunk_and_more), (MergeKind::Chunk, 5000), (MergeKind::Insert, 5000)] {
        let relation = relation(&schema);
        let mut random = Random::new(7);
        let mut model = Vec::new();
        let mut arena = Arena::new(Arc::clone(relation.memory()), 1 << 20);
        for id in 0..count {
            let rows = random_rows(&mut random, &schema, id, 1);
            let append = relation.begin_append(kind);
            append.merge(0, buffers(&schema, &rows, &mut arena)).expect("memory is enough");
            assert_eq!(append.commit().expect("no duplicates"), 1);
            model.extend(rows);
        }
        let snapshot = relation.snapshot();
        assert_eq!(snapshot.chunks().len(), model.len().div_ceil(CHUNK_ROWS_MAX));
        assert!(rows_in(&snapshot) == model);
        crate::support::check_statistics(&snapshot, &model);
        assert!(relation.memory().used() < 16 << 20, "{} bytes are used", relation.memory().used());
    }
}

#[test]
fn small_buffers_of_one_append_make_few_chunks_between_large_ones() {
    let schema = all_types();
    for seed in 0..share(4) as u64 {
        let mut random = Random::new(seed);
        let relation = relation(&schema);
        let mut pieces: Vec<Vec<Row>> = Vec::new();
        let mut next = 0;
        // Many small ones, a large one, many small ones, two large ones.
        for (buffers, rows_max) in [(300, 40), (1, 0), (200, 90), (2, 0)] {
            for _ in 0..buffers {
                let rows = if rows_max == 0 { 9_000 } else { random.below(rows_max) };
                let rows = random_rows(&mut random, &schema, next, rows);
                next += rows.len() as i64;
                pieces.push(rows);
            }
        }
        let append = relation.begin_append(MergeKind::Chunk);
        merge_shuffled(&append, relation.memory(), &pieces, 3, &mut random, &schema);
        let model: Vec<Row> = pieces.into_iter().flatten().collect();
        assert_eq!(append.commit().expect("no duplicates"), model.len() as u64);
        let snapshot = relation.snapshot();
        assert!(rows_in(&snapshot) == model, "seed {seed}");
        check_statistics(&snapshot, &model);
        let sizes: Vec<usize> = snapshot.chunks().iter().map(|chunk| chunk.rows()).collect();
        assert!(sizes.len() == 5 && sizes[1] == 9_000 && sizes[3..] == [9_000, 9_000], "{sizes:?}");
    }
}

#[test]
fn sequences_may_leave_gaps_and_be_empty() {
    let schema = id_and_text();
    for kind in KINDS {
        let relation = relation(&schema);
        let mut arena = Arena::new(Arc::clone(relation.memory()), 1 << 20);
        let mut random = Random::new(1);
        let append = relation.begin_append(kind);
        let mut merge = |sequence, first_id, count| {
            let rows = random_rows(&mut random, &schema, first_id, count);
            append.merge(sequence, buffers(&schema, &rows, &mut arena)).expect("memory is enough");
        };
        merge(5, 3, 2);
        merge(0, 0, 1);
        merge(1, 0, 0);
        merge(2, 1, 2);
        assert_eq!(append.commit().expect("no duplicates"), 5);
        assert_eq!(ids_in(&relation.snapshot()), [0, 1, 2, 3, 4], "{kind:?}");
    }
}

#[test]
fn batches_share_the_memory_of_their_chunk() {
    let schema = id_and_text();
    let relation = relation(&schema);
    let snapshot = load(&relation, MergeKind::Copy, 1);
    let chunk = &snapshot.chunks()[0];
    let (whole, part) = (chunk.array(0, 0, chunk.rows()), chunk.array(0, 100, 10));
    let start = |array: &dyn Array| array.to_data().buffers()[0].as_ptr().addr();
    assert_eq!(start(&whole) + 800, start(&part));
    let used = relation.memory().used();
    drop((snapshot, relation, whole));
    let rows = crate::support::rows_of(
        &Schema::new(vec![schema.columns()[0].clone()]),
        &arrow_array::RecordBatch::try_from_iter_with_nullable([("id", part, false)]).expect("a batch"),
    );
    assert_eq!(rows[0], [Cell::Integer(100)]);
    assert!(used > 0);
}

#[test]
fn an_empty_projection_counts_rows() {
    let schema = id_and_text();
    let relation = relation(&schema);
    let snapshot = load(&relation, MergeKind::Chunk, 1);
    let batch = snapshot.chunks()[0].batch(&[], 5, 17);
    assert_eq!((batch.num_columns(), batch.num_rows()), (0, 17));
    let swapped = snapshot.chunks()[0].batch(&[1, 0], 5, 17);
    assert_eq!(swapped.schema().field(0).name(), "text");
}

#[test]
fn a_batch_may_be_larger_than_a_chunk() {
    let schema = id_and_text();
    let relation = relation(&schema);
    let rows = random_rows(&mut Random::new(3), &schema, 0, CHUNK_ROWS_MAX + 5);
    let mut arena = Arena::new(Arc::clone(relation.memory()), 1 << 20);
    let buffers = longshore_storage::PartitionBuffer::from_batch(&schema, &batch(&schema, &rows), &mut arena);
    let append = relation.begin_append(MergeKind::Chunk);
    append.merge(0, buffers.expect("rows of the schema")).expect("memory is enough");
    assert_eq!(append.commit().expect("no duplicates"), rows.len() as u64);
    assert!(rows_in(&relation.snapshot()) == rows);
}
