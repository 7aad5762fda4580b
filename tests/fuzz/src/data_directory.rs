//! The manifest and the block files of a database with any byte changed, missing or added, as somebody who can compute
//! checksums might forge them: an error, or relations whose values can be read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use crate::Choices;
use longshore_simdisk::SimDisk;
use longshore_storage::data_directory::{DataDirectory, DirectoryOptions};
use longshore_storage::disk::{Disk, DiskFile, OpenMode};
use longshore_storage::log::LogOptions;
use longshore_storage::{Column, ColumnType, Datum, Freeze, Isolation, Memory, Relation, RowId, Schema, Transactions};
use xxhash_rust::xxh3::xxh3_64;

const PATH: &str = "/db";

/// Forged numbers must not make recovery ask for more.
const MEMORY_BYTES_MAX: usize = 1 << 27;

/// Where the body of a manifest begins; in front of it are its length and its checksum.
const BODY: usize = 56;

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// What must hold for any bytes.
///
/// # Panics
///
/// When it does not.
pub fn check_input(input: &[u8]) {
    let mut choices = Choices::new(input);
    let mut files = FILES.clone();
    let names: Vec<PathBuf> = files.keys().cloned().collect();
    for _ in 0..=choices.below(4) {
        let name = &names[choices.below(names.len())];
        let Some(bytes) = files.get_mut(name) else { continue };
        let at = choices.below(bytes.len().max(1)).min(bytes.len().saturating_sub(1));
        match choices.byte() % 8 {
            0 if !bytes.is_empty() => drop(bytes.remove(at)),
            1 => bytes.insert(at, choices.byte()),
            2 => bytes.truncate(at),
            _ if !bytes.is_empty() => bytes[at] = choices.byte(),
            _ => {}
        }
    }
    if choices.byte() & 1 == 1 {
        forge(&mut files);
    }
    let disk = filled(&files);
    let (memory, transactions) = (Memory::new(Some(MEMORY_BYTES_MAX)), Transactions::new());
    if let Ok(recovered) = DataDirectory::read(&disk, Path::new(PATH), &memory, &transactions, 1) {
        recovered.relations.values().for_each(read);
    }
}

/// Makes checksums right: of the heads of chunks, where the manifest had them, and of the manifest.
fn forge(files: &mut Files) {
    let manifest = Path::new(PATH).join("manifest");
    for (at, file, offset, bytes) in &*HEADS {
        let head = files.get(file).and_then(|file| file.get(*offset..offset + bytes)).map(xxh3_64);
        let place = files.get_mut(&manifest).and_then(|manifest| manifest.get_mut(*at..at + 8));
        if let (Some(head), Some(place)) = (head, place) {
            place.copy_from_slice(&head.to_le_bytes());
        }
    }
    if let Some(manifest) = files.get_mut(&manifest).filter(|manifest| manifest.len() >= BODY) {
        let (length, checksum) = ((manifest.len() - BODY) as u64, xxh3_64(&manifest[BODY..]));
        manifest[BODY - 16..BODY - 8].copy_from_slice(&length.to_le_bytes());
        manifest[BODY - 8..BODY].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// All values of a relation.
fn read(relation: &Relation) {
    for piece in relation.snapshot().pieces() {
        for column in 0..relation.schema().all_columns().len() {
            drop(piece.array(column, 0, piece.rows()));
        }
    }
}

fn filled(files: &Files) -> Arc<dyn Disk> {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(0));
    for folder in ["", "blocks", "log"] {
        disk.create_directory(&Path::new(PATH).join(folder)).expect("it is not there");
    }
    for (path, bytes) in files.iter().chain(&*LOG) {
        let file = disk.open(path, OpenMode::Create).expect("it is not there");
        file.write_at(bytes, 0).expect("there is room");
    }
    disk
}

/// Where the manifest has the checksum of a head; its file, and where it begins there, and its bytes.
static HEADS: LazyLock<Vec<(usize, PathBuf, usize, usize)>> = LazyLock::new(|| {
    let manifest = &FILES[&Path::new(PATH).join("manifest")];
    let u32_at = |at: usize| u32::from_le_bytes(manifest[at..at + 4].try_into().expect("four bytes")) as usize;
    let u64_at = |at: usize| u64::from_le_bytes(manifest[at..at + 8].try_into().expect("eight bytes"));
    let mut at = BODY + 20;
    let relations = u32_at(at);
    at += 4;
    let mut heads = Vec::new();
    for _ in 0..relations {
        // Its number and whether it is unlogged, its name, its columns.
        at += 4 + 1;
        at += 4 + u32_at(at);
        at += 4 + u32_at(at);
        let slots = u32_at(at);
        at += 4;
        for _ in 0..slots {
            let file = Path::new(PATH).join(format!("blocks/{:016x}.blocks", u64_at(at + 4)));
            heads.push((at + 32, file, u64_at(at + 12) as usize, u32_at(at + 28)));
            at += 40;
        }
    }
    heads
});

/// The segments of the log.
static LOG: LazyLock<Files> = LazyLock::new(|| files_in("log"));

/// The manifest and the block files.
static FILES: LazyLock<Files> = LazyLock::new(|| {
    let mut files = files_in("blocks");
    files.extend(files_in("").into_iter().filter(|(path, _)| path.ends_with("manifest")));
    files
});

fn files_in(folder: &str) -> Files {
    let folder = if folder.is_empty() { PathBuf::from(PATH) } else { Path::new(PATH).join(folder) };
    let names = DISK.list(&folder).expect("it is there");
    let open = |path: PathBuf| Some((DISK.open(&path, OpenMode::Read).ok()?, path));
    let files = names.iter().filter_map(|name| open(folder.join(name)));
    let read = |(file, path): (Box<dyn DiskFile>, PathBuf)| {
        let mut bytes = vec![0; file.length().expect("it is open") as usize];
        file.read_at(&mut bytes, 0).expect("it is open");
        (path, bytes)
    };
    files.map(read).collect()
}

/// A database of two relations, with dead rows, and chunks that are packed and plain.
static DISK: LazyLock<Arc<dyn Disk>> = LazyLock::new(|| {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(0));
    let transactions = Transactions::new();
    let log = LogOptions { segment_bytes: 4096, ..LogOptions::default() };
    let options = DirectoryOptions { log, write_delay: None, threads: 1 };
    let directory = DataDirectory::create(&disk, Path::new(PATH), &transactions, options).expect("the disk is empty");
    let schema = Arc::new(Schema::new(vec![
        Column::new("id", ColumnType::BigInt, false),
        Column::new("text", ColumnType::Text, true),
        Column::new("price", ColumnType::Decimal { precision: 12, scale: 2 }, true),
        Column::new("is", ColumnType::Boolean, true),
    ]));
    for packs in [true, false] {
        let relation = Relation::in_database(Arc::clone(&schema), Memory::new(None), &transactions);
        let mut t = transactions.begin(Isolation::Snapshot);
        t.log_created(&relation).expect("nobody is in the way");
        for id in 0..60_i64 {
            let text = if id % 7 == 0 { Datum::Null } else { Datum::Text("a text of more than twelve bytes") };
            t.insert(&relation, &[Datum::I64(id), text, Datum::I64(id * 100), Datum::Bool(id % 2 == 0)])
                .expect("values of the columns");
        }
        t.delete(&relation, RowId::new(0, 9)).expect("it is there");
        t.commit().expect("nobody is in the way");
        if packs {
            relation.freeze(Freeze::All, 1, &|| false).expect("there is memory");
        }
    }
    directory.begin_checkpoint().expect("it is the first").write(b"catalog").expect("the disk is sound");
    directory.close().expect("the disk is sound");
    disk
});
