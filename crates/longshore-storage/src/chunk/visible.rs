//! What a view sees of a chunk: the chunk as it is, and an overlay where the view sees something else.
//!
//! Source: the thesis, 2.2.6. Ranges that the view sees as they are cost one test per array and are not copied; in
//! others the values are copied and patched. Rows that the view does not see stay in the arrays and are told of by
//! [`VisibleChunk::visible`], so that whoever scans drops them together with those that a predicate refuses.
//!
//! Made at once, under the slot's latch; it holds all it needs, whatever becomes of the versions.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer};

use super::{Chunk, ColumnValues};
use crate::packed::PackedColumn;
use crate::row_id::RowId;
use crate::statistics::ColumnStatistics;
use crate::statistics::bounds::Bounds;
use crate::values::{Scratch, Values};

mod overlay;

pub(crate) use overlay::Overlay;
use overlay::Patch;

/// A part of a column as a view sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stretch {
    /// Rows whose values the chunk holds.
    Stored(Range<usize>),
    /// A row whose value is another one: its bytes, of which there are as many as the type has; `None` is NULL.
    Patched(usize, Option<[u8; 16]>),
}

/// A chunk as a view sees it.
#[derive(Clone)]
pub struct VisibleChunk {
    chunk: Arc<Chunk>,
    slot: u32,
    overlay: Option<Arc<Overlay>>,
}

impl fmt::Debug for VisibleChunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VisibleChunk")
            .field("chunk", &self.chunk)
            .field("clean", &self.is_clean())
            .finish_non_exhaustive()
    }
}

impl VisibleChunk {
    pub(crate) fn new(chunk: Arc<Chunk>, slot: u32, overlay: Option<Arc<Overlay>>) -> VisibleChunk {
        VisibleChunk { chunk, slot, overlay }
    }

    /// The chunk, with rows and values in it that the view does not see unless [`VisibleChunk::is_clean`].
    #[must_use]
    pub fn chunk(&self) -> &Arc<Chunk> {
        &self.chunk
    }

    /// Whether the view sees just what the chunk holds.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.overlay.is_none()
    }

    /// Rows of the chunk, seen or not: those that offsets count.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.chunk.rows()
    }

    /// Rows that the view sees.
    #[must_use]
    pub fn visible_rows(&self) -> usize {
        self.chunk.rows() - self.overlay.as_ref().map_or(0, |overlay| overlay.hidden_rows())
    }

    /// The id of a row of the chunk.
    #[must_use]
    pub fn row_id(&self, offset: usize) -> RowId {
        RowId::new(self.slot as usize, offset)
    }

    /// Which of rows `offset..offset + len` the view sees; `None` if all of them.
    ///
    /// # Panics
    ///
    /// When there are not as many.
    #[must_use]
    pub fn visible(&self, offset: usize, len: usize) -> Option<BooleanBuffer> {
        assert!(offset + len <= self.rows(), "rows {offset} to {} of {}", offset + len, self.rows());
        let overlay = self.overlay.as_ref().filter(|overlay| overlay.hidden_rows() > 0)?;
        if overlay.next(offset, true) >= offset + len {
            return None;
        }
        Some(BooleanBuffer::collect_bool(len, |row| !overlay.hides(offset + row)))
    }

    /// Rows `offset..offset + len` of a column as the view sees them, as [`Chunk::array`] has them. What rows hold that
    /// are not seen means nothing. Nothing of a plain column is copied unless one of the values is another one for the view.
    ///
    /// # Panics
    ///
    /// When there is no such column, or not as many rows.
    #[must_use]
    pub fn array(&self, column: usize, offset: usize, len: usize) -> ArrayRef {
        self.array_of_wanted(column, offset, len, None)
    }

    /// The same where only some of the rows are wanted, those with a bit. What others hold means nothing, either: their
    /// texts need not be decompressed.
    ///
    /// # Panics
    ///
    /// When there is no such column, not as many rows, or not a bit for each.
    #[must_use]
    pub fn array_of_wanted(
        &self,
        column: usize,
        offset: usize,
        len: usize,
        wanted: Option<&BooleanBuffer>,
    ) -> ArrayRef {
        match self.patched(column, offset, len) {
            None => self.chunk.array_of_wanted(column, offset, len, wanted),
            Some((values, validity)) => self.chunk.array_of(column, &values, validity.as_ref(), 0, len),
        }
    }

    /// Whether the view sees the values of rows `offset..offset + len` of a column as the chunk holds them.
    #[must_use]
    pub fn is_stored(&self, column: usize, offset: usize, len: usize) -> bool {
        self.overlay.as_ref().is_none_or(|overlay| overlay.patches_of(column, offset, len).is_empty())
    }

    /// Rows `offset..offset + len` of a column as stretches of values that are stored as the view sees them, and the
    /// single values between them that it sees otherwise; rows that it does not see are left out. So a scan tests
    /// nothing along a stretch, and copies nothing.
    ///
    /// # Panics
    ///
    /// When there is no such column, or not as many rows.
    #[inline]
    pub fn stretches(&self, column: usize, offset: usize, len: usize) -> impl Iterator<Item = Stretch> + '_ {
        assert!(offset + len <= self.rows(), "rows {offset} to {} of {}", offset + len, self.rows());
        let overlay = self.overlay.as_deref();
        let mut patches = overlay.map_or(&[][..], |overlay| overlay.patches_of(column, offset, len)).iter();
        let mut patch = patches.next();
        let (mut at, end) = (offset, offset + len);
        std::iter::from_fn(move || {
            let from = overlay.map_or(at, |overlay| overlay.next(at, false));
            if from >= end {
                return None;
            }
            while patch.is_some_and(|patch| patch.row() < from) {
                patch = patches.next();
            }
            match patch {
                Some(&is) if is.row() == from => {
                    at = from + 1;
                    patch = patches.next();
                    Some(Stretch::Patched(from, (!is.is_null()).then(|| is.bytes())))
                }
                _ => {
                    let hidden = overlay.map_or(end, |overlay| overlay.next(from, true));
                    at = end.min(hidden).min(patch.map_or(end, Patch::row));
                    Some(Stretch::Stored(from..at))
                }
            }
        })
    }

    /// Patched copies of the values of some rows, and of their validity bits; `None` if nothing is to be patched. A column
    /// of which there are versions is plain: it is unpacked before the first change.
    fn patched(&self, column: usize, offset: usize, len: usize) -> Option<(Buffer, Option<Buffer>)> {
        assert!(offset + len <= self.rows(), "rows {offset} to {} of {}", offset + len, self.rows());
        let patches = self.overlay.as_ref()?.patches_of(column, offset, len);
        if patches.is_empty() {
            return None;
        }
        let ColumnValues::Plain(stored) = &self.chunk.columns[column].values else {
            unreachable!("a packed column has no versions")
        };
        let width = self.chunk.physical(column).width();
        let mut values = MutableBuffer::with_capacity(len * width);
        values.extend_from_slice(&stored.as_slice()[offset * width..(offset + len) * width]);
        let validity = self.chunk.validity(column);
        let is_null = |row: usize| validity.is_some_and(|bits| bits[row / 8] >> (row % 8) & 1 == 0);
        let mut bits: Option<Vec<u8>> = None;
        if validity.is_some() || patches.iter().any(Patch::is_null) {
            let mut copy = vec![0xFF_u8; len.div_ceil(8)];
            (0..len).filter(|&row| is_null(offset + row)).for_each(|row| copy[row / 8] &= !(1 << (row % 8)));
            bits = Some(copy);
        }
        for patch in patches {
            let row = patch.row() - offset;
            values.as_slice_mut()[row * width..][..width].copy_from_slice(&patch.bytes()[..width]);
            if let Some(bits) = &mut bits {
                bits[row / 8] = bits[row / 8] & !(1 << (row % 8)) | u8::from(!patch.is_null()) << (row % 8);
            }
        }
        Some((values.into(), bits.map(Buffer::from_vec)))
    }

    /// Counts and bounds of a column over the rows that the view sees. The counts are exact; the bounds hold, but are
    /// exact only if the view sees just what the chunk holds.
    ///
    /// # Panics
    ///
    /// When there is no such column.
    #[must_use]
    pub fn statistics(&self, column: usize) -> ColumnStatistics {
        let mut statistics = self.chunk.statistics(column).clone();
        let Some(overlay) = &self.overlay else { return statistics };
        let validity = self.chunk.validity(column);
        let is_null = |row: usize| validity.is_some_and(|bits| bits[row / 8] >> (row % 8) & 1 == 0);
        if statistics.null_count > 0 && overlay.hidden_rows() > 0 {
            statistics.null_count -=
                (0..overlay.rows()).filter(|&row| overlay.hides(row) && is_null(row)).count() as u64;
        }
        for patch in overlay.patches(column).iter().filter(|patch| !overlay.hides(patch.row())) {
            statistics.null_count += u64::from(patch.is_null());
            statistics.null_count -= u64::from(is_null(patch.row()));
        }
        statistics.row_count = self.visible_rows() as u64;
        statistics.exact = false;
        if statistics.null_count == statistics.row_count {
            (statistics.min, statistics.max) = (None, None);
        }
        statistics
    }

    /// A chunk of just what the view sees: the chunk itself if that is all, else a copy.
    #[must_use]
    pub fn settled(&self) -> Arc<Chunk> {
        let Some(overlay) = &self.overlay else { return Arc::clone(&self.chunk) };
        let kept: Vec<u32> = (0..self.rows()).filter(|&row| !overlay.hides(row)).map(|row| row as u32).collect();
        self.chunk_of((0..overlay.columns()).map(|column| self.settled_column(column, &kept)).collect(), kept.len())
    }

    /// The same with every row at its place: rows that the view does not see hold values of others that it sees, or what
    /// they held in columns of which every value is one.
    pub(crate) fn settled_in_place(&self) -> Arc<Chunk> {
        let Some(overlay) = &self.overlay else { return Arc::clone(&self.chunk) };
        // What is packed has no versions, and so nothing that was not committed.
        let mut last = overlay.next(0, false);
        let kept: Vec<u32> = (0..self.rows())
            .map(|row| {
                if !overlay.hides(row) {
                    last = row;
                }
                last as u32
            })
            .collect();
        let column = |column: usize| {
            let stored = &self.chunk.columns[column];
            match &stored.values {
                ColumnValues::Packed(packed) => super::ChunkColumn {
                    values: ColumnValues::Packed(Arc::clone(packed)),
                    validity: stored.validity.clone(),
                    statistics: self.statistics_of_all(column, packed),
                },
                ColumnValues::Plain(_) => self.settled_column(column, &kept),
            }
        };
        self.chunk_of((0..overlay.columns()).map(column).collect(), self.rows())
    }

    /// A chunk some of whose rows are not there, and may hold anything, as [`VisibleChunk::settled_in_place`] has it.
    pub(crate) fn settled_without(chunk: Arc<Chunk>, gone: impl ExactSizeIterator<Item = usize>) -> Arc<Chunk> {
        if gone.len() == 0 || gone.len() == chunk.rows() {
            return chunk;
        }
        let mut overlay = Overlay::new(chunk.rows(), chunk.schema().all_columns().len(), &[], 0);
        gone.for_each(|row| overlay.hide(row, true));
        VisibleChunk::new(chunk, 0, overlay.finish().map(Arc::new)).settled_in_place()
    }

    /// Counts and bounds of a packed column over all rows: those that the view does not see may hold anything.
    fn statistics_of_all(&self, column: usize, packed: &PackedColumn) -> ColumnStatistics {
        let (stored, described) = (self.chunk.statistics(column), &self.chunk.schema().all_columns()[column]);
        let mut bounds = Bounds::of_statistics(stored, described.column_type.physical());
        bounds.merge(&packed.bounds(self.chunk.validity(column), &mut Scratch::default()));
        let mut statistics = bounds.statistics(described.column_type, self.rows() as u64, stored.null_count);
        statistics.exact = false;
        statistics
    }

    /// Rows that the view does not see, in ascending order.
    pub(crate) fn hidden(&self) -> impl Iterator<Item = usize> + '_ {
        let overlay = self.overlay.as_deref().filter(|overlay| overlay.hidden_rows() > 0);
        (0..self.rows()).filter(move |&row| overlay.is_some_and(|overlay| overlay.hides(row)))
    }

    /// A chunk with the heap of this one.
    fn chunk_of(&self, columns: Vec<super::ChunkColumn>, rows: usize) -> Arc<Chunk> {
        let heap = self.chunk.heap[0].clone();
        // SAFETY: the values are those of a valid chunk, with the same heap, but for packed columns, which have texts of
        // their own; patches were values of it.
        Arc::new(unsafe { Chunk::from_parts(Arc::clone(self.chunk.schema()), rows, columns, heap) })
    }

    fn settled_column(&self, column: usize, kept: &[u32]) -> super::ChunkColumn {
        let (values, validity) = self.patched(column, 0, self.rows()).map_or_else(
            || (self.chunk.columns[column].values.clone(), self.chunk.columns[column].validity.clone()),
            |(values, validity)| (ColumnValues::Plain(values), validity),
        );
        let mut statistics = self.statistics(column);
        let is_null = |row: u32| validity.as_ref().is_some_and(|bits| bits[row as usize / 8] >> (row % 8) & 1 == 0);
        statistics.row_count = kept.len() as u64;
        statistics.null_count = kept.iter().filter(|&&row| is_null(row)).count() as u64;
        let values = match values {
            ColumnValues::Packed(packed) => ColumnValues::Packed(Arc::new(packed.picked(kept))),
            ColumnValues::Plain(values) => {
                ColumnValues::Plain(Values::of(self.chunk.physical(column), &values).picked(kept))
            }
        };
        let validity = validity.filter(|_| statistics.null_count > 0).map(|bits| {
            let mut picked = vec![0xFF_u8; kept.len().div_ceil(8)];
            for (to, &from) in kept.iter().enumerate() {
                if bits[from as usize / 8] >> (from % 8) & 1 == 0 {
                    picked[to / 8] &= !(1 << (to % 8));
                }
            }
            Buffer::from_vec(picked)
        });
        super::ChunkColumn { values, validity, statistics }
    }
}
