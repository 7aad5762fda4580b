//! What a transaction learns from what it has tried, and that is not there any more: it counts as read.
//!
//! An insert tells whether its key was free, whether it is done or not; a foreign key that does not hold tells which rows
//! refer to which. As long as the rows are part of the transaction, two that tried the same meet at the rows. When they are
//! undone, by the operation that failed or by going back to a savepoint, a serializable transaction logs the keys, as if it
//! had looked for them. What a foreign key relied on when it held stays guarded (`transaction/foreign_key_reads.rs`).
//!
//! Not here: the log (`predicate`).

use std::sync::Arc;

use super::Transaction;
use crate::datum::Datum;
use crate::error::TransactionError;
use crate::index::Index;
use crate::manager::WriteKind;
use crate::row_id::RowId;
use crate::table::{ForeignKey, IndexList, Table};
use crate::typed::StoredValue;
use crate::values::TextRoom;

/// Keys that are logged one by one, at most; of more, all keys of the relation count as read.
pub(crate) const KEYS_LOGGED_MAX: usize = 1000;

impl Transaction {
    /// Logs the keys of a row that is not inserted, as far as they were tried before an error.
    #[cold]
    pub(super) fn log_failed_row(
        &mut self,
        table: &Table,
        indexes: &IndexList<'_>,
        values: &[impl StoredValue],
        error: &TransactionError,
    ) {
        if self.log.is_none() {
            return;
        }
        let columns = table.schema().all_columns();
        let last = if let TransactionError::Duplicate { index, .. } = error { Some(index) } else { None };
        for index in indexes.iter().filter(|index| index.uniqueness().is_unique()) {
            let value = |&column: &usize| values[column].datum(columns[column].column_type);
            let key: Vec<Datum<'_>> = index.columns().iter().map(value).collect();
            self.log_key(table, index.columns(), &key);
            if last.is_some_and(|last| last == index.name()) {
                return;
            }
        }
    }

    /// Logs the keys of all rows that came since it had made so many changes, before they are undone.
    pub(super) fn log_failed_keys(&mut self, since: usize) {
        if self.log.is_none() {
            return;
        }
        for at in 0..self.set.tables.len() {
            let table = Arc::clone(&self.set.tables[at]);
            let indexes = table.indexes().clone();
            self.log_failed_keys_of(&table, &indexes, since);
        }
    }

    /// The same for rows of one relation, of which the indexes are given.
    pub(super) fn log_failed_keys_of(&mut self, table: &Arc<Table>, indexes: &[Arc<Index>], since: usize) {
        let unique = || indexes.iter().filter(|index| index.uniqueness().is_unique());
        if self.log.is_none() || unique().next().is_none() {
            return;
        }
        let at = self.set.table(table);
        let came = self.set.writes[since..].iter().filter(|write| write.table == at);
        let rows = came.filter_map(|write| match write.kind {
            WriteKind::Insert => Some((write.row, 1)),
            WriteKind::Append => Some((write.row, write.version as usize)),
            _ => None,
        });
        let rows: Vec<(RowId, usize)> = rows.collect();
        if rows.iter().map(|(_, count)| count).sum::<usize>() > KEYS_LOGGED_MAX {
            unique().for_each(|index| self.log_all_keys(table, index.columns()));
            return;
        }
        let one_by_one =
            |(first, count): (RowId, usize)| (0..count).map(move |at| RowId::new(first.chunk(), first.row() + at));
        for row in rows.into_iter().flat_map(one_by_one) {
            unique().for_each(|index| self.log_key_of(table, index.columns(), row));
        }
    }

    /// Logs that it has read which keys there are.
    pub(super) fn log_all_keys(&mut self, table: &Table, columns: &[usize]) {
        let Some(log) = self.log_of(table) else { return };
        log.everything();
        for &column in columns {
            log.read(column);
        }
    }

    /// Logs the key of a row of a relation, as it is now.
    fn log_key_of(&mut self, table: &Table, columns: &[usize], row: RowId) {
        let Ok(slot) = table.slot(row) else { return };
        let slot = slot.read();
        if row.row() < slot.len() {
            let room = TextRoom::default();
            let key: Vec<Datum<'_>> = columns.iter().map(|&column| slot.datum(row.row(), column, &room)).collect();
            self.log_key(table, columns, &key);
        }
    }

    /// Logs that the row which a row of its own refers to is not there.
    pub(super) fn log_referred(
        &mut self,
        key: &ForeignKey,
        child: &Table,
        parent: &Table,
        row: RowId,
    ) -> Result<(), TransactionError> {
        if self.log.is_none() {
            return Ok(());
        }
        let values = child.stored(row, key.columns())?;
        let each = key.index().columns().iter().zip(&values);
        let datums = each.map(|(&column, value)| value.datum(parent.schema().all_columns()[column].column_type));
        self.log_key(parent, key.index().columns(), &datums.collect::<Vec<_>>());
        Ok(())
    }

    /// Logs that it has looked for the rows which refer to keys that it has taken away since it had made so many changes.
    pub(super) fn log_referring(&mut self, since: usize) -> Result<(), TransactionError> {
        if self.log.is_none() {
            return Ok(());
        }
        for (at, table) in self.referencing_tables() {
            let Some(references) = table.references() else { continue };
            let range = since..self.set.writes.len();
            let is_truncated = self.set.writes[range.clone()]
                .iter()
                .any(|write| write.table == at && write.kind == WriteKind::Truncate);
            for key in &references.incoming {
                let Some(child) = key.child() else { continue };
                let gone = self.gone_rows(key, &table, at, range.clone())?;
                if is_truncated || gone.len() > KEYS_LOGGED_MAX {
                    self.log_all_keys(&child, key.columns());
                    continue;
                }
                for row in gone {
                    let values = table.stored(row, key.index().columns())?;
                    let each = key.columns().iter().zip(&values);
                    let datums =
                        each.map(|(&column, value)| value.datum(child.schema().all_columns()[column].column_type));
                    self.log_key(&child, key.columns(), &datums.collect::<Vec<_>>());
                }
            }
        }
        Ok(())
    }
}
