//! A log in memory, and databases that come back from it.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use longshore_storage::log::{LogError, Lsn};
use longshore_storage::{
    Datum, Isolation, Memory, RedoLog, Relation, RelationId, Replay, ReplayError, RowId, Schema, Snapshot, Transactions,
};

use crate::support::{Row, datum, rows_of};

/// A record, with the time of its commit.
pub(crate) type TimedRecord = (u64, Vec<u8>);

/// Keeps records.
#[derive(Default)]
pub(crate) struct MemoryLog {
    transactions: OnceLock<Weak<Transactions>>,
    records: Mutex<Vec<TimedRecord>>,
    pub(crate) is_closed: AtomicBool,
}

impl RedoLog for MemoryLog {
    fn append(&self, record: &[u8], _: usize) -> Result<Lsn, LogError> {
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(LogError::Closed);
        }
        // The commit comes next.
        let now = self.transactions.get().and_then(Weak::upgrade).expect("a database logs to it").now();
        let mut records = self.records.lock().unwrap();
        records.push((now.get() + 1, record.to_vec()));
        Ok(Lsn::new(records.len() as u64))
    }
}

impl MemoryLog {
    /// Of a database, from now on.
    pub(crate) fn of(transactions: &Arc<Transactions>) -> Arc<MemoryLog> {
        let log = Arc::new(MemoryLog::default());
        assert!(log.transactions.set(Arc::downgrade(transactions)).is_ok());
        transactions.log_to(Arc::clone(&log) as Arc<dyn RedoLog>);
        log
    }

    pub(crate) fn records(&self) -> Vec<TimedRecord> {
        self.records.lock().unwrap().clone()
    }
}

/// Lets a relation join its database.
pub(crate) fn join(relation: &Relation) -> RelationId {
    let mut transaction = relation.transactions().begin(Isolation::Snapshot);
    transaction.log_created(relation).unwrap();
    transaction.commit().unwrap();
    relation.relation_id().unwrap()
}

/// An empty relation of a new database with a log.
pub(crate) fn logged_relation(schema: &Arc<Schema>) -> (Relation, Arc<MemoryLog>) {
    let transactions = Transactions::new();
    let log = MemoryLog::of(&transactions);
    let relation = Relation::in_database(Arc::clone(schema), Memory::new(None), &transactions).with_name("t");
    join(&relation);
    (relation, log)
}

/// Records as a log gives them back.
pub(crate) fn positioned(records: &[TimedRecord]) -> Vec<(Lsn, &[u8])> {
    (1..).map(Lsn::new).zip(records.iter().map(|(_, record)| record.as_slice())).collect()
}

/// The relations that come back from records.
pub(crate) fn try_replay(
    records: &[TimedRecord],
    memory: &Arc<Memory>,
    threads: usize,
) -> Result<BTreeMap<RelationId, Relation>, ReplayError> {
    let transactions = Transactions::new();
    let mut replay = Replay::new(&transactions, memory);
    // In several parts, as a long log is read.
    for part in positioned(records).chunks(7.max(records.len() / 3)) {
        replay.apply(part, threads, &mut |_, _| {})?;
    }
    Ok(replay.finish())
}

pub(crate) fn replayed(records: &[TimedRecord], threads: usize) -> BTreeMap<RelationId, Relation> {
    try_replay(records, &Memory::new(None), threads).unwrap_or_else(|error| panic!("{error}"))
}

/// The same by way of a checkpoint after so many records.
pub(crate) fn replayed_from(records: &[TimedRecord], checkpoint: usize) -> BTreeMap<RelationId, Relation> {
    let image = replayed(&records[..checkpoint], 1);
    let (transactions, memory) = (Transactions::new(), Memory::new(None));
    let mut replay = Replay::new(&transactions, &memory);
    for (id, relation) in &image {
        replay.add(*id, relation).unwrap();
    }
    replay.apply(&positioned(records)[checkpoint..], 2, &mut |_, _| {}).unwrap_or_else(|error| panic!("{error}"));
    replay.finish()
}

/// The rows that a snapshot shows, by their ids.
pub(crate) fn rows_by_id(snapshot: &Snapshot) -> BTreeMap<RowId, Row> {
    let schema = snapshot.schema();
    let mut rows = BTreeMap::new();
    for piece in snapshot.pieces() {
        let visible = piece.visible(0, piece.rows());
        let arrays = (0..schema.columns().len()).map(|column| piece.array(column, 0, piece.rows())).collect();
        let batch = arrow_array::RecordBatch::try_new(schema.arrow(), arrays).unwrap();
        let found = rows_of(schema, &batch).into_iter().enumerate();
        let seen = found.filter(|(row, _)| visible.as_ref().is_none_or(|bits| bits.value(*row)));
        rows.extend(seen.map(|(row, cells)| (piece.row_id(row), cells)));
    }
    rows
}

/// The cells of a row as values.
pub(crate) fn datums<'r>(row: &'r Row, schema: &Schema) -> Vec<Datum<'r>> {
    row.iter().zip(schema.columns()).map(|(cell, column)| datum(cell, column.column_type)).collect()
}
