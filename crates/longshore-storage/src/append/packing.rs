//! Packs the buffers of an append as they come, in the thread that brought them: what stays is of the exact size, and the
//! memory of the buffers is filled anew while it is warm.
//!
//! Buffers that are better put behind other rows stay plain, and so do those whose rows are copied, and those of a relation
//! whose storage is plain.

use std::fmt;
use std::sync::{Arc, PoisonError};

use super::{MergeKind, ROWS_WORTH_A_CHUNK, is_small};
use crate::arena::Arena;
use crate::buffer::PartitionBuffer;
use crate::chunk::Chunk;
use crate::memory::{Memory, OutOfMemory};
use crate::packed::{PACKED_BLOCK_BYTES, Packer};
use crate::sync::Mutex;
use crate::table::Storage;

/// Makes chunks of partition buffers: a packer for each thread that is at work.
pub struct BufferPacking {
    memory: Arc<Memory>,
    packs: bool,
    idle: Mutex<Vec<(Packer, Arena)>>,
}

impl fmt::Debug for BufferPacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferPacking").field("packs", &self.packs).finish_non_exhaustive()
    }
}

impl BufferPacking {
    /// For relations of this storage that buffers are merged into in this way.
    #[must_use]
    pub fn new(memory: &Arc<Memory>, storage: Storage, kind: MergeKind) -> BufferPacking {
        let packs = kind == MergeKind::Chunk && storage == Storage::Packed;
        BufferPacking { memory: Arc::clone(memory), packs, idle: Mutex::default() }
    }

    /// Has an empty buffer ask for what packing wants to know, if it will be packed. A buffer that was not prepared is packed
    /// in the same way, in more time.
    #[must_use]
    pub fn prepare(&self, buffer: PartitionBuffer) -> PartitionBuffer {
        if self.packs && buffer.capacity() as u64 >= ROWS_WORTH_A_CHUNK { buffer.with_codes() } else { buffer }
    }

    /// Chunks of the rows of some buffers. Those that are empty give none.
    ///
    /// # Errors
    ///
    /// When memory runs out.
    pub fn pack(&self, buffers: Vec<PartitionBuffer>) -> Result<Vec<Chunk>, OutOfMemory> {
        let buffers: Vec<_> = buffers.into_iter().filter(|buffer| buffer.rows() > 0).collect();
        let is_worth_it = |buffer: &PartitionBuffer| !is_small(buffer.rows() as u64, buffer.bytes());
        if !self.packs || !buffers.iter().any(is_worth_it) {
            return Ok(buffers.into_iter().map(PartitionBuffer::seal).collect());
        }
        let idle = self.idle().pop();
        let (mut packer, mut arena) =
            idle.unwrap_or_else(|| (Packer::default(), Arena::new(Arc::clone(&self.memory), PACKED_BLOCK_BYTES)));
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
