//! Decides how rows are gathered before they are part of a relation: the partition buffer of *Instant Loading*, 3.5.
//!
//! One worker fills a buffer, without locks, in the layout that a chunk has, so that merging by chunk is only to give it
//! away. Whoever fills it (a parser, the native format) writes straight into its spare slots; validity bits are set to
//! ones in advance, so that only NULLs cost anything. The heap of long texts lies behind the columns, at the end of what
//! is allocated, and gives its unused rest back when the buffer is sealed.
//!
//! Not here: Arrow batches as a source (`buffer/batch.rs`), merging (`append`).

use std::fmt;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::Buffer;

use crate::arena::{Arena, Region};
use crate::chunk::{Chunk, ChunkColumn, ColumnValues, Stored};
use crate::memory::OutOfMemory;
use crate::packed::{self, Known, Packer, SpareCodes, TextCodes};
use crate::row_id::CHUNK_ROWS_MAX;
use crate::statistics::ColumnStatistics;
use crate::statistics::bounds::Bounds;
use crate::types::{ColumnType, Physical, Schema};
use crate::values::{Scratch, SpareValues, TextRoom, Values};
use crate::view::{self, HEAP_BYTES_MAX};

mod batch;
mod error;
mod reject;
mod texts;

pub use error::AppendError;

/// Bytes behind the last value of a column.
pub(crate) const COLUMN_SLACK_BYTES: usize = 64;

/// Columns of up to `capacity` rows, in the layout of a relation's chunk.
pub struct PartitionBuffer {
    schema: Arc<Schema>,
    capacity: usize,
    rows: usize,
    columns: Vec<ColumnBuffer>,
    heap: Region,
    /// Not the size of the region, which has at least a byte.
    heap_bytes: usize,
    heap_used: usize,
    /// What the columns' statistics are known to be, instead of what is gathered.
    known: Option<Vec<ColumnStatistics>>,
    /// Rows were taken out again, so that bounds are wider than they need be.
    has_lost_rows: bool,
}

struct ColumnBuffer {
    physical: Physical,
    values: Region,
    /// Written as far as the rows that were spared so far.
    validity: Region,
    nulls: usize,
    bounds: Bounds,
    /// Which of a few texts each row has, as long as that is asked and told.
    codes: Option<TextCodes>,
}

impl fmt::Debug for PartitionBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionBuffer")
            .field("rows", &self.rows)
            .field("capacity", &self.capacity)
            .field("heap_used", &self.heap_used)
            .field("heap_bytes", &self.heap_bytes)
            .finish_non_exhaustive()
    }
}

/// Room for rows to come.
#[derive(Debug)]
pub struct Spare<'a> {
    /// One per column.
    pub columns: Vec<SpareColumn<'a>>,
    /// The heap, shared by all columns.
    pub heap: SpareHeap<'a>,
}

/// Room for values to come.
#[derive(Debug)]
pub struct SpareColumn<'a> {
    /// One slot per row.
    pub values: SpareValues<'a>,
    /// Validity bits (1 = valid), preset to ones; the bit of row r of the spare rows is `validity_offset + r`. Bits
    /// before that belong to rows already filled.
    pub validity: &'a mut [u8],
    /// The bit of the first spare row, less than 8.
    pub validity_offset: usize,
    /// Room for the codes of texts, if somebody asks for them. Whoever fills it says so; nobody has to.
    pub codes: Option<SpareCodes<'a>>,
}

/// The heap for texts of more than 12 bytes.
#[derive(Debug)]
pub struct SpareHeap<'a> {
    /// All of it; the first `used` bytes are filled and must stay as they are.
    pub bytes: &'a mut [MaybeUninit<u8>],
    /// Bytes filled so far.
    pub used: usize,
}

impl PartitionBuffer {
    /// An empty buffer for `rows` rows with `heap_bytes` for texts of more than 12 bytes (at most [`HEAP_BYTES_MAX`]
    /// are taken).
    ///
    /// # Errors
    ///
    /// When the memory limit is hit.
    ///
    /// # Panics
    ///
    /// When `rows` is more than [`CHUNK_ROWS_MAX`].
    pub fn with_capacity(
        schema: &Arc<Schema>,
        rows: usize,
        heap_bytes: usize,
        arena: &mut Arena,
    ) -> Result<PartitionBuffer, OutOfMemory> {
        assert!(rows <= CHUNK_ROWS_MAX, "a chunk has at most {CHUNK_ROWS_MAX} rows, not {rows}");
        let heap_bytes = heap_bytes.min(HEAP_BYTES_MAX);
        let mut columns = Vec::with_capacity(schema.all_columns().len());
        for column in schema.all_columns() {
            let physical = column.column_type.physical();
            columns.push(ColumnBuffer {
                physical,
                values: arena.allocate(rows * physical.width() + COLUMN_SLACK_BYTES)?,
                validity: arena.allocate(rows.div_ceil(8))?,
                nulls: 0,
                bounds: Bounds::new(physical),
                codes: None,
            });
        }
        // Last, so that its rest can be given back.
        let heap = arena.allocate(heap_bytes)?;
        Ok(PartitionBuffer {
            schema: Arc::clone(schema),
            capacity: rows,
            rows: 0,
            columns,
            heap,
            heap_bytes,
            heap_used: 0,
            known: None,
            has_lost_rows: false,
        })
    }

    /// Does without minimum and maximum, for rows that nobody will skip by them.
    #[must_use]
    pub fn without_bounds(mut self) -> PartitionBuffer {
        for column in &mut self.columns {
            column.bounds = Bounds::Off;
        }
        self
    }

    /// Does without gathering minimum and maximum: the statistics of all rows there will be are known already.
    #[must_use]
    pub(crate) fn with_statistics(self, known: Vec<ColumnStatistics>) -> PartitionBuffer {
        PartitionBuffer { known: Some(known), ..self.without_bounds() }
    }

    /// Has it ask for the codes of texts, for packing.
    #[must_use]
    pub(crate) fn with_codes(mut self) -> PartitionBuffer {
        assert_eq!(self.rows, 0, "codes are of all rows");
        for column in self.columns.iter_mut().filter(|column| column.physical == Physical::View) {
            column.codes = Some(TextCodes::with_capacity(self.capacity));
        }
        self
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Rows filled.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Rows there is room for altogether.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes of the heap that are filled.
    #[must_use]
    pub fn heap_used(&self) -> usize {
        self.heap_used
    }

    /// Bytes left in the heap.
    #[must_use]
    pub fn heap_room(&self) -> usize {
        self.heap_bytes - self.heap_used
    }

    /// Room for the next `rows` rows. They become part of the buffer by [`PartitionBuffer::advance`]; until then the same
    /// room is offered again.
    ///
    /// # Panics
    ///
    /// When there are not as many left.
    pub fn spare(&mut self, rows: usize) -> Spare<'_> {
        assert!(rows <= self.capacity - self.rows, "{rows} rows do not fit behind {} of {}", self.rows, self.capacity);
        let filled = self.rows;
        let columns = self
            .columns
            .iter_mut()
            .map(|column| SpareColumn {
                values: SpareValues::of(column.physical, &mut column.values, filled, rows),
                validity: preset_validity(&mut column.validity, filled, rows),
                validity_offset: filled % 8,
                codes: column.codes.as_mut().map(|codes| codes.spare(rows)),
            })
            .collect();
        let heap = SpareHeap { bytes: self.heap.spare(0, self.heap_bytes), used: self.heap_used };
        Spare { columns, heap }
    }

    /// Takes the first `rows` of the spare rows into the buffer. `nulls` counts the NULLs among them per column,
    /// `heap_used` the bytes of the heap filled by now.
    ///
    /// # Safety
    ///
    /// Since the last call of [`PartitionBuffer::spare`], for at least as many rows:
    /// - every value of these rows has been written; booleans are 0 or 1;
    /// - views are valid: those of up to 12 bytes hold them inline, padded with zeros, others have a prefix, data buffer
    ///   0 and a range within the first `heap_used` bytes of the heap; of a text column they are UTF-8, or the buffer is
    ///   asked by [`PartitionBuffer::are_texts`] before anything else is done with it, and dropped if they are not;
    /// - what views refer to in the heap has been written;
    /// - where codes were said to stand for texts, every code has been written, is less than the number of these texts, and
    ///   stands for the text of its row, the empty one if that is NULL; the texts are valid views as well;
    /// - as many validity bits of a column have been cleared as `nulls` says, all of them of these rows.
    ///
    /// # Panics
    ///
    /// When the counts cannot be right.
    pub unsafe fn advance(&mut self, rows: usize, nulls: &[usize], heap_used: usize) {
        assert!(rows <= self.capacity - self.rows, "no more rows than were spared");
        assert_eq!(nulls.len(), self.columns.len(), "one count per column");
        assert!((self.heap_used..=self.heap_bytes).contains(&heap_used), "the heap only grows");
        for ((column, &nulls), described) in self.columns.iter_mut().zip(nulls).zip(self.schema.all_columns()) {
            assert!(nulls <= rows, "no more NULLs than rows");
            if let ColumnType::Rounded(of, digits) = described.column_type
                && let SpareValues::I64(slots) = SpareValues::of(column.physical, &mut column.values, self.rows, rows)
            {
                for slot in slots {
                    // SAFETY: the caller has written the values.
                    let micros = unsafe { slot.assume_init() };
                    slot.write(of.round(micros, digits).unwrap_or(micros));
                }
            }
            // SAFETY: the caller has written the values, and `spare` the validity bits.
            let (values, validity) = unsafe {
                let validity = column.validity.values::<u8>(0, (self.rows + rows).div_ceil(8));
                (values_of(column.physical, &column.values, self.rows, rows), validity)
            };
            column.bounds.add(values, (nulls > 0).then_some((validity, self.rows)));
            column.nulls += nulls;
            // SAFETY: if there are codes, the caller has written them.
            if column.codes.as_mut().is_some_and(|codes| !unsafe { codes.advance(rows) }) {
                column.codes = None;
            }
        }
        self.rows += rows;
        self.heap_used = heap_used;
    }

    /// Gives the rest of the heap back to the arena, for a buffer that is kept for a while before it is sealed. To be
    /// called before anything else is allocated; no text of more than 12 bytes finds room any more.
    pub fn release_heap(&mut self) {
        self.heap.shrink(self.heap_used);
        self.heap_bytes = self.heap_used;
    }

    /// Bytes that its rows take.
    pub(crate) fn bytes(&self) -> usize {
        self.columns.iter().map(|column| self.rows * column.physical.width()).sum::<usize>() + self.heap_used
    }

    /// Makes a chunk of packed columns, in memory of another arena. That of the buffer is free then.
    pub(crate) fn pack(mut self, packer: &mut Packer, arena: &mut Arena) -> Result<Chunk, OutOfMemory> {
        let mut columns = Vec::with_capacity(self.columns.len());
        for (column, statistics) in self.statistics().into_iter().enumerate() {
            let ColumnBuffer { bounds, codes, .. } = &mut self.columns[column];
            let known = Known { bounds: bounds.whole(), codes: codes.take() };
            let validity = Stored::validity(&self, column);
            let packed = packer.pack_known(self.column_values(column), validity, self.texts(), known, arena)?;
            let values = ColumnValues::Packed(Arc::new(packed));
            let validity = validity.map(|bits| packed::copy_of(bits, arena)).transpose()?;
            columns.push(ChunkColumn { values, validity, statistics });
        }
        let heap = Buffer::from_vec(Vec::<u8>::new());
        // SAFETY: packing keeps the values, and `advance` was told that booleans and views are valid.
        Ok(unsafe { Chunk::from_parts(Arc::clone(&self.schema), self.rows, columns, heap) })
    }

    /// Counts and bounds of the columns.
    fn statistics(&mut self) -> Vec<ColumnStatistics> {
        if self.has_lost_rows {
            self.gather_bounds();
        }
        if let Some(known) = self.known.take() {
            return known;
        }
        let columns = self.columns.iter().zip(self.schema.all_columns());
        let statistics = columns.map(|(column, described)| {
            column.bounds.statistics(described.column_type, self.rows as u64, column.nulls as u64)
        });
        statistics.collect()
    }

    /// Makes it immutable. The rest of the heap goes back to the arena.
    #[must_use]
    pub fn seal(mut self) -> Chunk {
        self.heap.shrink(self.heap_used);
        let (rows, statistics) = (self.rows, self.statistics());
        let columns = self.columns.iter().zip(statistics).map(|(column, statistics)| {
            // SAFETY: `advance` was told that the values are written, `spare` wrote the validity bits, and with the
            // buffer gone nobody writes them again.
            let (values, validity) = unsafe {
                let validity = (column.nulls > 0).then(|| column.validity.buffer(rows.div_ceil(8)));
                (column.values.buffer(rows * column.physical.width()), validity)
            };
            ChunkColumn { values: ColumnValues::Plain(values), validity, statistics }
        });
        let columns = columns.collect();
        // SAFETY: as for the values.
        let heap = unsafe { self.heap.buffer(self.heap_used) };
        // SAFETY: `advance` was told that booleans and views are valid and that the latter refer to the heap.
        unsafe { Chunk::from_parts(Arc::clone(&self.schema), rows, columns, heap) }
    }
}

impl PartitionBuffer {
    /// The values of a column.
    fn column_values(&self, column: usize) -> Values<'_> {
        let column = &self.columns[column];
        // SAFETY: `advance` was told that they are written; who writes more has the buffer for himself.
        unsafe { values_of(column.physical, &column.values, 0, self.rows) }
    }

    /// The heap as far as it is filled.
    fn texts(&self) -> &[u8] {
        // SAFETY: `advance` was told that what is filled was written; who writes more has the buffer for himself.
        unsafe { self.heap.values::<u8>(0, self.heap_used) }
    }

    /// Gathers the bounds of the rows that there are.
    fn gather_bounds(&mut self) {
        for column in self.columns.iter_mut().filter(|column| !matches!(column.bounds, Bounds::Off)) {
            // SAFETY: `advance` was told that the values are written, and `spare` wrote the validity bits.
            let (values, validity) = unsafe {
                let validity = column.validity.values::<u8>(0, self.rows.div_ceil(8));
                (values_of(column.physical, &column.values, 0, self.rows), validity)
            };
            column.bounds = Bounds::new(column.physical);
            column.bounds.add(values, (column.nulls > 0).then_some((validity, 0)));
        }
    }
}

impl Stored for PartitionBuffer {
    fn rows(&self) -> usize {
        self.rows
    }

    fn physical(&self, column: usize) -> Physical {
        self.columns[column].physical
    }

    fn values<'a>(&'a self, column: usize, rows: Range<usize>, _: &'a mut Scratch) -> Values<'a> {
        self.column_values(column).slice(rows.start, rows.len())
    }

    fn bits(&self, column: usize, row: usize) -> u128 {
        self.column_values(column).bits(row)
    }

    fn text<'a>(&'a self, column: usize, row: usize, _: &'a TextRoom) -> &'a [u8] {
        // SAFETY: as above.
        let views = unsafe { self.columns[column].values.values::<u8>(0, self.rows * size_of::<u128>()) };
        view::text(&views.as_chunks().0[row], self.texts())
    }

    fn validity(&self, column: usize) -> Option<&[u8]> {
        let column = &self.columns[column];
        // SAFETY: `spare` wrote the bits of all rows that `advance` took.
        (column.nulls > 0).then(|| unsafe { column.validity.values::<u8>(0, self.rows.div_ceil(8)) })
    }
}

/// Values `from..from + count` of a column.
///
/// # Safety
///
/// They have been written, and nobody writes them as long as the borrow lasts.
unsafe fn values_of(physical: Physical, region: &Region, from: usize, count: usize) -> Values<'_> {
    // SAFETY: the caller's promise.
    unsafe {
        match physical {
            Physical::U8 => Values::U8(region.values(from, count)),
            Physical::I16 => Values::I16(region.values(from, count)),
            Physical::I32 => Values::I32(region.values(from, count)),
            Physical::I64 => Values::I64(region.values(from, count)),
            Physical::I128 => Values::I128(region.values(from, count)),
            Physical::F32 => Values::F32(region.values(from, count)),
            Physical::F64 => Values::F64(region.values(from, count)),
            Physical::View => Values::Views(region.values(from, count)),
        }
    }
}

/// Sets the bits of `count` rows from row `filled` on; the slice begins with the byte of row `filled`.
fn preset_validity(region: &mut Region, filled: usize, count: usize) -> &mut [u8] {
    let first = filled / 8;
    let bytes = region.spare::<u8>(first, (filled + count).div_ceil(8) - first);
    let mut fresh = 0;
    if let Some(shared) = bytes.first_mut()
        && !filled.is_multiple_of(8)
    {
        // SAFETY: the byte holds bits of rows that are filled, and was written when they were spared.
        let bits = unsafe { shared.assume_init() };
        shared.write(bits | 0xFF << (filled % 8));
        fresh = 1;
    }
    bytes[fresh..].fill(MaybeUninit::new(0xFF));
    // SAFETY: all of them have just been written.
    unsafe { bytes.assume_init_mut() }
}

#[cfg(test)]
mod tests;
