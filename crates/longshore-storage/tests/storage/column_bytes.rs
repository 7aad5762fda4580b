//! What columns take of memory, packed and plain.

use std::sync::Arc;

use longshore_storage::{
    Arena, CHUNK_ROWS_MAX, Column, ColumnBytes, ColumnType, Datum, Freeze, Isolation, MergeKind, NewColumn, PackedAs,
    Relation, Schema, Snapshot, Storage,
};
use longshore_testing::Random;

use crate::support::{Row, all_types, buffers, random_rows, relation};

fn append(relation: &Relation, rows: &[Row]) {
    let mut arena = Arena::new(Arc::clone(relation.memory()), 1 << 20);
    let append = relation.begin_append(MergeKind::Chunk);
    append.merge(0, buffers(relation.schema(), rows, &mut arena)).unwrap();
    append.commit().unwrap();
}

/// What each column takes, of all chunks. It is what the chunks say of themselves.
fn column_bytes(snapshot: &Snapshot) -> Vec<ColumnBytes> {
    let mut columns = vec![ColumnBytes::default(); snapshot.schema().columns().len()];
    for piece in snapshot.pieces() {
        let of_chunk = piece.chunk().column_bytes();
        assert_eq!(of_chunk.iter().map(|column| column.stored).sum::<usize>(), piece.chunk().bytes());
        assert_eq!(of_chunk.iter().map(|column| column.if_plain).sum::<usize>(), piece.chunk().bytes_if_plain());
        for (sum, column) in columns.iter_mut().zip(of_chunk) {
            sum.stored += column.stored;
            sum.if_plain += column.if_plain;
        }
    }
    columns
}

#[test]
fn packed_columns_tell_what_plain_ones_take() {
    let schema = all_types();
    let rows = random_rows(&mut Random::new(5), &schema, 0, CHUNK_ROWS_MAX + 20_000);
    let (packed, plain) = (relation(&schema), relation(&schema));
    plain.set_storage(Storage::Plain);
    append(&packed, &rows);
    append(&plain, &rows);
    let (packed, plain) = (packed.snapshot(), plain.snapshot());
    assert_eq!(packed.bytes_if_plain(), plain.bytes());
    assert_eq!(plain.bytes_if_plain(), plain.bytes());
    for ((column, packed), plain) in column_bytes(&packed).iter().enumerate().zip(column_bytes(&plain)) {
        let name = &schema.columns()[column].name;
        assert_eq!((packed.if_plain, plain.stored), (plain.if_plain, plain.if_plain), "{name}");
        assert!(packed.stored <= packed.if_plain, "{name}: {packed:?}");
    }
    assert!(packed.bytes() * 10 < plain.bytes() * 9, "{} of {}", packed.bytes(), plain.bytes());
}

#[test]
fn columns_with_texts_share_the_heap_by_what_they_have_of_it() {
    let schema = Arc::new(Schema::new(vec![
        Column::new("id", ColumnType::BigInt, false),
        Column::new("one", ColumnType::Text, false),
        Column::new("other", ColumnType::Text, false),
    ]));
    let relation = Arc::new(relation(&schema));
    let mut transaction = relation.transactions().begin(Isolation::Snapshot);
    let (long, longer) = ("a".repeat(100), "b".repeat(300));
    let row = transaction.insert(&relation, &[Datum::I64(1), Datum::Text(&long), Datum::Text(&longer)]).unwrap();
    transaction.insert(&relation, &[Datum::I64(2), Datum::Text("short"), Datum::Text("short")]).unwrap();
    transaction.commit().unwrap();
    let stored = |relation: &Relation| -> Vec<usize> {
        column_bytes(&relation.snapshot()).iter().map(|column| column.stored).collect()
    };
    assert_eq!(stored(&relation), [2 * 8, 2 * 16 + 100, 2 * 16 + 300]);

    // Texts that were replaced stay, and count to those that have texts there.
    let mut transaction = relation.transactions().begin(Isolation::Snapshot);
    transaction.update(&relation, row, &[(2, Datum::Text("short now"))]).unwrap();
    transaction.commit().unwrap();
    assert_eq!(stored(&relation), [2 * 8, 2 * 16 + 400, 2 * 16]);

    // Rows of one text share it.
    let text = "this is the text of all rows";
    let columns = [&schema.columns()[..1], &[Column::new("added", ColumnType::Text, false)]].concat();
    let sources = [NewColumn::Kept(0), NewColumn::Filled(Datum::Text(text))];
    let alteration = relation.begin_alteration(std::time::Duration::from_secs(1)).unwrap();
    let altered = alteration.reshape("t", &Arc::new(Schema::new(columns)), &sources, &[]).unwrap();
    let added = stored(&altered)[1];
    assert!((2 * 16 + text.len()..2 * 16 + 2 * text.len()).contains(&added), "{added}");
}

#[test]
fn freezing_gives_up_what_nobody_has() {
    let schema = Arc::new(Schema::new(vec![Column::new("text", ColumnType::Text, false)]));
    let relation = relation(&schema);
    let mut transaction = relation.transactions().begin(Isolation::Snapshot);
    for _ in 0..1000 {
        let row = transaction.insert(&relation, &[Datum::Text("this text is replaced by another")]).unwrap();
        transaction.update(&relation, row, &[(0, Datum::Text("one text for all of them"))]).unwrap();
    }
    transaction.commit().unwrap();
    let [before] = column_bytes(&relation.snapshot())[..] else { panic!("one column") };
    assert!(before.stored > 1000 * (16 + 24) && before.stored == before.if_plain, "{before:?}");
    assert_eq!(relation.freeze(Freeze::All, 1, &|| false).unwrap(), 1);
    let snapshot = relation.snapshot();
    assert_eq!(column_bytes(&snapshot), [ColumnBytes { stored: 24, if_plain: 1000 * (16 + 24) }]);
    let packed = snapshot.pieces()[0].chunk().packed(0).unwrap();
    assert_eq!((packed.packed_as(), packed.packed_as().to_string().as_str()), (PackedAs::Constant, "constant"));
}
