//! The sum of a column of (key, value) pairs, clean and with one row in a thousand updated (thesis, Figures 2.8 and
//! 2.9).

use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use longshore_storage::{Isolation, Relation, Transaction};

use super::{in_transactions, row_ids, zeros};
use crate::measure::{Amount, Case, Measured, measure};
use crate::workload::random::Random;
use crate::{Failure, Settings};

/// One row in so many is updated.
const DIRTY_SHARE: usize = 1_000;

/// Rows that are summed at a time.
const BATCH_ROWS: usize = 8_192;

/// The column of values, and what updates write there.
const VALUE: usize = 1;
const WRITTEN: i32 = 1;

pub(super) fn run(settings: &Settings, rows: usize) -> Result<Vec<Measured>, Failure> {
    let (transactions, relation) = zeros(2, rows)?;
    let amount = Amount::Operations(rows as u64);
    let clean = transactions.begin_read_only(Isolation::Snapshot);
    let mut measured = measure(vec![Case::new("clean", amount, || scan(&relation, &clean, 0))], settings)?;
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
            Case::new("0.1 % dirty, newest", amount, || scan(&relation, &newest, written)),
            Case::new("0.1 % dirty, oldest", amount, || scan(&relation, &oldest, 0)),
        ],
        settings,
    )?);
    Ok(measured)
}

/// Sums the values that a transaction sees.
fn scan(relation: &Relation, t: &Transaction, right: i64) -> Result<Duration, Failure> {
    let started = Instant::now();
    let snapshot = t.snapshot(relation);
    let mut sum = 0;
    for piece in snapshot.pieces() {
        for offset in (0..piece.rows()).step_by(BATCH_ROWS) {
            let rows = BATCH_ROWS.min(piece.rows() - offset);
            let array = piece.array(VALUE, offset, rows);
            let values = array.as_primitive::<Int32Type>().values();
            sum += match piece.visible(offset, rows) {
                None => values.iter().map(|&value| i64::from(value)).sum::<i64>(),
                Some(visible) => visible.set_indices().map(|row| i64::from(values[row])).sum(),
            };
        }
    }
    let time = started.elapsed();
    if sum == right { Ok(time) } else { Err(format!("the sum is {sum} where {right} is right").into()) }
}
