//! Rows by their keys: what a transaction finds through an index.
//!
//! Source: the thesis, 2.2.5. An index knows of every row that anybody may see; which of them this transaction sees, the
//! rows tell. What was looked for is logged as a predicate, a range only as far as it was followed.
//!
//! Not here: how rows enter and leave indexes (`table/indexes.rs`).

use std::collections::HashSet;
use std::ops::{Bound, ControlFlow, RangeBounds};
use std::sync::Arc;

use super::Transaction;
use crate::chunk::hot::{HotChunk, RowVisibility, input_of};
use crate::datum::Datum;
use crate::error::TransactionError;
use crate::index::{Direction, Found, Index, Key, Range};
use crate::manager::WriteKind;
use crate::relation::Relation;
use crate::row_id::RowId;
use crate::table::Table;
use crate::typed::Input;

impl Transaction {
    /// The row with a key, of an index in which keys are unique; of another one, the first of them.
    ///
    /// # Errors
    ///
    /// When the values are no key of the index, or it was dropped.
    pub fn find(
        &mut self,
        relation: &Relation,
        index: &Index,
        key: &[Datum<'_>],
    ) -> Result<Option<RowId>, TransactionError> {
        let found = self.look_up(relation.table(), index, key)?;
        Ok(found.iter().find(|&row| self.sees(relation, row)))
    }

    /// The rows with a key, whoever sees them; logged.
    #[inline]
    pub(super) fn look_up(
        &mut self,
        table: &Table,
        index: &Index,
        key: &[Datum<'_>],
    ) -> Result<Found, TransactionError> {
        check_kept(table, index)?;
        self.log_key(table, index.columns(), key);
        Ok(index.find(&index.key(key).map_err(|error| table.key_error(index, error))?))
    }

    /// The rows with several keys, in the order of the keys, each as [`Transaction::find`] finds it. Whoever knows the
    /// keys beforehand need not wait for memory for each by itself, nor for that of the columns that he is going to read or
    /// to change: it is asked for as by [`Transaction::prefetch`].
    ///
    /// # Errors
    ///
    /// When some values are no key of the index, or it was dropped.
    pub fn find_many<const N: usize>(
        &mut self,
        relation: &Relation,
        index: &Index,
        keys: impl IntoIterator<Item = [Datum<'static>; N]>,
        columns: &[usize],
    ) -> Result<Vec<Option<RowId>>, TransactionError> {
        let table = relation.table();
        check_kept(table, index)?;
        let values = keys.into_iter();
        let mut keys: Vec<Key> = Vec::with_capacity(values.size_hint().0);
        for values in values {
            self.log_key(table, index.columns(), &values);
            keys.push(index.key(&values).map_err(|error| table.key_error(index, error))?);
        }
        let mut rows = Vec::with_capacity(keys.len());
        let (view, stamps) = (self.view, self.manager.stamps());
        let is_seen = |&row: &RowId| {
            let Some(slot) = table.slots.get(row.chunk()) else { return false };
            let slot = slot.read();
            let is_seen = slot.visibility(row.row(), view, stamps) != RowVisibility::Hidden;
            if is_seen {
                slot.prefetch(row.row(), columns);
            }
            is_seen
        };
        index.find_many(&keys, |found| rows.push(found.iter().find(is_seen)));
        Ok(rows)
    }

    /// Asks for the memory of some columns of rows that are soon to be read or changed, so that they need not wait for
    /// each by itself. It changes nothing, and nothing is read. Of a long text it is the place where it is told that the
    /// text lies: the text itself is asked for by [`Transaction::prefetch_texts`].
    pub fn prefetch(&self, relation: &Relation, rows: impl Iterator<Item = RowId>, columns: &[usize]) {
        self.prefetch_by(relation, rows, |slot, row| slot.prefetch(row, columns));
    }

    /// The same of the long texts of some columns of texts. That waits for what [`Transaction::prefetch`] asks for, so it
    /// is better to do something else in between.
    pub fn prefetch_texts(&self, relation: &Relation, rows: impl Iterator<Item = RowId>, columns: &[usize]) {
        self.prefetch_by(relation, rows, |slot, row| slot.prefetch_texts(row, columns));
    }

    fn prefetch_by(&self, relation: &Relation, rows: impl Iterator<Item = RowId>, prefetch: impl Fn(&HotChunk, usize)) {
        let table = relation.table();
        self.assert_mine(relation);
        for row in rows {
            if let Some(slot) = table.slots.get(row.chunk()) {
                prefetch(&slot.read(), row.row());
            }
        }
    }

    /// The rows with a key, in the order of their ids.
    ///
    /// # Errors
    ///
    /// When the values are no key of the index, or it was dropped.
    pub fn find_all(
        &mut self,
        relation: &Relation,
        index: &Index,
        key: &[Datum<'_>],
    ) -> Result<Vec<RowId>, TransactionError> {
        let found = self.look_up(relation.table(), index, key)?;
        Ok(found.iter().filter(|&row| self.sees(relation, row)).collect())
    }

    /// Gives the rows with keys in a range to a closure, in the order of the keys, until it says `Break`. Bounds may
    /// have fewer values than the index has columns: such a one stands for all keys that begin so.
    ///
    /// # Errors
    ///
    /// When the values are no keys of the index, or it was dropped; or the first of the closure.
    ///
    /// # Panics
    ///
    /// When the index has no order.
    pub fn range<'k>(
        &mut self,
        relation: &Relation,
        index: &Index,
        range: impl RangeBounds<&'k [Datum<'k>]>,
        direction: Direction,
        visit: impl FnMut(&mut Transaction, RowId) -> Result<ControlFlow<()>, TransactionError>,
    ) -> Result<(), TransactionError> {
        Transaction::range_of(self, |transaction| transaction, relation, index, range, direction, visit)
    }

    /// The same of a transaction that is a part of something else, which the closure is given instead of it.
    ///
    /// # Errors
    ///
    /// When the values are no keys of the index, or it was dropped; or the first of the closure.
    ///
    /// # Panics
    ///
    /// When the index has no order.
    pub fn range_of<'k, O, E: From<TransactionError>>(
        owner: &mut O,
        transaction: impl Fn(&mut O) -> &mut Transaction,
        relation: &Relation,
        index: &Index,
        range: impl RangeBounds<&'k [Datum<'k>]>,
        direction: Direction,
        mut visit: impl FnMut(&mut O, RowId) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let (low, high) = (range.start_bound().cloned(), range.end_bound().cloned());
        let table = relation.table();
        check_kept(table, index)?;
        let end = |bound: Bound<&[Datum<'_>]>| -> Result<Bound<Key>, TransactionError> {
            let key = |values: &[Datum<'_>]| index.prefix(values).map_err(|error| table.key_error(index, error));
            Ok(match bound {
                Bound::Included(values) => Bound::Included(key(values)?),
                Bound::Excluded(values) => Bound::Excluded(key(values)?),
                Bound::Unbounded => Bound::Unbounded,
            })
        };
        let (lower, upper) = (end(low)?, end(high)?);
        let mut range = index.range(lower.as_ref(), upper.as_ref(), direction);
        let mut stopped_at = None;
        let visited = follow(owner, &transaction, relation, index, &mut range, |owner, row| {
            stopped_at = Some(row);
            let visited = visit(owner, row);
            if matches!(visited, Ok(ControlFlow::Continue(()))) {
                stopped_at = None;
            }
            visited
        });
        let transaction = transaction(owner);
        let Some(row) = stopped_at else {
            transaction.log_range(table, index.columns(), low, high);
            return visited;
        };
        // What lies behind the last row does not matter.
        let inputs: Result<Vec<Input<'_>>, _> =
            index.columns().iter().map(|&column| transaction.with_cell(relation, row, column, input_of)).collect();
        let Ok(inputs) = inputs else {
            // The closure has deleted the row, so it does not show where it stopped.
            transaction.log_range(table, index.columns(), low, high);
            return visited;
        };
        let types = index.columns().iter().map(|&column| table.schema().all_columns()[column].column_type);
        let last: Vec<Datum<'_>> = types.zip(&inputs).map(|(column_type, input)| input.datum(column_type)).collect();
        match direction {
            Direction::Forward => transaction.log_range(table, index.columns(), low, Bound::Included(&last)),
            Direction::Backward => transaction.log_range(table, index.columns(), Bound::Included(&last), high),
        }
        visited
    }
}

/// Goes through the rows of a range that a transaction sees.
fn follow<O, E>(
    owner: &mut O,
    transaction: &impl Fn(&mut O) -> &mut Transaction,
    relation: &Relation,
    index: &Index,
    range: &mut Range,
    mut visit: impl FnMut(&mut O, RowId) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    let mut rows = Vec::new();
    loop {
        rows.clear();
        let mut taken = Taken::since(relation, transaction(owner));
        index.next_batch(range, &mut rows);
        if rows.is_empty() {
            return Ok(());
        }
        for &row in &rows {
            let transaction = transaction(owner);
            if transaction.sees(relation, row) && !taken.has(transaction, row) && visit(owner, row)?.is_break() {
                return Ok(());
            }
        }
    }
}

/// Places that rows of the transaction itself have taken since a batch of rows was looked up. A place in the batch may be that
/// of a dead row, which is freed meanwhile; whoever else takes it is not seen.
struct Taken<'r> {
    relation: &'r Relation,
    /// Changes that were made before.
    from: usize,
    /// Changes that were looked at, and how often the transaction had gone back to a savepoint then.
    looked_at: (usize, usize),
    rows: HashSet<RowId>,
}

impl<'r> Taken<'r> {
    fn since(relation: &'r Relation, transaction: &Transaction) -> Self {
        let from = transaction.set.writes.len();
        Taken { relation, from, looked_at: (from, transaction.went_back), rows: HashSet::new() }
    }

    #[inline]
    fn has(&mut self, transaction: &Transaction, row: RowId) -> bool {
        if (transaction.set.writes.len(), transaction.went_back) != self.looked_at {
            self.look_at(transaction);
        }
        !self.rows.is_empty() && self.rows.contains(&row)
    }

    #[cold]
    fn look_at(&mut self, transaction: &Transaction) {
        let set = &transaction.set;
        let (mut from, went_back) = self.looked_at;
        if went_back != transaction.went_back {
            from = self.from;
        }
        let table = set.tables.iter().position(|table| Arc::ptr_eq(table, self.relation.table()));
        for write in &set.writes[from.min(set.writes.len())..] {
            if write.kind == WriteKind::Insert && table == Some(write.table as usize) {
                self.rows.insert(write.row);
            }
        }
        self.looked_at = (set.writes.len(), transaction.went_back);
    }
}

/// That an index is still kept: one that was dropped does not know of later rows.
#[inline]
fn check_kept(table: &Table, index: &Index) -> Result<(), TransactionError> {
    if index.is_dropped() {
        return Err(TransactionError::IndexName {
            relation: table.name(),
            index: index.name().to_owned(),
            exists: false,
        });
    }
    Ok(())
}
