//! Directories of earlier versions are opened as they are, and are of the newest one from the next checkpoint on.

use std::path::Path;

use longshore_simdisk::SimDisk;
use longshore_storage::data_directory::{DataDirectory, DirectoryOptions};
use longshore_storage::disk::{Disk, OpenMode};
use longshore_storage::log::LogOptions;
use longshore_storage::{Isolation, Memory, RECORD_VERSION, Relation, Transactions};
use xxhash_rust::xxh3::xxh3_64;

use crate::durable_support::{PATH, dyn_disk};
use crate::redo_support::{join, rows_by_id};
use crate::support::id_and_text;

fn options() -> DirectoryOptions {
    let log = LogOptions { segment_bytes: 4096, buffer_bytes: 1 << 12, spare_segments: 1 };
    DirectoryOptions { log, write_delay: None, threads: 1 }
}

/// The bytes of a manifest of the first version that says the same: its relations do not say whether their rows are logged.
fn of_version_1(manifest: &[u8]) -> Vec<u8> {
    let word = |at: usize| u32::from_le_bytes(manifest[at..at + 4].try_into().unwrap()) as usize;
    let mut at = 56 + 8 + 4 + 8;
    let relations = word(at);
    at += 4;
    let (mut body, mut from) = (Vec::new(), 56);
    for _ in 0..relations {
        assert_eq!(manifest[at + 4], 0, "all are logged");
        body.extend_from_slice(&manifest[from..at + 4]);
        from = at + 5;
        at = from;
        at += 4 + word(at);
        at += 4 + word(at);
        at += 4 + 40 * word(at);
    }
    body.extend_from_slice(&manifest[from..]);
    let mut bytes = manifest[..32].to_vec();
    bytes[8] = 1;
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&xxh3_64(&body).to_le_bytes());
    bytes.extend_from_slice(&body);
    bytes
}

#[test]
fn the_first_version_is_still_read() {
    let disk = SimDisk::new(1);
    let (transactions, path) = (Transactions::new(), Path::new(PATH));
    let directory = DataDirectory::create(&dyn_disk(&disk), path, &transactions, options()).unwrap();
    let relations: Vec<Relation> = (0..2)
        .map(|at| {
            let relation = Relation::in_database(id_and_text(), Memory::new(None), &transactions).with_name("t");
            join(&relation);
            let mut t = transactions.begin(Isolation::Snapshot);
            for row in 0..10 + at {
                t.insert(&relation, longshore_storage::key![row, "text"]).unwrap();
            }
            t.commit().unwrap();
            relation
        })
        .collect();
    directory.begin_checkpoint().unwrap().write(b"catalog").unwrap();
    // A record of that time, of a payload alone.
    let record = [&[5, 9 << 1 | 1][..], b"an answer"].concat();
    let lsn = directory.log().append(1, &[&record]).unwrap();
    directory.log().wait(lsn).unwrap();
    let manifest = path.join("manifest");
    let file = disk.open(&manifest, OpenMode::Write).unwrap();
    let mut bytes = vec![0; file.length().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    assert_eq!((bytes[8], RECORD_VERSION), (2, 2), "what is new is to be tried here");
    let old = of_version_1(&bytes);
    assert_eq!(old.len(), bytes.len() - relations.len());
    file.truncate(0).unwrap();
    file.write_at(&old, 0).unwrap();
    file.sync().unwrap();

    for _ in 0..2 {
        let disk = dyn_disk(&disk.restart());
        let again = Transactions::new();
        let (directory, recovered) =
            DataDirectory::open(&disk, path, &Memory::new(None), &again, options()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(recovered.catalog, b"catalog");
        assert_eq!(recovered.payloads.len(), 1);
        assert_eq!(recovered.payloads[0].1, b"an answer");
        for (relation, found) in relations.iter().zip(recovered.relations.values()) {
            assert!(found.is_logged());
            assert_eq!(rows_by_id(&found.snapshot()), rows_by_id(&relation.snapshot()));
        }
        directory.begin_checkpoint().unwrap().write(b"catalog").unwrap();
        directory.close().unwrap();
        let (_directory, recovered) =
            DataDirectory::open(&disk, path, &Memory::new(None), &Transactions::new(), options()).unwrap();
        assert_eq!((recovered.payloads.len(), recovered.relations.len()), (0, 2));
    }
}
