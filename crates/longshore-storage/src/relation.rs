//! Decides what is public of a table's rows: a relation is a table and the transactions that may work on it.
//!
//! Readers take a [`Snapshot`] of it and keep it as long as they like; nothing they can reach is ever written. Rows are
//! added many at a time by a [`crate::Append`], all or nothing: what it merges is out of sight until its commit. Single
//! rows are inserted, changed and deleted by a [`crate::Transaction`].
//!
//! Not here: how rows are kept (`table`), what works on a relation (`transaction`, `append`, `alteration`).

use std::fmt;
use std::sync::Arc;

use crate::chunk::hot::{Freeze, HotChunk};
use crate::chunk::{Chunk, is_small};
use crate::error::TransactionError;
use crate::index::{Index, IndexKind, Uniqueness};
use crate::manager::{LoadWriter, Transactions};
use crate::memory::Memory;
use crate::row_id::RowId;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::table::{Snapshot, Storage, Table};
use crate::threads::in_threads;
use crate::typed::{Field, FieldType};
use crate::types::Schema;
use crate::visibility::{Time, View};

mod references;
mod row_set;
mod violations;

pub(crate) use row_set::RowSet;
pub(crate) use violations::{Finder, Found, Missing, first_violation, in_order};

/// A table's rows.
pub struct Relation {
    table: Arc<Table>,
    transactions: Arc<Transactions>,
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
        Relation::of(&Arc::new(Table::new(schema, memory)), transactions)
    }

    /// A relation that was made by itself as one of a database, to all of whose transactions its rows were always there.
    /// Indexes stay behind. If the database is durable, large chunks are written to a file of it, for when the relation joins
    /// ([`crate::Transaction::log_created`]): so many threads do that, and wait for the disk.
    ///
    /// # Errors
    ///
    /// When memory runs out, or the disk refuses.
    pub fn into_database(self, transactions: &Arc<Transactions>, threads: usize) -> Result<Relation, TransactionError> {
        let snapshot = self.snapshot();
        let moved = Relation::in_database(Arc::clone(self.schema()), Arc::clone(self.memory()), transactions);
        moved.set_storage(self.storage());
        moved.set_logged(self.is_logged());
        if let Some(writer) = transactions.log().begin_load().filter(|_| self.is_logged()) {
            write_chunks(&*writer, snapshot.chunks(), threads)?;
        }
        let slots: Vec<HotChunk> =
            snapshot.chunks().iter().map(|chunk| HotChunk::of_chunk(Arc::clone(chunk))).collect();
        if !slots.is_empty() {
            moved.table.adopt(slots);
        }
        Ok(moved)
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

    /// How it keeps rows that come many at a time.
    #[must_use]
    pub fn storage(&self) -> Storage {
        self.table.storage()
    }

    /// Keeps rows that come many at a time from now on in another way.
    pub fn set_storage(&self, storage: Storage) {
        self.table.set_storage(storage);
    }

    /// Whether its rows are durable if it is one of a durable database. If not (PostgreSQL's UNLOGGED), they cost no log and no
    /// block files, and are lost in a crash: then it comes back empty.
    #[must_use]
    pub fn is_logged(&self) -> bool {
        self.table.is_logged()
    }

    /// Says whether its rows are to be durable. Nobody else knows it yet: it has not joined, or it is what an alteration made,
    /// which is not committed.
    pub fn set_logged(&self, is_logged: bool) {
        self.table.set_logged(is_logged);
    }

    /// Packs what is plain of the chunks of a scope with at least so many rows that nobody has changed since all who are
    /// active began; says how many these were. Others may work on the relation meanwhile, and wait for nothing.
    ///
    /// It ends before the last if `is_cancelled`, which is asked at each chunk.
    ///
    /// # Errors
    ///
    /// When memory runs out; what was packed until then stays so.
    pub fn freeze(
        &self,
        scope: Freeze,
        rows_min: usize,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<usize, TransactionError> {
        let frozen = self.table.freeze(scope, rows_min, is_cancelled);
        if !matches!(frozen, Ok(0)) {
            // What is kept for readers to come has the values as they were.
            let mut stale = None;
            self.transactions.at_a_new_time(|time| stale = self.table.set_changed(time));
            drop(stale);
        }
        Ok(frozen?)
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
        &self.transactions
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
        let column_type = self.schema().all_columns()[column].column_type;
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
        if let Some(snapshot) = self.table.cached() {
            return snapshot;
        }
        let reader = self.transactions.begin_reader();
        let snapshot = Arc::new(self.table.show(reader.view(), self.transactions.stamps()));
        self.table.cache(reader.view().start(), &snapshot);
        snapshot
    }

    /// The rows that a view sees; the transaction that it is of must be active.
    #[must_use]
    pub fn snapshot_at(&self, view: View) -> Arc<Snapshot> {
        Arc::new(self.table.show(view, self.transactions.stamps()))
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
        self.create_index_unless(name, columns, kind, uniqueness, &|| false)
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
        let _reader = self.transactions.begin_reader();
        self.table.create_index(name, columns, kind, uniqueness, self.transactions.clock(), is_cancelled)
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
    pub(crate) fn of(table: &Arc<Table>, transactions: &Arc<Transactions>) -> Relation {
        Relation { table: Arc::clone(table), transactions: Arc::clone(transactions) }
    }

    /// Whether its name means this relation to a view that sees what was committed up to `time`. A relation that an
    /// alteration has made is current only for views that see the alteration, and for none before it is committed.
    #[must_use]
    pub fn is_current_at(&self, time: Time) -> bool {
        self.table.visibility.is_current_at(time)
    }

    /// By what locks of it and of its rows are known.
    #[must_use]
    pub fn lock_number(&self) -> u64 {
        self.table.id()
    }

    pub(crate) fn table(&self) -> &Arc<Table> {
        &self.table
    }
}

/// Writes chunks that are large to the file of a load, which is safe then.
fn write_chunks(writer: &dyn LoadWriter, chunks: &[Arc<Chunk>], threads: usize) -> Result<(), TransactionError> {
    let large: Vec<&Arc<Chunk>> = chunks.iter().filter(|chunk| !is_small(chunk.rows() as u64, chunk.bytes())).collect();
    let next = AtomicUsize::new(0);
    let run = || {
        while let Some(chunk) = large.get(next.fetch_add(1, Ordering::Relaxed)) {
            chunk.set_stored(writer.write(chunk)?);
        }
        Ok(())
    };
    in_threads(threads.min(large.len()), run).into_iter().collect::<Result<(), TransactionError>>()?;
    writer.finish()
}
