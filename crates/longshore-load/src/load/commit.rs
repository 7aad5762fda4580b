//! The end of a load: its rows become part of the relation; keys that are there already, and rows that refer to nothing,
//! are told by file and line.
//!
//! Records that are rejected for their keys come behind all others that are, in the order of the files.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use longshore_csv::DefectKind;
use longshore_storage::{
    Append, AppendedPair, Clash, Clashes, ForeignKeyError, ForeignKeyProblem, Holder, Merged, OnConflict, Relation,
    Reservation, Transaction, TransactionError,
};

use super::{LoadReport, Loaded};
use crate::error::{
    DuplicateKey, KeyHolder, LoadError, MissingReference, REJECT_RECORD_BYTES_MAX, REJECTS_SHOWN_MAX, REMEDY,
    RecordPlace, Reject,
};
use crate::reject::RejectOrder;
use crate::row_provenance::{Located, Reading, RowProvenance};

/// Rejects that are handed on at a time.
const BATCH: usize = 1024;

impl fmt::Debug for Loaded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl<'a> Loaded<'a> {
    /// Makes the rows part of a transaction, and lets `run_actions` see to its foreign keys
    /// ([`Transaction::run_foreign_key_actions`]).
    ///
    /// # Errors
    /// When too large a share was rejected, or rejects cannot be kept; when the transaction only reads or another one is
    /// in the way; when memory runs out; or when a key is there already, or a row refers to none, as `run_actions`
    /// says, which then are told with their records. The transaction is to be rolled back then, to a savepoint before
    /// at least.
    pub fn commit_in(
        self,
        transaction: &mut Transaction,
        run_actions: impl FnOnce(&mut Transaction) -> Result<(), TransactionError>,
    ) -> Result<LoadReport, LoadError> {
        let since = transaction.writes();
        self.complete(
            since,
            |append, on, tell| Ok((append.commit_resolving(transaction, on, tell)?, transaction)),
            run_actions,
        )
    }

    /// The same for rows that were merged into a transaction as they came, since it had made so many changes.
    pub(super) fn finish(
        self,
        since: usize,
        run_actions: impl FnOnce(&mut Transaction) -> Result<(), TransactionError>,
    ) -> Result<LoadReport, LoadError> {
        self.complete(since, |append, on, tell| append.finish(on, tell), run_actions)
    }

    fn complete<'t>(
        self,
        since: usize,
        commit: impl FnOnce(Append<'a>, &OnConflict, &mut Tell<'_>) -> Result<(Merged, &'t mut Transaction), LoadError>,
        run_actions: impl FnOnce(&mut Transaction) -> Result<(), TransactionError>,
    ) -> Result<LoadReport, LoadError> {
        let Self { relation, append, files, provenance, rejects, conflicts, check, rows, begin, control } = self;
        let (schema, memory) = (relation.schema(), relation.memory());
        let reading = Reading { files: &files, schema, memory, check: check.as_ref(), control };
        let order = rejects.as_ref();
        if let Some(order) = order {
            order.check_share(rows)?;
        }
        let mut dropped = Vec::new();
        let refers = !relation.foreign_keys().is_empty();
        let merged = commit(append, &conflicts.on, &mut |clashes| {
            if refers {
                dropped = clashes.dropped();
            }
            match (order, &provenance) {
                (Some(order), Some(provenance)) if conflicts.rejects => {
                    reject(clashes, order, provenance, &reading)?;
                    order.check_share(rows - clashes.rows().len() as u64)
                }
                _ => Ok(()),
            }
        });
        let (merged, transaction) = merged.map_err(|error| match (error, &provenance) {
            (LoadError::Transaction(error), Some(provenance)) => with_records(error, provenance, &reading),
            (error, _) => error,
        })?;
        run_actions(transaction).map_err(|error| match (error, &provenance) {
            (TransactionError::ForeignKey(error), Some(provenance)) => {
                let row = row_of(&error, relation, transaction, since, &dropped);
                refers_to_nothing(*error, row, provenance, &reading)
            }
            (error, _) => error.into(),
        })?;
        if let Some(order) = order {
            order.close()?;
        }
        let rejects = order.map(RejectOrder::summary).unwrap_or_default();
        let Merged { inserted, updated, left_out } = merged;
        let bytes = control.progress.bytes_done();
        Ok(LoadReport { rows: inserted, updated, left_out, rejects, bytes, seconds: begin.elapsed().as_secs_f64() })
    }
}

/// What is told of rows that are left out.
type Tell<'t> = dyn FnMut(&Clashes<'_>) -> Result<(), LoadError> + 't;

/// The error of an append, with the places of the records that it is about.
fn with_records(error: TransactionError, provenance: &RowProvenance, reading: &Reading<'_>) -> LoadError {
    let TransactionError::Duplicate { relation, index, key, appended: Some(pair), .. } = &error else {
        return error.into();
    };
    match located(**pair, provenance, reading) {
        Err(error) => error,
        Ok(None) => error.into(),
        Ok(Some((first, second))) => {
            let (relation, index, key) = (relation.clone(), index.clone(), key.clone());
            LoadError::Duplicate(Box::new(DuplicateKey { relation, index, key, first, second }))
        }
    }
}

/// The number in the load of a row that refers to none, if it is of the load: of appends since the transaction had made so
/// many changes, without the rows that were `dropped`.
fn row_of(
    error: &ForeignKeyError,
    relation: &Relation,
    transaction: &Transaction,
    since: usize,
    dropped: &[u64],
) -> Option<u64> {
    if matches!(error.problem, ForeignKeyProblem::StillReferenced { .. }) || error.relation != relation.name() {
        return None;
    }
    let mut number = transaction.appended_row(relation, since, error.row)?;
    for dropped in dropped {
        if *dropped > number {
            break;
        }
        number += 1;
    }
    Some(number)
}

/// The error of a row that refers to none, with the place of its record.
fn refers_to_nothing(
    error: ForeignKeyError,
    row: Option<u64>,
    provenance: &RowProvenance,
    reading: &Reading<'_>,
) -> LoadError {
    let mut found = None;
    let located = provenance.locate(row, reading, &mut |located| {
        found = Some(MissingReference::located(&located, error.clone()));
        Ok(())
    });
    match (located, found) {
        (Err(error), _) => error,
        (Ok(()), Some(missing)) => LoadError::Reference(Box::new(missing)),
        (Ok(()), None) => TransactionError::ForeignKey(Box::new(error)).into(),
    }
}

fn located(
    pair: AppendedPair,
    provenance: &RowProvenance,
    reading: &Reading<'_>,
) -> Result<Option<(KeyHolder, RecordPlace)>, LoadError> {
    let first = if let Holder::Append(first) = pair.first { Some(first) } else { None };
    let mut found = Vec::new();
    provenance.locate(first.into_iter().chain([pair.second]), reading, &mut |located| {
        found.push(located.place);
        Ok(())
    })?;
    let second = found.pop();
    let first = if first.is_some() { found.pop().map(KeyHolder::Record) } else { Some(KeyHolder::Relation) };
    Ok(first.zip(second))
}

/// Rejects the records of rows that are left out.
fn reject(
    clashes: &Clashes<'_>,
    order: &RejectOrder,
    provenance: &RowProvenance,
    reading: &Reading<'_>,
) -> Result<(), LoadError> {
    let all = clashes.rows();
    if all.is_empty() {
        return Ok(());
    }
    let shown = if order.wants_all() { all } else { &all[..all.len().min(REJECTS_SHOWN_MAX)] };
    let holder = |clash: &Clash| if let Holder::Append(row) = clash.holder { Some(row) } else { None };
    let mut rows: Vec<u64> = shown.iter().flat_map(|clash| holder(clash).into_iter().chain([clash.row])).collect();
    rows.sort_unstable();
    rows.dedup();
    // Who has a key comes before those who must not.
    let mut holders: BTreeMap<u64, RecordPlace> = BTreeMap::new();
    let mut reserved = Reservation::new(order.memory());
    let mut batch = Vec::new();
    let mut handed_on = 0;
    let mut next = shown.iter().peekable();
    provenance.locate(rows, reading, &mut |located| {
        let Some(clash) = next.next_if(|clash| clash.row == located.row) else {
            reserved.grow(2 * size_of::<RecordPlace>())?;
            holders.insert(located.row, located.place);
            return Ok(());
        };
        let first = holder(clash).and_then(|row| holders.get(&row)).cloned();
        let key = DuplicateKey {
            relation: clashes.relation().to_owned(),
            index: clashes.index_name(clash).to_owned(),
            key: clashes.key(clash),
            first: first.map_or(KeyHolder::Relation, KeyHolder::Record),
            second: located.place.clone(),
        };
        batch.push(reject_of(&key, &located));
        if batch.len() == BATCH {
            order.add(&batch, DefectKind::DuplicateKey, BATCH as u64)?;
            handed_on += BATCH;
            batch.clear();
        }
        Ok(())
    })?;
    order.add(&batch, DefectKind::DuplicateKey, (all.len() - handed_on) as u64)
}

fn reject_of(key: &DuplicateKey, located: &Located<'_>) -> Reject {
    let (line, byte) = located.place.line_and_byte.unwrap_or_default();
    let record = located.record.unwrap_or_default();
    let reason = match located.record {
        Some(_) => key.reason(),
        // The text is another one now.
        None => format!("{}: {}", located.place, key.reason()),
    };
    Reject {
        file: Arc::clone(&located.place.file),
        line,
        byte,
        column: None,
        value: None,
        kind: DefectKind::DuplicateKey,
        reason,
        remedy: REMEDY.to_owned(),
        record_byte: byte,
        record: Arc::from(&record[..record.len().min(REJECT_RECORD_BYTES_MAX)]),
    }
}
