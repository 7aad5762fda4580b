//! Makes the record of a transaction: the after-images of what it has changed.
//!
//! The values lie in the slots: nobody else changes them as long as the transaction has not ended, so that they are read
//! row by row under the latches of the slots, in the order of the rows. What a row went through does not matter, only what
//! is left of it.

use std::sync::Arc;

use super::altered;
use super::item::{ItemKind, OpenItem};
use super::row::{ChangeKind, NextRow, NullBits};
use super::wire::{put_bytes, put_number};
use crate::block_ref::{BlockRef, LoadFile};
use crate::chunk::hot::{HotChunk, SlotRead};
use crate::manager::{WriteKind, WriteSet};
use crate::memory::OutOfMemory;
use crate::native::embedded::ChunkWriter;
use crate::row_id::RowId;
use crate::table::{RelationId, Table};
use crate::types::Column;

/// Rows that came together and have a slot to themselves are logged as a packed chunk if there are so many.
const CHUNK_ROWS_MIN: usize = 1024;

/// Writes the record of a transaction that is about to commit.
pub(super) fn encode(
    set: &WriteSet,
    record: &mut Vec<u8>,
    files: &mut Vec<Arc<dyn LoadFile>>,
) -> Result<(), OutOfMemory> {
    if let Some(changes) = &set.schema_changes {
        record.extend_from_slice(&changes.items);
        if let Some(table_swap) = &changes.table_swap {
            altered::encode(table_swap, record);
        }
    }
    let mut changes = Changes { rows: Vec::with_capacity(set.writes.len()), ..Changes::default() };
    for (at, table) in set.tables.iter().enumerate() {
        if let Some(id) = table.relation_id()
            && set.dropped().all(|dropped| dropped.id() != table.id())
        {
            changes.gather(set, at as u32);
            changes.encode(table, id, record, files)?;
        }
    }
    Ok(())
}

/// What a transaction has done to a row, apart from changes of its values.
const INSERTED: u32 = 0;
const DELETED: u32 = 1;
/// Of the first column, whose value was changed; others follow.
const CHANGED: u32 = 2;

/// What a transaction has done to the rows of a relation.
#[derive(Default)]
struct Changes {
    /// Changes of single rows.
    rows: Vec<(RowId, u32)>,
    /// First rows and numbers of rows that came together, in the order in which they did.
    appended: Vec<(RowId, usize)>,
    /// The same in the order of the rows, if there are changes of single rows as well.
    appended_by_row: Vec<(RowId, usize)>,
    /// Slots whose rows all went, by their first rows.
    truncated: Vec<RowId>,
}

impl Changes {
    fn gather(&mut self, set: &WriteSet, table: u32) {
        self.rows.clear();
        self.appended.clear();
        self.truncated.clear();
        for write in set.writes.iter().filter(|write| write.table == table) {
            match write.kind {
                WriteKind::Insert => self.rows.push((write.row, INSERTED)),
                WriteKind::Delete | WriteKind::Replace => self.rows.push((write.row, DELETED)),
                WriteKind::Update(column) => self.rows.push((write.row, CHANGED + u32::from(column))),
                WriteKind::Append => self.appended.push((write.row, write.version as usize)),
                WriteKind::Truncate => self.truncated.push(write.row),
            }
        }
        self.rows.sort_unstable();
        self.rows.dedup();
        self.appended_by_row.clear();
        if !self.truncated.is_empty() {
            self.truncated.sort_unstable();
            let Changes { rows, appended, truncated, .. } = self;
            let is_left = |row: RowId| truncated.binary_search(&RowId::new(row.chunk(), 0)).is_err();
            rows.retain(|(row, _)| is_left(*row));
            appended.retain(|(row, _)| is_left(*row));
        }
        if !self.rows.is_empty() {
            self.appended_by_row.extend_from_slice(&self.appended);
            self.appended_by_row.sort_unstable();
        }
    }

    fn encode(
        &self,
        table: &Table,
        id: RelationId,
        record: &mut Vec<u8>,
        files: &mut Vec<Arc<dyn LoadFile>>,
    ) -> Result<(), OutOfMemory> {
        if self.rows.is_empty() && self.appended.is_empty() && self.truncated.is_empty() {
            return Ok(());
        }
        let mut writer = RowWriter { files: Some(files), ..RowWriter::begin(table, id, record) };
        for &row in &self.truncated {
            writer.next.put(writer.record, ChangeKind::Truncate, row);
        }
        for &(first, count) in &self.appended {
            let deleted: Vec<RowId> = self
                .rows_within(first, count)
                .iter()
                .filter(|(_, what)| *what == DELETED)
                .map(|(row, _)| *row)
                .collect();
            writer.rows_together(first, count, &deleted)?;
        }
        let mut slot: Option<(usize, SlotRead<'_>)> = None;
        for changes in self.rows.chunk_by(|(one, _), (other, _)| one == other) {
            let row = changes[0].0;
            if self.is_appended(row) {
                continue;
            }
            if slot.as_ref().is_none_or(|(at, _)| *at != row.chunk()) {
                // Given up before the next one is asked for.
                drop(slot.take());
                slot = table.slots.get(row.chunk()).map(|slot| (row.chunk(), slot.read()));
            }
            if let Some((_, slot)) = &slot {
                writer.row(slot, row, changes);
            }
        }
        drop(slot);
        writer.end();
        Ok(())
    }

    /// The changes of rows that came together.
    fn rows_within(&self, first: RowId, count: usize) -> &[(RowId, u32)] {
        let from = self.rows.partition_point(|(row, _)| *row < first);
        let to = self.rows.partition_point(|(row, _)| row.0 < first.0 + count as u64);
        &self.rows[from..to]
    }

    fn is_appended(&self, row: RowId) -> bool {
        let behind = self.appended_by_row.partition_point(|(first, _)| *first <= row);
        let last = behind.checked_sub(1).map(|at| self.appended_by_row[at]);
        last.is_some_and(|(first, count)| row.0 - first.0 < count as u64)
    }
}

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
    /// Takes the files whose chunks are named; `None` if all are written out.
    files: Option<&'a mut Vec<Arc<dyn LoadFile>>>,
}

impl<'a> RowWriter<'a> {
    pub(super) fn begin(table: &'a Table, id: RelationId, record: &'a mut Vec<u8>) -> RowWriter<'a> {
        let item = OpenItem::begin(record, ItemKind::Rows);
        put_number(record, id.0.into());
        let columns = table.schema().columns();
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
            files: None,
        }
    }

    pub(super) fn end(self) {
        self.item.end(self.record);
    }

    /// What is left of the changes of a row that a slot has.
    fn row(&mut self, slot: &HotChunk, row: RowId, changes: &[(RowId, u32)]) {
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

    /// Rows of a slot that came together, but for some that went again.
    pub(super) fn rows_together(&mut self, first: RowId, count: usize, gone: &[RowId]) -> Result<(), OutOfMemory> {
        let Some(slot) = self.table.slots.get(first.chunk()) else { return Ok(()) };
        if count >= CHUNK_ROWS_MIN && first.row() == 0 {
            let chunk = {
                let mut slot = slot.write();
                (slot.len() == count).then(|| slot.chunk())
            };
            if let Some(chunk) = chunk {
                let files = self.files.as_mut();
                let stored = chunk.stored().filter(|stored| files.is_some() && stored.file.make_safe());
                let kind = if stored.is_some() { ChangeKind::Block } else { ChangeKind::Chunk };
                self.next.put(self.record, kind, first);
                put_number(self.record, gone.len() as u64);
                let mut next = 0;
                for row in gone {
                    put_number(self.record, (row.row() - next) as u64);
                    next = row.row() + 1;
                }
                if let (Some(stored), Some(files)) = (stored, files) {
                    put_block(self.record, &stored.block);
                    if !files.iter().any(|file| Arc::ptr_eq(file, &stored.file)) {
                        files.push(Arc::clone(&stored.file));
                    }
                    return Ok(());
                }
                let mut bytes = Vec::new();
                self.chunks.get_or_insert_with(|| Box::new(ChunkWriter::new())).write(&chunk, &mut bytes)?;
                put_bytes(self.record, &bytes);
                return Ok(());
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
