//! Decides what a relation consists of: immutable chunks of columns.
//!
//! A chunk holds up to 65,536 rows. Its columns lie in regions of an arena. Plain ones are handed out as Arrow arrays that
//! keep the memory alive, so that readers copy nothing; of packed ones what is read is unpacked.
//!
//! Each column is either *plain*, an array of values of one width, or *packed* (`packed.rs`) in the encoding that takes the
//! fewest bytes. Packed columns have texts of their own; the long ones of all plain columns share the chunk's heap.
//!
//! Where rows may change, a chunk is a view of a slot (`chunk/hot.rs`) at a moment, as one reader sees it
//! (`chunk/visible.rs`).
//!
//! Not here: how a chunk comes to be (`buffer`, `append`), the making of arrays (`chunk/array.rs`).

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_buffer::Buffer;

use crate::block_ref::StoredBlock;
use crate::packed::PackedColumn;
use crate::row_id::CHUNK_ROWS_MAX;
use crate::statistics::ColumnStatistics;
use crate::typed::Input;
use crate::types::{ColumnType, Physical, Schema};
use crate::values::{Scratch, TextRoom, Values};
use crate::view;

mod array;
mod column_bytes;
pub(crate) mod hot;
pub(crate) mod visible;

pub use array::wrap;
pub use column_bytes::ColumnBytes;
pub use visible::{Stretch, VisibleChunk};

/// Rows whose values can be read column by column, wherever they lie.
pub(crate) trait Stored {
    /// Rows.
    fn rows(&self) -> usize;

    /// How the values of a column are represented.
    fn physical(&self, column: usize) -> Physical;

    /// The stored values of some rows of a column, in `scratch` if they are packed.
    fn values<'a>(&'a self, column: usize, rows: Range<usize>, scratch: &'a mut Scratch) -> Values<'a>;

    /// The bits of a value, of a text those of its view.
    fn bits(&self, column: usize, row: usize) -> u128;

    /// The bytes of a value of a column of texts, in the room if they are compressed.
    fn text<'a>(&'a self, column: usize, row: usize, room: &'a TextRoom) -> &'a [u8];

    /// Validity bits (1 = valid, row r is bit r % 8 of byte r / 8); `None` when no row is NULL.
    fn validity(&self, column: usize) -> Option<&[u8]>;
}

/// A stored value, as one that may be written.
pub(crate) fn stored_value(rows: &impl Stored, row: usize, column: usize) -> Input<'static> {
    if rows.validity(column).is_some_and(|bits| bits[row / 8] >> (row % 8) & 1 == 0) {
        return Input::Null;
    }
    match rows.physical(column) {
        Physical::View => Input::Text(rows.text(column, row, &TextRoom::default()).to_vec().into()),
        _ => Input::Bits(rows.bits(column, row)),
    }
}

impl Stored for Chunk {
    fn rows(&self) -> usize {
        self.rows
    }

    fn physical(&self, column: usize) -> Physical {
        Chunk::physical(self, column)
    }

    fn values<'a>(&'a self, column: usize, rows: Range<usize>, scratch: &'a mut Scratch) -> Values<'a> {
        Chunk::values(self, column, rows, scratch)
    }

    fn bits(&self, column: usize, row: usize) -> u128 {
        match &self.columns[column].values {
            ColumnValues::Plain(values) => Values::of(self.physical(column), values).bits(row),
            ColumnValues::Packed(packed) => packed.bits(row),
        }
    }

    fn text<'a>(&'a self, column: usize, row: usize, room: &'a TextRoom) -> &'a [u8] {
        match &self.columns[column].values {
            ColumnValues::Plain(views) => view::text(&views.as_slice().as_chunks().0[row], &self.heap[0]),
            ColumnValues::Packed(packed) => packed.text(row, room),
        }
    }

    fn validity(&self, column: usize) -> Option<&[u8]> {
        Chunk::validity(self, column)
    }
}

/// An append of fewer rows and fewer bytes altogether goes to a chunk that is there.
pub(crate) const ROWS_WORTH_A_CHUNK: u64 = CHUNK_ROWS_MAX as u64 / 8;
pub(crate) const BYTES_WORTH_A_CHUNK: usize = 4 << 20;

/// Whether so many rows, of so many bytes, are better put behind others than into chunks of their own.
pub(crate) fn is_small(rows: u64, bytes: usize) -> bool {
    rows < ROWS_WORTH_A_CHUNK && bytes < BYTES_WORTH_A_CHUNK
}

/// An immutable horizontal share of a relation.
pub struct Chunk {
    schema: Arc<Schema>,
    rows: usize,
    columns: Vec<ChunkColumn>,
    /// One buffer, the shape in which arrays of views take it.
    heap: Arc<[Buffer]>,
    /// Where it is on disk, if that was written past the log.
    stored: OnceLock<Box<StoredBlock>>,
}

/// A column of a chunk. Its buffers may be longer than the rows need.
pub(crate) struct ChunkColumn {
    pub(crate) values: ColumnValues,
    /// Bit 0 is row 0; `None` when no row is NULL.
    pub(crate) validity: Option<Buffer>,
    pub(crate) statistics: ColumnStatistics,
}

/// The values of a column, one per row.
#[derive(Clone)]
pub(crate) enum ColumnValues {
    /// One after the other, as wide as their type; long texts are in the heap of the chunk.
    Plain(Buffer),
    Packed(Arc<PackedColumn>),
}

impl ColumnValues {
    fn bytes(&self) -> usize {
        match self {
            ColumnValues::Plain(values) => values.len(),
            ColumnValues::Packed(packed) => packed.bytes(),
        }
    }
}

impl fmt::Debug for Chunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunk").field("rows", &self.rows).field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

impl Chunk {
    /// A chunk of these columns.
    ///
    /// # Safety
    ///
    /// Booleans are 0 or 1; views are valid, long ones of plain columns refer to `heap`, those of text columns are UTF-8.
    pub(crate) unsafe fn from_parts(
        schema: Arc<Schema>,
        rows: usize,
        columns: Vec<ChunkColumn>,
        heap: Buffer,
    ) -> Chunk {
        Chunk { schema, rows, columns, heap: Arc::new([heap]), stored: OnceLock::new() }
    }

    /// Where it is on disk, if a load has written it.
    pub(crate) fn stored(&self) -> Option<&StoredBlock> {
        self.stored.get().map(|stored| &**stored)
    }

    /// Takes note of where it is on disk, unless that is known.
    pub(crate) fn set_stored(&self, stored: StoredBlock) {
        self.stored.get_or_init(|| Box::new(stored));
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of values, validity bits and texts that its rows take. The memory behind them may be larger: buffers are
    /// made before the number of rows is known.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let validity_bytes = |column: &ChunkColumn| column.validity.as_ref().map_or(0, Buffer::len);
        let columns: usize = self.columns.iter().map(|column| column.values.bytes() + validity_bytes(column)).sum();
        columns + self.heap[0].len()
    }

    /// The stored values of some rows of a column. Those of a packed column are unpacked to `scratch`.
    ///
    /// # Panics
    ///
    /// When there is no such column, or not as many rows.
    pub fn values<'a>(&'a self, column: usize, rows: Range<usize>, scratch: &'a mut Scratch) -> Values<'a> {
        match &self.columns[column].values {
            ColumnValues::Plain(values) => Values::of(self.physical(column), values).slice(rows.start, rows.len()),
            ColumnValues::Packed(packed) => packed.read(rows, scratch),
        }
    }

    /// The same with the texts that long views refer to.
    ///
    /// # Panics
    ///
    /// When there is no such column, or not as many rows.
    pub fn values_with_texts<'a>(
        &'a self,
        column: usize,
        rows: Range<usize>,
        scratch: &'a mut Scratch,
    ) -> (Values<'a>, &'a [u8]) {
        match &self.columns[column].values {
            ColumnValues::Plain(_) => (self.values(column, rows, scratch), &self.heap[0]),
            ColumnValues::Packed(packed) => packed.read_with_texts(rows, scratch),
        }
    }

    /// A column that is packed; `None` if it is plain.
    #[must_use]
    pub fn packed(&self, column: usize) -> Option<&Arc<PackedColumn>> {
        match &self.columns[column].values {
            ColumnValues::Plain(_) => None,
            ColumnValues::Packed(packed) => Some(packed),
        }
    }

    /// The digits of a plain column of decimals that are stored in 64 bits, one value per row; `None` of any other.
    #[must_use]
    pub fn plain_decimals(&self, column: usize) -> Option<&[i64]> {
        let is_decimal = matches!(self.schema.all_columns()[column].column_type, ColumnType::Decimal { .. });
        match &self.columns[column].values {
            ColumnValues::Plain(values) if is_decimal && self.physical(column) == Physical::I64 => {
                Some(values.typed_data())
            }
            _ => None,
        }
    }

    /// The numbers of a column of UUIDs (`longshore_value::uuid`), if there is one for each row; `None` of any other.
    #[must_use]
    pub fn plain_uuids(&self, column: usize) -> Option<&[i128]> {
        if self.schema.all_columns()[column].column_type != ColumnType::Uuid {
            return None;
        }
        match &self.columns[column].values {
            ColumnValues::Plain(values) => Some(values.typed_data()),
            ColumnValues::Packed(packed) => packed.as_plain().map(Buffer::typed_data),
        }
    }

    /// Bytes of all texts that lie outside of views, as they are read.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        let packed = (0..self.columns.len()).filter_map(|column| self.packed(column));
        self.heap[0].len() + packed.map(|packed| packed.text_bytes()).sum::<usize>()
    }

    /// Bytes that some rows' texts of a column take outside of views; 0 if it has no texts.
    pub(crate) fn long_text_bytes(&self, column: usize, rows: Range<usize>) -> usize {
        match &self.columns[column].values {
            ColumnValues::Packed(packed) => packed.long_text_bytes(rows),
            ColumnValues::Plain(views) if self.physical(column) == Physical::View => {
                view::heap_bytes(&views.typed_data()[rows])
            }
            ColumnValues::Plain(_) => 0,
        }
    }

    /// Validity bits (1 = valid, row r is bit r % 8 of byte r / 8); `None` when no row is NULL.
    #[must_use]
    pub fn validity(&self, column: usize) -> Option<&[u8]> {
        self.columns[column].validity.as_deref()
    }

    /// Counts and bounds of a column.
    #[must_use]
    pub fn statistics(&self, column: usize) -> &ColumnStatistics {
        &self.columns[column].statistics
    }

    pub(crate) fn physical(&self, column: usize) -> Physical {
        self.schema.all_columns()[column].column_type.physical()
    }
}
