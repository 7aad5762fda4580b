//! Writes changes of a relation's rows as an item of a record. Rows that came together, and are many, are a packed chunk; in
//! a durable database it may be in a block file, and then the item says where.
//!
//! Not here: which changes these are (`encode`, `whole`).

use std::sync::Arc;

use super::item::{ItemKind, OpenItem};
use super::row::{ChangeKind, NextRow, NullBits};
use super::wire::{put_bytes, put_number};
use crate::block_ref::{BlockRef, LoadFile, StoredBlock};
use crate::chunk::hot::HotChunk;
use crate::chunk::{Chunk, VisibleChunk, is_small};
use crate::error::TransactionError;
use crate::manager::{CommitLog, LoadWriter};
use crate::native::embedded::ChunkWriter;
use crate::row_id::RowId;
use crate::table::{RelationId, Table};
use crate::types::Column;

/// Rows that came together and have a slot to themselves are logged as a packed chunk if there are so many.
const CHUNK_ROWS_MIN: usize = 1024;

/// What a transaction has done to a row, apart from changes of its values.
pub(super) const INSERTED: u32 = 0;
pub(super) const DELETED: u32 = 1;
/// Of the first column, whose value was changed; others follow.
pub(super) const CHANGED: u32 = 2;

/// Writes changes of a relation's rows as an item.
pub(super) struct RowWriter<'a> {
    table: &'a Table,
    columns: &'a [Column],
    record: &'a mut Vec<u8>,
    item: OpenItem,
    next: NextRow,
    /// The columns of the last update.
    updated: Vec<u32>,
    /// How many of them may be NULL.
    updated_nullable: usize,
    /// The same of all columns.
    nullable: usize,
    chunks: Option<Box<ChunkWriter>>,
    /// Takes the files whose chunks are named.
    files: &'a mut Vec<Arc<dyn LoadFile>>,
    /// Writes large chunks that are in no file.
    past_log: Option<&'a RowsPastLog>,
}

impl<'a> RowWriter<'a> {
    pub(super) fn begin(
        table: &'a Table,
        id: RelationId,
        record: &'a mut Vec<u8>,
        files: &'a mut Vec<Arc<dyn LoadFile>>,
    ) -> RowWriter<'a> {
        let item = OpenItem::begin(record, ItemKind::Rows);
        put_number(record, id.0.into());
        let columns = table.schema().all_columns();
        let nullable = columns.iter().filter(|column| column.nullable).count();
        RowWriter {
            table,
            columns,
            record,
            item,
            next: NextRow::default(),
            updated: Vec::new(),
            updated_nullable: 0,
            nullable,
            chunks: None,
            files,
            past_log: None,
        }
    }

    /// Lets large chunks go to a file, rather than into the record.
    pub(super) fn past_log(self, past_log: &'a RowsPastLog) -> RowWriter<'a> {
        RowWriter { past_log: Some(past_log), ..self }
    }

    pub(super) fn end(self) {
        self.item.end(self.record);
    }

    /// All rows of a slot, of which this is the first, are gone.
    pub(super) fn truncate(&mut self, first: RowId) {
        self.next.put(self.record, ChangeKind::Truncate, first);
    }

    /// What is left of the changes of a row that a slot has.
    pub(super) fn row(&mut self, slot: &HotChunk, row: RowId, changes: &[(RowId, u32)]) {
        let (is_inserted, is_deleted) = (changes[0].1 == INSERTED, changes.iter().any(|(_, what)| *what == DELETED));
        match (is_inserted, is_deleted) {
            (true, true) => {}
            (true, false) => self.insert(slot, row),
            (false, true) => self.next.put(self.record, ChangeKind::Delete, row),
            (false, false) => self.update(slot, row, changes),
        }
    }

    fn insert(&mut self, slot: &HotChunk, row: RowId) {
        self.next.put(self.record, ChangeKind::Insert, row);
        let mut nulls = NullBits::begin(self.record, self.nullable);
        for column in self.columns.iter().enumerate() {
            nulls.put(self.record, slot, row.row(), column);
        }
    }

    fn update(&mut self, slot: &HotChunk, row: RowId, changes: &[(RowId, u32)]) {
        let columns = changes.iter().map(|(_, what)| what - CHANGED);
        if self.updated.iter().copied().eq(columns.clone()) {
            self.next.put(self.record, ChangeKind::UpdateAlike, row);
        } else {
            self.next.put(self.record, ChangeKind::Update, row);
            self.updated.clear();
            self.updated.extend(columns);
            put_columns(self.record, &self.updated);
            let nullable = self.updated.iter().filter(|&&column| self.columns[column as usize].nullable);
            self.updated_nullable = nullable.count();
        }
        let mut nulls = NullBits::begin(self.record, self.updated_nullable);
        for at in self.updated.iter().map(|&at| at as usize) {
            nulls.put(self.record, slot, row.row(), (at, &self.columns[at]));
        }
    }

    /// The chunk of a slot, but for some rows that went again.
    fn chunk(&mut self, chunk: Arc<Chunk>, first: RowId, gone: &[RowId]) -> Result<(), TransactionError> {
        let (chunk, stored) = match chunk.stored() {
            Some(stored) if stored.file.make_safe()? => (Arc::clone(&chunk), Some(stored.clone())),
            _ => {
                let settled = VisibleChunk::settled_without(chunk, gone.iter().map(|row| row.row()));
                let stored = self.past_log.map_or(Ok(None), |past_log| past_log.write(&settled))?;
                (settled, stored)
            }
        };
        let kind = if stored.is_some() { ChangeKind::Block } else { ChangeKind::Chunk };
        self.next.put(self.record, kind, first);
        put_number(self.record, gone.len() as u64);
        let mut next = 0;
        for row in gone {
            put_number(self.record, (row.row() - next) as u64);
            next = row.row() + 1;
        }
        if let Some(StoredBlock { block, file }) = stored {
            put_block(self.record, &block);
            if !self.files.iter().any(|known| Arc::ptr_eq(known, &file)) {
                self.files.push(file);
            }
            return Ok(());
        }
        let mut bytes = Vec::new();
        self.chunks.get_or_insert_with(|| Box::new(ChunkWriter::new())).write(&chunk, &mut bytes)?;
        put_bytes(self.record, &bytes);
        Ok(())
    }

    /// Rows of a slot that came together, but for some that went again.
    pub(super) fn rows_together(&mut self, first: RowId, count: usize, gone: &[RowId]) -> Result<(), TransactionError> {
        let Some(slot) = self.table.slots.get(first.chunk()) else { return Ok(()) };
        if count >= CHUNK_ROWS_MIN && first.row() == 0 {
            let chunk = {
                let mut slot = slot.write();
                (slot.len() == count).then(|| slot.chunk())
            };
            if let Some(chunk) = chunk {
                return self.chunk(chunk, first, gone);
            }
        }
        let slot = slot.read();
        let mut gone = gone.iter().peekable();
        for row in (first.0..first.0 + count as u64).map(RowId) {
            if gone.next_if(|gone| **gone == row).is_none() {
                self.insert(&slot, row);
            }
        }
        Ok(())
    }
}

/// Where a chunk is.
fn put_block(bytes: &mut Vec<u8>, block: &BlockRef) {
    for number in [block.file, block.offset, block.bytes, block.head_bytes.into()] {
        put_number(bytes, number);
    }
    bytes.extend_from_slice(&block.checksum.to_le_bytes());
}

/// Columns in ascending order: how many, and how many lie before each behind the one before.
fn put_columns(bytes: &mut Vec<u8>, columns: &[u32]) {
    put_number(bytes, columns.len() as u64);
    let mut next = 0;
    for &column in columns {
        put_number(bytes, (column - next).into());
        next = column + 1;
    }
}

/// Takes the large chunks of a relation to a file.
pub(super) struct RowsPastLog(Option<Box<dyn LoadWriter>>);

impl RowsPastLog {
    /// Without files in the database, all is logged.
    pub(super) fn new(log: &CommitLog) -> RowsPastLog {
        RowsPastLog(log.begin_load())
    }

    /// Writes a chunk, if it is large; says where it is.
    fn write(&self, chunk: &Chunk) -> Result<Option<StoredBlock>, TransactionError> {
        let writer = self.0.as_ref().filter(|_| !is_small(chunk.rows() as u64, chunk.bytes()));
        let Some(writer) = writer else { return Ok(None) };
        let stored = writer.write(chunk)?;
        // The next checkpoint finds it there.
        chunk.set_stored(stored.clone());
        Ok(Some(stored))
    }

    /// Makes what was written safe.
    pub(super) fn finish(&self) -> Result<(), TransactionError> {
        self.0.as_ref().map_or(Ok(()), |writer| writer.finish())
    }
}
