//! The sum of a column of (key, value) pairs, clean and with one row in a thousand updated (thesis, Figures 2.8 and
//! 2.9).
//!
//! Scans go from one changed row to the next, as the synopses of versioned positions let them. For comparison, the same
//! by arrays, as queries read (batches with changed rows are copied), and by asking for every row whether it was changed,
//! as one has to without the synopses.

use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use longshore_storage::{Isolation, Relation, Scratch, Stretch, Transaction, Values, VisibleChunk};

use super::{in_transactions, row_ids, zeros};
use crate::measure::{Amount, Case, Measured, measure};
use crate::workload::random::Random;
use crate::{Failure, Settings};

/// One row in so many is updated.
const DIRTY_SHARE: usize = 1_000;

/// Rows of an array.
const BATCH_ROWS: usize = 8_192;

/// The column of values, and what updates write there.
const VALUE: usize = 1;
const WRITTEN: i32 = 1;

pub(super) fn run(settings: &Settings, rows: usize) -> Result<Vec<Measured>, Failure> {
    let (transactions, relation) = zeros(2, rows)?;
    let amount = Amount::Operations(rows as u64);
    let clean = transactions.begin_read_only(Isolation::Snapshot);
    let mut measured = measure(
        vec![
            Case::new("clean", amount, || scan(&relation, &clean, 0, by_stretches)),
            Case::new("clean, as arrays", amount, || scan(&relation, &clean, 0, by_arrays)),
        ],
        settings,
    )?;
    clean.commit()?;

    // The oldest keeps the versions from being reclaimed.
    let oldest = transactions.begin_read_only(Isolation::Snapshot);
    let ids = row_ids(&oldest, &relation);
    let field = relation.column::<i32>("a1")?;
    let mut random = Random::new(1);
    let mut dirty: Vec<usize> = (0..rows / DIRTY_SHARE).map(|_| random.below(rows as u64) as usize).collect();
    dirty.sort_unstable();
    dirty.dedup();
    in_transactions(&transactions, Isolation::Serializable, &dirty, 1, |t, at| {
        t.set(&relation, ids[at], field, WRITTEN)
    })?;
    let newest = transactions.begin_read_only(Isolation::Snapshot);
    let written = dirty.len() as i64 * i64::from(WRITTEN);
    measured.extend(measure(
        vec![
            Case::new("0.1 % dirty, newest", amount, || scan(&relation, &newest, written, by_stretches)),
            Case::new("0.1 % dirty, newest, as arrays", amount, || scan(&relation, &newest, written, by_arrays)),
            Case::new("0.1 % dirty, oldest", amount, || scan(&relation, &oldest, 0, by_stretches)),
            Case::new("0.1 % dirty, oldest, as arrays", amount, || scan(&relation, &oldest, 0, by_arrays)),
            Case::new("0.1 % dirty, oldest, without synopses", amount, || scan(&relation, &oldest, 0, row_by_row)),
        ],
        settings,
    )?);
    Ok(measured)
}

/// Sums the values that a transaction sees.
fn scan(
    relation: &Relation,
    t: &Transaction,
    right: i64,
    sum_of: impl Fn(&VisibleChunk) -> i64,
) -> Result<Duration, Failure> {
    let started = Instant::now();
    let sum: i64 = t.snapshot(relation).pieces().iter().map(sum_of).sum();
    let time = started.elapsed();
    if sum == right { Ok(time) } else { Err(format!("the sum is {sum} where {right} is right").into()) }
}

fn sum(values: &[i32]) -> i64 {
    values.iter().map(|&value| i64::from(value)).sum()
}

/// The sum of some rows of a piece.
fn sum_of_rows(piece: &VisibleChunk, values: &[i32], offset: usize, rows: usize) -> i64 {
    let parts = piece.stretches(VALUE, offset, rows).map(|stretch| match stretch {
        Stretch::Stored(rows) => sum(&values[rows]),
        Stretch::Patched(_, Some([a, b, c, d, ..])) => i32::from_le_bytes([a, b, c, d]).into(),
        Stretch::Patched(_, None) => 0,
    });
    parts.sum()
}

fn by_stretches(piece: &VisibleChunk) -> i64 {
    let mut scratch = Scratch::default();
    let Values::I32(values) = piece.chunk().values(VALUE, 0..piece.rows(), &mut scratch) else { return 0 };
    sum_of_rows(piece, values, 0, values.len())
}

fn row_by_row(piece: &VisibleChunk) -> i64 {
    let mut scratch = Scratch::default();
    let Values::I32(values) = piece.chunk().values(VALUE, 0..piece.rows(), &mut scratch) else { return 0 };
    (0..values.len()).map(|row| sum_of_rows(piece, values, row, 1)).sum()
}

fn by_arrays(piece: &VisibleChunk) -> i64 {
    let mut total = 0;
    for offset in (0..piece.rows()).step_by(BATCH_ROWS) {
        let rows = BATCH_ROWS.min(piece.rows() - offset);
        let array = piece.array(VALUE, offset, rows);
        let values = array.as_primitive::<Int32Type>().values();
        total += match piece.visible(offset, rows) {
            None => sum(values),
            Some(visible) => visible.set_indices().map(|row| i64::from(values[row])).sum(),
        };
    }
    total
}
