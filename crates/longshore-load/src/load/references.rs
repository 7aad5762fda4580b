//! Checks the foreign keys of rows as they are loaded (*unified* in the analysis of Dziedzic et al., section 5): each
//! worker those of a piece, right behind the decoding, while it is known where the records stand.
//!
//! A record that refers to nothing is rejected as any other bad one, or ends the load; which one is told first depends on
//! the order of the file alone. What is checked when all rows are there (*post*, and rows that may refer to rows of the same
//! load) is told by its record, too, which is read again for that. Not here: the checks (`longshore-storage`).

use std::ops::Range;

use longshore_csv::DefectKind;
use longshore_storage::{Arena, ForeignKeyError, PartitionBuffer, ReferenceChecks};

use super::Load;
use crate::error::{BadField, Fault, LoadError, MissingReference, ReferringRecord};
use crate::fields::{BadValue, DecodeError};
use crate::files::SpanTask;
use crate::options::RowViolation;
use crate::piece::Piece;
use crate::position::report;
use crate::row_decoder::RowDecoder;
use crate::row_provenance::Located;

impl MissingReference {
    /// That of a record that was found again.
    pub(super) fn located(located: &Located<'_>, error: ForeignKeyError) -> Self {
        let record = match (located.place.line_and_byte, located.record) {
            (Some((line, byte)), Some(text)) => ReferringRecord::Text(BadField {
                file: located.place.file.to_string(),
                line,
                byte,
                column: None,
                value: text.to_vec(),
                reason: error.reason(),
                remedy: error.remedy().to_owned(),
                fault: Fault::default(),
            }),
            _ => ReferringRecord::Place(located.place.clone()),
        };
        Self { record, error }
    }
}

/// How many rows there are, by buffer.
#[derive(Clone, Copy)]
pub(super) struct Filled {
    buffer: usize,
    rows: usize,
}

impl Filled {
    pub(super) fn of(buffers: &[PartitionBuffer]) -> Self {
        let rows = buffers.last().map_or(0, PartitionBuffer::rows);
        Self { buffer: buffers.len().saturating_sub(1), rows }
    }

    /// The rows that have come since.
    fn since(self, buffers: &[PartitionBuffer]) -> impl Iterator<Item = (usize, Range<usize>)> {
        let each = buffers.iter().enumerate().skip(self.buffer);
        each.map(move |(at, buffer)| (at, if at == self.buffer { self.rows } else { 0 }..buffer.rows()))
    }
}

/// The first of the rows that have come since `before` that refers to nothing, all of which are the first rows of `piece`.
pub(super) fn first_missing(
    checks: &ReferenceChecks,
    buffers: &[PartitionBuffer],
    before: Filled,
    task: &SpanTask,
    piece: &Piece<'_>,
) -> Result<(), LoadError> {
    let mut taken = 0;
    for (at, rows) in before.since(buffers) {
        let (start, count) = (rows.start, rows.len());
        if let Some((row, error)) = checks.each_missing(&buffers[at], rows, true).into_iter().next() {
            let (start, end) = piece.record(taken + row - start);
            let (start, end) = (piece.start + start, piece.start + end);
            let mut record = report(task, start, &task.text()[start..end]);
            (record.reason, record.remedy) = (error.reason(), error.remedy().to_owned());
            let record = ReferringRecord::Text(record);
            return Err(LoadError::Reference(Box::new(MissingReference { record, error })));
        }
        taken += count;
    }
    Ok(())
}

/// Takes the rows that have come since `before` and refer to nothing out of the buffers again, and tells of them. They
/// are the rows of `piece` but those that are `bad` or among `violations`.
pub(super) fn take_missing(
    checks: &ReferenceChecks,
    buffers: &mut [PartitionBuffer],
    before: Filled,
    piece: &Piece<'_>,
    bad: &[BadValue],
    violations: &[RowViolation],
) -> Vec<RowViolation> {
    let mut found: Vec<RowViolation> = Vec::new();
    let mut came: Option<Vec<usize>> = None;
    let (mut taken, all) = (0, before.since(buffers).collect::<Vec<_>>());
    for (at, rows) in all {
        let (start, count) = (rows.start, rows.len());
        let mut missing = checks.each_missing(&buffers[at], rows, false);
        // Of the foreign keys that a row violates, the first is told.
        missing.dedup_by_key(|(row, _)| *row);
        if !missing.is_empty() {
            let came = came.get_or_insert_with(|| rows_that_came(piece.rows.count(), bad, violations));
            found.extend(missing.iter().map(|(row, error)| RowViolation {
                row: came[taken + row - start],
                kind: DefectKind::ForeignKey,
                reason: error.reason(),
                remedy: error.remedy(),
            }));
            let rows: Vec<u32> = missing.iter().map(|(row, _)| *row as u32).collect();
            buffers[at].remove(&rows);
        }
        taken += count;
    }
    found
}

/// The rows of a piece that were taken.
fn rows_that_came(rows: usize, bad: &[BadValue], violations: &[RowViolation]) -> Vec<usize> {
    let mut came = vec![true; rows];
    let left_out = bad.iter().map(|bad| bad.error.row).chain(violations.iter().map(|violation| violation.row));
    left_out.for_each(|row| came[row] = false);
    (0..rows).filter(|row| came[*row]).collect()
}

impl Load<'_, '_> {
    /// Checks the foreign keys of the rows of a piece before the one that was refused, so that what stands first in the
    /// file is told first.
    pub(super) fn check_before(
        &self,
        error: &DecodeError,
        task: &SpanTask,
        piece: &Piece<'_>,
        arena: &mut Arena,
    ) -> Result<(), LoadError> {
        let (Some(checks), DecodeError::Value(bad)) = (self.references, error) else { return Ok(()) };
        let rows = piece.sound_rows();
        let before = (0..rows.count()).take_while(|&row| rows.record(row).1 <= bad.error.start).count();
        let mut buffers = Vec::new();
        let (plan, bytes_left) = (&task.file.plans[0], piece.bytes);
        let decoder = RowDecoder { plan, schema: self.schema, bytes_left, buffers: &mut buffers, packing: None, arena };
        decoder.decode(rows.truncated(before), piece, None).map_err(|error| error.explain(task, piece))?;
        first_missing(checks, &buffers, Filled::of(&[]), task, piece)
    }
}
