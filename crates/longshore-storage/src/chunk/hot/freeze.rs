//! Packs the columns of a slot that nobody has changed for a while (the thesis, 7.1: cold chunks are frozen), and compresses
//! texts that have no dictionary.
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

use arrow_buffer::Buffer;

use super::{Heap, HotChunk, Slot};
use crate::arena::Arena;
use crate::chunk::Chunk;
use crate::memory::{Memory, OutOfMemory};
use crate::packed::{PACKED_BLOCK_BYTES, PackedColumn, Packer, copy_of};
use crate::types::Physical;
use crate::values::Scratch;

/// Which chunks are frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freeze {
    /// All.
    All,
    /// Those that nobody changed since a call before, whatever its scope.
    Unchanged,
}

/// What freezes the slots of a table.
pub(crate) struct Freezer {
    packer: Packer,
    arena: Arena,
    /// For texts that are packed to be compressed.
    passing: Arena,
}

/// Columns that take the place of those of a slot, with their validity bits.
type Frozen = Vec<(Arc<PackedColumn>, Option<Buffer>)>;

impl Freezer {
    pub(crate) fn new(memory: &Arc<Memory>) -> Freezer {
        let arena = || Arena::new(Arc::clone(memory), PACKED_BLOCK_BYTES);
        Freezer { packer: Packer::default(), arena: arena(), passing: arena() }
    }

    /// The columns of a chunk packed and with their texts compressed. `None` if they are that already, or nothing is to be
    /// gained.
    ///
    /// A load has put the packed columns of a chunk next to each other, and memory is given back as a whole. So if one of
    /// them is compressed, all are moved.
    fn freeze(&mut self, chunk: &Chunk) -> Result<Option<Frozen>, OutOfMemory> {
        let columns = 0..chunk.schema().all_columns().len();
        let made: Vec<Option<PackedColumn>> =
            columns.clone().map(|column| self.column(chunk, column)).collect::<Result<_, _>>()?;
        if made.iter().all(Option::is_none) {
            return Ok(None);
        }
        let moves =
            made.iter().zip(columns.clone()).any(|(made, column)| made.is_some() && chunk.packed(column).is_some());
        let frozen = made.into_iter().zip(columns).map(|(made, column)| {
            let packed = match (made, chunk.packed(column)) {
                (Some(made), _) => Arc::new(made),
                (None, Some(packed)) if moves => Arc::new(packed.copied(&mut self.arena)?),
                (None, Some(packed)) => Arc::clone(packed),
                (None, None) => unreachable!("what is plain is packed"),
            };
            let validity = chunk.validity(column).map(|bits| copy_of(bits, &mut self.arena)).transpose()?;
            Ok((packed, validity))
        });
        frozen.collect::<Result<_, _>>().map(Some)
    }

    /// A column packed and compressed, if it is not.
    fn column(&mut self, chunk: &Chunk, column: usize) -> Result<Option<PackedColumn>, OutOfMemory> {
        let Freezer { packer, arena, passing } = self;
        if let Some(packed) = chunk.packed(column) {
            return packed.compressed(arena);
        }
        let mut scratch = Scratch::default();
        let (values, texts) = chunk.values_with_texts(column, 0..chunk.rows(), &mut scratch);
        if chunk.physical(column) != Physical::View {
            return packer.pack(values, chunk.validity(column), texts, arena).map(Some);
        }
        let packed = packer.pack(values, chunk.validity(column), texts, passing)?;
        Ok(Some(match packed.compressed(arena)? {
            Some(compressed) => compressed,
            None => packed.copied(arena)?,
        }))
    }
}

impl Slot {
    /// Packs the columns that are not packed yet and compresses texts, if there are at least so many rows; says whether it
    /// did so. It does not if somebody works on the slot.
    #[track_caller]
    pub(crate) fn freeze(&self, scope: Freeze, rows_min: usize, freezer: &mut Freezer) -> Result<bool, OutOfMemory> {
        let Some(chunk) = self.exclusive().freezable(scope, rows_min) else { return Ok(false) };
        let Some(frozen) = freezer.freeze(&chunk)? else { return Ok(false) };
        Ok(self.exclusive().freeze(&chunk, frozen))
    }
}

impl HotChunk {
    /// All rows, if there are enough of them, a column may take less memory and nobody needs to know what was before.
    fn freezable(&mut self, scope: Freeze, rows_min: usize) -> Option<Arc<Chunk>> {
        let may_gain = self.columns.iter().any(|column| column.packed().is_none_or(|packed| packed.is_compressible()));
        if !may_gain || self.rows < rows_min.max(1) || !self.is_at_rest() {
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
    fn freeze(&mut self, chunk: &Arc<Chunk>, frozen: Frozen) -> bool {
        // Whoever writes a value gives up what is shown.
        let is_same = self.shown.as_ref().is_some_and(|shown| Arc::ptr_eq(shown, chunk));
        if !is_same || !self.is_at_rest() {
            return false;
        }
        for (column, (packed, validity)) in self.columns.iter_mut().zip(frozen) {
            column.freeze(packed, validity);
        }
        self.capacity = self.rows;
        self.heap = Heap::default();
        self.shown = None;
        self.seen = None;
        self.looked_at = None;
        true
    }
}
