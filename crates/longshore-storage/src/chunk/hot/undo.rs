//! The end of versions: undoing what a transaction did that is rolled back, and reclaiming what no view needs.

use std::sync::Arc;

use arrow_buffer::Buffer;

use super::{Birth, HotChunk};
use crate::memory::Memory;
use crate::transaction::StampId;
use crate::version::Change;

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
    fn free_if_done(&mut self, row: usize) {
        if !self.dead.contains(row) {
            return;
        }
        let has_versions = self.versions.as_ref().is_some_and(|versions| versions.newest(row).is_some());
        if !has_versions {
            for column in self.columns.iter().filter(|column| column.is_view()) {
                self.heap.forget(column.bits(row));
            }
            self.dead.set_free(row);
        }
    }

    /// Every view sees the rows that came to be with a stamp.
    pub(crate) fn reclaim_births(&mut self, stamp: StampId) {
        self.births.retain(|birth| birth.stamp != stamp);
    }

    /// The rows that came to be together from a row on, with a stamp, never did.
    pub(crate) fn undo_births(&mut self, from: usize, stamp: StampId) {
        let undone = self.births.iter().position(|birth| birth.from == from && birth.stamp == stamp);
        let Some(Birth { to, .. }) = undone.map(|at| self.births.swap_remove(at)) else { return };
        if from == 0 && to == self.rows && self.births.is_empty() {
            self.clear();
            return;
        }
        for row in from..to {
            self.dead.insert(row);
            self.free_if_done(row);
        }
    }

    /// All rows go with a stamp.
    pub(crate) fn die(&mut self, stamp: StampId) {
        self.death = Some(stamp);
    }

    /// They do not.
    pub(crate) fn undo_death(&mut self) {
        self.death = None;
    }

    /// Gives up all rows: nobody sees any of them.
    pub(crate) fn clear(&mut self) {
        let empty = || Buffer::from_vec(Vec::<u8>::new());
        self.gone = true;
        self.rows = 0;
        self.capacity = 0;
        self.columns.clear();
        self.heap = super::Heap::filled(empty(), 0);
        self.dead = super::DeadRows::default();
        self.versions = None;
        self.births = Vec::new();
        self.death = None;
        self.shown = None;
    }
}
