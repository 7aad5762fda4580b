//! How an alteration is written: the columns of what takes the place, where each comes from, and the values that rows were
//! given. What stays is not written again.

use super::item::{ItemKind, OpenItem};
use super::row::{ChangeKind, NextRow, NullBits};
use super::wire::{put_bytes, put_number};
use crate::native::embedded::schema_to_bytes;
use crate::row_id::RowId;
use crate::table::{ColumnOrigin, Table, TableSwap};

/// Where a column comes from.
pub(super) const KEPT: u8 = 0;
pub(super) const FILLED: u8 = 1;
pub(super) const COMPUTED: u8 = 2;

/// Writes an alteration as an item, if its relation is logged.
pub(super) fn encode(table_swap: &TableSwap, record: &mut Vec<u8>) {
    let (Some(id), after) = (table_swap.before().relation_id(), &**table_swap.after()) else { return };
    let item = OpenItem::begin(record, ItemKind::Altered);
    put_number(record, id.0.into());
    put_bytes(record, after.name().as_bytes());
    put_bytes(record, &schema_to_bytes(after.schema()));
    let first = first_row(after);
    let mut computed = Vec::new();
    for (at, (origin, column)) in after.origins().iter().zip(after.schema().columns()).enumerate() {
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
    if !computed.is_empty() {
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
    let all = table.schema().columns();
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
