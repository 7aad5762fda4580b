//! The directory of a durable database, one thing at a time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use longshore_simdisk::{Fault, SimDisk};
use longshore_storage::data_directory::{CheckpointReport, DataDirectory, DirectoryError, DirectoryOptions, Recovered};
use longshore_storage::disk::{Disk, OpenMode, SystemDisk};
use longshore_storage::{Arena, Freeze, Isolation, Memory, MergeKind, Relation, RelationId, RowId, Transactions, key};
use longshore_testing::Random;

use crate::durable_support::{PATH, dyn_disk};
use crate::redo_support::{join, rows_by_id};
use crate::support::{buffers, id_and_text, random_rows};

fn options() -> DirectoryOptions {
    DirectoryOptions { write_delay: None, threads: 2, ..DirectoryOptions::default() }
}

struct Database {
    transactions: Arc<Transactions>,
    directory: DataDirectory,
}

fn create(disk: &Arc<dyn Disk>, path: &Path) -> Result<Database, DirectoryError> {
    let transactions = Transactions::new();
    let directory = DataDirectory::create(disk, path, &transactions, options())?;
    Ok(Database { transactions, directory })
}

fn open(disk: &Arc<dyn Disk>, path: &Path) -> Result<(Database, Recovered), DirectoryError> {
    let transactions = Transactions::new();
    let (directory, recovered) = DataDirectory::open(disk, path, &Memory::new(None), &transactions, options())?;
    Ok((Database { transactions, directory }, recovered))
}

impl Database {
    /// A relation that has joined.
    fn relation(&self) -> Relation {
        let relation = Relation::in_database(id_and_text(), Memory::new(None), &self.transactions).with_name("t");
        join(&relation);
        relation
    }

    fn checkpoint(&self, catalog: &[u8]) -> CheckpointReport {
        let report = self.directory.begin_checkpoint().unwrap().write(catalog).unwrap();
        assert!(report.not_removed.is_none(), "{report:?}");
        report
    }
}

fn insert(relation: &Relation, id: i64) -> RowId {
    let mut t = relation.transactions().begin(Isolation::Snapshot);
    let row = t.insert(relation, key![id, "a text that is long enough for a heap"]).unwrap();
    relation.transactions().wait_until_safe(t.commit().unwrap()).unwrap();
    row
}

/// Appends rows that get a slot of their own.
fn append(relation: &Relation, random: &mut Random, count: usize) {
    let rows = random_rows(random, relation.schema(), 0, count);
    let mut arena = Arena::new(Arc::clone(relation.memory()), 1 << 20);
    let append = relation.begin_append(MergeKind::Chunk);
    append.merge(0, buffers(relation.schema(), &rows, &mut arena)).unwrap();
    append.commit().unwrap();
}

fn block_files(disk: &dyn Disk, path: &Path) -> usize {
    disk.list(&path.join("blocks")).unwrap().len()
}

#[test]
fn a_database_of_the_system_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let (disk, path) = (Arc::new(SystemDisk) as Arc<dyn Disk>, folder.path().join("db"));
    assert!(!DataDirectory::exists(&disk, &path).unwrap());
    assert!(matches!(open(&disk, &path), Err(DirectoryError::Missing { .. })));
    let transactions = Transactions::new();
    let with_writer = DirectoryOptions { write_delay: Some(Duration::from_millis(1)), ..options() };
    let directory = DataDirectory::create(&disk, &path, &transactions, with_writer).unwrap();
    assert!(DataDirectory::exists(&disk, &path).unwrap());
    let db = Database { transactions, directory };
    let relation = db.relation();
    for id in 0..100 {
        insert(&relation, id);
    }
    let expected = rows_by_id(&relation.snapshot());
    // While it is open, nobody else opens it for writing.
    let error = open(&disk, &path).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains(&format!("process {} holds the lock", std::process::id())), "{error}");
    let error = create(&disk, &path).map(|_| ()).unwrap_err();
    assert!(matches!(error, DirectoryError::Disk(_) | DirectoryError::Exists { .. }), "{error}");
    drop(db);
    for round in 0..3 {
        let (db, recovered) = open(&disk, &path).unwrap();
        let relation = &recovered.relations[&RelationId(1)];
        assert_eq!(rows_by_id(&relation.snapshot()), expected);
        assert_eq!(recovered.replayed.changes, [100, 100, 0][round]);
        assert_eq!(recovered.catalog, if round == 2 { b"catalog".to_vec() } else { Vec::new() });
        if round == 1 {
            assert!(db.directory.log_bytes() > 0);
            db.checkpoint(b"catalog");
            assert_eq!(db.directory.log_bytes(), 0);
        }
        db.directory.close().unwrap();
    }
    let (memory, transactions) = (Memory::new(None), Transactions::new());
    let read = DataDirectory::read(&disk, &path, &memory, &transactions, 1).unwrap();
    assert_eq!(rows_by_id(&read.relations[&RelationId(1)].snapshot()), expected);
    assert!(matches!(create(&disk, &path), Err(DirectoryError::Exists { .. })));
}

#[test]
fn only_what_has_changed_is_written() {
    let disk = dyn_disk(&SimDisk::new(1));
    let path = Path::new(PATH);
    let db = create(&disk, path).unwrap();
    let (relation, other) = (db.relation(), db.relation());
    let mut random = Random::new(1);
    for _ in 0..3 {
        append(&relation, &mut random, 9000);
    }
    let row = insert(&other, 7);
    // The large ones were written when they came.
    let report = db.checkpoint(&[]);
    assert_eq!((report.chunks, report.chunks_kept), (1, 3));
    let report = db.checkpoint(&[]);
    assert_eq!((report.chunks, report.chunks_kept, report.bytes), (0, 4, 0));
    // Frozen or looked at is not changed.
    relation.freeze(Freeze::All, 1, &|| false).unwrap();
    assert_eq!(relation.snapshot().rows(), 27_000);
    let mut t = db.transactions.begin(Isolation::Snapshot);
    t.set_datum(&other, row, 1, longshore_storage::Datum::Text("undone")).unwrap();
    t.rollback();
    assert_eq!(db.checkpoint(&[]).chunks, 0);
    // A value, a row that goes, a row that comes.
    let mut t = db.transactions.begin(Isolation::Snapshot);
    t.set_datum(&other, row, 1, longshore_storage::Datum::Text("changed")).unwrap();
    t.commit().unwrap();
    assert_eq!(db.checkpoint(&[]).chunks, 1);
    let mut t = db.transactions.begin(Isolation::Snapshot);
    t.delete(&relation, RowId::new(1, 5)).unwrap();
    t.commit().unwrap();
    let report = db.checkpoint(&[]);
    assert_eq!((report.chunks, report.chunks_kept), (1, 3));
    let expected = rows_by_id(&relation.snapshot());
    drop(db);
    let (db, recovered) = open(&disk, path).unwrap();
    let relation = &recovered.relations[&RelationId(1)];
    assert_eq!(recovered.replayed.changes, 0);
    assert!(rows_by_id(&relation.snapshot()) == expected);
    assert!(relation.snapshot().pieces().iter().all(|piece| piece.chunk().packed(0).is_some()), "it stays packed");
    // What was read back is not written again, and what is changed is.
    assert_eq!(db.checkpoint(&[]).chunks, 0);
    insert(&recovered.relations[&RelationId(2)], 8);
    let report = db.checkpoint(&[]);
    assert_eq!((report.chunks, report.chunks_kept), (1, 3));
}

#[test]
fn files_that_nobody_needs_go() {
    let disk = dyn_disk(&SimDisk::new(2));
    let path = Path::new(PATH);
    let db = create(&disk, path).unwrap();
    let (relation, other) = (db.relation(), db.relation());
    let mut random = Random::new(2);
    append(&relation, &mut random, 9000);
    insert(&other, 1);
    db.checkpoint(&[]);
    for id in 2..6 {
        insert(&other, id);
        db.checkpoint(&[]);
        assert_eq!(block_files(&*disk, path), 2, "the file of the large one, and the newest");
    }
    // A file with a large chunk and a small one, of which the large one goes: the small one is written anew, and the file goes.
    let third = db.relation();
    insert(&third, 1);
    let mut t = db.transactions.begin(Isolation::Snapshot);
    t.delete(&relation, RowId::new(0, 0)).unwrap();
    t.commit().unwrap();
    let report = db.checkpoint(&[]);
    assert_eq!((report.chunks, block_files(&*disk, path)), (2, 2));
    let mut t = db.transactions.begin(Isolation::Snapshot);
    t.truncate(&relation).unwrap();
    t.commit().unwrap();
    assert_eq!(db.checkpoint(&[]).chunks, 0);
    let report = db.checkpoint(&[]);
    assert_eq!((report.chunks, report.chunks_kept, block_files(&*disk, path)), (1, 1, 2));
    // Litter goes when the database is opened.
    db.directory.close().unwrap();
    for name in ["manifest.new", "incomplete", "blocks/00000000000000ff.blocks"] {
        disk.open(&path.join(name), OpenMode::Create).unwrap();
    }
    let before = block_files(&*disk, path);
    let (_db, recovered) = open(&disk, path).unwrap();
    assert_eq!((block_files(&*disk, path), recovered.relations.len()), (before - 1, 3));
    assert!(!disk.list(path).unwrap().iter().any(|name| name == "manifest.new" || name == "incomplete"));
}

#[test]
fn a_checkpoint_that_fails_changes_nothing() {
    for fault in 0..12 {
        let sim = SimDisk::new(fault);
        let (disk, path) = (dyn_disk(&sim), Path::new(PATH));
        let db = create(&disk, path).unwrap();
        let relation = db.relation();
        insert(&relation, 1);
        db.checkpoint(b"first");
        insert(&relation, 2);
        sim.fail_at(sim.operations() + fault, Fault::Full);
        let failed = db.directory.begin_checkpoint().unwrap().write(b"second");
        sim.heal();
        // The database goes on, unless it was the log that failed.
        let expected = if let Err(error) = &failed {
            assert!(error.is_full(), "{error}");
            vec![b"first".to_vec(), b"second".to_vec()]
        } else {
            vec![b"second".to_vec()]
        };
        insert(&relation, 3);
        let rows = rows_by_id(&relation.snapshot());
        let (_, recovered) = {
            let restarted = dyn_disk(&sim.restart());
            open(&restarted, path).unwrap()
        };
        assert!(expected.contains(&recovered.catalog));
        assert_eq!(rows_by_id(&recovered.relations[&RelationId(1)].snapshot()), rows);
        let report = db.checkpoint(b"third");
        assert_eq!(report.chunks, 1);
        assert_eq!(block_files(&*disk, path), 1, "what a failure has left is gone");
    }
}

#[test]
fn one_checkpoint_at_a_time() {
    let disk = dyn_disk(&SimDisk::new(3));
    let db = create(&disk, Path::new(PATH)).unwrap();
    let relation = db.relation();
    insert(&relation, 1);
    let first = db.directory.begin_checkpoint().unwrap();
    assert_eq!(first.time(), db.transactions.now());
    let error = db.directory.begin_checkpoint().map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "a checkpoint is under way; wait until it is done");
    drop(first);
    db.directory.begin_checkpoint().unwrap().write(&[]).unwrap();
}

#[test]
fn a_directory_with_other_things_is_left_alone() {
    let disk = dyn_disk(&SimDisk::new(4));
    let path = Path::new(PATH);
    disk.create_directory(path).unwrap();
    disk.open(&path.join("precious"), OpenMode::Create).unwrap();
    let error = create(&disk, path).map(|_| ()).unwrap_err();
    assert!(matches!(&error, DirectoryError::NotEmpty { name, .. } if name == Path::new("precious")), "{error}");
    assert_eq!(disk.list(path).unwrap(), ["precious"], "nothing is left behind");
    // A database whose manifest is missing is not made anew.
    disk.remove(&path.join("precious")).unwrap();
    let db = create(&disk, path).unwrap();
    insert(&db.relation(), 1);
    db.directory.close().unwrap();
    disk.rename(&path.join("manifest"), &path.join("manifest.lost")).unwrap();
    assert!(matches!(create(&disk, path), Err(DirectoryError::NotEmpty { .. })));
    disk.rename(&path.join("manifest.lost"), &path.join("manifest")).unwrap();
    assert_eq!(open(&disk, path).unwrap().1.relations.len(), 1);
}
