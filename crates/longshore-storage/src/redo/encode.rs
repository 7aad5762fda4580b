//! Makes the record of a transaction: the after-images of what it has changed.
//!
//! The values lie in the slots: nobody else changes them as long as the transaction has not ended, so that they are read
//! row by row under the latches of the slots, in the order of the rows. What a row went through does not matter, only what
//! is left of it.

use std::sync::Arc;

use super::rows::{CHANGED, DELETED, INSERTED, RowWriter};
use crate::block_ref::LoadFile;
use crate::chunk::hot::SlotRead;
use crate::error::TransactionError;
use crate::manager::{WriteKind, WriteSet};
use crate::row_id::RowId;
use crate::table::{RelationId, Table};

/// Writes the record of a transaction that is about to commit.
pub(super) fn encode(
    set: &WriteSet,
    record: &mut Vec<u8>,
    files: &mut Vec<Arc<dyn LoadFile>>,
) -> Result<(), TransactionError> {
    if let Some(changes) = &set.schema_changes {
        record.extend_from_slice(&changes.items);
        files.extend(changes.files.iter().map(|(_, file)| Arc::clone(file)));
    }
    let mut changes = Changes { rows: Vec::with_capacity(set.writes.len()), ..Changes::default() };
    for (at, table) in set.tables.iter().enumerate() {
        // What it has altered, or written anew, has the number of what was before.
        let is_over = set.table_swaps().iter().any(|swap| swap.before().id() == table.id());
        if let Some(id) = table.relation_id().filter(|_| table.is_logged() && !is_over)
            && set.dropped().all(|dropped| dropped.relation_id() != Some(id))
        {
            changes.gather(set, at as u32);
            changes.encode(table, id, record, files)?;
        }
    }
    Ok(())
}

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
    ) -> Result<(), TransactionError> {
        if self.rows.is_empty() && self.appended.is_empty() && self.truncated.is_empty() {
            return Ok(());
        }
        let mut writer = RowWriter::begin(table, id, record, files);
        for &row in &self.truncated {
            writer.truncate(row);
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
