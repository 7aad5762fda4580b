//! Chunks that were changed and are packed again, one thread: of each, a value of one column or of all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_storage::{CHUNK_ROWS_MAX, Freeze, Isolation, Relation, RowId, Storage, Transactions};

use super::encodings::{self, INTEGERS, TEXTS};
use crate::measure::{Amount, Case, Measured, measure};
use crate::{Failure, Settings};

/// Chunks at scale factor 1.
const CHUNKS: f64 = 32.0;

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let chunks = (CHUNKS * settings.scale).max(1.0) as usize;
    let rows = chunks * CHUNK_ROWS_MAX;
    let (transactions, relation) = encodings::relation(rows, Storage::Packed)?;
    let mut cases = Vec::new();
    for (name, all) in [("one column of texts changed", false), ("all columns changed", true)] {
        let (transactions, relation) = (&transactions, &relation);
        cases.push(Case::new(name, Amount::Operations(rows as u64), move || {
            change(transactions, relation, all)?;
            freeze(transactions, relation, chunks)
        }));
    }
    measure(cases, settings)
}

/// Writes the first row of each chunk anew, with the values that it has.
fn change(transactions: &Arc<Transactions>, relation: &Relation, all: bool) -> Result<(), Failure> {
    let mut transaction = transactions.begin(Isolation::Snapshot);
    let firsts: Vec<RowId> = transaction.snapshot(relation).pieces().iter().map(|piece| piece.row_id(0)).collect();
    for (chunk, first) in firsts.into_iter().enumerate() {
        let number = (chunk * CHUNK_ROWS_MAX) as i64;
        let mut row = transaction.edit(relation, first)?;
        for column in INTEGERS.iter().filter(|_| all) {
            row.set(relation.column::<i64>(column.name)?, (column.value)(number))?;
        }
        for column in TEXTS.iter().take(if all { TEXTS.len() } else { 1 }) {
            row.set(relation.column::<&str>(column.name)?, &*(column.value)(number))?;
        }
    }
    transaction.commit()?;
    Ok(())
}

/// The time in which all chunks are packed.
fn freeze(transactions: &Arc<Transactions>, relation: &Relation, chunks: usize) -> Result<Duration, Failure> {
    let started = Instant::now();
    let frozen = relation.freeze(Freeze::All, 0, &|| false)?;
    let time = started.elapsed();
    if frozen != chunks {
        return Err(format!("{frozen} of {chunks} chunks are packed").into());
    }
    encodings::check_packed(transactions, relation, true)?;
    Ok(time)
}
