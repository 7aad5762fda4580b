//! Transactions: what several threads do to several relations at the same time, as if one after the other.
//!
//! Source: the thesis, chapter 2. Rows are changed in place, what they were is kept for who began earlier
//! (`version.rs`), and a transaction that meets a change it does not see gives up at once. A serializable transaction
//! also logs what it read, and commits only if nobody who committed meanwhile has changed any of it.
//!
//! A transaction is used by one thread at a time. Threads that read in parallel take its [`View`].
//!
//! Not here: slots and the changes of rows (`chunk/hot.rs`), indexes (`index.rs`).

use std::fmt;
use std::sync::Arc;

use crate::chunk::Chunk;
use crate::chunk::hot::{Cell, HotChunk, WriteError, Writer};
use crate::datum::{Datum, RowId};
use crate::relation::{Relation, Snapshot, Table};
use crate::typed::{self, Field, FieldType, Scalar};

mod commit;
mod error;
mod manager;
mod predicate;
mod reads;
mod reclaim;
mod savepoint;
mod stamp;
mod time;
mod validate;
mod write_set;

pub use error::{CommitError, ConflictKind, TransactionError};
pub use manager::Transactions;
pub use savepoint::Savepoint;
pub(crate) use stamp::{StampId, Stamps};
pub(crate) use time::TRANSACTION_ID_MIN;
pub use time::{Isolation, Time, View};
pub(crate) use write_set::{Write, WriteKind, WriteSet};

use manager::Seat;
use predicate::PredicateLog;

/// A transaction. Dropped without a commit, it is rolled back.
pub struct Transaction {
    manager: Arc<Transactions>,
    seat: Seat,
    view: View,
    /// `None` if it only reads.
    stamp: Option<StampId>,
    isolation: Isolation,
    set: WriteSet,
    /// What it has read, if it will have to answer for it.
    log: Option<Box<PredicateLog>>,
    /// A savepoint was made: every change must be undoable on its own.
    keeps_all: bool,
    ended: bool,
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("view", &self.view)
            .field("isolation", &self.isolation)
            .field("writes", &self.set.writes.len())
            .finish_non_exhaustive()
    }
}

impl Transaction {
    fn new(
        manager: Arc<Transactions>,
        seat: Seat,
        view: View,
        stamp: Option<StampId>,
        isolation: Isolation,
        set: WriteSet,
        log: Option<Box<PredicateLog>>,
    ) -> Transaction {
        Transaction { manager, seat, view, stamp, isolation, set, log, keeps_all: false, ended: false }
    }

    /// What it sees, for threads that read on its behalf.
    #[must_use]
    pub fn view(&self) -> View {
        self.view
    }

    /// Its isolation level.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Whether it was begun as one that changes nothing.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.stamp.is_none()
    }

    /// Whether it has changed anything.
    #[must_use]
    pub fn has_written(&self) -> bool {
        !self.set.writes.is_empty()
    }

    /// The rows of a relation as it sees them now. What it changes afterwards does not show.
    #[must_use]
    pub fn snapshot(&self, relation: &Relation) -> Arc<Snapshot> {
        self.assert_mine(relation.table());
        relation.snapshot_at(self.view)
    }

    /// Whether it sees a row.
    #[must_use]
    pub fn sees(&self, relation: &Relation, row: RowId) -> bool {
        let slot = relation.table().slot(row);
        slot.is_ok_and(|slot| slot.read().is_visible(row.row(), self.view, self.manager.stamps()))
    }

    /// A value.
    ///
    /// # Errors
    ///
    /// When it does not see the row, or the value is NULL.
    #[inline]
    pub fn get<T: Scalar>(&mut self, relation: &Relation, row: RowId, field: Field<T>) -> Result<T, TransactionError> {
        self.get_nullable(relation, row, field)?.ok_or_else(|| is_null(relation, row, field.column()))
    }

    /// A value; `None` is NULL.
    ///
    /// # Errors
    ///
    /// When it does not see the row.
    #[inline]
    pub fn get_nullable<T: Scalar>(
        &mut self,
        relation: &Relation,
        row: RowId,
        field: Field<T>,
    ) -> Result<Option<T>, TransactionError> {
        self.with_cell(relation, row, field.column(), |cell| match cell {
            Cell::Bits(bits) => Some(T::from_bits(bits)),
            Cell::Null | Cell::ShortText(_) | Cell::Text(_) => None,
        })
    }

    /// Appends a text to a string; says whether there is one, or it is NULL.
    ///
    /// # Errors
    ///
    /// When it does not see the row.
    pub fn get_text(
        &mut self,
        relation: &Relation,
        row: RowId,
        field: Field<&str>,
        text: &mut String,
    ) -> Result<bool, TransactionError> {
        self.with_cell(relation, row, field.column(), |cell| {
            cell.bytes(|bytes| {
                // SAFETY: a column of text holds UTF-8 only (`Chunk::from_parts`, `typed/domain.rs`).
                text.push_str(unsafe { std::str::from_utf8_unchecked(bytes) });
            })
        })
    }

    /// Appends a BYTEA to a vector; says whether there is one, or it is NULL.
    ///
    /// # Errors
    ///
    /// When it does not see the row.
    pub fn get_bytes(
        &mut self,
        relation: &Relation,
        row: RowId,
        field: Field<&[u8]>,
        bytes: &mut Vec<u8>,
    ) -> Result<bool, TransactionError> {
        self.with_cell(relation, row, field.column(), |cell| cell.bytes(|found| bytes.extend_from_slice(found)))
    }

    /// Gives a value of any type to a closure.
    ///
    /// # Errors
    ///
    /// When it does not see the row.
    ///
    /// # Panics
    ///
    /// When there is no such column.
    pub fn get_datum<R>(
        &mut self,
        relation: &Relation,
        row: RowId,
        column: usize,
        read: impl FnOnce(Datum<'_>) -> R,
    ) -> Result<R, TransactionError> {
        let column_type = relation.schema().columns()[column].column_type;
        self.with_cell(relation, row, column, |cell| cell.with_datum(column_type, read))
    }

    #[inline]
    fn with_cell<R>(
        &mut self,
        relation: &Relation,
        row: RowId,
        column: usize,
        read: impl FnOnce(Cell<'_>) -> R,
    ) -> Result<R, TransactionError> {
        let table = relation.table();
        self.assert_mine(table);
        if let Some(log) = self.log_of(table) {
            log.read(column);
        }
        let slot = table.slot(row)?.read();
        match slot.visible_cell(row.row(), column, self.view, self.manager.stamps()) {
            Some(cell) => Ok(read(cell)),
            None => Err(table.no_such_row(row)),
        }
    }

    /// Changes a value, in place.
    ///
    /// # Errors
    ///
    /// When another transaction has changed the row, when it does not see it, when the column does not take the value
    /// or is part of an index, when memory runs out, or when it only reads.
    pub fn set<T: FieldType>(
        &mut self,
        relation: &Relation,
        row: RowId,
        field: Field<T>,
        value: T::Value<'_>,
    ) -> Result<(), TransactionError> {
        self.set_datum(relation, row, field.column(), value.into())
    }

    /// Changes a value of any type, in place.
    ///
    /// # Errors
    ///
    /// As [`Transaction::set`].
    ///
    /// # Panics
    ///
    /// When there is no such column.
    pub fn set_datum(
        &mut self,
        relation: &Relation,
        row: RowId,
        column: usize,
        value: Datum<'_>,
    ) -> Result<(), TransactionError> {
        let table = relation.table();
        let input = typed::input(table, column, value)?;
        let slot = table.slot(row)?;
        let at = self.set.table(table);
        let version = {
            let writer = self.writer(table)?;
            table.forget_cached();
            let mut slot = slot.write();
            let written = slot.check(row.row(), &writer).and_then(|()| slot.update(row.row(), column, &input, &writer));
            written.map_err(|error| table.failed(row, error))?
        };
        if let Some(version) = version {
            self.set.writes.push(Write { table: at, kind: WriteKind::Update(column as u16), row, version });
        }
        Ok(())
    }

    /// Inserts a row, given by a value for each column.
    ///
    /// # Errors
    ///
    /// When a column does not take its value, a key is there already, memory runs out, or the transaction only reads.
    pub fn insert(&mut self, relation: &Relation, values: &[Datum<'_>]) -> Result<RowId, TransactionError> {
        let table = relation.table();
        let expected = table.schema().columns().len();
        if values.len() != expected {
            return Err(TransactionError::ColumnCount { relation: table.name(), expected, found: values.len() });
        }
        let mut inputs = Vec::with_capacity(expected);
        for (column, &value) in values.iter().enumerate() {
            inputs.push(typed::input(table, column, value)?);
        }
        let at = self.set.table(table);
        let (row, version) = table.insert(&inputs, &self.writer(table)?)?;
        self.set.writes.push(Write { table: at, kind: WriteKind::Insert, row, version });
        Ok(row)
    }

    /// Deletes a row.
    ///
    /// # Errors
    ///
    /// When another transaction has changed the row, when it does not see it, or when it only reads.
    pub fn delete(&mut self, relation: &Relation, row: RowId) -> Result<(), TransactionError> {
        let table = relation.table();
        let slot = table.slot(row)?;
        let at = self.set.table(table);
        let version = {
            let writer = self.writer(table)?;
            let mut slot = slot.write();
            slot.check(row.row(), &writer).map_err(|error| table.failed(row, error))?;
            slot.delete(row.row(), &writer)
        };
        self.set.writes.push(Write { table: at, kind: WriteKind::Delete, row, version });
        Ok(())
    }

    /// Removes all rows that it sees.
    ///
    /// # Errors
    ///
    /// When another transaction has changed rows that it does not see, or when it only reads.
    pub fn truncate(&mut self, relation: &Relation) -> Result<(), TransactionError> {
        let table = relation.table();
        let savepoint = self.set.writes.len();
        let stamp = self.writer(table)?.stamp;
        let truncated = self.truncate_slots(table, HotChunk::check_all);
        if truncated.is_err() {
            self.set.undo(savepoint, stamp);
        }
        truncated
    }

    /// Removes all rows, whoever works on them.
    fn truncate_regardless(&mut self, table: &Arc<Table>) {
        let truncated =
            self.truncate_slots(table, |slot, _| if slot.is_gone() { Err(WriteError::NoSuchRow) } else { Ok(()) });
        assert!(truncated.is_ok(), "nobody is asked");
    }

    /// Lets slots die, apart from those of which the check says that they have no rows.
    fn truncate_slots(
        &mut self,
        table: &Arc<Table>,
        check: impl Fn(&HotChunk, &Writer<'_>) -> Result<(), WriteError>,
    ) -> Result<(), TransactionError> {
        let at = self.set.table(table);
        for (slot_at, slot) in table.slots.iter() {
            let row = RowId::new(slot_at, 0);
            let writer = self.writer(table)?;
            let mut slot = slot.write();
            match check(&slot, &writer) {
                Ok(()) => slot.die(writer.stamp),
                Err(WriteError::NoSuchRow) => continue,
                Err(error) => return Err(table.failed(row, error)),
            }
            drop(slot);
            self.set.writes.push(Write { table: at, kind: WriteKind::Truncate, row, version: 0 });
        }
        Ok(())
    }

    /// Adds slots of rows that nobody knows yet.
    pub(crate) fn append_slots(&mut self, table: &Arc<Table>, slots: Vec<HotChunk>) -> Result<(), TransactionError> {
        let stamp = self.writer(table)?.stamp;
        let at = self.set.table(table);
        let rows: Vec<usize> = slots.iter().map(HotChunk::len).collect();
        let first = table.push(slots.into_iter().map(|slot| slot.born(stamp)).collect());
        let written = rows.into_iter().enumerate().map(|(slot, rows)| Write {
            table: at,
            kind: WriteKind::Append,
            row: RowId::new(first + slot, 0),
            version: rows as u32,
        });
        self.set.writes.extend(written);
        Ok(())
    }

    /// Puts the rows of chunks behind those that there are.
    pub(crate) fn append_rows(&mut self, table: &Arc<Table>, chunks: &[Arc<Chunk>]) -> Result<(), TransactionError> {
        let stamp = self.writer(table)?.stamp;
        let at = self.set.table(table);
        table.forget_cached();
        for chunk in chunks {
            let mut from = 0;
            while from < chunk.rows() {
                let (row, count) = table.append(chunk, from, stamp)?;
                self.set.writes.push(Write { table: at, kind: WriteKind::Append, row, version: count as u32 });
                from += count;
            }
        }
        Ok(())
    }

    /// Undoes everything.
    pub fn rollback(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if self.ended {
            return;
        }
        self.ended = true;
        let mut set = std::mem::take(&mut self.set);
        if let Some(stamp) = self.stamp {
            set.undo(0, stamp);
        }
        self.manager.leave(self.seat, self.stamp, set, self.log.take());
    }

    /// What slots need to know of it.
    fn writer<'a>(&'a self, table: &'a Table) -> Result<Writer<'a>, TransactionError> {
        self.assert_mine(table);
        let stamp = self.stamp.ok_or(TransactionError::ReadOnly)?;
        let Transaction { view, keeps_all, .. } = *self;
        Ok(Writer { view, stamp, stamps: self.manager.stamps(), memory: table.memory(), keeps_all })
    }

    #[inline]
    fn assert_mine(&self, table: &Table) {
        assert!(Arc::ptr_eq(&self.manager, table.transactions()), "a transaction works on relations of its database");
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.end();
    }
}

fn is_null(relation: &Relation, row: RowId, column: usize) -> TransactionError {
    let column = relation.schema().columns()[column].name.clone();
    TransactionError::IsNull { relation: relation.table().name(), column, row }
}
