//! What versions cost, apart from everything else: the experiments of *HyPer*'s thesis, 2.4.1 and 2.4.2.
//!
//! Operations: inserts, updates and "delete and insert" of random rows of ten integers, without any index. Scans: the
//! sum of a column where no row has a version, and where one in a thousand has, for a transaction that began before the
//! updates and one that began behind them; of packed columns and of plain ones.
//!
//! Every write of a run of operations has the same value, which no other run has: so many rows have it afterwards as were written.

use std::sync::Arc;

use longshore_storage::{
    Column, ColumnType, Datum, Isolation, Memory, Relation, RowId, Schema, Scratch, Storage, Transaction,
    TransactionError, Transactions, Values,
};

use super::Report;
use super::fill::Fill;
use crate::{Failure, Settings};

mod operations;
mod scan;

/// Rows at scale factor 1, of either relation.
const ROWS: f64 = 10e6;
const SCAN_ROWS: f64 = 100e6;

/// The fewest rows.
const ROWS_MIN: f64 = 10e3;

pub(super) fn run(settings: &Settings, report: &mut Report<'_>) -> Result<(), Failure> {
    let rows = |of: f64| (of * settings.scale).max(ROWS_MIN) as usize;
    report("versions", "Operations on ten integers", &operations::run(settings, rows(ROWS))?)?;
    report(
        "versions-scan",
        "Scan of integers, packed and plain, clean and with versions",
        &scan::run(settings, rows(SCAN_ROWS))?,
    )
}

/// A relation of that many integers a row: column and row say which.
fn filled(
    columns: usize,
    rows: usize,
    storage: Storage,
    value: impl Fn(usize, usize) -> i32,
) -> Result<(Arc<Transactions>, Arc<Relation>), Failure> {
    let transactions = Transactions::new();
    let column = |number| Column::new(format!("a{number}"), ColumnType::Integer, false);
    let schema = Arc::new(Schema::new((0..columns).map(column).collect()));
    let relation = Arc::new(Relation::in_database(schema, Memory::new(None), &transactions));
    relation.set_storage(storage);
    let mut fill = Fill::new(&relation)?;
    let mut values = vec![Datum::I32(0); columns];
    for row in 0..rows {
        for (column, datum) in values.iter_mut().enumerate() {
            *datum = Datum::I32(value(column, row));
        }
        fill.push(&values)?;
    }
    fill.finish()?;
    Ok((transactions, relation))
}

/// How many rows have a value in a column, as chunks have them.
fn count_of(relation: &Relation, column: usize, value: i32) -> usize {
    let snapshot = relation.snapshot();
    let count = |values: Values<'_>| match values {
        Values::I32(values) => values.iter().filter(|&&found| found == value).count(),
        _ => 0,
    };
    let mut scratch = Scratch::default();
    snapshot.chunks().iter().map(|chunk| count(chunk.values(column, 0..chunk.rows(), &mut scratch))).sum()
}

/// The rows that a transaction sees.
fn row_ids(t: &Transaction, relation: &Relation) -> Vec<RowId> {
    let snapshot = t.snapshot(relation);
    let mut rows = Vec::with_capacity(snapshot.rows() as usize);
    for piece in snapshot.pieces() {
        match piece.visible(0, piece.rows()) {
            None => rows.extend((0..piece.rows()).map(|offset| piece.row_id(offset))),
            Some(visible) => rows.extend(visible.set_indices().map(|offset| piece.row_id(offset))),
        }
    }
    rows
}

/// Does something with each row, so many in a transaction.
fn in_transactions(
    transactions: &Arc<Transactions>,
    isolation: Isolation,
    rows: &[usize],
    per_transaction: usize,
    mut operation: impl FnMut(&mut Transaction, usize) -> Result<(), TransactionError>,
) -> Result<(), Failure> {
    for rows in rows.chunks(per_transaction) {
        let mut t = transactions.begin(isolation);
        for &row in rows {
            operation(&mut t, row)?;
        }
        t.commit()?;
    }
    Ok(())
}
