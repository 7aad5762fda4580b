//! Indexes the chunks of an append while others are still being filled, so that little is left to do for its commit.
//!
//! Few rows altogether are not worth it: they are put behind others when they are committed, and indexed there. So
//! chunks wait until there are enough of them.
//!
//! Not here: how parts of an index are built and merged (`index/parts.rs`).

use std::sync::{Arc, PoisonError};

use super::Table;
use crate::chunk::Chunk;
use crate::index::{Index, IndexParts};
use crate::memory::OutOfMemory;
use crate::sync::{Mutex, MutexGuard};

/// Set in the numbers of chunks that are not the first of their sequence number.
const FURTHER: u32 = 1 << 31;

/// Bits of such a number that count the chunks of one sequence number.
const CHUNK_BITS: u32 = 8;

/// Parts of all indexes that there were when the append began.
pub(crate) struct IncrementalIndexBuild {
    parts: Vec<IndexParts>,
    /// Where in the relation the first chunk is taken to come.
    base: usize,
    /// Chunks that wait, with their numbers.
    waiting: Mutex<Vec<(u32, Arc<Chunk>)>>,
}

impl IncrementalIndexBuild {
    pub(crate) fn new(table: &Table) -> IncrementalIndexBuild {
        let parts = table.indexes().iter().map(IndexParts::new).collect();
        IncrementalIndexBuild { parts, base: table.slots.likely(), waiting: Mutex::default() }
    }

    /// The number that a chunk is indexed by: that which it will have in the relation, if each sequence number stands
    /// for one chunk, as most often, and nobody else adds chunks meanwhile. `None` if there are more chunks than anybody
    /// has counted on.
    pub(crate) fn number(&self, sequence: u64, at: usize) -> Option<u32> {
        let (sequence, at) = (u32::try_from(sequence).ok()?, u32::try_from(at).ok()?);
        if at == 0 {
            let number = sequence.checked_add(u32::try_from(self.base).ok()?)?;
            return (number < FURTHER).then_some(number);
        }
        (at >> CHUNK_BITS == 0 && sequence < FURTHER >> CHUNK_BITS).then_some(FURTHER | sequence << CHUNK_BITS | at)
    }

    /// Where in the relation the first chunk is taken to come.
    pub(crate) fn base(&self) -> usize {
        self.base
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether two rows are known to have the same key, which must be unique.
    pub(crate) fn has_duplicates(&self) -> bool {
        self.parts.iter().any(IndexParts::has_duplicates)
    }

    /// Takes note of a chunk. One without a number is left to the commit, and so are then all.
    pub(crate) fn put(&self, number: Option<u32>, chunk: &Arc<Chunk>) {
        self.waiting().extend(number.map(|number| (number, Arc::clone(chunk))));
    }

    /// Indexes what waits. Threads may call this side by side.
    pub(crate) fn index_waiting(&self) -> Result<(), OutOfMemory> {
        loop {
            let Some((number, chunk)) = self.waiting().pop() else { return Ok(()) };
            self.parts.iter().try_for_each(|parts| parts.add(number, &chunk))?;
        }
    }

    /// The parts of an index, if there are any.
    pub(crate) fn parts_of(&mut self, index: &Arc<Index>) -> Option<IndexParts> {
        let at = self.parts.iter().position(|parts| Arc::ptr_eq(parts.index(), index))?;
        Some(self.parts.swap_remove(at))
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<(u32, Arc<Chunk>)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
