//! Decodes the rows of pieces into partition buffers, sized from an estimate of the rows to come.
//!
//! Not here: what becomes of the buffers (`load` merges them, `infer` keeps them until the types are known).

use std::sync::Arc;

use longshore_csv::{PADDING, Rows};
use longshore_storage::{Arena, BufferPacking, CHUNK_ROWS_MAX, PartitionBuffer, Schema};

use crate::fields::{BadValue, DecodeError, FieldPlan, TextMemos};
use crate::piece::Piece;

/// Room that a partition buffer gets beyond the estimate of its rows: one part in this many.
const ESTIMATE_SLACK: usize = 64;

/// Decodes rows of a piece into partition buffers.
pub(crate) struct RowDecoder<'a> {
    pub(crate) plan: &'a FieldPlan,
    /// The columns that the plan fills.
    pub(crate) schema: &'a Arc<Schema>,
    /// Bytes of the span from the piece on.
    pub(crate) bytes_left: usize,
    pub(crate) buffers: &'a mut Vec<PartitionBuffer>,
    /// What packs the buffers, if they are kept, and what is remembered of the last one.
    pub(crate) packing: Option<(&'a BufferPacking, &'a mut TextMemos)>,
    pub(crate) arena: &'a mut Arena,
}

impl RowDecoder<'_> {
    /// Decodes `rows`, which are of `piece`, into the last buffer, and into new ones as each is full. With `bad`, rows
    /// with bad fields go there; the first of `rows` counts as row 0. Returns how many rows were taken.
    ///
    /// # Errors
    /// The first bad field, without `bad`; lack of memory; a text that changed meanwhile.
    pub(crate) fn decode(
        self,
        mut rows: Rows<'_>,
        piece: &Piece<'_>,
        mut bad: Option<&mut Vec<BadValue>>,
    ) -> Result<usize, DecodeError> {
        let RowDecoder { plan, schema, bytes_left, buffers, mut packing, arena } = self;
        let (mut row, mut taken) = (0, 0);
        while !rows.is_empty() {
            let heap_due = plan.heap_bytes(&rows);
            let room = match buffers.last() {
                Some(buffer) if buffer.heap_room() >= heap_due => buffer.capacity() - buffer.rows(),
                _ => 0,
            };
            if room == 0 {
                if let Some(full) = buffers.last_mut() {
                    full.release_heap();
                }
                let estimate = estimate_rows(rows.count(), piece, bytes_left);
                let pieces = bytes_left / piece.bytes.max(1) + 1;
                // Also for the rows of the last piece that do not fit.
                let growth = (estimate + rows.count()) * plan.row_growth();
                let heap_bytes = heap_due.max(bytes_left + growth + PADDING + pieces * plan.constant_bytes());
                let buffer = PartitionBuffer::with_capacity(schema, estimate, heap_bytes, arena)
                    .map_err(|error| DecodeError::Other(error.into()))?;
                buffers.push(match &mut packing {
                    Some((packing, memos)) => {
                        memos.clear();
                        packing.prepare(buffer)
                    }
                    None => buffer,
                });
                continue;
            }
            let (fitting, rest) = rows.split_at(room.min(rows.count()));
            let buffer = buffers.last_mut().expect("there is room in it");
            let before = buffer.rows();
            let memos = packing.as_mut().map(|(_, memos)| &mut **memos);
            match &mut bad {
                None => plan.decode(fitting, piece, buffer, memos)?,
                Some(bad) => plan.decode_lenient(&fitting, row, piece, buffer, bad, memos)?,
            }
            taken += buffer.rows() - before;
            row += fitting.count();
            rows = rest;
        }
        Ok(taken)
    }
}

/// How many rows the rest of a span has, about: `rows_left` of the current piece, and what its other bytes suggest.
fn estimate_rows(rows_left: usize, piece: &Piece<'_>, bytes_left: usize) -> usize {
    let piece_rows = piece.rows.count().max(1);
    let behind = bytes_left.saturating_sub(piece.bytes);
    let later = behind.saturating_mul(piece_rows) / piece.bytes.max(1);
    let estimate = rows_left + later + later / ESTIMATE_SLACK + usize::from(behind > 0);
    estimate.min(CHUNK_ROWS_MAX)
}
