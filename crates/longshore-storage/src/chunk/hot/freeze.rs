//! Packs the columns of a slot that nobody has changed for a while (the thesis, 7.1: cold chunks are frozen).
//!
//! The values are packed beside those who work on the slot: its latch is held only to take them, and to put what was made
//! of them in their place, unless they were changed meanwhile. Readers keep what they have. Nothing that anybody sees
//! changes, so there is no version.
//!
//! Whether a slot was changed between two looks is told by what it shows, which every change gives up: nothing is counted
//! for it.
//!
//! Not here: which slots are frozen, and when.

use std::sync::Arc;

use super::{Heap, HotChunk, Slot};
use crate::arena::Arena;
use crate::chunk::Chunk;
use crate::memory::OutOfMemory;
use crate::packed::{PackedColumn, Packer};
use crate::values::Scratch;

/// Which chunks are frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freeze {
    /// All.
    All,
    /// Those that nobody changed since a call before, whatever its scope.
    Unchanged,
}

impl Slot {
    /// Packs the columns that are not packed yet, if there are at least so many rows; says whether it did so. It does not
    /// if somebody works on the slot.
    #[track_caller]
    pub(crate) fn freeze(
        &self,
        scope: Freeze,
        rows_min: usize,
        packer: &mut Packer,
        arena: &mut Arena,
    ) -> Result<bool, OutOfMemory> {
        let Some(chunk) = self.exclusive().freezable(scope, rows_min) else { return Ok(false) };
        let mut packed = Vec::new();
        for column in 0..chunk.schema().columns().len() {
            packed.push(if let Some(packed) = chunk.packed(column) {
                Arc::clone(packed)
            } else {
                let mut scratch = Scratch::default();
                let values = chunk.values(column, 0..chunk.rows(), &mut scratch);
                Arc::new(packer.pack(values, chunk.validity(column), chunk.heap(column), arena)?)
            });
        }
        Ok(self.exclusive().freeze(&chunk, packed))
    }
}

impl HotChunk {
    /// All rows, if there are enough of them, a column is plain and nobody needs to know what was before.
    fn freezable(&mut self, scope: Freeze, rows_min: usize) -> Option<Arc<Chunk>> {
        let is_plain = self.columns.iter().any(|column| column.packed().is_none());
        if !is_plain || self.rows < rows_min.max(1) || !self.is_at_rest() {
            return None;
        }
        let chunk = self.chunk();
        let before = self.looked_at.replace(Arc::downgrade(&chunk));
        // As long as it is remembered, no other chunk has its address.
        let is_unchanged = before.is_some_and(|before| before.as_ptr() == Arc::as_ptr(&chunk));
        (scope == Freeze::All || is_unchanged).then_some(chunk)
    }

    /// Whether nobody works on the slot, or has done so and may be undone.
    fn is_at_rest(&self) -> bool {
        let has_versions = self.versions.as_ref().is_some_and(|versions| !versions.is_empty());
        !self.gone && !self.closed && self.deleted.is_none() && !has_versions
    }

    /// Takes packed columns in place of those of a chunk that it has shown; says whether they were still the same.
    fn freeze(&mut self, chunk: &Arc<Chunk>, packed: Vec<Arc<PackedColumn>>) -> bool {
        // Whoever writes a value gives up what is shown.
        let is_same = self.shown.as_ref().is_some_and(|shown| Arc::ptr_eq(shown, chunk));
        if !is_same || !self.is_at_rest() {
            return false;
        }
        for (column, packed) in self.columns.iter_mut().zip(packed) {
            column.freeze(packed);
        }
        self.capacity = self.rows;
        self.heap = Heap::default();
        self.shown = None;
        self.seen = None;
        self.looked_at = None;
        true
    }
}
