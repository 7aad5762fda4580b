//! A native file, of any version, with any byte changed, missing or added is refused; blocks or a directory that are forged
//! together with their checksums are read or refused, and nothing worse.

use std::io::Cursor;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use crate::Choices;
use longshore_csv::Dialect;
use longshore_load::{Control, InputFile, Source, TextOptions, Tuning, copy_from};
use longshore_storage::checksum::{Checksum, checksum};
use longshore_storage::{
    Chunk, Column, ColumnType, Freeze, Memory, MergeKind, PackedAs, Relation, Schema, Storage, native,
};
use xxhash_rust::xxh3::xxh3_64;

/// Offset and length of the directory, its checksum, magic bytes.
const TRAILER_BYTES: usize = 32;

/// Forged numbers must not make the reader ask for more.
const MEMORY_BYTES_MAX: usize = 1 << 28;

/// What must hold for any bytes.
///
/// # Panics
///
/// When it does not.
pub fn check_input(input: &[u8]) {
    let mut choices = Choices::new(input);
    let (original, right) = &FILES[choices.below(FILES.len())];
    let mut file = original.clone();
    let forge = choices.byte() & 1 == 1;
    let directory = directory(&file);
    let in_directory = choices.byte() & 1 == 1;
    for _ in 0..=choices.below(8) {
        let at = match (forge, in_directory) {
            (true, true) => directory.start + choices.below(directory.len()),
            (true, false) => choices.below(directory.start),
            (false, _) => choices.below(file.len()),
        };
        file[at] = choices.byte();
    }
    if forge {
        if !in_directory {
            sign_blocks(original, &mut file, &directory);
        }
        let sum = xxh3_64(&file[directory.clone()]).to_le_bytes();
        let at = file.len() - TRAILER_BYTES + 16;
        file[at..at + 8].copy_from_slice(&sum);
    } else {
        match choices.byte() {
            1 => file.truncate(choices.below(file.len())),
            2 => file.push(choices.byte()),
            _ => {}
        }
    }
    match read(&file) {
        Ok(found) if file == *original => assert_eq!(found, *right),
        Ok(_) => assert!(forge, "a changed file was read"),
        Err(error) => assert!(file != *original, "the original was refused: {error}"),
    }
}

/// Makes the checksums of all blocks fit what they have become.
fn sign_blocks(original: &[u8], file: &mut [u8], directory: &Range<usize>) {
    let word = |at: usize| u64::from_le_bytes(original[at..at + 8].try_into().expect("eight bytes"));
    for at in directory.start..directory.end - 24 {
        let (start, len, checksum_at) = (word(at) as usize, word(at + 8) as usize, at + 16);
        let block = start.checked_add(len).and_then(|end| original[..directory.start].get(start..end));
        if block.is_some_and(|block| xxh3_64(block) == word(checksum_at)) {
            let sum = xxh3_64(&file[start..start + len]).to_le_bytes();
            file[checksum_at..checksum_at + 8].copy_from_slice(&sum);
        }
    }
}

/// A file of each version, and one of texts that are compressed, with the checksums of what is in them.
static FILES: LazyLock<[(Vec<u8>, Checksum); 3]> = LazyLock::new(|| {
    let version1 =
        include_bytes!("../../../crates/longshore-storage/tests/storage/native_version1/nulls.native").to_vec();
    let in_version1 = read(&version1).expect("files of version 1 are read");
    [(version1, in_version1), version2(false), version2(true)]
});

/// A file of two chunks with every encoding that a load makes, or that freezing makes.
fn version2(is_frozen: bool) -> (Vec<u8>, Checksum) {
    let columns = vec![
        Column::new("key", ColumnType::BigInt, false),
        Column::new("money", ColumnType::Decimal { precision: 15, scale: 2 }, true),
        Column::new("wide", ColumnType::Decimal { precision: 30, scale: 2 }, true),
        Column::new("day", ColumnType::Date, true),
        Column::new("flag", ColumnType::Boolean, true),
        Column::new("share", ColumnType::Double, true),
        Column::new("word", ColumnType::Text, true),
        Column::new("bytes", ColumnType::Bytea, true),
        Column::new("note", ColumnType::Text, true),
        Column::new("same", ColumnType::Text, true),
        Column::new("exact", ColumnType::Numeric(None), true),
    ];
    let fields: Vec<usize> = (0..columns.len()).collect();
    let relation = Relation::new(Arc::new(Schema::new(columns)), Memory::new(None));
    let options = TextOptions::new(Dialect::default());
    for rows in [0..200_u32, 200..260] {
        let text: String = rows.map(line).collect();
        let source = Source::from_reader("text", Box::new(Cursor::new(text.into_bytes())));
        let tuning = Tuning { merge: MergeKind::Chunk, ..Tuning::new(1) };
        copy_from(vec![InputFile::opened(source, &fields)], &relation, &options, &tuning, &Control::new())
            .expect("the text is right");
    }
    if is_frozen {
        relation.freeze(Freeze::All, 0, &|| false).expect("there is memory");
        let chunks = relation.snapshot();
        let packed_as = |chunk: &Chunk| chunk.packed(8).map(|packed| packed.packed_as());
        assert!(chunks.chunks().iter().any(|chunk| packed_as(chunk) == Some(PackedAs::Fsst)));
    }
    let snapshot = relation.snapshot();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("file");
    native::write(&path, &snapshot, 1, &|_| true).expect("the file can be written");
    (std::fs::read(&path).expect("the file is there"), checksum(&snapshot, 1))
}

fn line(row: u32) -> String {
    if row % 17 == 3 {
        return format!("{row},,,,,,,,,,\n");
    }
    let (cents, day, flag) = (row % 100, 1 + row % 28, row.is_multiple_of(3));
    let word = ["a", "a word", "a longer word than the others"][row as usize % 3];
    format!(
        "{row},{row}.{cents:02},-{row}000000000000.5,1999-02-{day:02},{flag},{row}e-3,{word},\\x{cents:04},größe {row} of all that there are and of some that there were,same,-{row}.{cents:020}e{day}\n"
    )
}

/// Where the directory lies.
fn directory(file: &[u8]) -> Range<usize> {
    let trailer = &file[file.len() - TRAILER_BYTES..];
    let number = |at: usize| u64::from_le_bytes(trailer[at..at + 8].try_into().expect("eight bytes")) as usize;
    number(0)..number(0) + number(8)
}

fn read(file: &[u8]) -> Result<Checksum, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("file");
    std::fs::write(&path, file).expect("the file can be written");
    read_path(&path)
}

fn read_path(path: &Path) -> Result<Checksum, String> {
    let memory = Memory::new(Some(MEMORY_BYTES_MAX));
    let (relation, _) =
        native::read(path, Storage::Packed, 1, &memory, &|_| true).map_err(|error| error.to_string())?;
    Ok(checksum(&relation.snapshot(), 1))
}
