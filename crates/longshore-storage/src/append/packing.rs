//! Packs the buffers of an append as they come, in the thread that brought them: what stays is of the exact size, and the
//! memory of the buffers is filled anew while it is warm.
//!
//! Buffers that are better put behind other rows stay plain, and so do those whose rows are copied, and those of a relation
//! whose storage is plain.

use std::sync::PoisonError;

use super::{Append, MergeKind, ROWS_WORTH_A_CHUNK, is_small};
use crate::arena::Arena;
use crate::buffer::PartitionBuffer;
use crate::chunk::Chunk;
use crate::memory::OutOfMemory;
use crate::packed::{PACKED_BLOCK_BYTES, Packer};
use crate::sync::Mutex;
use crate::table::{Storage, Table};

impl Append<'_> {
    /// Prepares an empty buffer for its merge: who fills it is asked for what packing wants to know of the values. A buffer
    /// that was not prepared is merged in the same way, later.
    #[must_use]
    pub fn prepare(&self, buffer: PartitionBuffer) -> PartitionBuffer {
        self.packing.prepare(buffer)
    }
}

/// What packs the buffers of an append: a packer for each thread that is at work.
pub(super) struct Packing<'r> {
    table: &'r Table,
    packs: bool,
    idle: Mutex<Vec<(Packer, Arena)>>,
}

impl<'r> Packing<'r> {
    pub(super) fn new(table: &'r Table, kind: MergeKind) -> Packing<'r> {
        let packs = kind == MergeKind::Chunk && table.storage() == Storage::Packed;
        Packing { table, packs, idle: Mutex::default() }
    }

    /// Has an empty buffer ask for what packing wants to know, if it will be packed.
    pub(super) fn prepare(&self, buffer: PartitionBuffer) -> PartitionBuffer {
        if self.packs && buffer.capacity() as u64 >= ROWS_WORTH_A_CHUNK { buffer.with_codes() } else { buffer }
    }

    /// Chunks of the rows of some buffers, none of which is empty.
    pub(super) fn pack(&self, buffers: Vec<PartitionBuffer>) -> Result<Vec<Chunk>, OutOfMemory> {
        let is_worth_it = |buffer: &PartitionBuffer| !is_small(buffer.rows() as u64, buffer.bytes());
        if !self.packs || !buffers.iter().any(is_worth_it) {
            return Ok(buffers.into_iter().map(PartitionBuffer::seal).collect());
        }
        let idle = self.idle().pop();
        let (mut packer, mut arena) =
            idle.unwrap_or_else(|| (Packer::default(), Arena::new(self.table.memory().clone(), PACKED_BLOCK_BYTES)));
        let chunks = buffers
            .into_iter()
            .map(|buffer| if is_worth_it(&buffer) { buffer.pack(&mut packer, &mut arena) } else { Ok(buffer.seal()) });
        let chunks = chunks.collect();
        self.idle().push((packer, arena));
        chunks
    }

    fn idle(&self) -> crate::sync::MutexGuard<'_, Vec<(Packer, Arena)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
