//! Decides how a table's rows are kept, read and added to.
//!
//! A relation is a list of slots (`chunk/hot.rs`), chunks whose rows may change. Readers take a [`Snapshot`] of it and
//! keep it as long as they like; nothing they can reach is ever written. Rows are added many at a time by an
//! [`Append`], all or nothing: what it merges is out of sight until its commit. Single rows are inserted, changed and
//! deleted by a [`crate::Transaction`].
//!
//! Not here: the versions of rows (`version`), what transactions see (`transaction`).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::chunk::hot::HotChunk;
use crate::datum::RowId;
use crate::index::{Index, IndexKind, Uniqueness};
use crate::memory::Memory;
use crate::transaction::{Time, Transaction, TransactionError, Transactions, View};
use crate::typed::{Field, FieldType};
use crate::types::Schema;

mod alter;
mod append;
mod beside;
mod conflict;
mod copy;
mod destination;
mod gather;
mod indexes;
mod interleave;
mod references;
mod resolve;
mod slots;
mod snapshot;
mod table;

pub(crate) use alter::Succession;
pub use alter::{Alteration, KeptIndex, NewColumn};
pub use append::Append;
pub(crate) use beside::Beside;
pub use conflict::{Clash, ConflictAction, Merged, OnConflict};
pub(crate) use indexes::{IndexList, threads};
pub use references::{Defaults, ForeignKey, ReferenceAction, ReferenceMatch, ReferenceRules};
pub use resolve::Clashes;
pub use snapshot::Snapshot;
pub(crate) use table::Table;

/// How partition buffers become part of a relation (*Instant Loading*, 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MergeKind {
    /// Row by row, one thread at a time: the simplest, bounded by the cost of a single insert.
    Insert,
    /// Column by column by `memcpy`, in parallel: fills chunks to the brim and frees the buffers.
    Copy,
    /// A buffer becomes a chunk, nothing is copied. An append of few rows altogether is copied after all, and so are
    /// neighbours of few rows, lest many small loads, or files, leave many small chunks.
    Chunk,
}

/// A table's rows.
pub struct Relation {
    table: Arc<Table>,
}

impl fmt::Debug for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relation")
            .field("schema", self.schema())
            .field("slots", &self.table.slots.places())
            .finish_non_exhaustive()
    }
}

impl Relation {
    /// An empty relation that shares its transactions with no other.
    #[must_use]
    pub fn new(schema: Arc<Schema>, memory: Arc<Memory>) -> Relation {
        Relation::in_database(schema, memory, &Transactions::new())
    }

    /// An empty relation of a database.
    #[must_use]
    pub fn in_database(schema: Arc<Schema>, memory: Arc<Memory>, transactions: &Arc<Transactions>) -> Relation {
        Relation { table: Arc::new(Table::new(schema, memory, Arc::clone(transactions))) }
    }

    /// A relation that was made by itself as one of a database, to all of whose transactions its rows were always there.
    /// Indexes stay behind.
    #[must_use]
    pub fn into_database(self, transactions: &Arc<Transactions>) -> Relation {
        let snapshot = self.snapshot();
        let moved = Relation::in_database(Arc::clone(self.schema()), Arc::clone(self.memory()), transactions);
        let slots: Vec<HotChunk> =
            snapshot.chunks().iter().map(|chunk| HotChunk::of_chunk(Arc::clone(chunk))).collect();
        if !slots.is_empty() {
            moved.table.adopt(slots);
        }
        moved
    }

    /// Gives it a name for messages, unless it has one.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Relation {
        self.table.set_name(name.into());
        self
    }

    /// The name that messages give it.
    #[must_use]
    pub fn name(&self) -> String {
        self.table.name()
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        self.table.schema()
    }

    /// The accounting that its memory belongs to.
    #[must_use]
    pub fn memory(&self) -> &Arc<Memory> {
        self.table.memory()
    }

    /// The transactions that may work on it.
    #[must_use]
    pub fn transactions(&self) -> &Arc<Transactions> {
        self.table.transactions()
    }

    /// The newest values of a row, whoever wrote them, as messages show them, for instance `(1, 'two', NULL)`.
    ///
    /// # Errors
    ///
    /// When there is no such row.
    pub fn described(&self, row: RowId) -> Result<String, TransactionError> {
        self.table.described(row)
    }

    /// The column of a name, as one that holds a Rust type.
    ///
    /// # Errors
    ///
    /// When there is none, or it holds another type.
    pub fn column<T: FieldType>(&self, name: &str) -> Result<Field<T>, TransactionError> {
        let no_such = || TransactionError::NoSuchColumn { relation: self.table.name(), column: name.to_owned() };
        let column = self.schema().index_of(name).ok_or_else(no_such)?;
        let column_type = self.schema().columns()[column].column_type;
        Field::new(column, column_type).ok_or_else(|| TransactionError::Type {
            relation: self.table.name(),
            column: name.to_owned(),
            column_type,
            found: T::NAME,
        })
    }

    /// The rows committed so far.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.table.committed()
    }

    /// The rows that a view sees; the transaction that it is of must be active.
    #[must_use]
    pub fn snapshot_at(&self, view: View) -> Arc<Snapshot> {
        Arc::new(self.table.show(view))
    }

    /// Begins an append. Several may be under way; their rows come in the order of their commits.
    #[must_use]
    pub fn begin_append(&self, kind: MergeKind) -> Append<'_> {
        Append::new(&self.table, kind)
    }

    /// Begins an append by chunk that is part of a transaction from its first chunk on: each becomes a slot and enters the
    /// indexes when it comes, out of sight of others until the transaction commits. [`Append::finish`] ends it; dropped
    /// before, it is undone. The transaction's merge thus lasts as long as the load, but has little left to do in the end.
    #[must_use]
    pub fn begin_append_in<'r>(&'r self, transaction: &'r mut Transaction) -> Append<'r> {
        Append::interleaved(&self.table, transaction)
    }

    /// Removes all rows, whoever works on them: transactions under way lose what they have written to it, too.
    /// Snapshots already taken keep theirs. [`crate::Transaction::truncate`] does it with regard to others.
    ///
    /// # Errors
    ///
    /// When rows of other relations refer to its own, or it is being altered; then it has all its rows.
    pub fn truncate(&self) -> Result<(), TransactionError> {
        self.table.forget_cached();
        self.transactions().truncate(&self.table)
    }

    /// Builds an index over columns, in their order, and keeps it from now on. No row is inserted meanwhile.
    ///
    /// # Errors
    ///
    /// When rows have the same key and must not, when the name is taken, when memory runs out, or when a transaction
    /// under way is about to delete a row or to change a key.
    ///
    /// # Panics
    ///
    /// When no column is given, or there is none of a number.
    pub fn create_index(
        &self,
        name: &str,
        columns: &[usize],
        kind: IndexKind,
        uniqueness: Uniqueness,
    ) -> Result<Arc<Index>, TransactionError> {
        self.table.create_index(name, columns, kind, uniqueness, &|| false)
    }

    /// As [`Relation::create_index`], unless `is_cancelled`, which is asked now and then.
    ///
    /// # Errors
    ///
    /// As [`Relation::create_index`], and [`TransactionError::Cancelled`]; then there is no such index.
    ///
    /// # Panics
    ///
    /// As [`Relation::create_index`].
    pub fn create_index_unless(
        &self,
        name: &str,
        columns: &[usize],
        kind: IndexKind,
        uniqueness: Uniqueness,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Arc<Index>, TransactionError> {
        self.table.create_index(name, columns, kind, uniqueness, is_cancelled)
    }

    /// Gives an index up.
    ///
    /// # Errors
    ///
    /// When there is none of the name.
    pub fn drop_index(&self, name: &str) -> Result<(), TransactionError> {
        self.table.drop_index(name)
    }

    /// The indexes.
    #[must_use]
    pub fn indexes(&self) -> Vec<Arc<Index>> {
        self.table.indexes().clone()
    }

    /// The relation of a table.
    pub(crate) fn of(table: &Arc<Table>) -> Relation {
        Relation { table: Arc::clone(table) }
    }

    /// Begins to alter it: until that is ended, nobody else writes to it. Who has written to it and not committed yet is
    /// waited for, but not longer than `patience`.
    ///
    /// # Errors
    ///
    /// When somebody else alters it, or has not ended what he writes.
    pub fn begin_alteration(&self, patience: Duration) -> Result<Alteration, TransactionError> {
        Alteration::begin(&self.table, patience)
    }

    /// Whether it is what its name stands for to who sees what was committed up to a time: what an alteration has made
    /// is only to those who see that, and not at all before it is committed.
    #[must_use]
    pub fn stands_at(&self, time: Time) -> bool {
        self.table.tenure.stands_at(time)
    }

    pub(crate) fn table(&self) -> &Arc<Table> {
        &self.table
    }
}
