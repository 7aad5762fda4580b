//! The end of a transaction's versions: taken back when it is rolled back, given up when everybody sees it.
//!
//! Source: the thesis, 2.2.4. With one transaction after the other, every version goes with the commit that made it.

use std::sync::Arc;

use super::freed_slots::{FreedSlot, FreedSlots};
use super::{Write, WriteKind, WriteSet};
use crate::chunk::hot::SlotWrite;
use crate::table::Table;
use crate::visibility::StampId;

/// Slots of which it is remembered that all of a commit's versions have gone: about as many as a transaction by key
/// writes to. One that was forgotten is looked at again, and nothing is found there.
const EMPTIED_MAX: usize = 8;

/// No slot of any table.
const NO_SLOT: (u32, usize) = (u32::MAX, usize::MAX);

impl WriteSet {
    /// Gives up the versions of a commit that everybody sees, and the rows that were deleted.
    pub(super) fn reclaim(&self, stamp: StampId, freed: &mut FreedSlots) {
        let mut writes = self.writes.iter().peekable();
        let mut emptied = [NO_SLOT; EMPTIED_MAX];
        let mut emptied_next = 0;
        while let Some(&Write { table: table_at, kind, row, version }) = writes.next() {
            let here = (table_at, row.chunk());
            let is_simple = |kind: WriteKind| matches!(kind, WriteKind::Insert | WriteKind::Update(_));
            if is_simple(kind) && emptied.contains(&here) {
                continue;
            }
            let table = &self.tables[table_at as usize];
            let Some(slot) = table.slots.get(row.chunk()) else { continue };
            // None if somebody has given them up already: then others may have their places.
            let gone = match kind {
                WriteKind::Delete | WriteKind::Replace => usize::from(slot.read().has_version(version, stamp)),
                WriteKind::Truncate => slot.read().dead_rows_of(stamp),
                WriteKind::Insert | WriteKind::Update(_) | WriteKind::Append => 0,
            };
            // Nobody sees the rows: they leave the indexes before another row may take their place.
            let _indexes = (gone > 0).then(|| table.unindex_rows(row, gone));
            let mut slot = slot.write();
            match kind {
                WriteKind::Insert | WriteKind::Update(_) | WriteKind::Delete | WriteKind::Replace => {
                    if slot.reclaim(row.row(), version, stamp) {
                        emptied[emptied_next % EMPTIED_MAX] = here;
                        emptied_next += 1;
                        continue;
                    }
                }
                WriteKind::Append => slot.reclaim_inserts(stamp),
                WriteKind::Truncate if slot.reclaim_delete(stamp) => {
                    freed.push(FreedSlot { table: Arc::clone(table), place: row.chunk() });
                }
                // Somebody else has given them up.
                WriteKind::Truncate => {}
            }
            // What is simple and comes next in the same slot, under the same latch.
            let is_alike = |next: &&Write| is_simple(next.kind) && (next.table, next.row.chunk()) == here;
            while let Some(next) = writes.next_if(is_alike) {
                slot.reclaim(next.row.row(), next.version, stamp);
            }
            table.have_gone(row.chunk(), slot, freed);
        }
    }

    /// Undoes appends from some place on whose rows have left the indexes; nothing else was done since.
    pub(crate) fn undo_appended(&mut self, from: usize, stamp: StampId) {
        while self.writes.len() > from
            && let Some(Write { table, row, .. }) = self.writes.pop()
        {
            let table = &self.tables[table as usize];
            let Some(slot) = table.slots.get(row.chunk()) else { continue };
            table.forget_cached();
            let mut slot = slot.write();
            if slot.undo_inserts(row.row(), stamp) {
                self.freed.push(FreedSlot { table: Arc::clone(table), place: row.chunk() });
            }
            table.have_gone(row.chunk(), slot, &mut self.freed);
        }
    }

    /// Undoes the changes from some place on, the last one first.
    pub(crate) fn undo(&mut self, from: usize, stamp: StampId) {
        while self.writes.len() > from
            && let Some(Write { table, kind, row, version }) = self.writes.pop()
        {
            let table = &self.tables[table as usize];
            let Some(slot) = table.slots.get(row.chunk()) else { continue };
            table.forget_cached();
            let _indexes = match kind {
                WriteKind::Insert => Some(table.unindex_rows(row, 1)),
                WriteKind::Append => Some(table.unindex_rows(row, version as usize)),
                WriteKind::Update(_) | WriteKind::Delete | WriteKind::Replace | WriteKind::Truncate => None,
            };
            let mut slot = slot.write();
            match kind {
                WriteKind::Insert | WriteKind::Update(_) | WriteKind::Delete | WriteKind::Replace => {
                    slot.undo(row.row(), version, table.memory());
                }
                WriteKind::Append => {
                    if slot.undo_inserts(row.row(), stamp) {
                        self.freed.push(FreedSlot { table: Arc::clone(table), place: row.chunk() });
                    }
                }
                WriteKind::Truncate => slot.undo_delete(stamp),
            }
            table.have_gone(row.chunk(), slot, &mut self.freed);
        }
    }
}

impl Table {
    /// Takes note that rows of a slot may be taken again, or gives it up if it has no others.
    pub(super) fn have_gone(self: &Arc<Table>, place: usize, mut slot: SlotWrite<'_>, freed: &mut FreedSlots) {
        if slot.clear_if_free() {
            freed.push(FreedSlot { table: Arc::clone(self), place });
            return;
        }
        let is_news = !slot.listed && slot.has_free();
        drop(slot);
        if is_news {
            self.list(place);
        }
    }
}
