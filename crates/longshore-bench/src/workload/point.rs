//! Single values read by typed handles, each in a row of its own, drawn at random: packed ones by encoding, and compressed
//! ones, against plain ones, one thread. Rows are few enough for the plain ones to stay in the cache, so that what counts is the way to the
//! value.

use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_storage::{Field, Freeze, Isolation, Relation, RowId, RowRead, Storage, Transactions};

use super::encodings::{self, INTEGERS, TEXTS};
use super::random::Random;
use crate::measure::{Amount, Case, Measured, measure};
use crate::{Failure, Settings};

/// Rows of either relation: one chunk.
const ROWS: usize = 1 << 15;

/// Reads of a run at scale factor 1, and the fewest.
const READS: f64 = 1e6;
const READS_MIN: f64 = 10e3;

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let count = (READS * settings.scale).max(READS_MIN) as usize;
    let mut random = Random::new(1);
    let rows: Vec<usize> = (0..count).map(|_| random.below(ROWS as u64) as usize).collect();
    let plain = encodings::relation(ROWS, Storage::Plain)?;
    let packed = encodings::relation(ROWS, Storage::Packed)?;
    let frozen = encodings::relation(ROWS, Storage::Packed)?;
    frozen.1.freeze(Freeze::All, 0, &|| false)?;
    encodings::check_packed(&frozen.0, &frozen.1, true)?;
    let mut cases = Vec::new();
    for column in TEXTS.iter().filter(|column| column.frozen_as != column.packed_as) {
        let field = frozen.1.column::<&str>(column.name)?;
        let expected = rows.iter().map(|&row| number(&(column.value)(row as i64))).sum();
        let (frozen, rows) = (&frozen, &rows);
        cases.push(Case::new(name("frozen", column.name, column.frozen_as), Amount::Values(count as u64), move || {
            timed(frozen, rows, expected, |row| text(row, field))
        }));
    }
    for (relation, stored) in [(&plain, "plain"), (&packed, "packed")] {
        let rows = &rows;
        for column in &INTEGERS {
            let field = relation.1.column::<i64>(column.name)?;
            let expected = rows.iter().fold(0_i64, |sum, &row| sum.wrapping_add((column.value)(row as i64)));
            let name = name(stored, column.name, column.packed_as);
            cases.push(Case::new(name, Amount::Values(count as u64), move || {
                timed(relation, rows, expected, |row| integer(row, field))
            }));
        }
        for column in &TEXTS {
            let field = relation.1.column::<&str>(column.name)?;
            let expected = rows.iter().map(|&row| number(&(column.value)(row as i64))).sum();
            let name = name(stored, column.name, column.packed_as);
            cases.push(Case::new(name, Amount::Values(count as u64), move || {
                timed(relation, rows, expected, |row| text(row, field))
            }));
        }
    }
    let mut measured = measure(cases, settings)?;
    let plain: Vec<Measured> = measured.iter().filter(|row| row.case.starts_with("plain")).cloned().collect();
    for row in &mut measured {
        let column = row.case.split([' ', ',']).nth(1).unwrap_or_default().to_owned();
        if !row.case.starts_with("plain")
            && let Some(plain) = plain.iter().find(|plain| plain.case.split([' ', ',']).nth(1) == Some(&column))
        {
            row.note = format!("{:.2} x plain", row.best.as_secs_f64() / plain.best.as_secs_f64());
        }
    }
    Ok(measured)
}

fn name(stored: &str, column: &str, packed_as: &str) -> String {
    format!("{stored} {column}, {packed_as}")
}

fn integer(row: &mut RowRead<'_>, field: Field<i64>) -> Result<i64, Failure> {
    Ok(row.get(field)?)
}

fn text(row: &mut RowRead<'_>, field: Field<&str>) -> Result<i64, Failure> {
    Ok(number(row.text(field).ok_or("a text is NULL")?))
}

/// A number that tells most texts apart.
fn number(text: &str) -> i64 {
    let last = text.as_bytes().last().copied().unwrap_or_default();
    text.len() as i64 * 256 + i64::from(last)
}

/// The time in which the values of some rows are read and added up.
fn timed(
    (transactions, relation): &(Arc<Transactions>, Arc<Relation>),
    rows: &[usize],
    expected: i64,
    mut read: impl FnMut(&mut RowRead<'_>) -> Result<i64, Failure>,
) -> Result<Duration, Failure> {
    let mut transaction = transactions.begin_read_only(Isolation::Snapshot);
    let ids: Vec<RowId> = {
        let snapshot = transaction.snapshot(relation);
        let piece = snapshot.pieces().first().ok_or("there are no rows")?;
        rows.iter().map(|&row| piece.row_id(row)).collect()
    };
    let started = Instant::now();
    let mut sum = 0_i64;
    for &id in &ids {
        sum = sum.wrapping_add(read(&mut transaction.read(relation, id)?)?);
    }
    let time = started.elapsed();
    if sum == expected { Ok(time) } else { Err(format!("the values add up to {sum}, not {expected}").into()) }
}
