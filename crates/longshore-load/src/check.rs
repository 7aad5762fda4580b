//! What must hold of a row beside its types: the columns that a check reads are decoded before all others, and rows that
//! violate it are found before any is taken.
//!
//! The columns are decoded twice, by which a violation has its record at hand, with its line and text, and a row that is
//! left out leaves no gap. Who loads without a check pays nothing. Not here: what is checked (the engine).

use std::sync::Arc;

use longshore_csv::Rows;
use longshore_storage::{Arena, Chunk};

use crate::error::LoadError;
use crate::fields::{BadValue, DecodeError, FieldPlan, Output};
use crate::options::{RowCheck, RowViolation};
use crate::piece::Piece;

/// Place of the columns that are checked among the outputs of a pass.
pub(crate) const CHECKED: usize = 1;

/// Rows that are checked at a time, at most.
const BATCH_ROWS_MAX: usize = 8192;
/// Bytes of the blocks that the checked columns lie in, which are recycled.
pub(crate) const BLOCK_BYTES: usize = 2 << 20;

/// A check in the hands of a worker.
pub(crate) struct Checker<'a> {
    check: &'a dyn RowCheck,
    output: &'a Output,
    arena: Arena,
    bad: Vec<BadValue>,
    /// The violations of the last piece, the first of its rows being row 0.
    pub(crate) found: Vec<RowViolation>,
    /// The other rows of that piece, if it has violations.
    pub(crate) kept: Vec<u32>,
}

impl<'a> Checker<'a> {
    /// Of `check`, whose columns are those of `output`.
    pub(crate) fn new(check: &'a Arc<dyn RowCheck>, output: &'a Output, arena: Arena) -> Self {
        Self { check: check.as_ref(), output, arena, bad: Vec::new(), found: Vec::new(), kept: Vec::new() }
    }

    /// Finds the violations among `all` rows of `piece`, which `plan` reads. What is no value is left to be found by
    /// those who take the rows.
    pub(crate) fn find(&mut self, plan: &FieldPlan, all: Rows<'_>, piece: &Piece<'_>) -> Result<(), DecodeError> {
        self.found.clear();
        let (mut rows, mut first) = (all, 0);
        while !rows.is_empty() {
            let (now, later) = rows.split_at(rows.count().min(BATCH_ROWS_MAX));
            self.bad.clear();
            let mut buffer = self.output.buffer(plan, now, &mut self.arena)?;
            plan.decode_lenient(&now, 0, piece, &mut buffer, &mut self.bad, None)?;
            let chunk = buffer.seal();
            if chunk.rows() > 0 {
                self.check_chunk(&chunk, now.count(), first)?;
            }
            first += now.count();
            rows = later;
        }
        if !self.found.is_empty() {
            let mut found = self.found.iter().map(|violation| violation.row).peekable();
            self.kept.clear();
            self.kept.extend((0..all.count()).filter(|row| found.next_if_eq(row).is_none()).map(|row| row as u32));
        }
        Ok(())
    }

    /// Checks the sound ones of `count` rows; the first of all counts as `first`.
    fn check_chunk(&mut self, chunk: &Chunk, count: usize, first: usize) -> Result<(), DecodeError> {
        let columns: Vec<usize> = (0..self.output.columns.len()).collect();
        let violations = self.check.violations(&chunk.batch(&columns, 0, chunk.rows()));
        let violations = violations.map_err(|problem| DecodeError::Other(LoadError::Filter(problem)))?;
        if violations.is_empty() {
            return Ok(());
        }
        let mut bad = self.bad.iter().map(|bad| bad.error.row).peekable();
        let is_sound = |row: &usize| {
            let is_bad = bad.peek() == Some(row);
            while bad.next_if_eq(row).is_some() {}
            !is_bad
        };
        let sound: Vec<usize> = (0..count).filter(is_sound).collect();
        let place = |violation: RowViolation| RowViolation { row: first + sound[violation.row], ..violation };
        self.found.extend(violations.into_iter().map(place));
        Ok(())
    }
}
