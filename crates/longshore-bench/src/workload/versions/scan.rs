//! The sum of a column of (key, value) pairs, clean and with one row in a thousand updated (thesis, Figures 2.8 and
//! 2.9), of packed columns and of plain ones.
//!
//! Scans go from one changed row to the next, as the synopses of versioned positions let them. For comparison, the same
//! by arrays, as queries read (batches with changed rows are copied), and by asking for every row whether it was changed,
//! as one has to without the synopses.
//!
//! The first update in a chunk makes its column of values plain. When the old reader has gone, the chunks are packed again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use longshore_storage::{
    Freeze, Isolation, Relation, Scratch, Storage, Stretch, Transaction, Transactions, Values, VisibleChunk,
};

use super::{filled, in_transactions, row_ids};
use crate::measure::{Amount, Case, Measured, measure};
use crate::workload::random::Random;
use crate::{Failure, Settings};

/// One row in so many is updated.
const DIRTY_SHARE: usize = 1_000;

/// Rows of an array.
const BATCH_ROWS: usize = 8_192;

/// The column of values, how many there are, and what updates write there.
const VALUE: usize = 1;
const DISTINCT: i32 = 1_000;
const WRITTEN: i32 = DISTINCT;

/// A way to add up the values of a chunk that are seen.
type SumOf = fn(&VisibleChunk) -> i64;

/// How queries read, and how a scan of values may.
const WAYS: [(&str, SumOf); 2] = [("", by_stretches), (", as arrays", by_arrays)];

struct Pairs {
    storage: &'static str,
    transactions: Arc<Transactions>,
    relation: Arc<Relation>,
}

impl Pairs {
    fn new(storage: Storage, rows: usize) -> Result<Pairs, Failure> {
        let pair = |column, row| if column == VALUE { value(row) } else { row as i32 };
        let (transactions, relation) = filled(2, rows, storage, pair)?;
        let storage = if storage == Storage::Packed { "packed" } else { "plain" };
        Ok(Pairs { storage, transactions, relation })
    }

    fn reader(&self) -> Transaction {
        self.transactions.begin_read_only(Isolation::Snapshot)
    }
}

/// What a row has before it is updated: in no order that an encoding could use.
fn value(row: usize) -> i32 {
    ((row as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as i32 % DISTINCT
}

pub(super) fn run(settings: &Settings, rows: usize) -> Result<Vec<Measured>, Failure> {
    let both = [Pairs::new(Storage::Packed, rows)?, Pairs::new(Storage::Plain, rows)?];
    let before: i64 = (0..rows).map(|row| i64::from(value(row))).sum();
    let clean = both.each_ref().map(Pairs::reader);
    let mut measured = cases("clean", &both, &clean, before, &WAYS, rows, settings)?;
    for reader in clean {
        reader.commit()?;
    }

    // The oldest keeps the versions from being reclaimed.
    let oldest = both.each_ref().map(Pairs::reader);
    let mut random = Random::new(1);
    let mut dirty: Vec<usize> = (0..rows / DIRTY_SHARE).map(|_| random.below(rows as u64) as usize).collect();
    dirty.sort_unstable();
    dirty.dedup();
    for (pairs, oldest) in both.iter().zip(&oldest) {
        let (ids, field) = (row_ids(oldest, &pairs.relation), pairs.relation.column::<i32>("a1")?);
        in_transactions(&pairs.transactions, Isolation::Serializable, &dirty, 1, |t, at| {
            t.set(&pairs.relation, ids[at], field, WRITTEN)
        })?;
    }
    let newest = both.each_ref().map(Pairs::reader);
    let after = before + dirty.iter().map(|&row| i64::from(WRITTEN - value(row))).sum::<i64>();
    measured.extend(cases("0.1 % dirty, newest", &both, &newest, after, &WAYS, rows, settings)?);
    measured.extend(cases("0.1 % dirty, oldest", &both, &oldest, before, &WAYS, rows, settings)?);
    let one_by_one: [(&str, SumOf); 1] = [(", without synopses", row_by_row)];
    measured.extend(cases("0.1 % dirty, oldest", &both, &oldest, before, &one_by_one, rows, settings)?);
    for reader in newest.into_iter().chain(oldest) {
        reader.commit()?;
    }
    both[0].relation.freeze(Freeze::All, 0, &|| false)?;
    let latest = both.each_ref().map(Pairs::reader);
    measured.extend(cases("versions gone, packed again", &both[..1], &latest[..1], after, &WAYS, rows, settings)?);
    Ok(measured)
}

/// Scans of what each reader sees, whose sum must be right, in each way. What the columns take is noted.
fn cases(
    name: &str,
    both: &[Pairs],
    readers: &[Transaction],
    right: i64,
    ways: &[(&str, SumOf)],
    rows: usize,
    settings: &Settings,
) -> Result<Vec<Measured>, Failure> {
    let mut cases = Vec::new();
    for (way, sum_of) in ways {
        for (Pairs { storage, relation, .. }, reader) in both.iter().zip(readers) {
            let scan = move || scan(relation, reader, right, sum_of);
            cases.push(Case::new(format!("{storage}, {name}{way}"), Amount::Operations(rows as u64), scan));
        }
    }
    let mut measured = measure(cases, settings)?;
    for measured in &mut measured {
        let of_case = both.iter().zip(readers).find(|(pairs, _)| measured.case.starts_with(pairs.storage));
        let (pairs, reader) = of_case.expect("cases begin with their storage");
        let snapshot = reader.snapshot(&pairs.relation);
        let bytes: usize = snapshot.pieces().iter().map(|piece| piece.chunk().column_bytes()[VALUE].stored).sum();
        measured.note = format!("{:.2} bytes/value", bytes as f64 / rows as f64);
    }
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
