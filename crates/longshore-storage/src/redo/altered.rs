//! How an alteration is written: the columns of what takes the place, where each comes from, and the values that rows were
//! given. What stays is not written again, unless most of a large relation is new, or its rows were not logged before.

use std::sync::Arc;

use super::item::{ItemKind, OpenItem};
use super::row::{ChangeKind, NextRow, NullBits};
use super::whole;
use super::wire::{put_bytes, put_number};
use crate::block_ref::LoadFile;
use crate::chunk::hot::Slot;
use crate::chunk::is_small;
use crate::error::TransactionError;
use crate::manager::CommitLog;
use crate::native::embedded::schema_to_bytes;
use crate::row_id::RowId;
use crate::table::{ColumnOrigin, RelationId, Table, TableSwap};
use crate::transaction::Transaction;

/// Where a column comes from.
pub(super) const KEPT: u8 = 0;
pub(super) const FILLED: u8 = 1;
pub(super) const COMPUTED: u8 = 2;

impl Transaction {
    /// Logs an alteration that it commits. Nobody has changed yet what takes the place. Without a log nothing is done.
    ///
    /// # Errors
    ///
    /// When rows cannot be written to the file that they go to.
    pub(crate) fn log_altered(&mut self, table_swap: &TableSwap, log: &CommitLog) -> Result<(), TransactionError> {
        let Some(changes) = self.logged_changes()? else { return Ok(()) };
        let (at, mut files) = (changes.items.len(), Vec::new());
        if let Err(error) = encode(table_swap, log, &mut changes.items, &mut files) {
            changes.items.truncate(at);
            return Err(error);
        }
        changes.files.extend(files.into_iter().map(|file| (at, file)));
        Ok(())
    }
}

/// Writes an alteration, if its relation is logged.
fn encode(
    table_swap: &TableSwap,
    log: &CommitLog,
    record: &mut Vec<u8>,
    files: &mut Vec<Arc<dyn LoadFile>>,
) -> Result<(), TransactionError> {
    let (Some(id), after) = (table_swap.before().relation_id(), &**table_swap.after()) else { return Ok(()) };
    let is_turned = table_swap.before().is_logged() != after.is_logged();
    if is_turned || after.origins().is_empty() || (after.is_logged() && is_mostly_new(after)) {
        let item = OpenItem::begin(record, ItemKind::Dropped);
        put_number(record, id.0.into());
        item.end(record);
        return whole::encode(after, id, log, &|slot, row| !slot.is_alive(row), (record, files));
    }
    put_altered(id, after, record);
    Ok(())
}

/// Whether so many rows were given values of their own that they had better not go through the log: the relation is written
/// as a whole, under its number.
fn is_mostly_new(after: &Table) -> bool {
    let rows = |(_, slot): (usize, &Slot)| slot.read().len() as u64;
    after.origins().contains(&ColumnOrigin::Computed) && !is_small(after.slots.iter().map(rows).sum(), 0)
}

/// Writes an alteration as an item. Rows that are not logged have no values there.
fn put_altered(id: RelationId, after: &Table, record: &mut Vec<u8>) {
    let item = OpenItem::begin(record, ItemKind::Altered);
    put_number(record, id.0.into());
    put_bytes(record, after.name().as_bytes());
    put_bytes(record, &schema_to_bytes(after.schema()));
    let first = if after.is_logged() { first_row(after) } else { None };
    let mut computed = Vec::new();
    for (at, (origin, column)) in after.origins().iter().zip(after.schema().all_columns()).enumerate() {
        match (origin, first) {
            (ColumnOrigin::Kept(from), _) => {
                record.push(KEPT);
                put_number(record, *from as u64);
            }
            (ColumnOrigin::Filled, Some(row)) => {
                record.push(FILLED);
                let mut nulls = NullBits::begin(record, usize::from(column.nullable));
                if let Some(slot) = after.slots.get(row.chunk()) {
                    nulls.put(record, &slot.read(), row.row(), (at, column));
                }
            }
            // Without rows there are no values.
            (ColumnOrigin::Filled, None) => record.push(COMPUTED),
            (ColumnOrigin::Computed, _) => {
                record.push(COMPUTED);
                computed.push(at);
            }
        }
    }
    if !computed.is_empty() && after.is_logged() {
        put_computed(after, &computed, record);
    }
    item.end(record);
}

/// The first row that is there.
fn first_row(table: &Table) -> Option<RowId> {
    table.slots.iter().find_map(|(at, slot)| {
        let slot = slot.read();
        (0..slot.len()).find(|&row| slot.is_alive(row)).map(|row| RowId::new(at, row))
    })
}

/// Writes the values of some columns of all rows.
fn put_computed(table: &Table, columns: &[usize], record: &mut Vec<u8>) {
    let all = table.schema().all_columns();
    let nullable = columns.iter().filter(|&&column| all[column].nullable).count();
    let mut next = NextRow::default();
    for (at, slot) in table.slots.iter() {
        let slot = slot.read();
        for row in (0..slot.len()).filter(|&row| slot.is_alive(row)) {
            next.put(record, ChangeKind::Update, RowId::new(at, row));
            let mut nulls = NullBits::begin(record, nullable);
            for &column in columns {
                nulls.put(record, &slot, row, (column, &all[column]));
            }
        }
    }
}
