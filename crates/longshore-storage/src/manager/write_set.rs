//! What a transaction has changed: the rows, not the values, which lie with the rows.

use std::sync::Arc;

use super::freed_slots::FreedSlots;
use crate::block_ref::LoadFile;
use crate::row_id::RowId;
use crate::table::{Table, TableSwap};
use crate::visibility::{StampId, Time};

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteKind {
    Insert,
    /// Of a value of this column.
    Update(u16),
    Delete,
    /// It went, and the row of the next write took its place: an insert.
    Replace,
    /// Rows that came many at a time: as many as the version says, from the row on.
    Append,
    /// All rows of the row's slot went.
    Truncate,
}

/// A change of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    /// The table, by its place in the write set.
    pub(crate) table: u32,
    pub(crate) kind: WriteKind,
    pub(crate) row: RowId,
    /// The number of the version, within the slot.
    pub(crate) version: u32,
}

/// What a transaction changes that is no row, and what it logs of that.
#[derive(Default)]
pub(crate) struct SchemaChanges {
    /// The alterations that it commits, in their order: of one relation there may be several.
    pub(crate) table_swaps: Vec<TableSwap>,
    /// Items as they stand in its record.
    pub(crate) items: Vec<u8>,
    /// The relations that join with it, each with the length of the items before.
    pub(crate) created: Vec<(usize, Arc<Table>)>,
    /// The same of those that it drops.
    pub(crate) dropped: Vec<(usize, Arc<Table>)>,
    /// The same of files that the items name.
    pub(crate) files: Vec<(usize, Arc<dyn LoadFile>)>,
}

#[derive(Default)]
pub(crate) struct WriteSet {
    pub(crate) tables: Vec<Arc<Table>>,
    pub(crate) writes: Vec<Write>,
    /// Most transactions have none, so that it is one word of each.
    pub(crate) schema_changes: Option<Box<SchemaChanges>>,
    /// Slots that are gone since what was appended to them was undone.
    pub(crate) freed: FreedSlots,
}

/// Changes that a set has room for which is kept for the next transaction: one of more gives its memory back.
const SPARE_WRITES_MAX: usize = 1 << 10;

/// The same of tables.
const SPARE_TABLES_MAX: usize = 1 << 6;

impl WriteSet {
    pub(crate) fn clear(&mut self) {
        self.tables.clear();
        self.writes.clear();
        self.tables.shrink_to(SPARE_TABLES_MAX);
        self.writes.shrink_to(SPARE_WRITES_MAX);
        self.schema_changes = None;
    }

    /// Marks the slots that it has changed as changed in a period between checkpoints.
    pub(crate) fn mark_changed(&self, period: u64) {
        for write in &self.writes {
            if let Some(slot) = self.tables[write.table as usize].slots.get(write.row.chunk()) {
                slot.mark_changed(period);
            }
        }
    }

    /// The alterations that it commits.
    pub(crate) fn table_swaps(&self) -> &[TableSwap] {
        self.schema_changes.as_ref().map_or(&[], |changes| &changes.table_swaps)
    }

    /// The tables that it drops.
    pub(crate) fn dropped(&self) -> impl Iterator<Item = &Table> {
        self.schema_changes.iter().flat_map(|changes| &changes.dropped).map(|(_, table)| &**table)
    }

    /// How many bytes it logs that are no changes of rows.
    pub(crate) fn item_bytes(&self) -> usize {
        self.schema_changes.as_ref().map_or(0, |changes| changes.items.len())
    }

    /// Gives up the alterations but for the first ones, and what it logs that is no change of rows but for the first bytes of
    /// it; changes of rows are undone before.
    pub(crate) fn forget_items(&mut self, from: usize, swaps: usize) {
        if let Some(changes) = &mut self.schema_changes {
            changes.table_swaps.truncate(swaps);
            changes.items.truncate(from);
            changes.dropped.retain(|(at, _)| *at < from);
            changes.files.retain(|(at, _)| *at < from);
            let kept = changes.created.partition_point(|(at, _)| *at < from);
            for (_, table) in changes.created.drain(kept..) {
                // Its changes are not logged, and it may join again.
                table.set_relation_id(None);
            }
        }
    }

    /// The place of a table, which is entered if it is new.
    #[inline]
    pub(crate) fn table(&mut self, table: &Arc<Table>) -> u32 {
        // Transactions know few tables.
        if let Some(at) = self.tables.iter().position(|known| Arc::ptr_eq(known, table)) {
            return at as u32;
        }
        self.tables.push(Arc::clone(table));
        self.tables.len() as u32 - 1
    }
}

/// What a committed transaction has changed, as long as somebody may need it.
pub(crate) struct Committed {
    time: Time,
    stamp: StampId,
    set: WriteSet,
}

impl Committed {
    pub(crate) fn new(time: Time, stamp: StampId, set: WriteSet) -> Committed {
        Committed { time, stamp, set }
    }

    pub(crate) fn time(&self) -> Time {
        self.time
    }

    pub(super) fn stamp(&self) -> StampId {
        self.stamp
    }

    pub(crate) fn set(&self) -> &WriteSet {
        &self.set
    }

    /// The same commit, of which only some changes matter.
    pub(super) fn with_writes(&self, writes: &[Write]) -> Committed {
        let mut set = WriteSet { writes: Vec::with_capacity(writes.len()), ..WriteSet::default() };
        for write in writes {
            let table = set.table(&self.set.tables[write.table as usize]);
            set.writes.push(Write { table, ..*write });
        }
        Committed { set, ..*self }
    }

    /// Gives up the versions, which everybody sees.
    pub(super) fn reclaim(&self, freed: &mut FreedSlots) {
        self.set.reclaim(self.stamp, freed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_that_had_many_writes_gives_their_memory_back() {
        let write = Write { table: 0, kind: WriteKind::Insert, row: RowId(1), version: 2 };
        for writes in [10, SPARE_WRITES_MAX, 100_000] {
            let mut set = WriteSet { writes: vec![write; writes], ..WriteSet::default() };
            set.clear();
            assert!(set.writes.is_empty() && set.writes.capacity() == writes.min(SPARE_WRITES_MAX));
        }
    }
}
