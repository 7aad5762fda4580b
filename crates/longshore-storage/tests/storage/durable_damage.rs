//! Manifests and block files whose bytes were changed or cut: an error that names the file, the place and what is wrong, or
//! what was written; forged ones never cause a panic.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use longshore_simdisk::SimDisk;
use longshore_storage::data_directory::{DataDirectory, DirectoryError, Recovered};
use longshore_storage::disk::{Disk, OpenMode};
use longshore_storage::{Memory, Transactions};
use longshore_testing::{Random, share};
use xxhash_rust::xxh3::xxh3_64;

use crate::durable_support::{PATH, State, World, check_state, dyn_disk};

/// Forged numbers must not make recovery ask for more.
const MEMORY_BYTES_MAX: usize = 1 << 27;

/// A database that was closed behind a checkpoint, what it has, and the bytes of its manifest and block files.
fn closed(seed: u64) -> (SimDisk, State, BTreeMap<PathBuf, Vec<u8>>) {
    let (mut world, disk) = (World::new(seed), SimDisk::new(seed));
    world.append_rows = 60;
    let mut open = world.open(&disk).unwrap();
    for _ in 0..60 {
        world.step(&mut open).unwrap();
    }
    world.finish(open).unwrap();
    let path = Path::new(PATH);
    let blocks = path.join("blocks");
    let mut paths: Vec<PathBuf> = disk.list(&blocks).unwrap().iter().map(|name| blocks.join(name)).collect();
    paths.push(path.join("manifest"));
    let files = paths.into_iter().map(|path| {
        let file = disk.open(&path, OpenMode::Read).unwrap();
        let mut bytes = vec![0; file.length().unwrap() as usize];
        file.read_at(&mut bytes, 0).unwrap();
        (path, bytes)
    });
    let files = files.collect();
    (disk, world.states.pop().unwrap(), files)
}

/// What comes back when a file has other bytes.
fn read_with(disk: &SimDisk, path: &Path, bytes: &[u8]) -> Result<Recovered, DirectoryError> {
    let file = disk.open(path, OpenMode::Write).unwrap();
    file.truncate(0).unwrap();
    file.write_at(bytes, 0).unwrap();
    let (memory, transactions) = (Memory::new(Some(MEMORY_BYTES_MAX)), Transactions::new());
    DataDirectory::read(&dyn_disk(disk), Path::new(PATH), &memory, &transactions, 1)
}

#[test]
fn any_changed_byte_is_found() {
    for seed in 0..share(3) as u64 {
        let (disk, state, files) = closed(seed);
        let mut found = 0;
        for (path, whole) in &files {
            let step = (whole.len() / 400).max(1);
            for at in (0..whole.len()).step_by(step) {
                let mut changed = whole.clone();
                match at / step % 8 {
                    0 => changed.truncate(at),
                    1 => drop(changed.remove(at)),
                    2 => changed.insert(at, 0),
                    _ => changed[at] ^= 1 << (at % 8),
                }
                match read_with(&disk, path, &changed) {
                    Err(error) => {
                        found += 1;
                        let text = error.to_string();
                        assert!(text.contains(path.to_str().unwrap()), "seed {seed}, {}, {at}: {text}", path.display());
                        let is_named = match &error {
                            // The checksum of the body stands in front of it. Where bytes have moved, the first chunk that is
                            // needed may lie behind the place.
                            DirectoryError::Damaged { offset, .. } => {
                                let has_moved = at / step % 8 < 3 && !path.ends_with("manifest");
                                has_moved || *offset <= at.max(56) as u64
                            }
                            DirectoryError::Foreign { .. } => at < 8,
                            DirectoryError::Version { .. } => at < 12,
                            _ => false,
                        };
                        assert!(is_named, "seed {seed}, {}, {at}: {text}", path.display());
                    }
                    // Behind the last chunk, or in a place that is not needed any more.
                    Ok(recovered) => {
                        assert!(!path.ends_with("manifest"), "seed {seed}, {at}");
                        check_state(&recovered.relations, &state);
                    }
                }
            }
            check_state(&read_with(&disk, path, whole).unwrap().relations, &state);
        }
        assert!(found > 100, "{found}");
    }
}

#[test]
fn forged_manifests_are_refused_or_read() {
    let mut refused = 0;
    for seed in 0..share(3) as u64 {
        let (disk, _, files) = closed(seed);
        let (path, whole) = files.iter().find(|(path, _)| path.ends_with("manifest")).unwrap();
        let mut random = Random::new(seed);
        for _ in 0..600 {
            let mut forged = whole.clone();
            for _ in 0..=random.below(3) {
                let at = 56 + random.below((forged.len() - 56).max(1)).min(forged.len() - 57);
                match random.below(6) {
                    0 => forged.truncate(at + 1),
                    1 => forged.insert(at, random.byte()),
                    _ => forged[at] = random.pick(&[0, 1, 0xFF, random_byte(at)]),
                }
            }
            let body_bytes = (forged.len() - 56) as u64;
            forged[40..48].copy_from_slice(&body_bytes.to_le_bytes());
            let checksum = xxh3_64(&forged[56..]);
            forged[48..56].copy_from_slice(&checksum.to_le_bytes());
            refused += u64::from(read_with(&disk, path, &forged).is_err());
        }
    }
    assert!(refused > 100);
}

fn random_byte(at: usize) -> u8 {
    (at * 37) as u8
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    let (disk, _, files) = closed(5);
    let (path, whole) = files.iter().find(|(path, _)| path.ends_with("manifest")).unwrap();
    let with = |at: usize, byte: u8| {
        let mut changed = whole.clone();
        changed[at] = byte;
        read_with(&disk, path, &changed).unwrap_err().to_string()
    };
    assert_eq!(with(0, 0), "/database/manifest: not a manifest (its first bytes are not those of one)");
    assert_eq!(
        with(8, 9),
        "/database/manifest: the file has version 9 of its format, this program reads versions 1 to 2; open the database with \
         the program that wrote it"
    );
    assert_eq!(
        with(60, whole[60] ^ 1),
        "/database/manifest: offset 56: the checksum of the body does not fit it; the file is damaged or cut short: copy it \
         again from its source, or restore a backup"
    );
    read_with(&disk, path, whole).unwrap();
    let (path, whole) = files.iter().next().unwrap();
    let mut changed = whole.clone();
    let last = changed.len() - 1;
    changed[last] ^= 1;
    let error = read_with(&disk, path, &changed).unwrap_err().to_string();
    assert!(
        error.contains("(t, rows 0 to 65535): column ") && error.contains("the checksum does not match"),
        "{error}"
    );
    // A file that is missing is named.
    disk.remove(path).unwrap();
    let (memory, transactions) = (Memory::new(None), Transactions::new());
    let error = DataDirectory::read(&dyn_disk(&disk), Path::new(PATH), &memory, &transactions, 1).unwrap_err();
    assert!(error.to_string().starts_with(&format!("{}: cannot open it", path.display())), "{error}");
}
