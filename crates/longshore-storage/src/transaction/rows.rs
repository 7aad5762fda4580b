//! What a transaction does to single rows: reads and changes values, inserts, deletes.
//!
//! Not here: how a row is changed (`chunk/hot/write.rs`), how it is found (`transaction/keys.rs`, `transaction/reads.rs`).

use std::sync::Arc;

use super::Transaction;
use crate::chunk::hot::{Cell, input_of};
use crate::datum::Datum;
use crate::error::TransactionError;
use crate::manager::{Write, WriteKind};
use crate::relation::Relation;
use crate::row_id::RowId;
use crate::table::Table;
use crate::typed::{self, Field, FieldType, Input, Scalar, StoredValue};
use crate::values::TextRoom;

impl Transaction {
    /// A value.
    ///
    /// # Errors
    ///
    /// When it does not see the row, or the value is NULL.
    #[inline]
    pub fn get<T: Scalar>(&mut self, relation: &Relation, row: RowId, field: Field<T>) -> Result<T, TransactionError> {
        self.read(relation, row)?.get(field)
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
        Ok(self.read(relation, row)?.get_nullable(field))
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
        Ok(self.read(relation, row)?.text(field).map(|found| text.push_str(found)).is_some())
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
        Ok(self.read(relation, row)?.bytes(field).map(|found| bytes.extend_from_slice(found)).is_some())
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
        let column_type = relation.schema().all_columns()[column].column_type;
        self.with_cell(relation, row, column, |cell| cell.with_datum(column_type, read))
    }

    #[inline]
    pub(super) fn with_cell<R>(
        &mut self,
        relation: &Relation,
        row: RowId,
        column: usize,
        read: impl FnOnce(Cell<'_>) -> R,
    ) -> Result<R, TransactionError> {
        let table = relation.table();
        self.assert_mine(relation);
        if let Some(log) = self.log_of(table) {
            log.read(column);
        }
        let slot = table.slot(row)?.read();
        match slot.visible_cell((row.row(), column), self.view, self.manager.stamps(), &TextRoom::default()) {
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
        self.edit(relation, row)?.set_datum(column, value)
    }

    /// Inserts a row, given by a value for each column.
    ///
    /// # Errors
    ///
    /// When a column does not take its value, a key is there already, memory runs out, or the transaction only reads.
    pub fn insert(&mut self, relation: &Relation, values: &[Datum<'_>]) -> Result<RowId, TransactionError> {
        self.assert_mine(relation);
        let table = relation.table();
        let expected = table.schema().all_columns().len();
        if values.len() != expected {
            return Err(TransactionError::ColumnCount { relation: table.name(), expected, found: values.len() });
        }
        let mut each = table.schema().all_columns().iter().zip(values);
        if each.all(|(column, &value)| typed::is_plain(column, value)) {
            return self.insert_stored(table, values);
        }
        let inputs = values.iter().enumerate().map(|(column, &value)| table.input(column, value));
        let inputs: Vec<Input<'_>> = inputs.collect::<Result<_, _>>()?;
        self.insert_stored(table, &inputs)
    }

    /// Inserts a row of values that its columns take.
    fn insert_stored(&mut self, table: &Arc<Table>, values: &[impl StoredValue]) -> Result<RowId, TransactionError> {
        let at = self.set.table(table);
        let (stamp, before) = (self.writer(table)?.stamp, self.set.writes.len());
        let indexes = table.indexes();
        let (row, version) = table.insert(values, &self.writer(table)?)?;
        self.set.writes.push(Write { table: at, kind: WriteKind::Insert, row, version });
        let unlocked = self.check_unlocked(table, row);
        let indexed = unlocked.and_then(|()| table.index_row(&indexes, row, values, self.view, self.manager.stamps()));
        if let Err(error) = indexed {
            // To learn that a key is there, or is not, is to read it.
            self.log_failed_row(table, &indexes, values, &error);
            drop(indexes);
            self.set.undo(before, stamp);
            return Err(error);
        }
        Ok(row)
    }

    /// Changes several values of a row, by their columns' numbers. If one of them is part of an index, the row is
    /// deleted and inserted again; says where it is then.
    ///
    /// # Errors
    ///
    /// As [`Transaction::set`] and [`Transaction::insert`].
    ///
    /// # Panics
    ///
    /// When there is no such column.
    pub fn update(
        &mut self,
        relation: &Relation,
        row: RowId,
        values: &[(usize, Datum<'_>)],
    ) -> Result<RowId, TransactionError> {
        let table = relation.table();
        if !values.iter().any(|&(column, _)| table.is_indexed(column)) {
            // None is changed if one of them is not taken.
            if values.len() > 1 {
                for &(column, value) in values {
                    table.input(column, value)?;
                }
            }
            let mut edit = self.edit(relation, row)?;
            for &(column, value) in values {
                edit.set_datum(column, value)?;
            }
            return Ok(row);
        }
        let mut inputs = Vec::with_capacity(table.schema().all_columns().len());
        for column in 0..table.schema().all_columns().len() {
            inputs.push(match values.iter().rev().find(|(changed, _)| *changed == column) {
                Some(&(_, value)) => table.input(column, value)?,
                None => self.with_cell(relation, row, column, input_of)?,
            });
        }
        let before = self.set.writes.len();
        self.edit(relation, row)?.delete_as(WriteKind::Replace)?;
        self.insert_stored(table, &inputs).inspect_err(|_| {
            if let Some(stamp) = self.stamp {
                self.set.undo(before, stamp);
            }
        })
    }

    /// Deletes a row.
    ///
    /// # Errors
    ///
    /// When another transaction has changed the row, when it does not see it, or when it only reads.
    pub fn delete(&mut self, relation: &Relation, row: RowId) -> Result<(), TransactionError> {
        self.edit(relation, row)?.delete()
    }
}
