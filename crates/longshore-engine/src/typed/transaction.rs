//! The operations of a transaction over the tables of a database.
//!
//! Each is that of `longshore-storage`, with what only the catalog knows: that the table is still one of the database,
//! and that it has no rules which only statements keep. A transaction that has met a conflict does nothing more.

use std::fmt;
use std::ops::{ControlFlow, RangeBounds};
use std::sync::Arc;

use longshore_storage::{
    ColumnRange, Commit, Datum, Direction, Field, FieldType, IndexKind, Isolation, RowId, Savepoint, Scalar,
    TransactionError,
};

use super::{Columns, Index, Row, RowReader, Table};
use crate::catalog;
use crate::{Database, Error, ErrorKind};

/// A commit that may not be safe on disk yet.
#[derive(Debug)]
#[must_use = "a commit is not safe before its ticket was waited for"]
pub struct Ticket {
    database: Arc<Database>,
    commit: Commit,
}

impl Ticket {
    /// Waits until the commit is safe. In a database in memory there is nothing to wait for.
    ///
    /// # Errors
    /// When the log has failed before that: then it may be there after a crash or not.
    pub fn wait(self) -> Result<(), Error> {
        Ok(self.database.transactions.wait_until_safe(self.commit)?)
    }
}

/// A transaction over the tables of a database. Dropped without a commit, it is rolled back.
pub struct Transaction {
    database: Arc<Database>,
    inner: longshore_storage::Transaction,
    /// The tables that it has used.
    used: Vec<Used>,
    /// Why nothing more can be done in it.
    failed: Option<Error>,
}

struct Used {
    table: Arc<catalog::Table>,
    /// It was found to be one that may be changed here.
    changes: bool,
}

impl Database {
    /// Begins a transaction, which sees what has been committed so far. That of a database that is only read changes nothing.
    #[must_use]
    pub fn begin(self: &Arc<Self>, isolation: Isolation) -> Transaction {
        if self.is_read_only() {
            return self.begin_read_only(isolation);
        }
        Transaction::new(self, self.transactions.begin(isolation))
    }

    /// Begins a transaction that changes nothing. It never conflicts with any other.
    #[must_use]
    pub fn begin_read_only(self: &Arc<Self>, isolation: Isolation) -> Transaction {
        Transaction::new(self, self.transactions.begin_read_only(isolation))
    }

    /// Runs a transaction and commits it; again from the start whenever another one was in the way. The closure may
    /// fail for reasons of its own, and must leave nothing behind elsewhere when it does, or when it is run again.
    ///
    /// # Errors
    /// What the closure returns, unless a conflict was the reason; then the transaction has been rolled back.
    pub fn retry<T, E: From<Error>>(
        self: &Arc<Self>,
        isolation: Isolation,
        mut run: impl FnMut(&mut Transaction) -> Result<T, E>,
    ) -> Result<T, E> {
        loop {
            let mut transaction = self.begin(isolation);
            let done = run(&mut transaction);
            let error = match (transaction.failed.take(), done) {
                (None, Err(error)) => return Err(error),
                (None, Ok(value)) => match transaction.commit() {
                    Ok(()) => return Ok(value),
                    Err(error) => error,
                },
                // Whatever the closure makes of it.
                (Some(error), _) => error,
            };
            if error.kind() != ErrorKind::Conflict {
                return Err(error.into());
            }
            // Who was faster may need this core to come to its end.
            std::thread::yield_now();
        }
    }
}

impl Transaction {
    fn new(database: &Arc<Database>, inner: longshore_storage::Transaction) -> Transaction {
        Transaction { database: Arc::clone(database), inner, used: Vec::new(), failed: None }
    }

    /// Its isolation level.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        self.inner.isolation()
    }

    /// The row with a key, of an index in which keys are unique; of another one, the first of them.
    ///
    /// # Errors
    /// When the values are no key of the index, or index or table are gone.
    #[inline]
    pub fn find(&mut self, index: &Index, key: &[Datum<'_>]) -> Result<Option<RowId>, Error> {
        self.uses(&index.table)?;
        Ok(self.inner.find(index.table.relation(), &index.index, key)?)
    }

    /// The rows with a key.
    ///
    /// # Errors
    /// When the values are no key of the index, or index or table are gone.
    pub fn find_all(&mut self, index: &Index, key: &[Datum<'_>]) -> Result<Vec<RowId>, Error> {
        self.uses(&index.table)?;
        Ok(self.inner.find_all(index.table.relation(), &index.index, key)?)
    }

    /// Gives the rows with keys in a range to a closure, in the order of the keys, until it says `Break`. Bounds may
    /// have fewer values than the index has columns: such a one stands for all keys that begin so.
    ///
    /// # Errors
    /// When the values are no keys of the index, when it is a hash index, which has no order, when index or table are
    /// gone, or the first of the closure.
    pub fn range<'k, E: From<Error>>(
        &mut self,
        index: &Index,
        range: impl RangeBounds<&'k [Datum<'k>]>,
        direction: Direction,
        mut visit: impl FnMut(&mut Transaction, RowId) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        self.uses(&index.table)?;
        if index.index.kind() == IndexKind::Hash {
            return Err(Error::unsupported(format!(
                "index {} is a hash table, which has no order; make one USING art for ranges",
                index.name()
            ))
            .into());
        }
        let relation = index.table.relation();
        let visit = |t: &mut Transaction, row| visit(t, row).map_err(Stop::Visitor);
        let visited =
            longshore_storage::Transaction::range_of(self, inner, relation, &index.index, range, direction, visit);
        visited.map_err(Stop::into_error)
    }

    /// Gives every row that is in all the ranges to a closure, until that says `Break`: `balance.within(10..)`. What the
    /// closure changes does not show among the thousands of rows that are being gone through at a time; rows that it
    /// inserts may or may not be given to it.
    ///
    /// # Errors
    /// When the table is gone, or the first of the closure.
    ///
    /// # Panics
    /// When the ranges are of another table, which has more columns.
    pub fn scan<E: From<Error>>(
        &mut self,
        table: &Table,
        ranges: &[ColumnRange<'_>],
        visit: impl FnMut(&mut Transaction, RowId) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        self.uses(table)?;
        longshore_storage::Transaction::scan_of(self, inner, table.relation(), ranges, visit)
    }

    /// A value.
    ///
    /// # Errors
    /// When it does not see the row, or the value is NULL.
    #[inline]
    pub fn get<T: Scalar>(&mut self, table: &Table, row: RowId, field: Field<T>) -> Result<T, Error> {
        self.uses(table)?;
        Ok(self.inner.get(table.relation(), row, field)?)
    }

    /// A value; `None` is NULL.
    ///
    /// # Errors
    /// When it does not see the row.
    #[inline]
    pub fn get_nullable<T: Scalar>(&mut self, table: &Table, row: RowId, field: Field<T>) -> Result<Option<T>, Error> {
        self.uses(table)?;
        Ok(self.inner.get_nullable(table.relation(), row, field)?)
    }

    /// Appends a text to a string; says whether there is one, or it is NULL.
    ///
    /// # Errors
    /// When it does not see the row.
    pub fn get_text(
        &mut self,
        table: &Table,
        row: RowId,
        field: Field<&str>,
        text: &mut String,
    ) -> Result<bool, Error> {
        self.uses(table)?;
        Ok(self.inner.get_text(table.relation(), row, field, text)?)
    }

    /// Several values, as a tuple.
    ///
    /// # Errors
    /// When it does not see the row.
    pub fn read<R: Row>(&mut self, columns: &Columns<R>, row: RowId) -> Result<R, Error> {
        self.uses(&columns.table)?;
        R::read(&mut RowReader::new(&mut self.inner, columns.table.relation(), row, &columns.positions))
    }

    /// Changes a value, in place.
    ///
    /// # Errors
    /// When another transaction has changed the row, when it does not see it, when the column does not take the value
    /// or is part of an index ([`Transaction::update`] can), or when it only reads.
    #[inline]
    pub fn set<T: FieldType>(
        &mut self,
        table: &Table,
        row: RowId,
        field: Field<T>,
        value: T::Value<'_>,
    ) -> Result<(), Error> {
        self.changes(table)?;
        let done = self.inner.set(table.relation(), row, field, value);
        self.noted(done)
    }

    /// Changes several values of a row: `&[balance.to(7), owner.to("Anna")]`. If one of them is part of an index, the
    /// row is deleted and inserted again; says where it is then.
    ///
    /// # Errors
    /// As [`Transaction::set`] and [`Transaction::insert`].
    ///
    /// # Panics
    /// When the values are of another table, which has more columns.
    pub fn update(&mut self, table: &Table, row: RowId, values: &[(usize, Datum<'_>)]) -> Result<RowId, Error> {
        self.changes(table)?;
        let done = self.inner.update(table.relation(), row, values);
        self.noted(done)
    }

    /// Inserts a row, given by a value for each column: `key![3, "Anna", 10_i64]`.
    ///
    /// # Errors
    /// When a column does not take its value, a key is there already, memory runs out, or the transaction only reads.
    #[inline]
    pub fn insert(&mut self, table: &Table, values: &[Datum<'_>]) -> Result<RowId, Error> {
        self.changes(table)?;
        let done = self.inner.insert(table.relation(), values);
        self.noted(done)
    }

    /// Deletes a row.
    ///
    /// # Errors
    /// When another transaction has changed the row, when it does not see it, or when it only reads.
    pub fn delete(&mut self, table: &Table, row: RowId) -> Result<(), Error> {
        self.changes(table)?;
        let done = self.inner.delete(table.relation(), row);
        self.noted(done)
    }

    /// A place to go back to.
    pub fn savepoint(&mut self) -> Savepoint {
        self.inner.savepoint()
    }

    /// Undoes what was done since a savepoint of this transaction, which can be gone back to again. Later savepoints are
    /// forgotten. A conflict stays one: what was met there is in the way still.
    pub fn rollback_to(&mut self, savepoint: Savepoint) {
        self.inner.rollback_to(savepoint);
    }

    /// Makes what it did visible to all that begin later. Foreign keys are seen to here. In a durable database it returns
    /// when that is safe on disk.
    ///
    /// # Errors
    /// When it has met a conflict, or is serializable and another transaction has changed what it read, when a foreign
    /// key does not hold, or the log takes no more. Then it has been rolled back. And when the log fails while it is waited
    /// for: then it is visible, and may be there after a crash or not.
    pub fn commit(self) -> Result<(), Error> {
        self.commit_with_ticket()?.wait()
    }

    /// As [`Transaction::commit`], without waiting for the disk: the ticket does that, at once or later, so that one thread
    /// keeps many commits under way. A commit is never lost that another one has seen which is kept.
    ///
    /// # Errors
    /// Those of [`Transaction::commit`] but the last.
    pub fn commit_with_ticket(self) -> Result<Ticket, Error> {
        match self.failed {
            Some(error) => Err(error),
            None => Ok(Ticket { commit: self.inner.commit()?, database: self.database }),
        }
    }

    /// Undoes everything.
    pub fn rollback(self) {
        self.inner.rollback();
    }

    /// That it can still do something, and with this table.
    #[inline]
    fn uses(&mut self, table: &Table) -> Result<(), Error> {
        self.used(table).map(|_| ())
    }

    /// That it can change this table.
    #[inline]
    fn changes(&mut self, table: &Table) -> Result<(), Error> {
        let at = self.used(table)?;
        if !self.used[at].changes {
            table.check_rules()?;
            self.used[at].changes = true;
        }
        Ok(())
    }

    #[inline]
    fn used(&mut self, table: &Table) -> Result<usize, Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        // Transactions know few tables.
        match self.used.iter().position(|used| Arc::ptr_eq(&used.table, &table.entry)) {
            Some(at) => Ok(at),
            None => self.admit(table),
        }
    }

    #[cold]
    fn admit(&mut self, table: &Table) -> Result<usize, Error> {
        let name = table.name();
        if !Arc::ptr_eq(&self.database, &table.database) {
            return Err(Error::invalid(format!("table {name} is one of another database than the transaction")));
        }
        let current = self.database.catalog.table(name);
        let seen = current.as_ref().map(|current| current.at(self.inner.view().start()));
        if !seen.is_some_and(|seen| Arc::ptr_eq(&seen, &table.entry)) {
            if current.is_some_and(|current| Arc::ptr_eq(&current, &table.entry)) {
                let error = Error::new(
                    ErrorKind::Conflict,
                    format!("table {name} was altered since this transaction began; begin it again"),
                );
                self.failed = Some(error.clone());
                return Err(error);
            }
            return Err(Error::not_found(format!(
                "table {name} was dropped, replaced or altered; ask the database for it again"
            )));
        }
        self.used.push(Used { table: Arc::clone(&table.entry), changes: false });
        Ok(self.used.len() - 1)
    }

    /// Takes note of what ends a transaction.
    #[inline]
    fn noted<R>(&mut self, done: Result<R, TransactionError>) -> Result<R, Error> {
        done.map_err(|error| {
            let ends = matches!(
                error,
                TransactionError::Conflict { .. }
                    | TransactionError::Altered { retry: true, .. }
                    | TransactionError::OutOfMemory(_)
            );
            let error = Error::from(error);
            if ends {
                self.failed = Some(error.clone());
            }
            error
        })
    }
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction").field("inner", &self.inner).finish_non_exhaustive()
    }
}

fn inner(transaction: &mut Transaction) -> &mut longshore_storage::Transaction {
    &mut transaction.inner
}

/// Why a range was not gone through to its end.
enum Stop<E> {
    Visitor(E),
    Storage(TransactionError),
}

impl<E> From<TransactionError> for Stop<E> {
    fn from(error: TransactionError) -> Stop<E> {
        Stop::Storage(error)
    }
}

impl<E: From<Error>> Stop<E> {
    fn into_error(self) -> E {
        match self {
            Stop::Visitor(error) => error,
            Stop::Storage(error) => Error::from(error).into(),
        }
    }
}
