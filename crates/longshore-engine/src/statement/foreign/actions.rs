//! The end of a statement that has changed rows: foreign keys are seen to, and what their actions have changed is checked
//! by the rules of the tables that it is in.

use std::sync::Arc;

use arrow_array::RecordBatch;
use longshore_storage::{ActionRows, RowId};

use crate::Error;
use crate::catalog::{Entry, Table};
use crate::datafusion::{Generated, datum, fetch_rows};
use crate::statement::Context;

/// Sees to the foreign keys of all tables that the statement has changed rows of.
pub(crate) fn run_actions(context: &Context<'_>) -> Result<(), Error> {
    check_action_rows(
        context,
        context
            .transaction
            .with(|transaction| transaction.run_foreign_key_actions_unless(&|| context.control.is_cancelled()))?,
    )
}

/// Checks rows that actions of foreign keys have changed.
pub(crate) fn check_action_rows(context: &Context<'_>, action_rows: Vec<ActionRows>) -> Result<(), Error> {
    for action_rows in action_rows {
        let tables = context.database.catalog.entries().into_iter().filter_map(|entry| match entry {
            Entry::Table(table) => Some(table),
            Entry::View(_) => None,
        });
        let Some(table) = tables.into_iter().find(|table: &Arc<Table>| action_rows.key.is_of(&table.relation)) else {
            continue;
        };
        let rules = table.rules();
        let checks = context.database.queries.checks_of_rows(&table, &rules, &context.execution())?;
        let Some(checks) = checks else { continue };
        let relation = &table.relation;
        let rows = checks.complete(fetch_rows(&context.transaction.snapshot(relation), &action_rows.rows)?)?;
        if let Some(generated) = checks.generated() {
            set_generated(context, &table, generated, &rows, &action_rows.rows)?;
        }
        if let Err(error) = checks.check(&rows) {
            // It tells what a row is that only the action has found.
            let columns: Vec<usize> = (0..relation.schema().columns().len()).collect();
            context.transaction.log_scan(relation, &[], &columns);
            return Err(error);
        }
    }
    Ok(())
}

/// Gives generated columns of rows whose other columns actions have changed their values.
fn set_generated(
    context: &Context<'_>,
    table: &Table,
    generated: &Generated,
    rows: &RecordBatch,
    ids: &[RowId],
) -> Result<(), Error> {
    let columns = table.relation.schema().all_columns();
    context.transaction.with(|transaction| {
        for (at, row) in ids.iter().enumerate() {
            let of_column = |column: usize| (column, datum(rows.column(column), columns[column].column_type, at));
            let values: Vec<_> = generated.columns().into_iter().map(of_column).collect();
            transaction.update(&table.relation, *row, &values)?;
        }
        Ok(())
    })
}
