//! Rows that are put back where they were, from a log: at places that are told, without versions.
//!
//! Places that nobody has named yet are dead, and hold zeros: what was there was undone, or comes later. Which of the dead
//! ones may be taken is only told in the end, when no row comes back any more.

use std::sync::Arc;

use super::write::WriteError;
use super::{HotChunk, HotColumn};
use crate::memory::Memory;
use crate::typed::StoredValue;

impl HotChunk {
    /// Whether a row is there.
    #[inline]
    pub(crate) fn is_alive(&self, row: usize) -> bool {
        row < self.rows && !self.dead.contains(row)
    }

    /// Whether any row is there.
    pub(crate) fn has_rows(&self) -> bool {
        self.rows > self.dead.count()
    }

    /// Puts a row where none is.
    pub(crate) fn restore(
        &mut self,
        row: usize,
        values: &[impl StoredValue],
        memory: &Arc<Memory>,
    ) -> Result<(), WriteError> {
        debug_assert!(!self.is_alive(row));
        if row > self.rows {
            self.pad(row, memory)?;
        }
        self.write_row(row, values, row < self.rows, memory)
    }

    /// Adds dead rows up to one.
    fn pad(&mut self, rows: usize, memory: &Arc<Memory>) -> Result<(), WriteError> {
        self.shown = None;
        if rows >= self.capacity {
            self.grow(rows + 1, memory)?;
        }
        for row in self.rows..rows {
            self.columns.iter_mut().for_each(|column| column.pad(row));
            self.dead.insert(row);
        }
        self.rows = rows;
        Ok(())
    }

    /// Puts a value in place of another one, of a row that is there.
    #[inline]
    pub(crate) fn restore_value(
        &mut self,
        row: usize,
        column: usize,
        value: &impl StoredValue,
        memory: &Arc<Memory>,
    ) -> Result<(), WriteError> {
        self.make_value_writable(row, column, value, memory)?;
        self.overwrite(row, column, value, false);
        Ok(())
    }

    /// Takes away a row that is there, and its texts: as long as nobody may take its place, they would be kept.
    pub(crate) fn restore_delete(&mut self, row: usize, memory: &Arc<Memory>) -> Result<(), WriteError> {
        self.shown = None;
        for column in &mut self.columns {
            if let Some(view) = column.plain_view(row) {
                column.make_writable(row, self.rows, memory)?;
                column.put(row, 0);
                self.heap.forget(view);
            }
        }
        self.dead.insert(row);
        Ok(())
    }

    /// Takes a slot of a relation that nobody works on, as one to which rows are put back; `None` if somebody does, or may
    /// be undone.
    pub(crate) fn restorable(mut self) -> Option<HotChunk> {
        let has_versions = self.versions.as_ref().is_some_and(|versions| !versions.is_empty());
        if has_versions || !self.inserts.is_empty() || self.deleted.is_some() || self.closed {
            return None;
        }
        self.dead.forget_free();
        (self.seen, self.looked_at, self.listed) = (None, None, false);
        Some(self)
    }

    /// The slot with all rows where they belong: dead ones may be taken from now on. `None` if it is not worth keeping.
    pub(crate) fn restored(mut self) -> Option<HotChunk> {
        self.dead.free_all();
        (!self.gone && self.rows > 0 && !self.clear_if_free()).then_some(self)
    }

    /// Whether an insert finds room here without unpacking anything.
    pub(crate) fn has_plain_room(&self) -> bool {
        self.has_room() && self.columns.iter().all(|column| column.packed().is_none())
    }
}

impl HotColumn {
    /// Writes a row that nobody sees, behind the last: it has no value, and is not NULL.
    fn pad(&mut self, row: usize) {
        if self.is_null(row) {
            self.set_null(row, false, false);
        }
        self.put(row, 0);
    }
}
