//! Decides how a relation is altered while others work on it: another one takes its place.
//!
//! The columns of a relation never change. To alter it is to make another relation, which shares the memory of the
//! columns that stay, has the rows under the same ids, and shares the indexes of columns that stay; and to let it take
//! the place of the first with a commit.
//!
//! Definitions. An alteration *closes* a relation: what is written to it is refused, row by row under the latch of the
//! slot, until the alteration is given up. A relation *stands* from the commit that put it in its place, or from the
//! start, to the commit that puts another one there.
//!
//! Invariants.
//! 1. When a relation is reshaped, every change of it is committed: it is closed first, and then waited for. A transaction
//!    that has changed it and alters it writes its rows anew instead ([`Alteration::renewed`]).
//! 2. Rows are written to at most one of the two: to the one before until it is closed, to the other after the commit, and
//!    by the transaction that commits it from [`Alteration::join`] on.
//! 3. Who began before the commit reads the one before, which has his versions; who begins later reads the other, in
//!    which all rows were always there. Which it is, the caller finds out by [`Relation::is_current_at`].
//! 4. What somebody who may write has read of the one before is no longer held against what others write: he fails at
//!    his commit.
//! 5. The foreign keys of what takes the place are added before the commit, and those of the one before end with it; who
//!    began before and has changed rows at their other ends fails at his commit (`table/references.rs`).
//! 6. Shared indexes lose an entry only when nobody sees its row in either relation. So a row that was deleted in the
//!    one before, and is not yet reclaimed there, is never taken by another one in the other.
//!
//! Not here: the columns of a slot (`chunk/hot/reshape.rs`), whose name stands for what (the catalog above).

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::chunk::hot::{HotChunk, Source};
use crate::datum::Datum;
use crate::error::TransactionError;
use crate::index::described_row;
use crate::manager::{Commit, Transactions};
use crate::relation::Relation;
use crate::row_id::RowId;
use crate::sync::sleep;
use crate::table::{ColumnOrigin, Table, TableSwap};
use crate::transaction::{CommitError, Isolation, Transaction};
use crate::typed::Input;
use crate::types::Schema;
use crate::values::TextRoom;
use crate::visibility::{ConflictKind, Owner, Time};

/// How often it is looked whether somebody has ended.
const PAUSE: Duration = Duration::from_millis(1);

/// Where a column of an altered relation comes from.
#[derive(Clone, Copy, Debug)]
pub enum NewColumn<'a> {
    /// It is the column of this number, whose values are stored alike ([`crate::ColumnType::is_stored_as`]), and suit its type.
    Kept(usize),
    /// Every row has this value.
    Filled(Datum<'a>),
    /// Every row gets a value of its own by [`Alteration::compute`].
    Computed,
}

/// An index that an altered relation keeps.
#[derive(Clone, Copy, Debug)]
pub struct KeptIndex<'a> {
    /// Its name.
    pub from: &'a str,
    /// Its name in the altered relation.
    pub name: &'a str,
    /// Its columns, by their numbers in the altered relation.
    pub columns: &'a [usize],
}

/// A relation that nobody writes to, because it is being altered. Dropped without a commit, it is given back as it was.
pub struct Alteration {
    table: Arc<Table>,
    transactions: Arc<Transactions>,
    is_done: bool,
}

impl fmt::Debug for Alteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alteration").field("relation", &self.table.name()).finish_non_exhaustive()
    }
}

impl Relation {
    /// Begins to alter it: until that is ended, nobody else writes to it. Who has written to it and not committed yet is
    /// waited for, but not longer than `patience`.
    ///
    /// # Errors
    ///
    /// When somebody else alters it, or has not ended what he writes.
    pub fn begin_alteration(&self, patience: Duration) -> Result<Alteration, TransactionError> {
        Alteration::begin(self, patience, None)
    }

    /// The same for a transaction, which may have written to it: then its rows are not to be reshaped, but to be written
    /// anew to what is made by [`Alteration::renewed`].
    ///
    /// # Errors
    ///
    /// As [`Relation::begin_alteration`].
    pub fn begin_alteration_of(
        &self,
        owner: Option<Owner>,
        patience: Duration,
    ) -> Result<Alteration, TransactionError> {
        Alteration::begin(self, patience, owner)
    }
}

impl Alteration {
    fn begin(relation: &Relation, patience: Duration, own: Option<Owner>) -> Result<Alteration, TransactionError> {
        let (table, transactions) = (relation.table(), relation.transactions());
        if !table.visibility.close(own) {
            return Err(table.altered(transactions.now()));
        }
        let alteration =
            Alteration { table: Arc::clone(table), transactions: Arc::clone(transactions), is_done: false };
        let deadline = Instant::now() + patience;
        table.wait_for_indexes();
        table.slots.close(true);
        for (_, slot) in table.slots.iter() {
            slot.write().close(true);
        }
        let stamps = transactions.stamps();
        for (at, slot) in table.slots.iter() {
            loop {
                // Without the latch while it sleeps: who is waited for may need it to undo what he did.
                let uncommitted = slot.read().uncommitted(own, stamps);
                let Some(row) = uncommitted else { break };
                if Instant::now() >= deadline {
                    return Err(table.conflict(RowId::new(at, row), ConflictKind::Uncommitted(None)));
                }
                sleep(PAUSE);
            }
        }
        while table.has_appends() {
            if Instant::now() >= deadline {
                return Err(TransactionError::Appending { relation: table.name() });
            }
            sleep(PAUSE);
        }
        Ok(alteration)
    }

    /// A relation of other columns with the same rows, which nobody sees before [`Alteration::commit`].
    ///
    /// # Errors
    ///
    /// When a row is NULL where it must not be, when a value does not suit its column, when rows have the same key in an
    /// index that had to be built anew, or when memory runs out.
    ///
    /// # Panics
    ///
    /// When there are more or fewer columns than the schema has, when a column that is kept is stored otherwise, or when
    /// there is no such column or index.
    pub fn reshape(
        &self,
        name: &str,
        schema: &Arc<Schema>,
        columns: &[NewColumn<'_>],
        indexes: &[KeptIndex<'_>],
    ) -> Result<Relation, TransactionError> {
        assert_eq!(columns.len(), schema.all_columns().len(), "one source per column");
        let origins = columns.iter().map(|column| match column {
            NewColumn::Kept(kept) => ColumnOrigin::Kept(*kept),
            NewColumn::Filled(_) => ColumnOrigin::Filled,
            NewColumn::Computed => ColumnOrigin::Computed,
        });
        let relation = self.empty(name, schema, origins.collect());
        let table = relation.table();
        let mut sources = Vec::with_capacity(columns.len());
        for (at, column) in columns.iter().enumerate() {
            sources.push(match column {
                NewColumn::Kept(kept) => {
                    let (from, to) = (&self.table.schema().all_columns()[*kept], &schema.all_columns()[at]);
                    assert!(
                        from.column_type.is_stored_as(to.column_type),
                        "values of {} {} stay as they are stored, which is not as {} is",
                        from.column_type,
                        from.name,
                        to.column_type
                    );
                    Source::kept(*kept)
                }
                NewColumn::Computed => Source::computed(),
                NewColumn::Filled(Datum::Null) => Source::filled(Input::Null),
                NewColumn::Filled(value) => Source::filled(table.input(at, *value)?),
            });
        }
        // No slot is added since the relation is closed. A place that becomes vacant from here on stays empty in the other
        // relation: until then somebody may have its rows in the indexes.
        let layout = self.table.slots.layout();
        let (mut slots, mut roomy) = (Vec::new(), Vec::new());
        for (at, slot) in self.table.slots.iter() {
            let mut slot = slot.write();
            if let Some((column, row)) = slot.missing(schema, &sources) {
                let room = TextRoom::default();
                let values = described_row(self.table.schema(), |column| slot.datum(row, column, &room));
                return Err(self.has_null(schema, column, RowId::new(at, row), values));
            }
            let reshaped = slot.reshaped(schema, &mut sources, table.memory());
            slots.push((at, reshaped.map_err(|error| table.failed(RowId::new(at, 0), error))?));
            if slot.listed || slot.has_free() {
                roomy.push(at);
            }
        }
        table.slots.adopt(layout, slots, || HotChunk::gone(schema));
        for at in roomy.into_iter().chain(table.slots.last()) {
            table.list(at);
        }
        // Not locked while indexes are built: that may reclaim what others have committed, which reads the list.
        let before = self.table.indexes().clone();
        for KeptIndex { from, name, columns } in indexes {
            let index = before.iter().find(|index| index.name() == *from);
            let index = index.expect("the index that is kept exists");
            let _reader = self.transactions.begin_reader();
            table.adopt_index(index, name, columns, self.transactions.clock())?;
        }
        Ok(relation)
    }

    /// Gives a row of what [`Alteration::reshape`] has made a value of a column that is computed. No index of the column
    /// may be there yet.
    ///
    /// # Errors
    ///
    /// When the column does not take it, when there is no such row, or when memory runs out.
    pub fn compute(
        &self,
        after: &Relation,
        row: RowId,
        column: usize,
        value: Datum<'_>,
    ) -> Result<(), TransactionError> {
        let table = after.table();
        if value == Datum::Null && !table.schema().all_columns()[column].nullable {
            let values = self.table.described(row)?;
            return Err(self.has_null(table.schema(), column, row, values));
        }
        let input = table.input(column, value)?;
        let computed = table.slot(row)?.write().compute(row.row(), column, &input, table.memory());
        computed.map_err(|error| table.failed(row, error))
    }

    /// A relation of other columns without rows, which the transaction writes that lets it take the place ([`Alteration::join`]).
    #[must_use]
    pub fn renewed(&self, name: &str, schema: &Arc<Schema>) -> Relation {
        self.empty(name, schema, Box::default())
    }

    /// An empty relation of other columns.
    fn empty(&self, name: &str, schema: &Arc<Schema>, origins: Box<[ColumnOrigin]>) -> Relation {
        let table = Table::pending(Arc::clone(schema), Arc::clone(self.table.memory()), origins);
        table.set_storage(self.table.storage());
        table.set_logged(self.table.is_logged());
        Relation::of(&Arc::new(table), &self.transactions).with_name(name)
    }

    /// Lets `after` take the place of the relation, and says since when. `keep` is kept as long as somebody may read what
    /// was before.
    ///
    /// # Panics
    ///
    /// When it was not made for this, or the database has a log that does not take it.
    pub fn commit(self, after: &Relation, keep: Arc<dyn Any + Send + Sync>) -> Time {
        let transaction = self.transactions.begin(Isolation::Snapshot);
        let committed = self.commit_in(after, keep, transaction);
        committed.expect("without reads nothing is validated").time
    }

    /// The same as part of a transaction, which may have more to log.
    ///
    /// # Errors
    ///
    /// As [`Transaction::commit`]; then the relation is as it was.
    ///
    /// # Panics
    ///
    /// When `after` was not made for this.
    pub fn commit_in(
        self,
        after: &Relation,
        keep: Arc<dyn Any + Send + Sync>,
        mut transaction: Transaction,
    ) -> Result<Commit, CommitError> {
        self.join(after, keep, &mut transaction).map_err(|error| CommitError::Failed(Box::new(error)))?;
        let committed = transaction.commit()?;
        self.end();
        Ok(committed)
    }

    /// Lets `after` take the place of the relation when a transaction commits, which alone works on it until then. The
    /// relation stays closed until the alteration is given up, or [`Alteration::end`] says that it is committed.
    ///
    /// # Errors
    ///
    /// When others have changed the relation since the transaction began, unless it sees that; or the log does not take it.
    ///
    /// # Panics
    ///
    /// When `after` was not made for this.
    pub fn join(
        &self,
        after: &Relation,
        keep: Arc<dyn Any + Send + Sync>,
        transaction: &mut Transaction,
    ) -> Result<(), TransactionError> {
        let after = Arc::clone(after.table());
        assert!(after.is_pending(), "what takes the place has not stood before");
        let table_swap = TableSwap::new(Arc::clone(&self.table), after, keep);
        transaction.log_altered(&table_swap, self.transactions.log())?;
        transaction.swap_table(table_swap)
    }

    /// It is committed.
    pub fn end(mut self) {
        self.is_done = true;
    }

    fn has_null(&self, schema: &Schema, column: usize, row: RowId, values: String) -> TransactionError {
        let column = schema.all_columns()[column].name.clone();
        TransactionError::HasNull { relation: self.table.name(), column, row, values }
    }
}

impl Drop for Alteration {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        self.table.slots.close(false);
        for (_, slot) in self.table.slots.iter() {
            slot.write().close(false);
        }
        self.table.visibility.reopen();
    }
}
