//! A relation that is filled before it joins, or altered so that most of it is new, goes to block files past the log: it is
//! there whole or not at all, is written once, and leaves no litter.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use longshore_simdisk::{Fault, SimDisk};
use longshore_storage::data_directory::{DataDirectory, DirectoryOptions};
use longshore_storage::log::LogOptions;
use longshore_storage::{
    Arena, Column, ColumnType, Datum, Isolation, Memory, MergeKind, NewColumn, Relation, RelationId, RowId, Schema,
    Transaction, Transactions,
};

use crate::durable_support::{PATH, Rows, dyn_disk};
use crate::log_support::seeds;
use crate::redo_support::rows_by_id;
use crate::support::{Cell, Row, buffers, id_and_text};

/// The fewest rows that get a chunk of their own.
const CHUNK_ROWS: usize = 8192;

/// A record that names chunks, and has none of them.
const RECORD_BYTES_MAX: u64 = 400;

struct Database {
    transactions: Arc<Transactions>,
    directory: DataDirectory,
    relation: Option<Relation>,
}

fn options() -> DirectoryOptions {
    let log = LogOptions { segment_bytes: 4096, buffer_bytes: 1 << 12, spare_segments: 1 };
    DirectoryOptions { log, write_delay: None, threads: 1 }
}

fn create(disk: &SimDisk) -> Database {
    let transactions = Transactions::new();
    let directory = DataDirectory::create(&dyn_disk(disk), Path::new(PATH), &transactions, options()).unwrap();
    Database { transactions, directory, relation: None }
}

fn open(disk: &SimDisk) -> Database {
    let (transactions, memory) = (Transactions::new(), Memory::new(None));
    let opened = DataDirectory::open(&dyn_disk(disk), Path::new(PATH), &memory, &transactions, options());
    let (directory, mut recovered) = opened.unwrap_or_else(|error| panic!("{error}"));
    assert!(recovered.relations.len() <= 1);
    let relation = recovered.relations.pop_first().map(|(_, relation)| relation);
    Database { transactions, directory, relation }
}

impl Database {
    fn end(&self) -> u64 {
        self.directory.log().end().get()
    }

    fn rows(&self) -> Option<Rows> {
        self.relation.as_ref().map(|relation| rows_by_id(&relation.snapshot()))
    }

    fn commit(&self, transaction: Transaction) -> Result<(), String> {
        let commit = transaction.commit().map_err(|error| error.to_string())?;
        self.transactions.wait_until_safe(commit).map_err(|error| error.to_string())
    }

    fn checkpoint(&self) -> Result<(u64, u64), String> {
        let checkpoint = self.directory.begin_checkpoint().map_err(|error| error.to_string())?;
        let report = checkpoint.write(&[]).map_err(|error| error.to_string())?;
        Ok((report.chunks, report.chunks_kept))
    }

    /// A relation that is filled in one of several ways, and has not joined yet.
    fn filled(&self, way: usize, chunks: usize) -> Result<Relation, String> {
        let memory = Memory::new(None);
        let relation = match way {
            0 | 1 => Relation::in_database(id_and_text(), memory, &self.transactions),
            _ => Relation::new(id_and_text(), memory),
        };
        let append = relation.begin_append(if way == 1 { MergeKind::Copy } else { MergeKind::Chunk });
        for sequence in 0..chunks {
            let mut arena = Arena::new(Memory::new(None), 1 << 20);
            // Merged by copy, chunks are filled to the brim.
            let count = if way == 1 { 1 << 16 } else { CHUNK_ROWS };
            let rows = rows((sequence * 100_000) as i64, count);
            let merged = append.merge(sequence as u64, buffers(relation.schema(), &rows, &mut arena));
            merged.map_err(|error| error.to_string())?;
        }
        append.commit().map_err(|error| error.to_string())?;
        let relation = match way {
            0 | 1 => relation,
            threads => relation.into_database(&self.transactions, threads).map_err(|error| error.to_string())?,
        };
        Ok(relation.with_name("t"))
    }

    /// Lets a relation join.
    fn join(&mut self, relation: Relation) -> Result<(), String> {
        let mut transaction = self.transactions.begin(Isolation::Snapshot);
        transaction.log_created(&relation).map_err(|error| error.to_string())?;
        self.relation = Some(relation);
        self.commit(transaction)
    }

    /// Gives each row a value of its own in another column.
    fn alter(&mut self) -> Result<(), String> {
        let before = self.relation.as_ref().unwrap();
        let mut columns = before.schema().columns().to_vec();
        columns.push(Column::new("added", ColumnType::BigInt, false));
        let schema = Arc::new(Schema::new(columns));
        let alteration = before.begin_alteration(Duration::ZERO).unwrap();
        let sources = [NewColumn::Kept(0), NewColumn::Kept(1), NewColumn::Computed];
        let after = alteration.reshape("t", &schema, &sources, &[]).unwrap();
        for row in rows_by_id(&before.snapshot()).into_keys() {
            alteration.compute(&after, row, 2, Datum::I64(row.0 as i64 * 3)).unwrap();
        }
        let transaction = self.transactions.begin(Isolation::Snapshot);
        let commit = alteration.commit_in(&after, Arc::new(()), transaction).map_err(|error| error.to_string())?;
        self.relation = Some(after);
        self.transactions.wait_until_safe(commit).map_err(|error| error.to_string())
    }
}

/// Rows that pack well, so that a test of many crashes has little to write.
fn rows(first: i64, count: usize) -> Vec<Row> {
    (first..)
        .take(count)
        .map(|id| vec![Cell::Integer(id), Cell::Text(["a", "bb"][id as usize % 2].to_owned())])
        .collect()
}

fn block_files(disk: &SimDisk) -> usize {
    dyn_disk(disk).list(&Path::new(PATH).join("blocks")).unwrap().len()
}

#[test]
fn rows_of_a_relation_that_joins_are_not_in_the_log() {
    for way in 0..4 {
        let disk = SimDisk::new(1);
        let mut db = create(&disk);
        let relation = db.filled(way, 3).unwrap();
        let before = db.end();
        db.join(relation).unwrap();
        assert!(db.end() - before < RECORD_BYTES_MAX, "way {way}: {} bytes", db.end() - before);
        let expected = db.rows().unwrap();
        assert_eq!(expected.len() % CHUNK_ROWS, 0);
        // Killed now, it is there.
        let restarted = disk.restart();
        let again = open(&restarted);
        assert!(again.rows().as_ref() == Some(&expected), "way {way}");
        for (mut db, disk) in [(db, &disk), (again, &restarted)] {
            assert_eq!(block_files(disk), 1, "way {way}");
            assert_eq!(db.checkpoint(), Ok((0, 3)), "the checkpoint takes the chunks over");
            // It is changed like any other.
            for row in [RowId::new(1, 7), RowId::new(1, 0)] {
                let mut t = db.transactions.begin(Isolation::Snapshot);
                t.delete(db.relation.as_ref().unwrap(), row).unwrap();
                db.commit(t).unwrap();
                assert_eq!(db.checkpoint(), Ok((1, 2)));
            }
            let before = db.end();
            db.alter().unwrap();
            assert!(db.end() - before < RECORD_BYTES_MAX, "way {way}: {} bytes", db.end() - before);
            let expected = db.rows().unwrap();
            assert!(open(&disk.restart()).rows().as_ref() == Some(&expected), "way {way}");
            assert_eq!(db.checkpoint(), Ok((1, 2)), "one has rows that are gone");
            assert_eq!(block_files(disk), 2, "what it was made of is gone");
            drop(db);
            let again = open(disk);
            assert!(again.rows().as_ref() == Some(&expected), "way {way}");
            assert_eq!(again.relation.unwrap().relation_id(), Some(RelationId(1)));
        }
    }
}

#[test]
fn what_does_not_join_leaves_nothing() {
    for way in 0..4 {
        let disk = SimDisk::new(2);
        let mut db = create(&disk);
        let relation = db.filled(way, 2).unwrap();
        let mut transaction = db.transactions.begin(Isolation::Snapshot);
        transaction.log_created(&relation).unwrap();
        transaction.rollback();
        // It may do so later, beside checkpoints.
        assert_eq!(db.checkpoint(), Ok((0, 0)));
        db.join(relation).unwrap();
        let expected = db.rows();
        assert!(open(&disk.restart()).rows() == expected, "way {way}");
        // Killed before it joins, nothing is left.
        let other = db.filled(way, 2).unwrap();
        assert!(block_files(&disk) >= 1);
        let restarted = disk.restart();
        assert!(open(&restarted).rows() == expected, "way {way}");
        assert_eq!(block_files(&restarted), 1);
        drop(other);
        db.checkpoint().unwrap();
        assert_eq!(block_files(&disk), 1, "way {way}");
    }
}

/// What happens to a relation.
fn work(db: &mut Database, way: usize, states: &mut Vec<Option<Rows>>) -> Result<(), String> {
    let relation = db.filled(way, 1)?;
    states.push(Some(rows_by_id(&relation.snapshot())));
    db.join(relation)?;
    states.drain(..1);
    // The same rows under the same ids, with another column.
    let altered = db.rows().unwrap().into_iter().map(|(row, mut cells)| {
        cells.push(Cell::Integer(row.0 as i64 * 3));
        (row, cells)
    });
    states.push(Some(altered.collect()));
    db.alter()?;
    states.drain(..1);
    db.checkpoint()?;
    Ok(())
}

#[test]
fn crashes_at_every_change() {
    let mut crashes = 0;
    for seed in seeds(2) {
        for way in [0, 1, 2] {
            let run = |crash_at: Option<u64>| {
                let disk = SimDisk::new(seed);
                let mut db = create(&disk);
                let before = disk.changes();
                if let Some(change) = crash_at {
                    disk.crash_at(before + change);
                }
                let mut states = vec![None];
                let worked = work(&mut db, way, &mut states);
                assert!(worked.is_ok() || disk.has_crashed(), "{worked:?}");
                let restarted = disk.restart();
                let mut again = open(&restarted);
                let found = again.rows();
                assert!(states.contains(&found), "seed {seed}, way {way}, crash at {crash_at:?}");
                // The log may have both, what it was and what it was altered to.
                assert!(block_files(&restarted) <= 2, "seed {seed}, way {way}, crash at {crash_at:?}: litter");
                // It goes on.
                if found.is_none() {
                    let relation = again.filled(way, 1).unwrap();
                    again.join(relation).unwrap();
                }
                again.checkpoint().unwrap();
                assert_eq!(block_files(&restarted), 1);
                let expected = again.rows();
                drop(again);
                assert!(open(&restarted.restart()).rows() == expected);
                (disk.changes() - before, u64::from(disk.has_crashed()))
            };
            let (changes, _) = run(None);
            for change in 0..changes {
                crashes += run(Some(change)).1;
            }
        }
    }
    println!("{crashes} crashes");
    assert!(crashes > 50, "{crashes} crashes");
}

#[test]
fn every_operation_fails_in_turn() {
    for (fault, cause) in [(Fault::Full, "No space left on device"), (Fault::Broken, "Input/output error")] {
        for way in 0..3 {
            let mut operation = 0;
            loop {
                let disk = SimDisk::new(3);
                let mut db = create(&disk);
                disk.fail_at(disk.operations() + operation, fault);
                let mut states = vec![None];
                let Err(error) = work(&mut db, way, &mut states) else { break };
                assert!(error.contains(cause), "{error}");
                disk.heal();
                drop(db);
                let restarted = disk.restart();
                let mut again = open(&restarted);
                assert!(states.contains(&again.rows()), "way {way}, operation {operation}");
                assert!(block_files(&restarted) <= 2);
                if again.rows().is_none() {
                    work(&mut again, way, &mut vec![None]).unwrap();
                }
                operation += 1;
            }
            assert!(operation > 5, "{operation} operations");
        }
    }
}
