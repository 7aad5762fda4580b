//! Texts that are compressed when their chunk is frozen, and what becomes of them.

use std::sync::Arc;

use longshore_storage::{
    Arena, Column, ColumnRange, ColumnType, Datum, Direction, Field, Freeze, IndexKind, Isolation, Memory, MergeKind,
    PackedAs, Relation, RowId, Schema, Transactions, Uniqueness,
};
use longshore_testing::Random;

use crate::support::{Cell, Row, buffers, rows_in};

/// Rows of a relation: enough for a load to pack them.
const ROWS: i64 = 10_000;

struct Notes {
    transactions: Arc<Transactions>,
    relation: Relation,
    note: Field<&'static str>,
}

fn note(row: i64) -> String {
    format!("the {row}th of the notes that everybody writes: größer")
}

impl Notes {
    /// Texts that were loaded, one of them NULL, one empty.
    fn new(count: i64) -> Notes {
        let schema = Arc::new(Schema::new(vec![
            Column::new("id", ColumnType::BigInt, false),
            Column::new("note", ColumnType::Text, true),
            Column::new("bytes", ColumnType::Bytea, true),
        ]));
        let transactions = Transactions::new();
        let relation = Relation::in_database(schema, Memory::new(None), &transactions).with_name("notes");
        let rows = rows(count);
        let mut arena = Arena::new(Arc::clone(relation.memory()), 1 << 20);
        let append = relation.begin_append(MergeKind::Chunk);
        append.merge(0, buffers(relation.schema(), &rows, &mut arena)).unwrap();
        append.commit().unwrap();
        Notes { note: relation.column("note").unwrap(), transactions, relation }
    }

    fn freeze(&self, scope: Freeze) -> usize {
        self.relation.freeze(scope, 1, &|| false).unwrap()
    }

    fn packed_as(&self, column: usize) -> Option<PackedAs> {
        self.relation.snapshot().pieces()[0].chunk().packed(column).map(|packed| packed.packed_as())
    }

    fn row(&self, row: i64) -> RowId {
        self.relation.snapshot().pieces()[0].row_id(row as usize)
    }
}

fn rows(count: i64) -> Vec<Row> {
    let mut random = Random::new(3);
    let row = |id: i64| {
        let text = match id {
            7 => Cell::Null,
            8 => Cell::Text(String::new()),
            id => Cell::Text(note(id)),
        };
        vec![Cell::Integer(id), text, Cell::Bytes((0..20).map(|_| random.next() as u8).collect())]
    };
    (0..count).map(row).collect()
}

#[test]
fn freezing_compresses_what_a_load_has_packed() {
    let notes = Notes::new(ROWS);
    assert_eq!((notes.packed_as(1), notes.packed_as(2)), (Some(PackedAs::Texts), Some(PackedAs::Texts)));
    let before = notes.relation.snapshot();
    assert_eq!(notes.freeze(Freeze::Unchanged), 0, "nobody knows what it was before");
    assert_eq!(notes.freeze(Freeze::Unchanged), 1);
    assert_eq!((notes.packed_as(1), notes.packed_as(2)), (Some(PackedAs::Fsst), Some(PackedAs::Texts)));
    let frozen = notes.relation.snapshot();
    assert_eq!(rows_in(&frozen), rows(ROWS));
    assert_eq!(rows_in(&before), rows(ROWS), "who reads keeps what he has");
    assert!(frozen.bytes() * 4 < before.bytes() * 3, "{} of {}", frozen.bytes(), before.bytes());
    assert_eq!(frozen.bytes_if_plain(), before.bytes_if_plain());
    // Nothing is left to gain, and what did not pay is not tried again.
    assert_eq!((notes.freeze(Freeze::All), notes.freeze(Freeze::All)), (0, 0));
}

#[test]
fn what_was_loaded_is_given_back() {
    let notes = Notes::new(15 * ROWS);
    let loaded = notes.relation.memory().used();
    assert_eq!(notes.freeze(Freeze::All), 3);
    let frozen = notes.relation.memory().used();
    assert!(frozen * 4 < loaded * 3, "{frozen} of {loaded}, for {}", notes.relation.snapshot().bytes());
}

#[test]
fn compressed_texts_are_read_and_changed() {
    let notes = Notes::new(ROWS);
    let pk = notes.relation.create_index("by_note", &[1], IndexKind::Art, Uniqueness::Multiple).unwrap();
    let hash = notes.relation.create_index("note", &[1, 0], IndexKind::Hash, Uniqueness::Unique).unwrap();
    assert_eq!(notes.freeze(Freeze::All), 1);
    let later = notes.relation.create_index("later", &[1], IndexKind::Hash, Uniqueness::Multiple).unwrap();
    let mut old = notes.transactions.begin(Isolation::Serializable);
    let mut reader = notes.transactions.begin(Isolation::Serializable);
    {
        let mut row = reader.read(&notes.relation, notes.row(5)).unwrap();
        assert_eq!(row.text(notes.note), Some(&*note(5)));
        assert_eq!(row.text(notes.note), Some(&*note(5)), "again");
    }
    assert_eq!(reader.read(&notes.relation, notes.row(7)).unwrap().text(notes.note), None);
    assert_eq!(reader.read(&notes.relation, notes.row(8)).unwrap().text(notes.note), Some(""));
    let found = reader.find(&notes.relation, &later, &[Datum::Text(&note(9))]).unwrap();
    assert_eq!(found, Some(notes.row(9)));
    let text = note(11);
    let key = [Datum::Text(&text), Datum::I64(11)];
    assert_eq!(reader.find(&notes.relation, &hash, &key).unwrap(), Some(notes.row(11)));
    let mut seen = Vec::new();
    let (low, high) = ([Datum::Text("the 199")], [Datum::Text("the 1992th")]);
    let range = &low[..]..&high[..];
    reader
        .range(&notes.relation, &pk, range, Direction::Forward, |t, row| {
            t.get_datum(&notes.relation, row, 1, |value| seen.push(format!("{value:?}")))?;
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
    assert_eq!(seen.len(), 2, "{seen:?}");
    let mut scanned = 0;
    reader
        .scan(&notes.relation, &[ColumnRange::equal(1, &*note(500))], |_, row| {
            scanned += 1;
            assert_eq!(row, notes.row(500));
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
    assert_eq!(scanned, 1);
    reader.commit().unwrap();
    assert_eq!(notes.packed_as(1), Some(PackedAs::Fsst), "reading changes nothing");

    // A key is changed: its old one is taken from the indexes, which has to be decompressed.
    let mut writer = notes.transactions.begin(Isolation::Serializable);
    let moved = writer.update(&notes.relation, notes.row(11), &[(1, Datum::Text("another note"))]).unwrap();
    assert!(writer.edit(&notes.relation, notes.row(12)).unwrap().text(notes.note).is_some());
    writer.commit().unwrap();
    assert_eq!(notes.packed_as(1), None, "the row was inserted again where there was room");
    assert_eq!(old.find(&notes.relation, &hash, &key).unwrap(), Some(notes.row(11)), "as it was for who began before");
    let mut text = String::new();
    assert!(old.get_text(&notes.relation, notes.row(11), notes.note, &mut text).unwrap());
    assert_eq!(text, note(11));
    drop(old);
    let mut after = notes.transactions.begin(Isolation::Serializable);
    assert_eq!(after.find(&notes.relation, &hash, &key).unwrap(), None);
    text.clear();
    assert!(after.get_text(&notes.relation, moved, notes.note, &mut text).unwrap());
    assert_eq!(text, "another note");
    drop(after);
    assert_eq!(notes.freeze(Freeze::All), 1);
    assert_eq!(notes.packed_as(1), Some(PackedAs::Fsst));
}

#[test]
fn compressed_texts_are_changed_in_place() {
    let notes = Notes::new(ROWS);
    assert_eq!(notes.freeze(Freeze::All), 1);
    let before = notes.relation.snapshot();
    let mut writer = notes.transactions.begin(Isolation::Serializable);
    writer.set(&notes.relation, notes.row(12), notes.note, "another note").unwrap();
    writer.commit().unwrap();
    assert_eq!(notes.packed_as(1), None, "a column that changes is plain");
    let mut expected = rows(ROWS);
    assert_eq!(rows_in(&before), expected);
    expected[12][1] = Cell::Text("another note".to_owned());
    assert_eq!(rows_in(&notes.relation.snapshot()), expected);
    assert_eq!(notes.freeze(Freeze::All), 1);
    assert_eq!(notes.packed_as(1), Some(PackedAs::Fsst));
    assert_eq!(rows_in(&notes.relation.snapshot()), expected);
}
