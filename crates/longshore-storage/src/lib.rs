//! Main-memory storage: relations of columnar chunks, the partition buffers that loads fill, and the native file format.
//!
//! A worker fills [`PartitionBuffer`]s in memory of its own [`Arena`]; an [`Append`] merges them into a [`Relation`] in
//! one of the three ways of *Instant Loading*, section 3.5; readers work on immutable [`Snapshot`]s of [`Chunk`]s and
//! see them as Arrow arrays without copying.
//!
//! A [`Transaction`] reads, inserts, changes and deletes rows of the relations of a database ([`Transactions`]), isolated
//! from all others (`transaction.rs`).
//!
//! Not here: SQL, CSV, async. Who parses text and who plans queries is up to the crates above.

mod arena;
mod buffer;
pub mod checksum;
mod chunk;
mod datum;
mod error;
mod index;
mod memory;
pub mod native;
mod prefetch;
mod relation;
mod show;
mod statistics;
mod sync;
mod transaction;
mod typed;
mod types;
mod version;
mod view;

pub use arena::{ARENA_BLOCK_BYTES, Arena, Region};
pub use buffer::{HEAP_BYTES_MAX, PartitionBuffer, Spare, SpareColumn, SpareHeap, SpareValues};
pub use chunk::{CHUNK_ROWS_MAX, Chunk, Stretch, Values, VisibleChunk};
pub use datum::{Datum, RowId};
pub use error::{AppendError, OutOfMemory};
pub use index::{BulkError, Direction, Found, Index, IndexKind, IndexParts, Key, KeyError, Range, Source, Uniqueness};
pub use memory::{Memory, Reservation};
pub use relation::{
    Alteration, Append, Clash, Clashes, ConflictAction, Defaults, ForeignKey, KeptIndex, MergeKind, Merged, NewColumn,
    OnConflict, ReferenceAction, ReferenceMatch, ReferenceRules, Relation, Snapshot,
};
pub use statistics::{ColumnStatistics, Value};
pub use sync::locks_held;
pub use transaction::{
    ActedOn, AppendedPair, CommitError, ConflictKind, ForeignKeyError, ForeignKeyProblem, Holder, Isolation,
    ReferenceChecks, RowEdit, RowRead, Savepoint, Time, Transaction, TransactionError, Transactions, View,
};
pub use typed::{ColumnRange, Field, FieldType, Scalar};
pub use types::{Column, ColumnType, Physical, Schema};
