//! A table.
use std::sync::Arc;

use crate::buffer::PartitionBuffer;
use crate::chunk::Chunk;
use crate::error::OutOfMemory;
use crate::memory::Memory;
use crate::statistics::ColumnStatistics;
use crate::types::Schema;

/// A table's rows.
pub struct Relation {}

/// What a reader sees: the state of a relation after some append.
pub struct Snapshot {}

/// How partition buffers become part of a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeKind {
    /// Row by row.
    Insert,
    /// Column by column, copied.
    Copy,
    /// The buffer becomes a chunk.
    Chunk,
}

/// Rows on their way into a relation.
pub struct Append<'a> { relation: &'a Relation }

impl Relation {
    /// An empty relation.
    pub fn new(schema: Arc<Schema>, memory: Arc<Memory>) -> Relation { todo!() }
    /// The schema.
    pub fn schema(&self) -> &Arc<Schema> { todo!() }
    /// The accounting its memory belongs to.
    pub fn memory(&self) -> &Arc<Memory> { todo!() }
    /// The rows committed so far.
    pub fn snapshot(&self) -> Arc<Snapshot> { todo!() }
    /// Begins an append; waits until no other is under way.
    pub fn begin_append(&self, kind: MergeKind) -> Append<'_> { todo!() }
    /// Removes all rows.
    pub fn truncate(&self) { todo!() }
}

impl Snapshot {
    /// The schema.
    pub fn schema(&self) -> &Arc<Schema> { todo!() }
    /// The chunks, in row order.
    pub fn chunks(&self) -> &[Arc<Chunk>] { todo!() }
    /// Rows.
    pub fn rows(&self) -> u64 { todo!() }
    /// Bytes of all chunks.
    pub fn bytes(&self) -> usize { todo!() }
    /// Counts and bounds of a column over all chunks.
    pub fn statistics(&self, column: usize) -> ColumnStatistics { todo!() }
}

impl Append<'_> {
    /// Adds rows. `sequence` counts from 0 without gaps, in any order, from any thread; rows come to lie in the order of sequences.
    pub fn merge(&self, sequence: u64, buffers: Vec<PartitionBuffer>) -> Result<(), OutOfMemory> { todo!() }
    /// Makes the rows visible, and says how many they are.
    pub fn commit(self) -> u64 { todo!() }
}
