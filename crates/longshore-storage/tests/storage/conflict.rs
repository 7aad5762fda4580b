//! Appends whose keys are there already, against a serial model: a list of rows that are looked through one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::redo_support::{logged_relation, replayed, rows_by_id};
use crate::support::{Cell, Row, buffers, on_threads, rows_in};
use longshore_storage::{
    Append, Arena, Clashes, Column, ColumnType, ConflictAction, ConflictKind, Datum, Holder, IndexKind, Isolation,
    Memory, MergeKind, Merged, OnConflict, Relation, Schema, TransactionError, Uniqueness,
};
use longshore_testing::Random;

/// Two keys, and values.
fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Column::new("id", ColumnType::BigInt, false),
        Column::new("name", ColumnType::Text, true),
        Column::new("count", ColumnType::Integer, true),
        Column::new("note", ColumnType::Text, true),
    ]))
}

/// Rows whose ids are of so many, and whose names are of as many, or NULL.
fn rows(random: &mut Random, count: usize, ids: usize, names: usize) -> Vec<Row> {
    let mut row = |at: usize| {
        let name = random.below(names + names / 8 + 1);
        // Some names are longer than a key that needs no memory of its own.
        let tail = if name.is_multiple_of(3) { " with a long name behind it" } else { "" };
        let name = if name < names { Cell::Text(format!("name {name}{tail}")) } else { Cell::Null };
        let note = if at.is_multiple_of(7) { Cell::Null } else { Cell::Text(format!("the note of row number {at}")) };
        vec![Cell::Integer(random.below(ids) as i64), name, Cell::Integer(at as i64 % 1000), note]
    };
    (0..count).map(&mut row).collect()
}

/// What became of an append.
#[derive(Debug, PartialEq)]
struct Outcome {
    rows: Vec<Row>,
    merged: Merged,
    /// Rows that were left out, and the row of the append that has their key, if it is one.
    left_out: Vec<(u64, Option<u64>)>,
}

/// A row of the model, and its number in the append; `None` if it was there before.
type Known = (Row, Option<u64>);

/// Whether no key is there twice.
fn is_sound(rows: &[Row], keys: &[usize]) -> bool {
    keys.iter().all(|&key| {
        let values: Vec<&Cell> = rows.iter().map(|row| &row[key]).filter(|cell| **cell != Cell::Null).collect();
        let distinct: BTreeSet<String> = values.iter().map(|cell| format!("{cell:?}")).collect();
        distinct.len() == values.len()
    })
}

/// Inserts one row after the other; `None` if a key is there twice in the end. `arbiters` are the columns whose conflicts
/// are resolved, `keys` all that are unique.
fn model(before: &[Row], load: &[Row], action: &ConflictAction, arbiters: &[usize], keys: &[usize]) -> Option<Outcome> {
    let mut known: Vec<Option<Known>> = Vec::new();
    let mut places: Vec<BTreeMap<String, usize>> = vec![BTreeMap::new(); arbiters.len()];
    let insert = |row: &Row, number, known: &mut Vec<Option<Known>>, places: &mut Vec<BTreeMap<String, usize>>| {
        for (places, &key) in places.iter_mut().zip(arbiters).filter(|(_, key)| row[**key] != Cell::Null) {
            places.insert(format!("{:?}", row[key]), known.len());
        }
        known.push(Some((row.clone(), number)));
    };
    for row in before {
        insert(row, None, &mut known, &mut places);
    }
    let mut left_out: BTreeMap<u64, Option<u64>> = BTreeMap::new();
    let mut updated = BTreeSet::new();
    // The row of the append that a row was last updated by.
    let mut last_of = vec![None; before.len()];
    for (number, row) in load.iter().enumerate() {
        let number = number as u64;
        let mut holder = places.iter().zip(arbiters).filter(|(_, key)| row[**key] != Cell::Null);
        let holder = holder.find_map(|(places, &key)| places.get(&format!("{:?}", row[key])).copied());
        let Some(at) = holder else {
            insert(row, Some(number), &mut known, &mut places);
            continue;
        };
        let earlier = known[at].as_ref()?.1;
        match action {
            ConflictAction::Stop => return None,
            ConflictAction::KeepFirst => drop(left_out.insert(number, earlier)),
            ConflictAction::Update(columns) if earlier.is_none() => {
                let (of, _) = known[at].as_mut()?;
                for &column in columns {
                    of[column] = row[column].clone();
                }
                updated.insert(at);
                if let Some(earlier) = last_of[at].replace(number) {
                    left_out.insert(earlier, Some(number));
                }
            }
            ConflictAction::KeepLast | ConflictAction::Update(_) => {
                known[at] = None;
                match earlier {
                    Some(earlier) => drop(left_out.insert(earlier, Some(number))),
                    None => drop(updated.insert(at)),
                }
                insert(row, Some(number), &mut known, &mut places);
            }
        }
    }
    // Who stays in the end is told.
    if *action != ConflictAction::KeepFirst {
        for row in left_out.keys().rev().copied().collect::<Vec<_>>() {
            if let Some(last) = left_out[&row].and_then(|later| left_out.get(&later)).copied() {
                left_out.insert(row, last);
            }
        }
    }
    let known: Vec<Known> = known.into_iter().flatten().collect();
    let updated = updated.len() as u64;
    let appended = known.iter().filter(|(_, number)| number.is_some()).count() as u64;
    let replaced = if *action == ConflictAction::KeepLast { updated } else { 0 };
    let merged = Merged { inserted: appended - replaced, updated, left_out: left_out.len() as u64 };
    let rows: Vec<Row> = known.into_iter().map(|(row, _)| row).collect();
    is_sound(&rows, keys).then_some(Outcome { rows, merged, left_out: left_out.into_iter().collect() })
}

/// Merges rows in pieces, by threads.
fn merge<'r>(relation: &'r Relation, load: &[Row], kind: MergeKind, threads: usize, piece: usize) -> Append<'r> {
    let append = relation.begin_append(kind);
    fill(&append, relation.schema(), load, threads, piece);
    append
}

fn fill(append: &Append<'_>, schema: &Arc<Schema>, load: &[Row], threads: usize, piece: usize) {
    let pieces: Vec<&[Row]> = load.chunks(piece).collect();
    on_threads(threads, |thread| {
        let mut arena = Arena::new(Memory::new(None), 1 << 20);
        for at in (0..pieces.len()).rev().filter(|at| at % threads == thread) {
            append.merge(at as u64, buffers(schema, pieces[at], &mut arena)).expect("memory");
        }
    });
}

fn sorted(mut rows: Vec<Row>) -> Vec<String> {
    rows.sort_by_key(|row| format!("{row:?}"));
    rows.iter().map(|row| format!("{row:?}")).collect()
}

struct Case<'a> {
    before: &'a [Row],
    load: &'a [Row],
    action: ConflictAction,
    index: Option<&'a str>,
    /// Whether names are unique, too.
    two_keys: bool,
    kind: IndexKind,
    merge: MergeKind,
    /// Whether chunks are merged as they come.
    interleaved: bool,
    threads: usize,
    piece: usize,
}

fn check(case: &Case<'_>) {
    let schema = schema();
    let (relation, log) = logged_relation(&schema);
    let pk = relation.create_index("pk", &[0], case.kind, Uniqueness::Unique).expect("an index");
    relation.create_index("counts", &[2], IndexKind::Art, Uniqueness::Multiple).expect("an index");
    if case.two_keys {
        relation.create_index("names", &[1], case.kind, Uniqueness::Unique).expect("an index");
    }
    let append = relation.begin_append(MergeKind::Copy);
    append.merge(0, buffers(&schema, case.before, &mut Arena::new(Memory::new(None), 1 << 20))).expect("memory");
    append.commit().expect("no duplicates");
    let what = format!(
        "{:?} {:?}, two keys: {}, {:?}, {:?}, {} threads, {} of {}",
        case.action,
        case.index,
        case.two_keys,
        case.kind,
        case.merge,
        case.threads,
        case.piece,
        case.load.len()
    );
    let keys: &[usize] = if case.two_keys { &[0, 1] } else { &[0] };
    let arbiters = match case.index {
        Some("names") => &[1],
        Some(_) => &[0],
        None => keys,
    };
    let expected = model(case.before, case.load, &case.action, arbiters, keys);
    let on = OnConflict { action: case.action.clone(), index: case.index.map(str::to_owned) };
    let mut transaction = relation.transactions().begin(Isolation::Serializable);
    let mut left_out = Vec::new();
    let tell = |clashes: &Clashes<'_>| {
        for clash in clashes.rows() {
            let column = usize::from(clashes.index_name(clash) == "names");
            let shown = match &case.load[clash.row as usize][column] {
                Cell::Integer(id) => format!("({id})"),
                Cell::Text(name) => format!("('{name}')"),
                other => panic!("{what}: {other:?} is shared"),
            };
            assert_eq!(clashes.key(clash), shown, "{what}");
            let holder = if let Holder::Append(row) = clash.holder { Some(row) } else { None };
            left_out.push((clash.row, holder));
        }
        Ok::<(), TransactionError>(())
    };
    let merged = if case.interleaved {
        let append = relation.begin_append_in(&mut transaction);
        fill(&append, &schema, case.load, case.threads, case.piece);
        append.finish(&on, tell).map(|(merged, _)| merged)
    } else {
        let append = merge(&relation, case.load, case.merge, case.threads, case.piece);
        append.commit_resolving(&mut transaction, &on, tell)
    };
    match (expected, merged) {
        (Some(expected), Ok(merged)) => {
            transaction.commit().expect("nobody else is there");
            assert_eq!((merged, &left_out), (expected.merged, &expected.left_out), "{what}");
            let found = rows_in(&relation.snapshot());
            if matches!(case.action, ConflictAction::Update(_)) {
                assert_eq!(sorted(found), sorted(expected.rows), "{what}");
            } else {
                assert_eq!(found, expected.rows, "{what}: in the order of the append");
            }
        }
        (None, Err(TransactionError::Duplicate { appended, .. })) => {
            assert!(appended.is_some(), "{what}: the rows are told");
            assert_eq!(rows_in(&transaction.snapshot(&relation)), case.before, "{what}: nothing is done");
            drop(transaction);
        }
        (expected, found) => panic!("{what}: {found:?}, but {:?} is expected", expected.map(|outcome| outcome.merged)),
    }
    let rows = rows_in(&relation.snapshot());
    let mut reader = relation.transactions().begin(Isolation::Snapshot);
    assert_eq!(pk.rows(), rows.len(), "{what}: the index has the rows that there are");
    for row in rows.iter().step_by(rows.len() / 50 + 1) {
        let Cell::Integer(id) = row[0] else { panic!("an id") };
        assert!(reader.find(&relation, &pk, &[Datum::I64(id)]).expect("a key").is_some(), "{what}: {id}");
    }
    let replayed = replayed(&log.records(), 1).into_values().next().expect("the relation");
    assert!(rows_by_id(&replayed.snapshot()) == rows_by_id(&relation.snapshot()), "{what}: the log says the same");
}

#[test]
fn appends_do_what_one_row_after_the_other_would_do() {
    let actions = [
        ConflictAction::Stop,
        ConflictAction::KeepFirst,
        ConflictAction::KeepLast,
        ConflictAction::Update(vec![0, 2, 3]),
    ];
    let mut random = Random::new(77);
    let mut turn = 0;
    // Few rows are put behind others; many become chunks. Few ids are many duplicates; with as many names as rows, most
    // violate the second key only now and then.
    for (before, count, ids) in
        [(0, 60, 20), (40, 200, 4000), (30, 200, 90), (2000, 9_000, 40_000), (500, 9_000, 6_000)]
    {
        let mut known: Vec<Row> = rows(&mut random, before, ids, 1_000_000);
        let mut seen = BTreeSet::new();
        known.retain(|row| seen.insert(format!("{:?}", row[0])) & seen.insert(format!("{:?}", row[1])));
        for action in &actions {
            for (two_keys, index) in
                [(false, None), (true, None), (true, Some("pk")), (true, Some("names")), (false, Some("pk"))]
            {
                let replaces = matches!(action, ConflictAction::KeepLast | ConflictAction::Update(_));
                if replaces && two_keys && index.is_none() {
                    continue;
                }
                turn += 1;
                let names = if index == Some("pk") { 100_000_000 } else { ids };
                let load = rows(&mut random, count, if index == Some("names") { 1 << 40 } else { ids }, names);
                let action = match action {
                    // Of the other key the values are what they were.
                    ConflictAction::Update(_) if index == Some("names") => ConflictAction::Update(vec![1, 2, 3]),
                    action => action.clone(),
                };
                check(&Case {
                    before: &known,
                    load: &load,
                    action,
                    index,
                    two_keys,
                    kind: [IndexKind::Art, IndexKind::Hash][turn % 2],
                    merge: [MergeKind::Chunk, MergeKind::Copy, MergeKind::Insert][turn % 3],
                    interleaved: turn % 5 == 0,
                    threads: [1, 2, 7][turn / 2 % 3],
                    piece: [17, 700, 2_500][turn % 3].max(count / 100),
                });
            }
        }
    }
}

/// The first row in the order of the append whose key is there is told, and who has the key.
#[test]
fn both_rows_of_a_key_are_told() {
    let schema = schema();
    let mut random = Random::new(5);
    for (count, kind) in [(100, MergeKind::Chunk), (20_000, MergeKind::Chunk), (20_000, MergeKind::Copy)] {
        for threads in [1, 3] {
            let relation = crate::support::relation(&schema);
            relation.create_index("pk", &[0], IndexKind::Art, Uniqueness::Unique).expect("an index");
            relation.create_index("names", &[1], IndexKind::Hash, Uniqueness::Unique).expect("an index");
            let mut load = rows(&mut random, count, 1, 1 << 40);
            load.iter_mut().zip(0..).for_each(|(row, id)| row[0] = Cell::Integer(id));
            let told = |load: &[Row]| {
                let append = merge(&relation, load, kind, threads, count / 12);
                match append.commit() {
                    Err(TransactionError::Duplicate { index, appended: Some(pair), .. }) => (index, *pair),
                    other => panic!("{other:?}"),
                }
            };
            let (early, late) = (count / 2, count - 3);
            load[late][0] = Cell::Integer(3);
            let (index, pair) = told(&load);
            assert_eq!((index.as_str(), pair.first, pair.second), ("pk", Holder::Append(3), late as u64));
            // A later key of an earlier row counts first, whatever the order of indexes.
            load[early][1] = Cell::Text("one".to_owned());
            load[9][1] = Cell::Text("one".to_owned());
            let (index, pair) = told(&load);
            assert_eq!((index.as_str(), pair.first, pair.second), ("names", Holder::Append(9), early as u64));
            let before = vec![vec![Cell::Integer(-1), Cell::Text("one".to_owned()), Cell::Null, Cell::Null]];
            merge(&relation, &before, MergeKind::Copy, 1, 1).commit().expect("no duplicates");
            let (index, pair) = told(&load);
            assert_eq!((index.as_str(), pair.second), ("names", 9));
            assert!(matches!(pair.first, Holder::Relation(_)), "{pair:?}");
            assert_eq!(relation.snapshot().rows(), 1);
        }
    }
}

/// An append that is merged as it comes is out of sight, takes its keys, and leaves nothing when it is given up.
#[test]
fn an_interleaved_append_is_part_of_its_transaction() {
    let schema = schema();
    let load: Vec<Row> = (0..20_000).map(|id| vec![Cell::Integer(id), Cell::Null, Cell::Null, Cell::Null]).collect();
    for kind in [IndexKind::Art, IndexKind::Hash] {
        let relation = crate::support::relation(&schema);
        let pk = relation.create_index("pk", &[0], kind, Uniqueness::Unique).expect("an index");
        for gives_up in [true, false] {
            let mut transaction = relation.transactions().begin(Isolation::Serializable);
            let append = relation.begin_append_in(&mut transaction);
            fill(&append, &schema, &load, 3, 1_500);
            assert_eq!((pk.rows(), relation.snapshot().rows()), (20_000, 0), "others do not see it");
            let mut other = relation.transactions().begin(Isolation::Serializable);
            let row = |id| [Datum::I64(id), Datum::Null, Datum::Null, Datum::Null];
            let error = other.insert(&relation, &row(17)).expect_err("the key is taken");
            assert!(error.is_conflict(), "{error}");
            drop(other);
            if gives_up {
                drop(append);
                assert_eq!((pk.rows(), transaction.has_written()), (0, false));
                transaction.commit().expect("nothing is done");
                assert_eq!(relation.snapshot().rows(), 0);
            } else {
                let tell = |_: &Clashes<'_>| Ok::<(), TransactionError>(());
                let (merged, _) = append.finish(&OnConflict::stop(), tell).expect("no duplicates");
                assert_eq!(merged, Merged { inserted: 20_000, ..Merged::default() });
                transaction.commit().expect("nobody is in the way");
                assert_eq!(rows_in(&relation.snapshot()), load, "in the order of the append");
            }
        }
    }
}

/// Keys that another transaction is about to insert or delete are conflicts, not duplicates.
#[test]
fn keys_of_other_transactions_are_conflicts() {
    let schema = schema();
    let row = |id: i64| vec![Cell::Integer(id), Cell::Null, Cell::Null, Cell::Null];
    for action in [ConflictAction::KeepFirst, ConflictAction::KeepLast, ConflictAction::Update(vec![2])] {
        let relation = crate::support::relation(&schema);
        let pk = relation.create_index("pk", &[0], IndexKind::Art, Uniqueness::Unique).expect("an index");
        merge(&relation, &[row(1), row(2)], MergeKind::Copy, 1, 10).commit().expect("no duplicates");
        let on = OnConflict { action, index: None };
        let load = |ids: &[i64]| {
            let rows: Vec<Row> = ids.iter().map(|&id| row(id)).collect();
            let append = merge(&relation, &rows, MergeKind::Chunk, 1, 10);
            let mut transaction = relation.transactions().begin(Isolation::Serializable);
            let merged = append.commit_resolving(&mut transaction, &on, |_| Ok::<(), TransactionError>(()))?;
            transaction.commit()?;
            Ok::<Merged, TransactionError>(merged)
        };
        let mut other = relation.transactions().begin(Isolation::Serializable);
        other.insert(&relation, &[Datum::I64(7), Datum::Null, Datum::Null, Datum::Null]).expect("a row");
        let gone = other.find(&relation, &pk, &[Datum::I64(2)]).expect("a key").expect("it is there");
        other.delete(&relation, gone).expect("it is there");
        for ids in [[1, 7], [1, 2]] {
            let error = load(&ids).expect_err("it is another's");
            assert!(matches!(error, TransactionError::Conflict { kind: ConflictKind::Uncommitted(_), .. }), "{error}");
        }
        other.commit().expect("nobody is in the way");
        let merged = load(&[2, 7, 2]).expect("they are there now, or not");
        assert_eq!((merged.inserted, merged.left_out + merged.updated), (1, 2), "{on:?}");
    }
}

/// What a load leaves out because of a row, it has read: the row must still be there when it commits.
#[test]
fn a_row_that_keeps_others_out_was_read() {
    let schema = schema();
    let row = |id: i64| vec![Cell::Integer(id), Cell::Null, Cell::Null, Cell::Null];
    let relation = crate::support::relation(&schema);
    let pk = relation.create_index("pk", &[0], IndexKind::Art, Uniqueness::Unique).expect("an index");
    merge(&relation, &[row(1), row(2)], MergeKind::Copy, 1, 10).commit().expect("no duplicates");
    let mut transaction = relation.transactions().begin(Isolation::Serializable);
    let append = merge(&relation, &[row(1), row(3)], MergeKind::Chunk, 1, 10);
    let on = OnConflict { action: ConflictAction::KeepFirst, index: None };
    append.commit_resolving(&mut transaction, &on, |_| Ok::<(), TransactionError>(())).expect("row 1 is left out");
    let mut other = relation.transactions().begin(Isolation::Snapshot);
    let gone = other.find(&relation, &pk, &[Datum::I64(1)]).expect("a key").expect("it is there");
    other.delete(&relation, gone).expect("nobody is in the way");
    other.commit().expect("nobody is in the way");
    assert!(transaction.commit().is_err(), "the row is gone that kept another one out");
}
