//! What a reader sees of a relation, for as long as he likes.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::distinct_counts::{DistinctCounts, KeptCounts};
use crate::chunk::{Chunk, VisibleChunk};
use crate::row_id::RowId;
use crate::statistics::ColumnStatistics;
use crate::types::Schema;

/// The rows of a relation at one moment, as one view sees them. It holds all it needs: what transactions do afterwards
/// does not matter to it.
pub struct Snapshot {
    schema: Arc<Schema>,
    pieces: Vec<VisibleChunk>,
    rows: u64,
    settled: OnceLock<Vec<Arc<Chunk>>>,
    /// The slot and the number of each piece, by slot: pieces lie in the order of rows, slots are taken again in any.
    slots: OnceLock<Vec<(usize, usize)>>,
    kept_counts: Arc<KeptCounts>,
    /// Those of the kept ones that were good enough when somebody first asked.
    distinct_counts: OnceLock<Arc<DistinctCounts>>,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("pieces", &self.pieces.len()).field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Snapshot {
    pub(super) fn new(schema: Arc<Schema>, pieces: Vec<VisibleChunk>, kept_counts: Arc<KeptCounts>) -> Snapshot {
        let rows = pieces.iter().map(|piece| piece.visible_rows() as u64).sum();
        let (settled, slots, distinct_counts) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Snapshot { schema, pieces, rows, settled, slots, kept_counts, distinct_counts }
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The chunks, in row order, for scans that know of rows not to be seen.
    #[must_use]
    pub fn pieces(&self) -> &[VisibleChunk] {
        &self.pieces
    }

    /// Where a row lies: the number of the piece and the offset there; `None` if no piece has it. It may be one that is
    /// not seen.
    #[must_use]
    pub fn find(&self, row: RowId) -> Option<(usize, usize)> {
        let slots = self.slots.get_or_init(|| {
            let mut slots: Vec<_> = self.pieces.iter().map(|piece| piece.row_id(0).chunk()).zip(0..).collect();
            slots.sort_unstable();
            slots
        });
        let at = slots.binary_search_by_key(&row.chunk(), |(slot, _)| *slot).ok()?;
        let (_, piece) = slots[at];
        (row.row() < self.pieces[piece].rows()).then_some((piece, row.row()))
    }

    /// Chunks of just the rows that are seen, in row order; none is empty. Those in which rows were changed or deleted
    /// are copied at the first call.
    #[must_use]
    pub fn chunks(&self) -> &[Arc<Chunk>] {
        self.settled.get_or_init(|| self.pieces.iter().map(VisibleChunk::settled).collect())
    }

    /// Rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes of values, validity bits and texts.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.pieces.iter().map(|piece| piece.chunk().bytes()).sum()
    }

    /// What these would be if all columns were plain.
    #[must_use]
    pub fn bytes_if_plain(&self) -> usize {
        self.pieces.iter().map(|piece| piece.chunk().bytes_if_plain()).sum()
    }

    /// Counts and bounds of a column over all chunks.
    ///
    /// # Panics
    ///
    /// When there is no such column.
    #[must_use]
    pub fn statistics(&self, column: usize) -> ColumnStatistics {
        let mut merged = ColumnStatistics::default();
        for piece in &self.pieces {
            if piece.is_clean() {
                merged.merge(piece.chunk().statistics(column));
            } else {
                merged.merge(&piece.statistics(column));
            }
        }
        merged
    }

    /// About how many distinct values a column has, NULL aside: an estimate, never more than the rows that have a value,
    /// and not 0 if there is one. It may be that of the rows a few seconds ago. Nothing may be answered from it.
    ///
    /// Who asks first looks at some rows of the column, at most 131,072 of them.
    ///
    /// # Panics
    ///
    /// When there is no such column.
    #[must_use]
    pub fn distinct_count(&self, column: usize) -> u64 {
        let nulls = |piece: &VisibleChunk| {
            if piece.is_clean() {
                piece.chunk().statistics(column).null_count
            } else {
                piece.statistics(column).null_count
            }
        };
        let with_value = self.rows - self.pieces.iter().map(nulls).sum::<u64>();
        if with_value <= 1 {
            return with_value;
        }
        let counts =
            self.distinct_counts.get_or_init(|| self.kept_counts.of(&self.pieces, self.schema.all_columns().len()));
        counts.of_column(column, &self.pieces).clamp(1, with_value)
    }
}
