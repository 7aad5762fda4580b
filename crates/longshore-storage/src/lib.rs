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
//!
//! # Modules
//!
//! Lowest first; a module imports only from those before it (`cargo xtask imports` checks it).
//!
//! - `sync`: locks and atomics, and the order in which locks are taken
//! - `threads`: work that several threads share
//! - `disk`: files and directories, behind an interface of which tests have another implementation
//! - `log`: the redo log
//! - `block_ref`: where a chunk is in the block files of its database
//! - `prefetch`: asks for memory before it is needed
//! - `instruction_set`: loops compiled for each instruction set
//! - `show`: values of times and decimals as text
//! - `sketch`: counts distinct values in little memory
//! - `memory`: the blocks of a database and their limit
//! - `arena`: blocks cut into regions
//! - `view`: the views that stand for texts
//! - `row_id`: what a row is called
//! - `types`: the types of columns, schemas
//! - `datum`: a single value
//! - `lists`: arrays as bytes
//! - `values`: the values of a column
//! - `statistics`: counts and bounds of columns
//! - `typed`: columns as Rust types; which values a column takes
//! - `packed`: the values of a column in little memory
//! - `visibility`: times, stamps and views: what a transaction sees
//! - `version`: the versions of rows
//! - `chunk`: the rows of a relation, immutable or where they may change
//! - `buffer`: rows before they are part of a relation
//! - `index`: hash tables and adaptive radix trees
//! - `error`: how operations on relations fail
//! - `table`: the slots, indexes and foreign keys of a relation
//! - `predicate`: what a transaction has read
//! - `manager`: the order of transactions, and what commits leave
//! - `relation`: a table and the manager of its database
//! - `transaction`: what a transaction does with the rows of relations
//! - `append`: many rows at a time, all or nothing
//! - `alteration`: changes of a relation's columns
//! - `native`: the native file format
//! - `redo`: what the log of a durable database says, and replay
//! - `data_directory`: the directory of a durable database: manifest, block files, checkpoints, recovery
//! - `checksum`: a checksum of all rows

mod alteration;
mod append;
mod arena;
mod block_ref;
mod buffer;
pub mod checksum;
mod chunk;
pub mod data_directory;
mod datum;
pub mod disk;
mod error;
mod index;
mod instruction_set;
pub mod lists;
pub mod log;
mod manager;
mod memory;
pub mod native;
mod packed;
mod predicate;
mod prefetch;
mod redo;
mod relation;
mod row_id;
mod show;
mod sketch;
mod statistics;
mod sync;
mod table;
mod threads;
mod transaction;
mod typed;
mod types;
mod values;
mod version;
mod view;
mod visibility;

pub use longshore_value::uuid::Uuid;

pub use alteration::{Alteration, KeptIndex, NewColumn};
pub use append::{Append, BufferPacking, Clash, Clashes, ConflictAction, MergeKind, Merged, OnConflict};
pub use arena::{ARENA_BLOCK_BYTES, Arena, Region};
pub use buffer::{AppendError, PartitionBuffer, Spare, SpareColumn, SpareHeap};
pub use chunk::hot::Freeze;
pub use chunk::wrap;
pub use chunk::{Chunk, ColumnBytes, Stretch, VisibleChunk};
pub use datum::Datum;
pub use error::{AppendedPair, ForeignKeyError, ForeignKeyProblem, Holder, TransactionError};
pub use index::{BulkError, Direction, Found, Index, IndexKind, IndexParts, Key, KeyError, Range, Source, Uniqueness};
pub use manager::{
    AdvisoryKey, AdvisoryLock, Commit, Counts, Deadlock, HeldLock, Locked, Moment, RedoLog, RowLock, TableLock,
    Transactions, Wait, Waiting,
};
pub use memory::{Memory, OutOfMemory, Reservation};
pub use packed::{CodeSet, PackedAs, PackedColumn, Packer, RangeSet, SpareCodes};
pub use redo::{Described, Payloads, RECORD_VERSION, Replay, ReplayError, ReplayProblem, Replayed};
pub use relation::Relation;
pub use row_id::{CHUNK_ROWS_MAX, RowId};
pub use statistics::{ColumnStatistics, Value};
pub use sync::locks_held;
pub use table::{
    Defaults, ForeignKey, ReferenceAction, ReferenceMatch, ReferenceRules, ReferenceTiming, RelationId, Snapshot,
    Storage,
};
pub use threads::in_threads;
pub use transaction::{
    ActionRows, CommitError, Contention, Isolation, ReferenceChecks, RowEdit, RowRead, Savepoint, Transaction,
};
pub use typed::{ColumnRange, Field, FieldType, Scalar};
pub use types::{Column, ColumnType, Physical, Schema, TimeType};
pub use values::{Scratch, SpareValues, Values};
pub use view::HEAP_BYTES_MAX;
pub use visibility::{ConflictKind, Owner, Time, View};
