//! A native file that is not as it was written is refused, whatever the difference, and never takes the program down.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::native_support::{every_type, random_batch, relation_of, reload, texts, unload};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use longshore_storage::native::{self, NativeError, Place};
use longshore_storage::{Column, ColumnType, Freeze, Memory, Relation, Schema, Storage};
use longshore_testing::Random;
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

/// A file, its bytes, and a place for changed copies of it.
struct Sample {
    folder: TempDir,
    bytes: Vec<u8>,
}

impl Sample {
    fn of(relation: &Relation) -> Sample {
        let folder = tempfile::tempdir().expect("a folder for the file");
        let path = folder.path().join("sample.native");
        unload(&path, relation, 1).expect("the file is written");
        let bytes = fs::read(&path).expect("the file is there");
        Sample { folder, bytes }
    }

    fn small() -> Sample {
        Sample::of(&relation_of(&every_type(), &[random_batch(50, 1, 4)]))
    }

    fn read(&self, bytes: &[u8]) -> Result<Relation, NativeError> {
        let path = self.path();
        // Written in place: file systems take their time to replace a file that was truncated.
        let file = File::options().write(true).create(true).truncate(false).open(&path).expect("the file is opened");
        file.write_all_at(bytes, 0).expect("the file is written");
        file.set_len(bytes.len() as u64).expect("the file is cut");
        reload(&path, 1).map(|(relation, _)| relation)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("changed.native")
    }

    /// The offset of the directory, from the trailer.
    fn directory_at(&self) -> usize {
        word(&self.bytes, self.bytes.len() - 32) as usize
    }

    /// The blocks that are not empty: offset, length, and where in the file their checksum stands.
    fn blocks(&self) -> Vec<(usize, usize, usize)> {
        let directory = self.directory_at()..self.bytes.len() - 32 - 24;
        let blocks = directory.filter_map(|at| {
            let (offset, len) = (word(&self.bytes, at) as usize, word(&self.bytes, at + 8) as usize);
            let block = self.bytes[..self.directory_at()].get(offset..offset.checked_add(len)?)?;
            (len > 0 && xxh3_64(block) == word(&self.bytes, at + 16)).then_some((offset, len, at + 16))
        });
        blocks.collect()
    }

    /// Makes the checksum of the directory fit what the directory has become.
    fn sign_directory(&self, bytes: &mut [u8]) {
        let end = bytes.len() - 32;
        let checksum = xxh3_64(&bytes[self.directory_at()..end]);
        bytes[end + 16..end + 24].copy_from_slice(&checksum.to_le_bytes());
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn message(result: Result<Relation, NativeError>) -> String {
    result.expect_err("the file is refused").to_string()
}

#[test]
fn every_changed_byte_is_noticed() {
    let sample = Sample::small();
    let mut bytes = sample.bytes.clone();
    for at in 0..bytes.len() {
        for change in [0x01, 0x80, 0xFF] {
            bytes[at] ^= change;
            let error = sample.read(&bytes).expect_err("the change is noticed");
            assert!(!matches!(error, NativeError::Io { .. } | NativeError::OutOfMemory { .. }), "byte {at}: {error}");
            bytes[at] ^= change;
        }
    }
    sample.read(&bytes).expect("without changes it is read");
}

#[test]
fn every_missing_end_is_noticed() {
    let sample = Sample::small();
    for len in 0..sample.bytes.len() {
        let error = sample.read(&sample.bytes[..len]).expect_err("the missing end is noticed");
        assert!(matches!(error, NativeError::Damaged { .. } | NativeError::Foreign { .. }), "{len} bytes: {error}");
    }
}

#[test]
fn added_bytes_are_noticed() {
    let sample = Sample::small();
    let mut longer = sample.bytes.clone();
    longer.push(0);
    message(sample.read(&longer));
    let twice = [&sample.bytes[..], &sample.bytes[..]].concat();
    message(sample.read(&twice));
    let mut shifted = sample.bytes.clone();
    shifted.insert(sample.directory_at(), 0);
    message(sample.read(&shifted));
}

#[test]
fn the_message_names_file_block_and_remedy() {
    let schema = every_type();
    let sample = Sample::of(&relation_of(&schema, &[random_batch(9000, 1, 4), random_batch(20, 2, 4)]));
    let (offset, _, _) = *sample.blocks().iter().rev().nth(3).expect("there are blocks");
    let mut bytes = sample.bytes.clone();
    bytes[offset] ^= 1;
    let error = sample.read(&bytes).expect_err("the change is noticed");
    let NativeError::Damaged { place: Place::Block { chunk: 1, column }, .. } = &error else { panic!("{error}") };
    assert!(schema.index_of(column).is_some());
    let text = error.to_string();
    for part in ["changed.native", "chunk 1, column c", "the checksum does not match", "export the data again"] {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

#[test]
fn another_version_is_named() {
    let sample = Sample::small();
    let mut bytes = sample.bytes.clone();
    bytes[8] = 3;
    let error = sample.read(&bytes).expect_err("the version is unknown");
    assert!(matches!(error, NativeError::Version { found: 3, supported: native::VERSION, .. }), "{error}");
    assert!(
        error.to_string().contains("version 3 of the native format, this program reads versions 1 to 2"),
        "{error}"
    );
    bytes[8] = 1;
    assert!(matches!(sample.read(&bytes), Err(NativeError::Damaged { .. })), "it is not of version 1");
}

#[test]
fn other_files_are_foreign() {
    let sample = Sample::small();
    for bytes in [&b"PAR1"[..], b"", b"1|155190|7706|1|17|21168.23|0.04|0.02|N|O|1996-03-13|", &[0; 4096]] {
        let error = sample.read(bytes).expect_err("this is not a native file");
        assert!(matches!(error, NativeError::Foreign { .. }), "{error}");
    }
}

#[test]
fn a_missing_file_and_a_folder_are_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = reload(&folder.path().join("nothing"), 1).expect_err("there is no such file");
    assert!(error.to_string().contains("nothing: cannot open the file"), "{error}");
    reload(folder.path(), 1).expect_err("a folder is not a file");
    reload(Path::new("/dev/null"), 1).expect_err("neither is a device");
    let relation = texts(["a"]);
    unload(&folder.path().join("no/such/folder"), &relation, 1).expect_err("there is no folder to write to");
    unload(folder.path(), &relation, 1).expect_err("a folder is not replaced");
    assert_eq!(fs::read_dir(folder.path()).expect("the folder exists").count(), 0, "nothing is left");
}

#[test]
fn a_memory_limit_is_an_error() {
    let sample = Sample::of(&texts((0..60_000).map(|i| format!("a text that does not repeat: {i}"))));
    let memory = Memory::new(Some(1 << 20));
    let path = sample.folder.path().join("sample.native");
    let error = native::read(&path, Storage::Packed, 2, &memory, &|_| true).expect_err("1 MiB is not enough");
    assert!(matches!(error, NativeError::OutOfMemory { .. }), "{error}");
    assert!(error.to_string().contains("--memory-limit"), "{error}");
    assert_eq!(memory.used(), 0, "nothing is kept");
}

/// Reads all values, which a relation must have if it was made.
fn visit(relation: &Relation) {
    let snapshot = relation.snapshot();
    for chunk in snapshot.chunks() {
        for column in 0..snapshot.schema().columns().len() {
            let array = chunk.array(column, 0, chunk.rows());
            array.to_data().validate_full().expect("what is read are valid arrays");
        }
    }
    let _ = longshore_storage::checksum::checksum(&snapshot, 1);
}

/// Someone who can compute checksums can write any values, but nothing that is not a relation.
#[test]
fn forged_blocks_are_values_or_errors() {
    let text = (0..200).map(|i| format!("{} zwölf Boxkämpfer jagen {i} quer", "x".repeat(i % 14)));
    let compressed = texts((0..400).map(|i| format!("{} zwölf Boxkämpfer jagen {i} quer", "x".repeat(i % 14))));
    assert_eq!(compressed.freeze(Freeze::All, 1, &|| false).expect("there is memory"), 1);
    for sample in [Sample::small(), Sample::of(&texts(text)), Sample::of(&compressed)] {
        let blocks = sample.blocks();
        assert!(!blocks.is_empty());
        let mut random = Random::new(7);
        let (mut read, mut refused) = (0, 0);
        for _ in 0..4000 {
            let (offset, len, checksum_at) = random.pick(&blocks);
            let mut bytes = sample.bytes.clone();
            for _ in 0..=random.below(3) {
                bytes[offset + random.below(len)] = random.next() as u8;
            }
            let checksum = xxh3_64(&bytes[offset..offset + len]);
            bytes[checksum_at..checksum_at + 8].copy_from_slice(&checksum.to_le_bytes());
            sample.sign_directory(&mut bytes);
            match sample.read(&bytes) {
                Ok(relation) => {
                    read += 1;
                    visit(&relation);
                }
                Err(NativeError::Damaged { place: Place::Block { .. }, .. }) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(read > 0 && refused > 0, "both happen: {read} read, {refused} refused");
    }
}

#[test]
fn forged_directories_are_values_or_errors() {
    let sample = Sample::small();
    let (start, end) = (sample.directory_at(), sample.bytes.len() - 32);
    let mut random = Random::new(8);
    let mut changed = |at: usize, value: u8| {
        let mut bytes = sample.bytes.clone();
        bytes[at] = value;
        if random.below(2) == 0 {
            let other = start + random.below(end - start);
            bytes[other] = random.next() as u8;
        }
        sample.sign_directory(&mut bytes);
        match sample.read(&bytes) {
            Ok(relation) => visit(&relation),
            Err(NativeError::Damaged { .. } | NativeError::OutOfMemory { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    };
    for at in start..end {
        for value in [0, 1, 0x7F, 0xFF] {
            changed(at, value);
        }
    }
}

/// A column of 64-bit integers.
fn integers(values: &[i64]) -> Relation {
    let schema = Arc::new(Schema::new(vec![Column::new("n", ColumnType::BigInt, false)]));
    let column: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
    let batch = RecordBatch::try_new(schema.arrow(), vec![column]).expect("a batch of the schema");
    relation_of(&schema, &[batch])
}

/// Queries skip what lies beyond bounds, so these are not believed.
#[test]
fn forged_bounds_are_noticed() {
    let sample = Sample::of(&integers(&[1005, -3, 1009]));
    let (start, end) = (sample.directory_at(), sample.bytes.len() - 32);
    let mut forged = 0;
    for (bound, wrong) in [(-3_i64, -2_i64), (1009, 1008)] {
        let places = (start..=end - 8).filter(|&at| word(&sample.bytes, at) == bound as u64);
        for at in places.collect::<Vec<_>>() {
            let mut bytes = sample.bytes.clone();
            bytes[at..at + 8].copy_from_slice(&wrong.to_le_bytes());
            sample.sign_directory(&mut bytes);
            let error = message(sample.read(&bytes));
            forged += usize::from(error.contains("column n: the values do not lie between the bounds"));
        }
    }
    // The two bounds, and the base that the values are counted from.
    assert_eq!(forged, 3);
}

/// Rows that are alike take few bytes of a file: what it claims is weighed before memory is taken for it.
#[test]
fn more_rows_than_there_is_memory_for_are_refused_at_once() {
    let values: Vec<i64> = (0..40 * 65_536).map(|row| row >> 8 & 0xFF).collect();
    let sample = Sample::of(&integers(&values));
    assert!(sample.bytes.len() < 100_000, "{} bytes", sample.bytes.len());
    let path = sample.folder.path().join("sample.native");
    let memory = Memory::new(Some(1 << 20));
    let error = native::read(&path, Storage::Packed, 1, &memory, &|_| true).expect_err("2.6 MB of 30 KB");
    assert!(matches!(error, NativeError::OutOfMemory { .. }), "{error}");
    assert_eq!(memory.peak(), 0, "nothing was taken");
    let rows = native::read(&path, Storage::Packed, 1, &Memory::new(None), &|_| true)
        .expect("there is enough")
        .0
        .snapshot()
        .rows();
    assert_eq!(rows, 40 * 65_536);
}
