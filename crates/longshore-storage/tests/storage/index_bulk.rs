//! Indexes built from chunks, by any number of threads, against a map of their rows.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use crate::support::{Cell, Row, buffers, on_threads, relation};
use longshore_storage::{
    Arena, BulkError, Chunk, Column, ColumnType, Datum, Direction, Index, IndexKind, IndexParts, Memory, MergeKind,
    OutOfMemory, RowId, Schema, Source, Uniqueness,
};
use longshore_testing::{Random, share};

/// How the ids of rows follow each other.
#[derive(Clone, Copy, Debug)]
enum Ids {
    Ascending,
    Descending,
    Shuffled,
    Sparse,
    Few,
    /// Up to five rows, which `small` numbers, have one; some are missing.
    Lines,
}

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Column::new("id", ColumnType::BigInt, false),
        Column::new("number", ColumnType::Integer, true),
        Column::new("text", ColumnType::Text, true),
        Column::new("small", ColumnType::SmallInt, false),
    ]))
}

fn rows(ids: Ids, count: usize, random: &mut Random) -> Vec<Row> {
    let mut order: Vec<usize> = (0..count).collect();
    if matches!(ids, Ids::Shuffled) {
        random.shuffle(&mut order);
    }
    let mut row = |at: usize| {
        let id = match ids {
            Ids::Ascending | Ids::Shuffled => order[at] as i64 - 100,
            Ids::Descending => (count - at) as i64,
            Ids::Sparse => random.next() as i64,
            Ids::Few => random.below(70) as i64,
            Ids::Lines => at as i64 / 5 + at as i64 / 40 * 24,
        };
        let null = |random: &mut Random, cell| if random.below(9) == 0 { Cell::Null } else { cell };
        let number = random.below(1 << 30) as i64;
        let text = "a text of some length, ".repeat(random.below(3)) + &random.below(400).to_string();
        let small = if matches!(ids, Ids::Lines) { at % 5 } else { random.below(5) };
        let small = Cell::Integer(small as i64);
        vec![Cell::Integer(id), null(random, Cell::Integer(number)), null(random, Cell::Text(text)), small]
    };
    (0..count).map(&mut row).collect()
}

/// Chunks of unequal numbers of rows; numbered with gaps.
fn chunks(schema: &Arc<Schema>, rows: &[Row], random: &mut Random) -> Vec<(usize, Chunk)> {
    let mut arena = Arena::new(Memory::new(None), 1 << 20);
    let (mut chunks, mut from, mut number) = (Vec::new(), 0, 3);
    while from < rows.len() {
        let count = (1 + random.below(9_000)).min(rows.len() - from);
        let buffer = buffers(schema, &rows[from..from + count], &mut arena).remove(0);
        chunks.push((number, buffer.seal()));
        from += count;
        number += 1 + random.below(3);
    }
    chunks
}

fn sources(chunks: &[(usize, Chunk)]) -> Vec<Source<'_>> {
    chunks.iter().map(|(number, chunk)| Source { number: *number, chunk, rows: None }).collect()
}

fn ids(chunks: &[(usize, Chunk)]) -> Vec<RowId> {
    chunks.iter().flat_map(|(number, chunk)| (0..chunk.rows()).map(|row| RowId::new(*number, row))).collect()
}

fn datum(cell: &Cell, column: usize) -> Datum<'_> {
    match cell {
        Cell::Integer(value) if column == 0 => Datum::I64(*value),
        Cell::Integer(value) => Datum::I32(*value as i32),
        Cell::Text(text) => Datum::Text(text),
        _ => Datum::Null,
    }
}

type Model = BTreeMap<Vec<u8>, BTreeSet<RowId>>;

fn model(index: &Index, rows: &[Row], ids: &[RowId]) -> Model {
    let mut model = Model::new();
    for (row, &id) in rows.iter().zip(ids) {
        let key = index.key_of(|column| datum(&row[column], column)).expect("a key");
        model.entry(key.to_bytes()).or_default().insert(id);
    }
    model
}

fn assert_is(index: &Index, model: &Model, rows: &[Row], what: &str) {
    assert_eq!(index.rows(), model.values().map(BTreeSet::len).sum::<usize>(), "{what}");
    for row in rows.iter().step_by(17) {
        let key = index.key_of(|column| datum(&row[column], column)).expect("a key");
        let found: Vec<RowId> = index.find(&key).iter().collect();
        let expected: Vec<RowId> = model.get(&key.to_bytes()).into_iter().flatten().copied().collect();
        assert_eq!(found, expected, "{what}: {}", index.describe(&key));
    }
    if index.kind() == IndexKind::Art {
        let mut range = index.range(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        let (mut all, mut before) = (Vec::new(), usize::MAX);
        while all.len() != before {
            before = all.len();
            index.next_batch(&mut range, &mut all);
        }
        assert_eq!(all, model.values().flatten().copied().collect::<Vec<_>>(), "{what}: in order");
    }
}

#[test]
fn what_is_built_by_threads_is_what_is_built_row_by_row() {
    let schema = schema();
    for (seed, (order, columns)) in [
        (Ids::Ascending, &[0][..]),
        (Ids::Descending, &[0]),
        (Ids::Shuffled, &[0]),
        (Ids::Sparse, &[0]),
        (Ids::Few, &[0]),
        (Ids::Few, &[1, 3]),
        (Ids::Lines, &[0, 3]),
        (Ids::Lines, &[3, 0]),
        (Ids::Ascending, &[3, 0, 1]),
        (Ids::Sparse, &[2]),
        (Ids::Ascending, &[2, 0]),
    ]
    .into_iter()
    .enumerate()
    {
        let mut random = Random::new(seed as u64);
        let rows = rows(order, 45_000, &mut random);
        let chunks = chunks(&schema, &rows, &mut random);
        let all = sources(&chunks);
        let of_keys = Index::new("i", &schema, columns, IndexKind::Art, Uniqueness::Multiple, &Memory::new(None));
        let model = model(&of_keys, &rows, &ids(&chunks));
        for kind in [IndexKind::Hash, IndexKind::Art] {
            for threads in [1, 2, 5] {
                let what = format!("{kind:?} of {columns:?}, {order:?}, {threads} threads");
                let index = Index::new("i", &schema, columns, kind, Uniqueness::Multiple, &Memory::new(None));
                // At once, and the second half beside the first.
                let (first, second) = all.split_at(if threads == 2 { all.len() / 2 } else { 0 });
                index.insert_chunks(first, threads, |_| true).expect("nothing is unique");
                index.insert_chunks(second, threads, |_| true).expect("nothing is unique");
                if threads == 1 {
                    assert_is(&index, &model, &rows, &what);
                    continue;
                }
                index.remove_chunks(second);
                let left: usize = first.iter().map(|source| source.chunk.rows()).sum();
                assert_eq!(index.rows(), left, "{what}");
                index.insert_chunks(second, threads, |_| true).expect("nothing is unique");
                assert_is(&index, &model, &rows, &what);
            }
        }
    }
}

/// The first row that has the key of an older one in the way, or of an earlier one, and the least of those.
fn first_duplicate(
    index: &Index,
    rows: &[Row],
    ids: &[RowId],
    old: &Model,
    old_in_the_way: RowId,
) -> Option<(RowId, RowId)> {
    let mut seen: Model = old.clone();
    for rows in seen.values_mut() {
        rows.retain(|&row| row == old_in_the_way);
    }
    for (row, &id) in rows.iter().zip(ids) {
        let key = index.key_of(|column| datum(&row[column], column)).expect("a key");
        let same = seen.entry(key.to_bytes()).or_default();
        if let Some(&first) = same.first().filter(|_| !key.has_null()) {
            return Some((first, id));
        }
        same.insert(id);
    }
    None
}

#[test]
fn the_first_duplicate_is_told_whatever_the_number_of_threads() {
    let schema = schema();
    for seed in 0..share(3) {
        let mut random = Random::new(100 + seed as u64);
        let mut rows = rows(Ids::Shuffled, 40_000, &mut random);
        // A few duplicates; and of the numbers, which may be NULL, there are some anyway.
        for _ in 0..4 {
            let (from, to) = (random.below(rows.len()), random.below(rows.len()));
            rows[to][0] = rows[from][0].clone();
        }
        let chunks = chunks(&schema, &rows, &mut random);
        let (new, ids) = (sources(&chunks), ids(&chunks));
        // Some rows are there, old versions all of them but one.
        let (old, old_ids): (Vec<Row>, Vec<RowId>) =
            (0..50).map(|at| (rows[at * 700].clone(), RowId(at as u64))).unzip();
        let alive = RowId(if seed % 2 == 0 { 40 } else { 1_000 });
        for columns in [&[0][..], &[1], &[0, 3]] {
            let make = |kind| Index::new("key", &schema, columns, kind, Uniqueness::Unique, &Memory::new(None));
            let before = model(&make(IndexKind::Hash), &old, &old_ids);
            let expected = first_duplicate(&make(IndexKind::Hash), &rows, &ids, &before, alive);
            for kind in [IndexKind::Hash, IndexKind::Art] {
                for threads in [1, 2, 5] {
                    let index = make(kind);
                    for (row, &id) in old.iter().zip(&old_ids) {
                        let key = index.key_of(|column| datum(&row[column], column)).expect("a key");
                        index.insert(&key, id, |_| Ok::<(), OutOfMemory>(())).expect("there is memory");
                    }
                    let built = index.insert_chunks(&new, threads, |row| row == alive);
                    match (expected, built) {
                        (None, Ok(())) => assert_eq!(index.rows(), old.len() + rows.len()),
                        (Some(pair), Err(BulkError::Duplicate { index: name, first, second, key })) => {
                            assert_eq!((first, second), pair, "{kind:?} of {columns:?}, {threads} threads");
                            assert!(name == "key" && key.starts_with('('), "{key}");
                            assert_is(&index, &before, &rows, "none is added");
                        }
                        (expected, built) => panic!("{built:?} where {expected:?} is the first"),
                    }
                }
            }
        }
    }
}

#[test]
fn only_the_rows_that_are_meant_are_indexed() {
    let (schema, mut random) = (schema(), Random::new(9));
    let rows = rows(Ids::Ascending, 3_000, &mut random);
    let mut arena = Arena::new(Memory::new(None), 1 << 20);
    let chunk = buffers(&schema, &rows, &mut arena).remove(0).seal();
    let meant: arrow_buffer::BooleanBuffer = (0..3_000).map(|row| row % 3 == 0).collect();
    for kind in [IndexKind::Hash, IndexKind::Art] {
        let index = Index::new("i", &schema, &[0], kind, Uniqueness::Unique, &Memory::new(None));
        let source = Source { number: 0, chunk: &chunk, rows: Some(&meant) };
        index.insert_chunks(&[source], 2, |_| true).expect("no duplicates");
        assert_eq!(index.rows(), 1_000);
        let found = |id: i64| index.find(&index.key(&[Datum::I64(id - 100)]).expect("a key")).len();
        assert_eq!((found(0), found(1), found(2_997)), (1, 0, 1));
        // What was built is still there when more comes.
        for id in (0..3_000).filter(|id| id % 3 != 0) {
            let key = index.key(&[Datum::I64(id - 100)]).expect("a key");
            index.insert(&key, RowId(id as u64), |_| Ok::<(), OutOfMemory>(())).expect("there is memory");
        }
        assert!((0..3_000).all(|id| found(id) == 1), "{kind:?}");
    }
}

#[test]
fn an_index_that_memory_does_not_suffice_for_stays_as_it_was() {
    let (schema, mut random) = (schema(), Random::new(10));
    let rows = rows(Ids::Sparse, 40_000, &mut random);
    let chunks = chunks(&schema, &rows, &mut random);
    for kind in [IndexKind::Hash, IndexKind::Art] {
        let memory = Memory::new(Some(1 << 20));
        let index = Index::new("i", &schema, &[0], kind, Uniqueness::Unique, &memory);
        let built = index.insert_chunks(&sources(&chunks), 2, |_| true);
        assert!(matches!(built, Err(BulkError::OutOfMemory(_))), "{kind:?}: {built:?}");
        assert_eq!(index.rows(), 0);
        let key = index.key(&[Datum::I64(1)]).expect("a key");
        index.insert(&key, RowId(1), |_| Ok::<(), OutOfMemory>(())).expect("there is memory for a row");
        assert_eq!(index.find(&key).len(), 1);
        index.clear();
        drop(index);
        assert_eq!(memory.used(), 0);
    }
}

/// Parts that threads build of the chunks of a load, in whatever order, are the index of its rows in the end.
#[test]
fn parts_built_beside_a_load_are_the_index_of_its_rows() {
    let schema = schema();
    for (seed, (order, columns, uniqueness)) in [
        (Ids::Ascending, &[0][..], Uniqueness::Unique),
        (Ids::Shuffled, &[0], Uniqueness::Unique),
        (Ids::Few, &[0], Uniqueness::Multiple),
        (Ids::Few, &[0], Uniqueness::Unique),
        (Ids::Shuffled, &[1], Uniqueness::Unique),
        (Ids::Ascending, &[2, 0], Uniqueness::Unique),
        (Ids::Sparse, &[1, 3], Uniqueness::Multiple),
        (Ids::Few, &[3, 0], Uniqueness::Unique),
    ]
    .into_iter()
    .enumerate()
    {
        let mut random = Random::new(300 + seed as u64);
        let rows = rows(order, 45_000, &mut random);
        let chunks = chunks(&schema, &rows, &mut random);
        let (sources, ids) = (sources(&chunks), ids(&chunks));
        // Others than in the end, those of the end, and others which are not in the order of the load.
        let numberings: [Vec<u32>; 3] = [
            (0..chunks.len() as u32).map(|at| 5 + at * 256).collect(),
            chunks.iter().map(|(number, _)| *number as u32).collect(),
            (0..chunks.len() as u32).map(|at| if at % 3 == 1 { 1 << 31 | at } else { at }).collect(),
        ];
        for kind in [IndexKind::Hash, IndexKind::Art] {
            for (numbering, threads) in [1, 4].into_iter().enumerate() {
                let numbers = &numberings[(seed + numbering) % 3];
                let what = format!("{kind:?} of {columns:?}, {order:?}, {threads} threads");
                let index = Arc::new(Index::new("i", &schema, columns, kind, uniqueness, &Memory::new(None)));
                let parts = IndexParts::new(&index);
                on_threads(threads, |thread| {
                    for at in (0..chunks.len()).filter(|at| at % threads == thread) {
                        parts.add(numbers[at], &chunks[at].1).expect("there is memory");
                    }
                });
                assert_eq!(index.rows(), 0, "{what}: until the end");
                let built = parts.finish(&sources, numbers, threads, |_| true);
                let expected = match uniqueness {
                    Uniqueness::Unique | Uniqueness::UniqueNulls => {
                        first_duplicate(&index, &rows, &ids, &Model::new(), RowId(0))
                    }
                    Uniqueness::Multiple => None,
                };
                match (expected, built) {
                    (None, Ok(())) => assert_is(&index, &model(&index, &rows, &ids), &rows, &what),
                    (Some(pair), Err(BulkError::Duplicate { first, second, .. })) => {
                        assert_eq!((first, second), pair, "{what}");
                        assert_eq!(index.rows(), 0, "{what}");
                    }
                    (expected, built) => panic!("{what}: {built:?} where {expected:?} is the first duplicate"),
                }
            }
        }
    }
}

/// An append indexes its chunks as they come; the index is that of its rows when it is committed, and not before.
#[test]
fn an_append_indexes_what_it_merges() {
    let schema = schema();
    for (seed, kind) in [IndexKind::Hash, IndexKind::Art].into_iter().enumerate() {
        for merge in [MergeKind::Chunk, MergeKind::Copy] {
            let relation = relation(&schema);
            let index = relation.create_index("key", &[0], kind, Uniqueness::Unique).expect("an index");
            let mut random = Random::new(400 + seed as u64);
            let mut rows = rows(Ids::Ascending, 30_000, &mut random);
            let load = |rows: &[Row], threads: usize| {
                let append = relation.begin_append(merge);
                let spans: Vec<&[Row]> = rows.chunks(2_500).collect();
                on_threads(threads, |thread| {
                    let mut arena = Arena::new(Memory::new(None), 1 << 20);
                    for at in (0..spans.len()).rev().filter(|at| at % threads == thread) {
                        append.merge(at as u64, buffers(&schema, spans[at], &mut arena)).expect("memory");
                    }
                });
                assert!(relation.snapshot().rows() as usize == index.rows(), "before the commit");
                append.commit()
            };
            assert_eq!(load(&rows[..20_000], 3).expect("no duplicates"), 20_000);
            // Of two duplicates among themselves the first is told, and of these and one of a row before, that.
            let fresh = rows[25_000].clone();
            rows[29_000][0] = fresh[0].clone();
            let error = load(&rows[20_000..], 3).expect_err("a duplicate").to_string();
            assert!(error.contains("key") && error.contains(&(25_000 - 100).to_string()), "{error}");
            rows[22_000][0] = rows[7][0].clone();
            let error = load(&rows[20_000..], 2).expect_err("a duplicate").to_string();
            assert!(error.contains(&(7 - 100).to_string()), "{error}");
            assert_eq!((relation.snapshot().rows(), index.rows()), (20_000, 20_000), "none is added");
            rows.truncate(22_000);
            assert_eq!(load(&rows[20_000..], 2).expect("no duplicates"), 2_000);
            assert_eq!(index.rows(), 22_000);
            let mut before = None;
            for id in 0..22_000 {
                let found: Vec<RowId> =
                    index.find(&index.key(&[Datum::I64(id - 100)]).expect("a key")).iter().collect();
                assert!(found.len() == 1 && Some(found[0]) > before, "{kind:?}: row {id}, in the order of the load");
                before = Some(found[0]);
            }
        }
    }
}
