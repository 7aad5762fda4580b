//! Scans that leave bad records out: every field is checked, whatever the query reads, and the batches are made of what
//! was decoded for that.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;
use longshore_csv::Rows;
use longshore_storage::{Arena, Chunk};

use super::{BATCH_ROWS_MAX, RETURNED, TextScan, kept_rows};
use crate::error::LoadError;
use crate::fields::{BadValue, DecodeError, FieldPlan, Output};
use crate::piece::Piece;
use crate::reject::RejectOrder;

/// Where bad records of a scan go.
pub(super) struct Rejects {
    pub(super) order: RejectOrder,
    /// Place of all columns among the pass's outputs.
    checked: usize,
    /// Rows that were not rejected.
    pub(super) rows: AtomicU64,
}

impl Rejects {
    pub(super) fn new(order: RejectOrder, checked: usize) -> Self {
        Self { order, checked, rows: AtomicU64::new(0) }
    }
}

impl Output {
    /// The rows without those that have bad fields, which go to `bad`; the first one counts as `first_row`.
    fn decode_lenient(
        &self,
        plan: &FieldPlan,
        rows: Rows<'_>,
        first_row: usize,
        piece: &Piece<'_>,
        bad: &mut Vec<BadValue>,
        arena: &mut Arena,
    ) -> Result<Chunk, DecodeError> {
        let mut buffer = self.buffer(plan, rows, arena)?;
        plan.decode_lenient(&rows, first_row, piece, &mut buffer, bad, None)?;
        Ok(buffer.seal())
    }
}

impl TextScan {
    /// The good rows of a piece as batches, behind `ready`; bad fields go to `bad`.
    pub(super) fn sound_batches(
        &self,
        rejects: &Rejects,
        piece: &Piece<'_>,
        plans: &[FieldPlan],
        worker: &mut Buffers<'_>,
    ) -> Result<(), DecodeError> {
        let all = self.files.output(rejects.checked);
        let returned = self.files.output(RETURNED);
        let mut rows = piece.rows;
        let mut first_row = 0;
        while !rows.is_empty() {
            let (now, later) = rows.split_at(rows.count().min(BATCH_ROWS_MAX));
            let bad_before = worker.bad.len();
            let chunk = all.decode_lenient(&plans[rejects.checked], now, first_row, piece, worker.bad, worker.arena)?;
            rejects.rows.fetch_add(chunk.rows() as u64, Ordering::Relaxed);
            let kept = match &self.filter {
                None => None,
                Some(filter) => {
                    let batch = chunk.batch(filter.columns(), 0, chunk.rows());
                    let keep =
                        filter.select(&batch).map_err(|problem| DecodeError::Other(LoadError::Filter(problem)))?;
                    Some(kept_rows(&keep)).filter(|kept| kept.len() < chunk.rows())
                }
            };
            let batch = match kept {
                None => chunk.batch(&returned.columns, 0, chunk.rows()),
                Some(kept) => {
                    let sound = sound_rows(now.count(), first_row, &worker.bad[bad_before..]);
                    let kept: Vec<u32> = kept.into_iter().map(|row| sound[row as usize]).collect();
                    returned.decode(&plans[RETURNED], now.select(&kept, worker.selected), piece, worker.arena)?
                }
            };
            worker.ready.extend((batch.num_rows() > 0).then_some(batch));
            first_row += now.count();
            rows = later;
        }
        Ok(())
    }
}

/// What a worker makes batches with.
pub(super) struct Buffers<'a> {
    pub(super) arena: &'a mut Arena,
    pub(super) selected: &'a mut Vec<u32>,
    pub(super) bad: &'a mut Vec<BadValue>,
    pub(super) ready: &'a mut VecDeque<RecordBatch>,
}

/// The numbers of those of `count` rows that no bad field belongs to; the first counts as `first_row` there.
fn sound_rows(count: usize, first_row: usize, bad: &[BadValue]) -> Vec<u32> {
    let mut bad = bad.iter().map(|bad| bad.error.row - first_row).peekable();
    let is_sound = |row: &usize| {
        let is_bad = bad.peek() == Some(row);
        while bad.next_if_eq(row).is_some() {}
        !is_bad
    };
    (0..count).filter(is_sound).map(|row| row as u32).collect()
}
