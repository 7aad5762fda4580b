//! The rows that DML inserts, changes and deletes, on their way into the table: what its rules demand is checked here.
//!
//! What must hold of a row by itself (CHECK) is checked for all rows of a statement before the first one is written;
//! NOT NULL, lengths and keys the storage checks as it takes the row. Rows that come in bulk (COPY, INSERT from a query)
//! go by `datafusion::intake` and `longshore-load` instead, and are checked there by the same code.

use arrow_array::RecordBatch;
use longshore_storage::{Datum, Relation, RowId, Transaction, TransactionError, lists};

use crate::Error;
use crate::catalog::{Check, Rules, Table};
use crate::datafusion::{Checks, FoundRows, Generated, datum};
use crate::statement::Context;

/// Rows that are written before others get their turn and a cancellation is looked for.
pub(crate) const ROWS_AT_A_TIME: usize = 4096;

/// Lets others go on, so that the statement can be given up here.
///
/// # Errors
/// When it was cancelled.
async fn pause(context: &Context<'_>) -> Result<(), Error> {
    tokio::task::yield_now().await;
    if context.control.is_cancelled() { Err(Error::cancelled()) } else { Ok(()) }
}

/// What became of rows that were to be inserted.
pub(crate) struct Inserted {
    /// Those that were inserted.
    pub(crate) rows_now: Vec<RowId>,
    /// The number of each row whose key was there already, and the row that has it.
    pub(crate) conflicts: Vec<(usize, RowId)>,
}

/// Inserts `rows`, of the table's types, one by one. A row whose key is there already is put aside if `is_conflict` says
/// so of the index.
pub(crate) async fn insert(
    context: &Context<'_>,
    table: &Table,
    rows: &RecordBatch,
    is_conflict: impl Fn(&str) -> bool,
) -> Result<Inserted, Error> {
    let rules = table.rules();
    let queries = &context.database.queries;
    let completed;
    let mut rows = rows;
    if let Some(checks) = queries.checks_of_rows(table, &rules, &context.execution())? {
        completed = checks.complete(rows.clone())?;
        rows = &completed;
        checks.check(rows)?;
    }
    let rows = &lists::encode_batch(rows);
    let relation = &table.relation;
    let columns = relation.schema().all_columns();
    let mut inserted = Inserted { rows_now: Vec::with_capacity(rows.num_rows()), conflicts: Vec::new() };
    for first in (0..rows.num_rows()).step_by(ROWS_AT_A_TIME) {
        if first > 0 {
            pause(context).await?;
        }
        context.transaction.with(|transaction| {
            let mut values: Vec<Datum<'_>> = Vec::with_capacity(columns.len());
            for row in first..rows.num_rows().min(first + ROWS_AT_A_TIME) {
                values.clear();
                let arrays = rows.columns().iter().zip(columns);
                values.extend(arrays.map(|(array, column)| datum(array, column.column_type, row)));
                match transaction.insert(relation, &values) {
                    Ok(row) => inserted.rows_now.push(row),
                    Err(TransactionError::Duplicate { index, row: existing, .. }) if is_conflict(&index) => {
                        inserted.conflicts.push((row, existing));
                    }
                    Err(error @ TransactionError::Duplicate { .. }) => {
                        match conflicting(transaction, relation, &values, &is_conflict)? {
                            Some(existing) => inserted.conflicts.push((row, existing)),
                            None => return Err(error),
                        }
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        })?;
    }
    Ok(inserted)
}

/// The row that has a key of these values in one of the indexes that `is_conflict` is true of. They go before others, in which
/// the row has a key of another one, too.
fn conflicting(
    transaction: &mut Transaction,
    relation: &Relation,
    values: &[Datum<'_>],
    is_conflict: &impl Fn(&str) -> bool,
) -> Result<Option<RowId>, TransactionError> {
    for index in relation.indexes().iter().filter(|index| index.uniqueness().is_unique() && is_conflict(index.name())) {
        let key: Vec<Datum<'_>> = index.columns().iter().map(|column| values[*column]).collect();
        if index.key(&key).is_ok_and(|key| key.is_apart()) {
            continue;
        }
        if let Some(row) = transaction.find_all(relation, index, &key)?.first() {
            return Ok(Some(*row));
        }
    }
    Ok(None)
}

/// What a statement that sets some columns has to check.
pub(crate) struct Updating {
    checks: Option<Checks>,
    /// The generated columns that change with those that are set.
    generated: Option<Generated>,
}

impl Updating {
    /// What is to be checked when `columns` of `table` are set.
    pub(crate) fn new(context: &Context<'_>, table: &Table, rules: &Rules, columns: &[usize]) -> Result<Self, Error> {
        let queries = &context.database.queries;
        let generated = queries.generated(table, rules, columns, &context.execution())?;
        let mut changed = columns.to_vec();
        changed.extend(generated.iter().flat_map(Generated::columns));
        let reads_one = |check: &&Check| check.columns.iter().any(|column| changed.contains(column));
        let checks = rules.checks.iter().filter(reads_one);
        let checks = queries.checks(table, &checks, &context.execution())?;
        Ok(Self { checks, generated })
    }

    /// The columns beside those that are set whose values are needed.
    pub(crate) fn also(&self, columns: &[usize]) -> Vec<usize> {
        let mut read = self.checks.as_ref().map_or_else(Vec::new, |checks| checks.columns().to_vec());
        if let Some(generated) = &self.generated {
            let made = generated.columns();
            read.extend(generated.reads());
            read.retain(|column| !made.contains(column));
        }
        read.sort_unstable();
        read.dedup();
        read.retain(|column| !columns.contains(column));
        read
    }

    /// Sets `columns` of the rows that were found. Returns the rows as they are now.
    pub(crate) async fn update(
        &self,
        context: &Context<'_>,
        table: &Table,
        columns: &[usize],
        found: &FoundRows,
    ) -> Result<Vec<RowId>, Error> {
        let relation = &table.relation;
        let (completed, mut set): (FoundRows, Vec<usize>);
        let (mut found, mut columns) = (found, columns);
        if let Some(generated) = &self.generated {
            completed = found.completed(generated)?;
            set = columns.to_vec();
            set.extend(generated.columns().into_iter().filter(|column| !columns.contains(column)));
            (found, columns) = (&completed, &set);
        }
        if let Some(checks) = &self.checks {
            let checked = found.check(checks, &context.transaction.snapshot(relation));
            if checked.is_err() {
                // It shows the whole row.
                let all: Vec<usize> = (0..relation.schema().columns().len()).collect();
                context.transaction.with(|transaction| {
                    transaction.log_columns(relation, &all);
                    Ok(())
                })?;
            }
            checked?;
        }
        let mut changed: Vec<RowId> = Vec::with_capacity(found.rows());
        for part in found.parts(ROWS_AT_A_TIME) {
            if !changed.is_empty() {
                pause(context).await?;
            }
            context.transaction.with(|transaction| {
                part.each(|row, values| {
                    let row_values: Vec<(usize, Datum<'_>)> = columns.iter().copied().zip(values).collect();
                    changed.push(transaction.update(relation, row, &row_values)?);
                    Ok(())
                })
            })?;
        }
        Ok(changed)
    }
}

/// Deletes rows.
pub(crate) async fn delete(context: &Context<'_>, table: &Table, rows: &[RowId]) -> Result<(), Error> {
    for (number, part) in rows.chunks(ROWS_AT_A_TIME).enumerate() {
        if number > 0 {
            pause(context).await?;
        }
        context
            .transaction
            .with(|transaction| part.iter().try_for_each(|row| transaction.delete(&table.relation, *row)))?;
    }
    Ok(())
}
