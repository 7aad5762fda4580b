//! What is unloaded in the native format comes back: every type, with and without NULLs, at the edges of each encoding.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::native_support::{
    assert_comes_back, assert_same, every_type, random_batch, random_text, relation_of, reload, texts, unload,
    version1_relations,
};
use arrow_array::{
    ArrayRef, BinaryViewArray, Decimal128Array, Float64Array, Int16Array, Int32Array, Int64Array, RecordBatch,
    new_null_array,
};
use longshore_storage::checksum::checksum;
use longshore_storage::native::{self, NativeError};
use longshore_storage::{
    Arena, Column, ColumnType, Freeze, Memory, MergeKind, PackedAs, PartitionBuffer, Relation, Schema, Storage, lists,
};
use longshore_testing::Random;

fn of_column(column_type: ColumnType, array: impl Into<ArrayRef>) -> Relation {
    let schema = Arc::new(Schema::new(vec![Column::new("a", column_type, true)]));
    let batch = RecordBatch::try_new(schema.arrow(), vec![array.into()]).expect("the array is that of the schema");
    relation_of(&schema, &[batch])
}

fn integers(values: impl IntoIterator<Item = i64>) -> Relation {
    let array: Int64Array = values.into_iter().map(Some).collect();
    of_column(ColumnType::BigInt, Arc::new(array) as ArrayRef)
}

#[test]
fn every_type_without_nulls() {
    assert_comes_back(&relation_of(&every_type(), &[random_batch(3000, 1, 0)]));
}

#[test]
fn every_type_with_nulls() {
    assert_comes_back(&relation_of(&every_type(), &[random_batch(3001, 2, 3)]));
}

#[test]
fn chunks_of_every_size() {
    let batches: Vec<_> = (1..=130).map(|rows| random_batch(rows, rows as u64, 2)).collect();
    assert_comes_back(&relation_of(&every_type(), &batches));
}

#[test]
fn full_chunks() {
    assert_comes_back(&relation_of(&every_type(), &[random_batch(140_000, 3, 50)]));
}

#[test]
fn a_relation_without_rows() {
    let report = assert_comes_back(&relation_of(&every_type(), &[]));
    assert_eq!(report.rows, 0);
}

#[test]
fn columns_of_nulls_alone() {
    let schema = every_type();
    let nullable = Arc::new(Schema::new(schema.columns()[..schema.columns().len() - 1].to_vec()));
    let columns = nullable.arrow().fields().iter().map(|field| new_null_array(field.data_type(), 100)).collect();
    let batch = RecordBatch::try_new(nullable.arrow(), columns).expect("the arrays are those of the schema");
    assert_comes_back(&relation_of(&nullable, &[batch]));
}

#[test]
fn one_null_at_each_place() {
    for place in 0..20 {
        let array: Int32Array = (0..20).map(|row| (row != place).then_some(1_000_000 + row)).collect();
        assert_comes_back(&of_column(ColumnType::Integer, Arc::new(array) as ArrayRef));
    }
}

#[test]
fn extreme_integers() {
    assert_comes_back(&integers([i64::MIN, i64::MAX, 0, -1, 1]));
    assert_comes_back(&integers([i64::MAX]));
    let array = Int16Array::from(vec![i16::MIN, i16::MAX]);
    assert_comes_back(&of_column(ColumnType::SmallInt, Arc::new(array) as ArrayRef));
    let limit = 10_i128.pow(38) - 1;
    let array = Decimal128Array::from(vec![-limit, limit, 0]).with_precision_and_scale(38, 0).expect("it fits");
    assert_comes_back(&of_column(ColumnType::Decimal { precision: 38, scale: 0 }, Arc::new(array) as ArrayRef));
}

#[test]
fn sorted_and_stepped_integers() {
    assert_comes_back(&integers(0..60_000));
    assert_comes_back(&integers((0..60_000).rev().map(|i| i * 7)));
    assert_comes_back(&integers((0..60_000).map(|i| i / 4 * 32 + i % 4)));
    assert_comes_back(&integers((0..60_000).map(|i| (i * 7919 % 86_400) * 1_000_000)));
}

#[test]
fn special_floats() {
    let values = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, f64::MAX, 5e-324];
    let relation = of_column(ColumnType::Double, Arc::new(Float64Array::from(values.to_vec())) as ArrayRef);
    let folder = tempfile::tempdir().expect("a folder for the file");
    let path = folder.path().join("relation.native");
    unload(&path, &relation, 1).expect("the file is written");
    let (again, _) = reload(&path, 1).expect("the file is read");
    let array = again.snapshot().chunks()[0].array(0, 0, values.len());
    let array = array.as_any().downcast_ref::<Float64Array>().expect("doubles");
    let bits: Vec<u64> = array.values().iter().map(|value| value.to_bits()).collect();
    assert_eq!(bits, values.map(f64::to_bits));
}

#[test]
fn texts_at_the_edge_of_their_view() {
    assert_comes_back(&texts([
        "",
        "a",
        "elf elf elf",
        "zwölf zwölf",
        "twelve bytes",
        "thirteen byte",
        "fourteen bytes",
    ]));
    assert_comes_back(&texts((0..2000).map(|len| "x".repeat(len % 30))));
    assert_comes_back(&texts((0..2000).map(|len| "京".repeat(len % 7))));
}

#[test]
fn empty_texts_alone() {
    assert_comes_back(&texts([""; 7]));
    assert_comes_back(&texts(vec![""; 7000]));
}

#[test]
fn long_texts() {
    let mut random = Random::new(4);
    assert_comes_back(&texts((0..20).map(|i| random_text(&mut random, i * i * 100))));
    assert_comes_back(&texts([&"abc".repeat(1 << 20), "short"]));
}

#[test]
fn dictionaries_of_every_width() {
    for distinct in [1, 2, 255, 256, 257, 5000] {
        assert_comes_back(&texts((0..60_000).map(|i| format!("{}", i * 31 % distinct))));
        assert_comes_back(&texts((0..60_000).map(|i| format!("a value of more than 12 bytes, {}", i * 31 % distinct))));
    }
}

#[test]
fn equal_texts_share_their_bytes() {
    let relation = texts((0..60_000).map(|i| ["TAKE BACK RETURN", "DELIVER IN PERSON"][i % 2]));
    let report = assert_comes_back(&relation);
    assert!(report.bytes_on_disk < 70_000, "a code of a byte per row: {report:?}");
    let folder = tempfile::tempdir().expect("a folder for the file");
    let path = folder.path().join("relation.native");
    unload(&path, &relation, 1).expect("the file is written");
    let (again, _) = reload(&path, 1).expect("the file is read");
    assert_eq!(again.snapshot().chunks()[0].packed(0).expect("it is packed").heap().len(), 16 + 17);
}

/// What is frozen is compressed in the file, and when it is read again.
fn assert_comes_back_compressed(relation: &Relation) {
    assert_eq!(relation.freeze(Freeze::All, 1, &|| false).expect("there is memory"), 1);
    assert_comes_back(relation);
    let folder = tempfile::tempdir().expect("a folder for the file");
    let path = folder.path().join("relation.native");
    unload(&path, relation, 1).expect("the file is written");
    let (again, _) = reload(&path, 1).expect("the file is read");
    let packed_as = |relation: &Relation| relation.snapshot().chunks()[0].packed(0).expect("it is packed").packed_as();
    assert_eq!((packed_as(relation), packed_as(&again)), (PackedAs::Fsst, PackedAs::Fsst));
}

#[test]
fn compressed_texts() {
    assert_comes_back_compressed(&texts((0..10_000).map(|i| format!("{}größe {i}", "of the deposits ".repeat(i % 5)))));
}

#[test]
fn bytes_that_are_not_text() {
    let values: Vec<Vec<u8>> = (0..3000_usize).map(|i| vec![0x80 | i as u8; i % 40]).collect();
    let array: BinaryViewArray = values.iter().map(|value| Some(value.as_slice())).collect();
    assert_comes_back(&of_column(ColumnType::Bytea, Arc::new(array) as ArrayRef));
    let array: BinaryViewArray =
        (0..10_000_u32).map(|i| Some([[0xFF, 0, 0xC3].repeat(4), i.to_le_bytes().into()].concat())).collect();
    assert_comes_back_compressed(&of_column(ColumnType::Bytea, Arc::new(array) as ArrayRef));
}

#[test]
fn compression_pays_where_there_is_something_to_find() {
    let report =
        assert_comes_back(&texts((0..60_000).map(|i| format!("the {i}th of the slyly regular requests sleeps"))));
    assert!(report.bytes_on_disk * 2 < report.bytes_in_memory, "{report:?}");
}

#[test]
fn the_checksum_ignores_order_and_chunks_but_nothing_else() {
    let batch = random_batch(1000, 5, 4);
    let schema = every_type();
    let whole = checksum(&relation_of(&schema, std::slice::from_ref(&batch)).snapshot(), 1);
    let parts = [batch.slice(700, 300), batch.slice(0, 1), batch.slice(1, 699)];
    assert_eq!(whole, checksum(&relation_of(&schema, &parts).snapshot(), 7));
    let missing = checksum(&relation_of(&schema, &parts[..2]).snapshot(), 1);
    assert_ne!(whole.sum, missing.sum);
    let twice = [batch.clone(), batch.clone()];
    assert_ne!(checksum(&relation_of(&schema, &twice).snapshot(), 1).sum, 0);
    assert_ne!(whole.sum, checksum(&relation_of(&schema, &[random_batch(1000, 6, 4)]).snapshot(), 1).sum);
}

#[test]
fn the_checksum_tells_null_from_empty_and_columns_apart() {
    let one = checksum(&texts(["", "a"]).snapshot(), 1);
    let schema = Arc::new(Schema::new(vec![Column::new("text", ColumnType::Text, true)]));
    let array: arrow_array::StringViewArray = [None, Some("a")].into_iter().collect();
    let batch = RecordBatch::try_new(schema.arrow(), vec![Arc::new(array)]).expect("the array is that of the schema");
    assert_ne!(one, checksum(&relation_of(&schema, &[batch]).snapshot(), 1));
    let tail = |last: &str| texts([format!("a long value that ends in {last}")]);
    assert_ne!(checksum(&tail("a").snapshot(), 1), checksum(&tail("b").snapshot(), 1));
}

#[test]
fn progress_is_told_and_cancelling_leaves_nothing() {
    let batches: Vec<_> = (0..20).map(|seed| random_batch(100, seed, 5)).collect();
    let relation = relation_of(&every_type(), &batches);
    let folder = tempfile::tempdir().expect("a folder for the file");
    let path = folder.path().join("relation.native");

    let cancelled = native::write(&path, &relation.snapshot(), 2, &|_| false);
    assert!(matches!(cancelled, Err(NativeError::Cancelled { .. })));
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder exists").count(), 0);

    let written = AtomicU64::new(0);
    let count = |bytes| written.fetch_add(bytes, Ordering::Relaxed) < u64::MAX;
    let report = native::write(&path, &relation.snapshot(), 2, &count).expect("the file is written");
    let written = written.into_inner();
    assert!(written > 0 && written < report.bytes_on_disk);

    let memory = Memory::new(None);
    let read = AtomicU64::new(0);
    let count = |bytes| read.fetch_add(bytes, Ordering::Relaxed) < u64::MAX;
    native::read(&path, Storage::Packed, 2, &memory, &count).expect("the file is read");
    assert_eq!(read.into_inner(), written);
    assert!(matches!(native::read(&path, Storage::Packed, 2, &memory, &|_| false), Err(NativeError::Cancelled { .. })));
    assert_eq!(memory.used(), 0, "nothing is kept");
}

#[test]
fn a_file_is_replaced_as_a_whole() {
    let folder = tempfile::tempdir().expect("a folder for the file");
    let path = folder.path().join("relation.native");
    unload(&path, &integers(0..1000), 1).expect("the file is written");
    let relation = integers([7]);
    let _ = native::write(&path, &relation.snapshot(), 1, &|_| false).expect_err("it is cancelled");
    assert_eq!(reload(&path, 1).expect("the old file is there").1.rows, 1000);
    unload(&path, &relation, 1).expect("the file is written");
    assert_eq!(reload(&path, 1).expect("the new file is there").1.rows, 1);
}

/// Files that the last program of version 1 wrote are read for ever.
#[test]
fn files_of_version_1_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/storage/native_version1");
    for (name, relation) in version1_relations() {
        let path = folder.join(format!("{name}.native"));
        assert_eq!(std::fs::read(&path).expect("the file is there")[8], 1, "{name} is of version 1");
        for threads in [1, 2] {
            let (again, report) = reload(&path, threads).expect("the file is read");
            assert_eq!(report.rows, relation.snapshot().rows(), "{name}");
            assert_same(&relation, &again);
        }
    }
}

/// What was changed, inserted and deleted after a load is packed when it is written.
#[test]
fn plain_columns_are_packed_to_be_written() {
    let schema = every_type();
    let batch = random_batch(20_000, 9, 5);
    let relation = relation_of(&schema, std::slice::from_ref(&batch));
    relation.set_storage(Storage::Plain);
    let mut arena = Arena::new(Memory::new(None), 1 << 20);
    let append = relation.begin_append(MergeKind::Chunk);
    let buffers = PartitionBuffer::from_batch(&schema, &lists::encode_batch(&batch), &mut arena).expect("it fits");
    append.merge(0, buffers).expect("it is merged");
    append.commit().expect("no duplicates");
    let snapshot = relation.snapshot();
    assert!(snapshot.chunks()[0].packed(3).is_some() && snapshot.chunks()[1].packed(3).is_none());
    assert_comes_back(&relation);
}

#[test]
fn a_relation_of_plain_storage_is_read_to_plain_columns() {
    let relation = relation_of(&every_type(), &[random_batch(20_000, 9, 5), random_batch(30_000, 10, 0)]);
    let folder = tempfile::tempdir().expect("a folder for the file");
    let path = folder.path().join("relation.native");
    unload(&path, &relation, 2).expect("the file is written");
    let (again, _) = native::read(&path, Storage::Plain, 2, &Memory::new(None), &|_| true).expect("the file is read");
    assert_eq!(again.storage(), Storage::Plain);
    let snapshot = again.snapshot();
    assert_eq!(checksum(&snapshot, 1), checksum(&relation.snapshot(), 1));
    for chunk in snapshot.chunks() {
        assert!((0..snapshot.schema().columns().len()).all(|column| chunk.packed(column).is_none()));
    }
}
