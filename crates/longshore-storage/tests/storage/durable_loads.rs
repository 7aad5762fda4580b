//! Large loads go to block files while they run, and the commit names them: they are there whole or not at all, are written
//! once, and leave no litter.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use longshore_simdisk::{Fault, SimDisk};
use longshore_storage::data_directory::{DataDirectory, DirectoryOptions};
use longshore_storage::log::LogOptions;
use longshore_storage::{
    Arena, Datum, Isolation, Memory, MergeKind, Relation, RelationId, RowId, TransactionError, Transactions,
};
use longshore_testing::Random;

use crate::durable_support::{PATH, Rows, dyn_disk};
use crate::log_support::seeds;
use crate::redo_support::{join, rows_by_id};
use crate::support::{Cell, Row, buffers, id_and_text, random_rows};

/// The fewest rows that get a chunk of their own.
const CHUNK_ROWS: usize = 8192;

struct Database {
    relation: Relation,
    transactions: Arc<Transactions>,
    directory: DataDirectory,
}

fn options() -> DirectoryOptions {
    let log = LogOptions { segment_bytes: 4096, buffer_bytes: 1 << 12, spare_segments: 1 };
    DirectoryOptions { log, write_delay: None, threads: 1 }
}

fn create(disk: &SimDisk) -> Database {
    let transactions = Transactions::new();
    let directory = DataDirectory::create(&dyn_disk(disk), Path::new(PATH), &transactions, options()).unwrap();
    let relation = Relation::in_database(id_and_text(), Memory::new(None), &transactions).with_name("t");
    join(&relation);
    directory.log().wait(directory.log().end()).unwrap();
    Database { relation, transactions, directory }
}

fn open(disk: &SimDisk) -> Database {
    let transactions = Transactions::new();
    let (disk, memory) = (dyn_disk(disk), Memory::new(None));
    let opened = DataDirectory::open(&disk, Path::new(PATH), &memory, &transactions, options());
    let (directory, mut recovered) = opened.unwrap_or_else(|error| panic!("{error}"));
    let relation = recovered.relations.remove(&RelationId(1)).unwrap();
    Database { relation, transactions, directory }
}

/// Rows that pack well, so that a test of many crashes has little to write.
fn rows(first: i64, count: usize) -> Vec<Row> {
    (first..)
        .take(count)
        .map(|id| vec![Cell::Integer(id), Cell::Text(["a", "bb"][id as usize % 2].to_owned())])
        .collect()
}

/// Appends rows as part of a transaction, in chunks of their own.
fn append(
    db: &Database,
    transaction: &mut longshore_storage::Transaction,
    chunks: &[Vec<Row>],
) -> Result<(), TransactionError> {
    let append = db.relation.begin_append(MergeKind::Chunk);
    for (sequence, rows) in chunks.iter().enumerate() {
        let mut arena = Arena::new(Memory::new(None), 1 << 20);
        append.merge(sequence as u64, buffers(db.relation.schema(), rows, &mut arena))?;
    }
    append.commit_in(transaction).map(drop)
}

fn load(db: &Database, chunks: &[Vec<Row>]) -> Result<(), String> {
    let mut transaction = db.transactions.begin(Isolation::Snapshot);
    append(db, &mut transaction, chunks).map_err(|error| error.to_string())?;
    let commit = transaction.commit().map_err(|error| error.to_string())?;
    db.transactions.wait_until_safe(commit).map_err(|error| error.to_string())
}

fn found(db: &Database) -> Rows {
    rows_by_id(&db.relation.snapshot())
}

fn block_files(disk: &SimDisk) -> usize {
    dyn_disk(disk).list(&Path::new(PATH).join("blocks")).unwrap().len()
}

#[test]
fn a_load_is_written_once() {
    let disk = SimDisk::new(1);
    let db = create(&disk);
    let mut random = Random::new(1);
    let chunks: Vec<Vec<Row>> =
        (0..3).map(|at| random_rows(&mut random, db.relation.schema(), at * 10_000, CHUNK_ROWS + 50)).collect();
    let before = db.directory.log().end().get();
    load(&db, &chunks).unwrap();
    // The record names the chunks.
    assert!(db.directory.log().end().get() - before < 200);
    let expected = found(&db);
    assert_eq!(expected.len(), 3 * (CHUNK_ROWS + 50));
    // Killed now, it is there.
    let restarted = disk.restart();
    let again = open(&restarted);
    assert!(found(&again) == expected);
    assert_eq!(block_files(&restarted), 1);
    for (db, disk) in [(db, &disk), (again, &restarted)] {
        let written = disk.bytes_written();
        let report = db.directory.begin_checkpoint().unwrap().write(&[]).unwrap();
        assert_eq!((report.chunks, report.chunks_kept), (0, 3), "the checkpoint takes the chunks over");
        assert!(disk.bytes_written() - written < 2000);
        assert_eq!(block_files(disk), 1);
        let report = db.directory.begin_checkpoint().unwrap().write(&[]).unwrap();
        assert_eq!((report.chunks, report.chunks_kept), (0, 3));
        // A row that has gone lets its chunk be written.
        let mut t = db.transactions.begin(Isolation::Snapshot);
        t.delete(&db.relation, RowId::new(0, 3)).unwrap();
        t.commit().unwrap();
        let report = db.directory.begin_checkpoint().unwrap().write(&[]).unwrap();
        assert_eq!((report.chunks, report.chunks_kept), (1, 2));
        let mut expected = expected.clone();
        expected.remove(&RowId::new(0, 3));
        drop(db);
        assert!(found(&open(disk)) == expected);
    }
}

#[test]
fn what_a_transaction_does_to_its_load_comes_back() {
    let disk = SimDisk::new(2);
    let db = create(&disk);
    let mut t = db.transactions.begin(Isolation::Snapshot);
    append(&db, &mut t, &[rows(0, CHUNK_ROWS), rows(10_000, CHUNK_ROWS)]).unwrap();
    // One chunk loses a row, the other one has another value: it is not the one that was written.
    t.delete(&db.relation, RowId::new(0, 5)).unwrap();
    t.set_datum(&db.relation, RowId::new(1, 7), 1, Datum::Text("changed")).unwrap();
    let commit = t.commit().unwrap();
    db.transactions.wait_until_safe(commit).unwrap();
    let expected = found(&db);
    assert_eq!(expected[&RowId::new(1, 7)][1], Cell::Text("changed".to_owned()));
    assert!(found(&open(&disk.restart())) == expected);
}

#[test]
fn what_is_not_committed_leaves_nothing() {
    let disk = SimDisk::new(3);
    let db = create(&disk);
    let mut t = db.transactions.begin(Isolation::Snapshot);
    append(&db, &mut t, &[rows(0, CHUNK_ROWS)]).unwrap();
    let mut going_on = db.transactions.begin(Isolation::Snapshot);
    append(&db, &mut going_on, &[rows(10_000, CHUNK_ROWS)]).unwrap();
    assert_eq!(block_files(&disk), 2);
    t.rollback();
    drop(db.relation.snapshot());
    // The file of the one goes, that of the other one stays.
    let report = db.directory.begin_checkpoint().unwrap().write(&[]).unwrap();
    assert_eq!((report.chunks, block_files(&disk)), (0, 1));
    let commit = going_on.commit().unwrap();
    db.transactions.wait_until_safe(commit).unwrap();
    let expected = found(&db);
    assert_eq!(expected.len(), CHUNK_ROWS);
    let restarted = disk.restart();
    assert!(found(&open(&restarted)) == expected);
    // Killed while a load runs, nothing is left.
    let mut t = db.transactions.begin(Isolation::Snapshot);
    append(&db, &mut t, &[rows(20_000, CHUNK_ROWS)]).unwrap();
    assert_eq!(block_files(&disk), 2);
    let restarted = disk.restart();
    assert!(found(&open(&restarted)) == expected);
    assert_eq!(block_files(&restarted), 1);
}

#[test]
fn a_load_whose_file_fails_leaves_nothing() {
    for (fault, cause) in [(Fault::Full, "No space left on device"), (Fault::Broken, "Input/output error")] {
        for operation in 0..5 {
            let disk = SimDisk::new(4);
            let db = create(&disk);
            load(&db, &[rows(0, CHUNK_ROWS)]).unwrap();
            let (expected, end) = (found(&db), db.directory.log().end());
            // Creating the file, its header, the chunk, the sync, that of the folder.
            disk.fail_at(disk.operations() + operation, fault);
            let error = load(&db, &[rows(10_000, CHUNK_ROWS), rows(20_000, CHUNK_ROWS)]).unwrap_err();
            assert!(error.contains(cause) && error.contains(".blocks"), "operation {operation}: {error}");
            assert_eq!(db.directory.log().end(), end, "nothing goes through the log instead");
            assert!(found(&db) == expected);
            assert_eq!(block_files(&disk), 1, "operation {operation}: a disk that is full has room again");
            // The database goes on.
            assert!(found(&open(&disk.restart())) == expected);
            load(&db, &[rows(30_000, CHUNK_ROWS)]).unwrap();
            let expected = found(&db);
            assert!(found(&open(&disk.restart())) == expected);
            db.directory.begin_checkpoint().unwrap().write(&[]).unwrap();
            assert_eq!(block_files(&disk), 2);
            assert!(found(&open(&disk.restart())) == expected);
        }
    }
}

/// Loads, single rows and checkpoints; says what must be there at least, and what may be.
fn work(db: &Database, states: &mut Vec<Rows>, random: &mut Random) -> Result<(), String> {
    for step in 0..5_i64 {
        match random.below(3) {
            0 => {
                let mut t = db.transactions.begin(Isolation::Snapshot);
                t.insert(&db.relation, longshore_storage::key![-step, "one"]).unwrap();
                let commit = t.commit().map_err(|error| error.to_string())?;
                states.push(found(db));
                db.transactions.wait_until_safe(commit).map_err(|error| error.to_string())?;
            }
            1 => {
                let checkpoint = db.directory.begin_checkpoint().map_err(|error| error.to_string())?;
                checkpoint.write(&[]).map_err(|error| error.to_string())?;
            }
            _ => {
                let mut t = db.transactions.begin(Isolation::Snapshot);
                append(db, &mut t, &[rows(step * 10_000, CHUNK_ROWS)]).map_err(|error| error.to_string())?;
                let commit = t.commit().map_err(|error| error.to_string())?;
                states.push(found(db));
                db.transactions.wait_until_safe(commit).map_err(|error| error.to_string())?;
            }
        }
        // What was waited for stays.
        states.drain(..states.len() - 1);
    }
    Ok(())
}

#[test]
fn crashes_at_every_change() {
    let mut crashes = 0;
    for seed in seeds(3) {
        let run = |crash_at: Option<u64>| {
            let disk = SimDisk::new(seed);
            let db = create(&disk);
            let mut states = vec![found(&db)];
            let before = disk.changes();
            if let Some(change) = crash_at {
                disk.crash_at(before + change);
            }
            let mut random = Random::new(seed);
            let worked = work(&db, &mut states, &mut random);
            assert!(worked.is_ok() || disk.has_crashed(), "{worked:?}");
            let restarted = disk.restart();
            let again = open(&restarted);
            let rows = found(&again);
            assert!(states.contains(&rows), "seed {seed}, crash at {crash_at:?}: {} rows", rows.len());
            let slots: BTreeSet<usize> = rows.keys().map(|row| row.chunk()).collect();
            assert!(block_files(&restarted) <= slots.len(), "seed {seed}, crash at {crash_at:?}: litter");
            // It goes on.
            load(&again, &[self::rows(90_000, CHUNK_ROWS)]).unwrap();
            again.directory.begin_checkpoint().unwrap().write(&[]).unwrap();
            let expected = found(&again);
            drop(again);
            assert!(found(&open(&restarted.restart())) == expected);
            (disk.changes() - before, u64::from(disk.has_crashed()))
        };
        let (changes, _) = run(None);
        for change in 0..changes {
            crashes += run(Some(change)).1;
        }
    }
    println!("{crashes} crashes");
    assert!(crashes > 10, "{crashes} crashes");
}
