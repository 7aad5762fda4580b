//! The end of versions: undoing what a transaction did that is rolled back, and reclaiming what no view needs.

use std::sync::Arc;

use arrow_buffer::Buffer;

use super::{HotChunk, InsertRange};
use crate::memory::Memory;
use crate::row_id::CHUNK_ROWS_MAX;
use crate::version::Change;
use crate::visibility::StampId;

/// Rows of a slot that is given up when none is left.
const ROWS_WORTH_GIVING_UP: usize = CHUNK_ROWS_MAX / 8;

impl HotChunk {
    /// Undoes a change of a row, and forgets its version. Of those of the same kind the newest is undone first.
    pub(crate) fn undo(&mut self, row: usize, version: u32, memory: &Arc<Memory>) {
        let Some(versions) = self.versions.as_mut().filter(|_| !self.gone) else { return };
        match versions.remove(version) {
            Change::Insert => self.dead.insert(row),
            Change::Delete => self.dead.remove(row),
            Change::Update(column, image) => {
                self.shown = None;
                let column = &mut self.columns[usize::from(column)];
                if column.is_view() {
                    self.heap.forget(column.bits(row));
                }
                column.make_writable_always(row, self.rows, memory);
                let (is_null, was_null) = (image.bits().is_none(), column.is_null(row));
                if is_null != was_null {
                    column.set_null(row, is_null, was_null);
                }
                column.put(row, image.bits().unwrap_or(0));
            }
            Change::Free => unreachable!("the versions of a transaction are not free before it ends"),
        }
        self.free_if_done(row);
    }

    /// Forgets a version that every view sees, and if all there are have the same stamp, the others with it; says whether
    /// it did so.
    pub(crate) fn reclaim(&mut self, row: usize, version: u32, stamp: StampId) -> bool {
        let Some(versions) = self.versions.as_mut().filter(|_| !self.gone) else { return false };
        if versions.are_all_of(stamp) {
            let (columns, heap) = (&self.columns, &mut self.heap);
            versions.clear(|change| {
                if let Change::Update(column, image) = change
                    && columns[usize::from(*column)].is_view()
                {
                    heap.forget(image.bits().unwrap_or(0));
                }
            });
            return true;
        }
        if !versions.is_of(version, stamp) {
            // It went with the others.
            return false;
        }
        if let Change::Update(column, image) = versions.remove(version)
            && self.columns[usize::from(column)].is_view()
        {
            self.heap.forget(image.bits().unwrap_or(0));
        }
        self.free_if_done(row);
        false
    }

    /// A dead row without versions may be taken again.
    pub(super) fn free_if_done(&mut self, row: usize) {
        if !self.dead.contains(row) {
            return;
        }
        let has_versions = self.versions.as_ref().is_some_and(|versions| versions.newest(row).is_some());
        if !has_versions {
            for view in self.columns.iter().filter_map(|column| column.plain_view(row)) {
                self.heap.forget(view);
            }
            self.dead.set_free(row);
        }
    }

    /// Every view sees the rows that were inserted with a stamp.
    pub(crate) fn reclaim_inserts(&mut self, stamp: StampId) {
        self.inserts.retain(|range| range.stamp != stamp);
    }

    /// Undoes the insert of rows from a row on, with a stamp; says whether the slot has gone with them.
    pub(crate) fn undo_inserts(&mut self, from: usize, stamp: StampId) -> bool {
        let undone = self.inserts.iter().position(|range| range.from == from && range.stamp == stamp);
        let Some(InsertRange { to, .. }) = undone.map(|at| self.inserts.remove(at)) else { return false };
        if from == 0 && to == self.rows && self.inserts.is_empty() {
            self.clear();
            return true;
        }
        for row in from..to {
            self.dead.insert(row);
            self.free_if_done(row);
        }
        false
    }

    /// All rows are deleted with a stamp, whoever has deleted them before.
    pub(crate) fn mark_deleted(&mut self, stamp: StampId) {
        self.overruled.extend(self.deleted.replace(stamp));
    }

    /// They are not, unless somebody else has deleted them.
    pub(crate) fn undo_delete(&mut self, stamp: StampId) {
        self.overruled.retain(|&deleted| deleted != stamp);
        if self.deleted == Some(stamp) {
            self.deleted = self.overruled.pop();
        }
    }

    /// Whether the rows were deleted with a stamp.
    pub(crate) fn is_dead_with(&self, stamp: StampId) -> bool {
        self.deleted == Some(stamp) || self.overruled.contains(&stamp)
    }

    /// How many rows were deleted with a stamp: all or none. No more come to a slot that is marked deleted.
    pub(crate) fn dead_rows_of(&self, stamp: StampId) -> usize {
        if self.is_dead_with(stamp) { self.rows } else { 0 }
    }

    /// Gives up all rows if they were deleted with a stamp that everybody sees; says whether they did.
    pub(crate) fn reclaim_delete(&mut self, stamp: StampId) -> bool {
        let is_dead = self.is_dead_with(stamp);
        if is_dead {
            self.clear();
        }
        is_dead
    }

    /// Gives up a slot with many rows if all of them may be taken again; says whether it did. A small one is kept: its rows
    /// are taken sooner than another one is made.
    pub(crate) fn clear_if_free(&mut self) -> bool {
        let is_free = self.rows >= ROWS_WORTH_GIVING_UP && self.dead.free_count() == self.rows && !self.closed;
        if is_free {
            self.clear();
        }
        is_free
    }

    /// Gives up all rows: nobody sees any of them.
    pub(super) fn clear(&mut self) {
        let empty = || Buffer::from_vec(Vec::<u8>::new());
        self.gone = true;
        self.rows = 0;
        self.capacity = 0;
        self.columns.clear();
        self.heap = super::Heap::filled(empty(), 0);
        self.dead = super::DeadRows::default();
        self.versions = None;
        self.inserts = Vec::new();
        self.deleted = None;
        self.overruled = Vec::new();
        self.shown = None;
    }
}
