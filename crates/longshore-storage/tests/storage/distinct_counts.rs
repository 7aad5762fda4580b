//! Counts of distinct values against exact ones, whatever the types, the encodings and the ways of the rows.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryViewArray, Int64Array, RecordBatch, StringViewArray};
use longshore_storage::{
    Arena, Column, ColumnType, Datum, Freeze, Isolation, MergeKind, PackedAs, PartitionBuffer, Relation, Schema,
    Snapshot, Storage, TimeType, Uuid, wrap,
};
use longshore_testing::Random;

use crate::support::{Cell, Row, all_types, array_of, buffers, interval, list, numeric, relation, timetz};

/// Of more values than this, the count is an estimate.
const EXACT_MAX: usize = 512;

/// The standard error of such an estimate, five times.
const TOLERANCE: f64 = 5.0 * 0.01625;

/// A value of a column by its number: others for other numbers, as far as the type has so many.
fn nth(column_type: ColumnType, number: usize) -> Cell {
    // Extremes come first.
    let whole = |min: i64, max: i64| match number {
        0 => Cell::Integer(min),
        1 => Cell::Integer(max),
        _ => Cell::Integer(number as i64 - 1000),
    };
    let text = |length_max: usize| {
        let long = if number.is_multiple_of(3) { "the same beginning of many " } else { "" };
        let text = if number == 0 { String::new() } else { format!("{long}{number:x}") };
        Cell::Text(text.chars().take(length_max).collect())
    };
    match column_type {
        ColumnType::Boolean => Cell::Boolean(number.is_multiple_of(2)),
        ColumnType::SmallInt => whole(i16::MIN.into(), i16::MAX.into()),
        ColumnType::Integer => whole(i32::MIN.into(), i32::MAX.into()),
        ColumnType::Date => whole(-1000, 1_000_000),
        ColumnType::BigInt => whole(i64::MIN, i64::MAX),
        ColumnType::Time => Cell::Integer(number as i64 * 1_000_000),
        ColumnType::Interval | ColumnType::Rounded(TimeType::Interval, _) => interval(number as i64),
        ColumnType::Timestamp | ColumnType::TimestampTz | ColumnType::Rounded(..) => {
            Cell::Integer(number as i64 * 60_000_000)
        }
        ColumnType::Real => Cell::Float(f64::from(number as f32 / 4.0).to_bits()),
        ColumnType::Double => Cell::Float((number as f64 / 7.0).to_bits()),
        ColumnType::Decimal { precision: 15, .. } => Cell::Decimal(number as i128 * 25 - 99_999),
        ColumnType::Decimal { .. } => Cell::Decimal(((number as i128) << 70) + number as i128),
        ColumnType::Char(_) => {
            let letter = |at: u32| char::from(b'a' + (number / 26_usize.pow(at) % 26) as u8);
            Cell::Text((0..3).map(letter).collect())
        }
        ColumnType::Varchar(length) => text(length as usize),
        ColumnType::Text => text(1000),
        ColumnType::Uuid => Cell::Uuid(Uuid((number as u128).to_be_bytes())),
        ColumnType::Bytea => Cell::Bytes(if number == 0 { Vec::new() } else { vec![7; number % 50 + 1] }),
        ColumnType::Numeric(limit) => match number {
            0 => numeric("NaN", limit),
            _ => numeric(&format!("{number}e{}", number % 15), limit),
        },
        ColumnType::Json | ColumnType::Jsonb => match text(1000) {
            Cell::Text(text) => Cell::Text(format!("{{\"a\": {text:?}}}")),
            other => other,
        },
        ColumnType::Array(element, dimensions) => {
            let elements: ArrayRef = match element {
                ColumnType::BigInt => Arc::new(Int64Array::from(vec![None, Some(number as i64)])),
                _ => Arc::new(StringViewArray::from(vec![format!("{number:x}"); number % 5 + 1])),
            };
            let one = list(elements);
            if dimensions == 1 {
                return Cell::Bytes(one);
            }
            Cell::Bytes(list(wrap(array_of(*element, 1), Arc::new(BinaryViewArray::from(vec![one.as_slice()])))))
        }
        ColumnType::TimeTz => timetz(number as i64),
    }
}

/// Rows of which each column has one of so many values or is NULL.
fn rows_of_few_values(random: &mut Random, schema: &Schema, distinct: usize, first_id: i64, count: usize) -> Vec<Row> {
    let cell = |random: &mut Random, column: &Column, id: i64| match column.name.as_str() {
        "id" => Cell::Integer(id),
        _ if random.once_in(10) => Cell::Null,
        _ => nth(column.column_type, random.below(distinct)),
    };
    let ids = first_id..first_id + count as i64;
    ids.map(|id| schema.columns().iter().map(|column| cell(random, column, id)).collect()).collect()
}

fn append(relation: &Relation, kind: MergeKind, rows: &[Row]) {
    let mut arena = Arena::new(Arc::clone(relation.memory()), 1 << 20);
    let append = relation.begin_append(kind);
    append.merge(0, buffers(relation.schema(), rows, &mut arena)).unwrap();
    append.commit().unwrap();
}

fn check(snapshot: &Snapshot, rows: &[Row]) {
    for (at, column) in snapshot.schema().columns().iter().enumerate() {
        let values = rows.iter().map(|row| &row[at]).filter(|cell| **cell != Cell::Null);
        let exact = values.map(|cell| format!("{cell:?}")).collect::<HashSet<_>>().len();
        let estimate = snapshot.distinct_count(at);
        if exact <= EXACT_MAX {
            assert_eq!(estimate, exact as u64, "{}", column.column_type);
        } else {
            let error = estimate as f64 / exact as f64 - 1.0;
            assert!(error.abs() < TOLERANCE, "{}: {estimate} instead of {exact}", column.column_type);
        }
    }
}

#[test]
fn counts_are_near_the_exact_ones_for_every_type() {
    let schema = all_types();
    for (distinct, count) in [(1, 40), (2, 3000), (10, 3000), (200, 20_000), (500, 20_000), (17_000, 20_000)] {
        let mut random = Random::new(distinct as u64);
        let relation = relation(&schema);
        let mut all = Vec::new();
        for (storage, kind) in [
            (Storage::Packed, MergeKind::Chunk),
            (Storage::Plain, MergeKind::Copy),
            (Storage::Packed, MergeKind::Insert),
            (Storage::Plain, MergeKind::Chunk),
        ] {
            relation.set_storage(storage);
            let rows = rows_of_few_values(&mut random, &schema, distinct, all.len() as i64, count / 4);
            append(&relation, kind, &rows);
            all.extend(rows);
            check(&relation.snapshot(), &all);
        }
        relation.freeze(Freeze::All, 1, &|| false).unwrap();
        check(&relation.snapshot(), &all);
    }
}

/// Appends a chunk of its own that has these values, some of them again.
fn append_chunk(relation: &Relation, values: ArrayRef) {
    let batch = RecordBatch::try_new(relation.schema().arrow(), vec![values]).unwrap();
    let mut arena = Arena::new(Arc::clone(relation.memory()), 1 << 20);
    let append = relation.begin_append(MergeKind::Chunk);
    append.merge(0, PartitionBuffer::from_batch(relation.schema(), &batch, &mut arena).unwrap()).unwrap();
    append.commit().unwrap();
}

fn encodings(snapshot: &Snapshot) -> HashSet<Option<PackedAs>> {
    let packed = snapshot.pieces().iter().map(|piece| piece.chunk().packed(0).map(|packed| packed.packed_as()));
    packed.collect()
}

fn of_one_column(column_type: ColumnType) -> Relation {
    relation(&Arc::new(Schema::new(vec![Column::new("c", column_type, true)])))
}

#[test]
fn equal_numbers_of_different_encodings_count_once() {
    for column_type in [ColumnType::BigInt, ColumnType::Timestamp] {
        let relation = of_one_column(column_type);
        let mut values = BTreeSet::new();
        let mut append = |relation: &Relation, of: &dyn Fn(i64) -> i64| {
            // Too many rows to lie with those of another chunk.
            let column: Vec<i64> = (0..18_000).map(of).collect();
            values.extend(column.iter().copied());
            let array: ArrayRef = Arc::new(Int64Array::from(column));
            append_chunk(
                relation,
                arrow_array::make_array(array.to_data().into_builder().data_type(column_type.arrow()).build().unwrap()),
            );
        };
        let nth = |number: i64| number * number * 3 + number;
        append(&relation, &|_| nth(7));
        append(&relation, &|row| nth(row % 10));
        append(&relation, &|row| nth(row % 100));
        append(&relation, &|row| nth(row % 257));
        append(&relation, &|row| row % 257);
        append(&relation, &|row| if row % 2 == 0 { i64::MIN } else { nth(row % 60) });
        relation.set_storage(Storage::Plain);
        append(&relation, &|row| if row % 2 == 0 { i64::MAX } else { nth(row % 60) });
        let snapshot = relation.snapshot();
        let expected = [
            PackedAs::Constant,
            PackedAs::Offset(1),
            PackedAs::Offset(2),
            PackedAs::Offset(4),
            PackedAs::Dictionary(1),
        ];
        let expected = expected.into_iter().map(Some).chain([None]).collect();
        assert_eq!(encodings(&snapshot), expected);
        assert_eq!(snapshot.distinct_count(0), values.len() as u64);
        assert!((400..=EXACT_MAX).contains(&values.len()), "{}", values.len());
    }
}

#[test]
fn equal_texts_of_different_encodings_count_once() {
    let relation = of_one_column(ColumnType::Text);
    let text = |number: usize| match number % 3 {
        0 => format!("{number}"),
        1 => format!("a text that is too long for a view: {number}"),
        _ => format!("twelve{number:06}"),
    };
    let append = |relation: &Relation, rows: usize, of: &dyn Fn(usize) -> String| {
        append_chunk(relation, Arc::new((0..rows).map(|row| Some(of(row))).collect::<StringViewArray>()));
    };
    append(&relation, 9000, &|_| text(1));
    append(&relation, 9000, &|row| text(row % 200));
    append(&relation, 9000, &|row| text(row % 400));
    // So few rows that no dictionary pays.
    append(&relation, 400, &text);
    relation.set_storage(Storage::Plain);
    append(&relation, 9000, &|row| text(row % 300));
    let snapshot = relation.snapshot();
    assert_eq!(snapshot.distinct_count(0), 400);
    assert!(encodings(&snapshot).len() >= 3, "{:?}", encodings(&snapshot));
    assert!(snapshot.pieces().iter().any(|piece| piece.chunk().packed(0).is_none()));
}

#[test]
fn floats_that_are_equal_in_sql_count_once() {
    for column_type in [ColumnType::Real, ColumnType::Double] {
        let relation = of_one_column(column_type);
        let floats = [0.0, -0.0, f64::NAN, -f64::NAN, 1.5, f64::INFINITY];
        let rows: Vec<Row> = (0..600).map(|row| vec![Cell::Float(floats[row % floats.len()].to_bits())]).collect();
        append(&relation, MergeKind::Chunk, &rows);
        assert_eq!(relation.snapshot().distinct_count(0), 4);
    }
}

#[test]
fn a_large_table_is_told_by_a_sample() {
    const CHUNKS: usize = 8;
    const ROWS: usize = 65_536;
    let columns = ["key", "parent", "few", "any", "runs"].map(|name| Column::new(name, ColumnType::BigInt, true));
    let schema = Arc::new(Schema::new(columns.to_vec()));
    let relation = relation(&schema);
    let mut random = Random::new(3);
    let mut exact = vec![HashSet::new(); schema.columns().len()];
    for chunk in 0..CHUNKS {
        let ids = (chunk * ROWS) as i64..((chunk + 1) * ROWS) as i64;
        let mut columns: Vec<Vec<i64>> = vec![Vec::new(); schema.columns().len()];
        for id in ids {
            let row = [id, id / 4, random.below(7) as i64, random.below(20_000) as i64, id / 3000];
            row.iter().zip(&mut columns).for_each(|(value, column)| column.push(*value));
        }
        columns.iter().zip(&mut exact).for_each(|(column, exact)| exact.extend(column.iter().copied()));
        let arrays = columns.into_iter().map(|column| Arc::new(Int64Array::from(column)) as ArrayRef).collect();
        let batch = RecordBatch::try_new(schema.arrow(), arrays).unwrap();
        let mut arena = Arena::new(Arc::clone(relation.memory()), 1 << 20);
        let append = relation.begin_append(MergeKind::Chunk);
        append.merge(0, PartitionBuffer::from_batch(&schema, &batch, &mut arena).unwrap()).unwrap();
        append.commit().unwrap();
    }
    let snapshot = relation.snapshot();
    for (at, exact) in exact.iter().enumerate() {
        let (name, exact) = (&schema.columns()[at].name, exact.len() as f64);
        let estimate = snapshot.distinct_count(at) as f64;
        // Runs are met in part: a stretch has two or three of them.
        let tolerance = if name == "runs" { 0.8 } else { TOLERANCE };
        assert!((estimate / exact - 1.0).abs() < tolerance, "{name}: {estimate} instead of {exact}");
    }
    assert_eq!(snapshot.distinct_count(2), 7);
}

#[test]
fn counts_are_those_of_the_rows_that_are_seen() {
    let schema = Arc::new(Schema::new(vec![
        Column::new("id", ColumnType::BigInt, false),
        Column::new("n", ColumnType::Integer, true),
    ]));
    let relation = relation(&schema);
    let counts = |snapshot: &Snapshot| [snapshot.distinct_count(0), snapshot.distinct_count(1)];
    assert_eq!(counts(&relation.snapshot()), [0, 0], "no rows");

    let mut transaction = relation.transactions().begin(Isolation::Serializable);
    let rows: Vec<_> = (0..500)
        .map(|id| transaction.insert(&relation, &[Datum::I64(id), Datum::I32(id as i32 % 10)]).unwrap())
        .collect();
    assert_eq!(counts(&relation.snapshot()), [0, 0], "rows of another transaction");
    assert_eq!(counts(&relation.snapshot_at(transaction.view())), [500, 10], "its own rows");
    transaction.commit().unwrap();
    let before = relation.snapshot();
    assert_eq!(counts(&before), [500, 10]);

    let n = relation.column::<i32>("n").unwrap();
    let mut transaction = relation.transactions().begin(Isolation::Serializable);
    rows[..250].iter().for_each(|&row| transaction.delete(&relation, row).unwrap());
    rows[250..].iter().for_each(|&row| transaction.set(&relation, row, n, 4).unwrap());
    transaction.commit().unwrap();
    assert_eq!(counts(&relation.snapshot()), [250, 1]);
    assert_eq!(counts(&before), [500, 10], "who looked before sees what he saw");

    let mut transaction = relation.transactions().begin(Isolation::Serializable);
    rows[252..].iter().for_each(|&row| transaction.delete(&relation, row).unwrap());
    transaction.commit().unwrap();
    assert_eq!(counts(&relation.snapshot()), [2, 1]);
    relation.truncate().unwrap();
    assert_eq!(counts(&relation.snapshot()), [0, 0]);
}

#[test]
fn a_count_is_never_more_than_there_are_values() {
    let relation = of_one_column(ColumnType::Integer);
    let nulls: Vec<Row> = vec![vec![Cell::Null]; 5000];
    append(&relation, MergeKind::Chunk, &nulls);
    assert_eq!(relation.snapshot().distinct_count(0), 0);
    append(&relation, MergeKind::Insert, &[vec![Cell::Integer(0)]]);
    assert_eq!(relation.snapshot().distinct_count(0), 1);
    let some: Vec<Row> = (0..3000).map(Cell::Integer).map(|cell| vec![cell]).collect();
    append(&relation, MergeKind::Chunk, &some);
    assert!((2800..=3001).contains(&relation.snapshot().distinct_count(0)));
}
