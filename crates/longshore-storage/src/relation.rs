//! Decides how a table's rows are kept, read and added to.
//!
//! A relation is a list of immutable chunks, published as a [`Snapshot`]. Readers take the current one and keep it as
//! long as they like; nothing they can reach is ever written. Rows are added by one [`Append`] at a time, all or
//! nothing: what it merges is out of sight until its commit publishes a new snapshot.
//!
//! The last chunk may be *open*: made by copying rows, with room left. Its published part is as immutable as any chunk;
//! the next append writes behind it (`relation/destination.rs`), so that many small appends make few chunks.
//!
//! Not here: versions of rows, transactions over several relations.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};

use crate::chunk::Chunk;
use crate::memory::Memory;
use crate::statistics::ColumnStatistics;
use crate::types::Schema;

mod append;
mod copy;
mod destination;

pub use append::Append;
use destination::Destination;

/// How partition buffers become part of a relation (*Instant Loading*, 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MergeKind {
    /// Row by row, one thread at a time: the simplest, bounded by the cost of a single insert.
    Insert,
    /// Column by column by `memcpy`, in parallel: fills chunks to the brim and frees the buffers.
    Copy,
    /// A buffer becomes a chunk, nothing is copied. An append of few rows altogether is copied after all, lest many
    /// small loads leave many small chunks.
    Chunk,
}

/// A table's rows.
pub struct Relation {
    schema: Arc<Schema>,
    memory: Arc<Memory>,
    published: RwLock<Arc<Snapshot>>,
    writer: Mutex<Writer>,
    writer_idle: Condvar,
}

/// What the next append needs. Locked for moments only; `busy` says that an append is under way.
#[derive(Default)]
struct Writer {
    busy: bool,
    /// The last chunk of the snapshot, if it has room.
    open: Option<Destination>,
}

/// What a reader sees: the rows of a relation after some append.
pub struct Snapshot {
    schema: Arc<Schema>,
    chunks: Vec<Arc<Chunk>>,
    rows: u64,
}

impl fmt::Debug for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relation")
            .field("schema", &self.schema)
            .field("snapshot", &self.snapshot())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("chunks", &self.chunks.len()).field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Relation {
    /// An empty relation.
    #[must_use]
    pub fn new(schema: Arc<Schema>, memory: Arc<Memory>) -> Relation {
        let empty = Snapshot::new(Arc::clone(&schema), Vec::new());
        Relation {
            schema,
            memory,
            published: RwLock::new(Arc::new(empty)),
            writer: Mutex::default(),
            writer_idle: Condvar::new(),
        }
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The accounting that its memory belongs to.
    #[must_use]
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// The rows committed so far.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.published.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins an append. While another one is under way, this waits for its end (so a thread that begins a second one
    /// before it ends its first waits for ever).
    #[must_use]
    pub fn begin_append(&self, kind: MergeKind) -> Append<'_> {
        let mut writer = self.idle_writer();
        writer.busy = true;
        Append::new(self, kind, writer.open.clone())
    }

    /// Removes all rows, after an append under way has ended. Snapshots already taken keep theirs.
    pub fn truncate(&self) {
        let mut writer = self.idle_writer();
        writer.open = None;
        self.publish(Vec::new());
    }

    /// Publishes chunks in place of what there was.
    fn publish(&self, chunks: Vec<Arc<Chunk>>) {
        let snapshot = Arc::new(Snapshot::new(Arc::clone(&self.schema), chunks));
        let mut published = self.published.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *published, snapshot);
        drop(published);
        // Readers need not wait while the memory of the old one is freed.
        drop(before);
    }

    fn idle_writer(&self) -> MutexGuard<'_, Writer> {
        let writer = self.lock_writer();
        self.writer_idle.wait_while(writer, |writer| writer.busy).unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_writer(&self) -> MutexGuard<'_, Writer> {
        // No panic can leave it inconsistent: it is assigned to, field by field.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Snapshot {
    fn new(schema: Arc<Schema>, chunks: Vec<Arc<Chunk>>) -> Snapshot {
        let rows = chunks.iter().map(|chunk| chunk.rows() as u64).sum();
        Snapshot { schema, chunks, rows }
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The chunks, in row order; none is empty.
    #[must_use]
    pub fn chunks(&self) -> &[Arc<Chunk>] {
        &self.chunks
    }

    /// Rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes of values, validity bits and texts.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.bytes()).sum()
    }

    /// Counts and bounds of a column over all chunks.
    ///
    /// # Panics
    ///
    /// When there is no such column.
    #[must_use]
    pub fn statistics(&self, column: usize) -> ColumnStatistics {
        let mut merged = ColumnStatistics::default();
        for chunk in &self.chunks {
            merged.merge(chunk.statistics(column));
        }
        merged
    }
}
