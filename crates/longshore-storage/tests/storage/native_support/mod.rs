//! Relations for the tests of the native format, and the means to compare them.

#![allow(dead_code, reason = "every test binary uses a part of this")]

use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int16Array,
    Int32Array, Int64Array, RecordBatch, StringViewArray, Time64MicrosecondArray, TimestampMicrosecondArray,
};
use longshore_storage::checksum::checksum;
use longshore_storage::native::{self, NativeError, NativeReport};
use longshore_storage::{
    Arena, Column, ColumnType, Memory, MergeKind, PartitionBuffer, Relation, Schema, Storage, TimeType, lists, wrap,
};
use longshore_testing::Random;

use crate::support::{Cell, array_of, interval, list, numeric, random_elements, random_json, random_number, timetz};

/// A column of every type; all but the last may be NULL.
pub(crate) fn every_type() -> Arc<Schema> {
    let types = [
        ColumnType::Boolean,
        ColumnType::SmallInt,
        ColumnType::Integer,
        ColumnType::BigInt,
        ColumnType::Real,
        ColumnType::Double,
        ColumnType::Decimal { precision: 15, scale: 2 },
        ColumnType::Decimal { precision: 38, scale: 10 },
        ColumnType::Char(10),
        ColumnType::Varchar(44),
        ColumnType::Text,
        ColumnType::Date,
        ColumnType::Time,
        ColumnType::Timestamp,
        ColumnType::TimestampTz,
        ColumnType::Uuid,
        ColumnType::Bytea,
        ColumnType::Numeric(None),
        ColumnType::Json,
        ColumnType::Jsonb,
        ColumnType::TimeTz,
        ColumnType::Interval,
        ColumnType::Rounded(TimeType::Interval, 3),
        array_of(ColumnType::BigInt, 1),
        array_of(ColumnType::Text, 2),
    ];
    let mut columns: Vec<Column> =
        types.iter().enumerate().map(|(n, column_type)| Column::new(format!("c{n}"), *column_type, true)).collect();
    columns.push(Column::new("key", ColumnType::BigInt, false));
    Arc::new(Schema::new(columns))
}

/// `None` once in `one_in` times, never if that is 0.
fn nullable<T>(random: &mut Random, one_in: usize, value: T) -> Option<T> {
    if one_in > 0 && random.below(one_in) == 0 { None } else { Some(value) }
}

pub(crate) fn random_text(random: &mut Random, len_max: usize) -> String {
    const CHARACTERS: [char; 8] = ['a', 'e', ' ', 'ß', '京', 'z', '9', '🦀'];
    (0..random.below(len_max + 1)).map(|_| random.pick(&CHARACTERS)).collect()
}

fn bytes_of(cell: Cell) -> Vec<u8> {
    match cell {
        Cell::Bytes(bytes) => bytes,
        other => panic!("{other:?} is no bytes"),
    }
}

/// `rows` rows of `every_type`; one value in `null_one_in` is NULL.
pub(crate) fn random_batch(rows: usize, seed: u64, null_one_in: usize) -> RecordBatch {
    let mut random = Random::new(seed);
    let decimal_max = 10_i128.pow(15) - 1;
    let mut columns: Vec<ArrayRef> = Vec::new();
    macro_rules! column {
        ($array:ty, |$random:ident, $row:pat_param| $value:expr) => {{
            let array: $array = (0..rows)
                .map(|$row| {
                    let $random = &mut random;
                    let value = $value;
                    nullable($random, null_one_in, value)
                })
                .collect();
            array
        }};
    }
    columns.push(Arc::new(column!(BooleanArray, |r, _| r.below(2) == 1)));
    columns.push(Arc::new(column!(Int16Array, |r, _| r.next() as i16)));
    columns.push(Arc::new(column!(Int32Array, |r, _| r.below(100_000) as i32 - 50_000)));
    columns.push(Arc::new(column!(Int64Array, |r, _| r.next() as i64 >> r.below(64))));
    columns.push(Arc::new(column!(Float32Array, |r, _| r.below(1000) as f32 / 8.0)));
    columns.push(Arc::new(column!(Float64Array, |r, _| r.next() as f64 / 3.0)));
    let decimal = column!(Decimal128Array, |r, _| i128::from(r.next()) % (decimal_max + 1) - decimal_max / 2);
    columns.push(Arc::new(decimal.with_precision_and_scale(15, 2).expect("it fits")));
    let wide = column!(Decimal128Array, |r, _| (i128::from(r.next() as i64) << 40) / (1 + r.below(1 << 40)) as i128);
    columns.push(Arc::new(wide.with_precision_and_scale(38, 10).expect("it fits")));
    columns.push(Arc::new(column!(StringViewArray, |r, _| ["AIR", "MAIL", "", "DELIVER"][r.below(4)])));
    columns.push(Arc::new(column!(StringViewArray, |r, _| format!("value no. {:>5} of many", r.below(1000)))));
    columns.push(Arc::new(column!(StringViewArray, |r, _| random_text(r, 20))));
    columns.push(Arc::new(column!(Date32Array, |r, _| r.below(20_000) as i32)));
    columns.push(Arc::new(column!(Time64MicrosecondArray, |r, _| r.below(86_400_000_000) as i64)));
    columns.push(Arc::new(column!(TimestampMicrosecondArray, |r, _| r.below(1 << 31) as i64 * 1_000_000)));
    let zoned = column!(TimestampMicrosecondArray, |r, row| row as i64 * 60_000_000);
    columns.push(Arc::new(zoned.with_timezone("UTC")));
    columns.push(Arc::new(column!(StringViewArray, |r, _| {
        let (a, b) = (r.next(), r.next());
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            a >> 32,
            a >> 16 & 0xFFFF,
            a & 0xFFFF,
            b >> 48,
            b & 0xFFFF_FFFF_FFFF
        )
    })));
    columns.push(Arc::new(column!(BinaryViewArray, |r, _| r.next().to_le_bytes().repeat(r.below(5)))));
    let wrapped = every_type().columns()[columns.len()..].iter().map(|column| column.column_type).collect::<Vec<_>>();
    for column_type in wrapped {
        match column_type {
            ColumnType::Numeric(limit) => {
                let values = column!(BinaryViewArray, |r, _| bytes_of(numeric(&random_number(r, limit), limit)));
                columns.push(wrap(column_type, Arc::new(values)));
            }
            ColumnType::TimeTz => {
                let values = column!(BinaryViewArray, |r, _| bytes_of(timetz(r.next() as i64)));
                columns.push(wrap(column_type, Arc::new(values)));
            }
            ColumnType::Interval | ColumnType::Rounded(..) => {
                let values = column!(BinaryViewArray, |r, _| bytes_of(interval(r.next() as i64)));
                columns.push(wrap(column_type, Arc::new(values)));
            }
            ColumnType::Json | ColumnType::Jsonb => {
                columns.push(wrap(column_type, Arc::new(column!(StringViewArray, |r, _| random_json(r)))));
            }
            ColumnType::Array(element, dimensions) => {
                let values = column!(BinaryViewArray, |r, _| list(random_elements(r, *element, dimensions)));
                columns.push(wrap(column_type, Arc::new(values)));
            }
            _ => columns.push(Arc::new((0..rows as i64).map(Some).collect::<Int64Array>())),
        }
    }
    RecordBatch::try_new(every_type().arrow(), columns).expect("the arrays are those of the schema")
}

/// A relation of these batches, each of them becoming a chunk or several unless they have few rows altogether.
pub(crate) fn relation_of(schema: &Arc<Schema>, batches: &[RecordBatch]) -> Relation {
    let memory = Memory::new(None);
    let relation = Relation::new(Arc::clone(schema), Arc::clone(&memory));
    let mut arena = Arena::new(memory, 1 << 20);
    let append = relation.begin_append(MergeKind::Chunk);
    for (sequence, batch) in batches.iter().enumerate() {
        let batch = lists::encode_batch(batch);
        let buffers = PartitionBuffer::from_batch(schema, &batch, &mut arena).expect("the batch fits");
        append.merge(sequence as u64, buffers).expect("memory is not limited");
    }
    assert_eq!(
        append.commit().expect("no duplicates"),
        batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>()
    );
    relation
}

/// A relation of one text column.
pub(crate) fn texts(values: impl IntoIterator<Item = impl AsRef<str>>) -> Relation {
    let schema = Arc::new(Schema::new(vec![Column::new("text", ColumnType::Text, true)]));
    let array: StringViewArray = values.into_iter().map(|value| Some(value.as_ref().to_owned())).collect();
    let batch = RecordBatch::try_new(schema.arrow(), vec![Arc::new(array)]).expect("the array is that of the schema");
    relation_of(&schema, &[batch])
}

/// Writes without progress.
pub(crate) fn unload(path: &Path, relation: &Relation, threads: usize) -> Result<NativeReport, NativeError> {
    native::write(path, &relation.snapshot(), threads, &|_| true)
}

/// Reads without progress into at most 256 MiB.
pub(crate) fn reload(path: &Path, threads: usize) -> Result<(Relation, NativeReport), NativeError> {
    native::read(path, Storage::Packed, threads, &Memory::new(Some(256 << 20)), &|_| true)
}

/// Unloads and reloads with several numbers of workers and compares everything.
pub(crate) fn assert_comes_back(relation: &Relation) -> NativeReport {
    let folder = tempfile::tempdir().expect("a folder for the file");
    let path = folder.path().join("relation.native");
    let mut last = None;
    for threads in [1, 2, 7] {
        let written = unload(&path, relation, threads).expect("the file is written");
        let (again, read) = reload(&path, threads).expect("the file is read");
        assert_same(relation, &again);
        let on_disk = path.metadata().expect("the file exists").len();
        assert_eq!((written.rows, written.bytes_on_disk), (relation.snapshot().rows(), on_disk));
        assert_eq!((read.rows, read.bytes_on_disk), (written.rows, on_disk));
        last = Some(written);
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder exists").count(), 1, "nothing else is left");
    last.expect("three rounds were made")
}

/// The same columns, chunks, values and statistics.
pub(crate) fn assert_same(one: &Relation, other: &Relation) {
    assert_eq!(one.schema(), other.schema());
    let (one, other) = (one.snapshot(), other.snapshot());
    assert_eq!(one.rows(), other.rows());
    assert_eq!(one.chunks().len(), other.chunks().len());
    assert_eq!(checksum(&one, 1), checksum(&other, 2));
    let columns: Vec<usize> = (0..one.schema().columns().len()).collect();
    for (one, other) in one.chunks().iter().zip(other.chunks()) {
        assert_eq!(one.rows(), other.rows());
        for &column in &columns {
            assert_eq!(one.statistics(column), other.statistics(column), "column {column}");
            let (one, other) = (one.array(column, 0, one.rows()), other.array(column, 0, other.rows()));
            other.to_data().validate_full().expect("what is read are valid arrays");
            assert_eq!(&one, &other, "column {column}");
        }
    }
}

/// What the files of `native_version1` hold, by their names. They were written by the last program that wrote version 1.
pub(crate) fn version1_relations() -> Vec<(&'static str, Relation)> {
    let schema = Arc::new(Schema::new(vec![Column::new("a", ColumnType::BigInt, false)]));
    let integers = |values: &mut dyn Iterator<Item = i64>| {
        let array: Int64Array = values.map(Some).collect();
        let batch = RecordBatch::try_new(schema.arrow(), vec![Arc::new(array)]).expect("it is that of the schema");
        relation_of(&schema, &[batch])
    };
    // Columns of the types that there were then: the first ones, and the key. UUIDs were stored as texts, and are read as such.
    let all = every_type();
    let known: Vec<usize> = (0..17).chain([all.columns().len() - 1]).collect();
    let then = |column: usize| {
        let column = all.columns()[column].clone();
        if column.column_type == ColumnType::Uuid { Column { column_type: ColumnType::Text, ..column } } else { column }
    };
    let types = Arc::new(Schema::new(known.iter().map(|column| then(*column)).collect()));
    let batch = |batch: RecordBatch| batch.project(&known).expect("there are more columns");
    vec![
        ("every_type", relation_of(&types, &[batch(random_batch(400, 1, 0))])),
        ("nulls", relation_of(&types, &[batch(random_batch(301, 2, 3))])),
        ("no_rows", relation_of(&types, &[])),
        ("sorted", integers(&mut (0..140_000).map(|i| i / 4 * 32 + i % 4))),
        ("stepped", integers(&mut (0..9_000).map(|i| (i * 7919 % 86_400) * 1_000_000))),
        ("extremes", integers(&mut [i64::MIN, i64::MAX, 0, -1, 1].into_iter())),
        ("dictionary", texts((0..10_000).map(|i| format!("a value of more than 12 bytes, {}", i * 31 % 257)))),
        ("short_texts", texts((0..3000).map(|len| "京".repeat(len % 5)))),
        ("long_texts", texts((0..3000).map(|i| format!("the {i}th of the slyly regular requests sleeps")))),
    ]
}
