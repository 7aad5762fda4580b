//! Decides what a relation consists of: immutable chunks of columns.
//!
//! A chunk holds up to 65,536 rows. Its columns lie in regions of an arena and are handed out as Arrow arrays that keep
//! the memory alive, so that readers copy nothing. All long texts of a chunk share one heap, data buffer 0 of its views.
//!
//! Where rows may change, a chunk is a view of a slot (`chunk/hot.rs`) at a moment, as one reader sees it
//! (`chunk/visible.rs`).
//!
//! Not here: how a chunk comes to be (`buffer`, `append`), the making of arrays (`chunk/array.rs`).

use std::fmt;
use std::sync::Arc;

use arrow_buffer::Buffer;

use crate::statistics::ColumnStatistics;
use crate::typed::Input;
use crate::types::{Physical, Schema};
use crate::values::Values;
use crate::view;

mod array;
pub(crate) mod hot;
pub(crate) mod visible;

pub use visible::{Stretch, VisibleChunk};

/// Rows whose values can be read column by column, wherever they lie.
pub(crate) trait Stored {
    /// Rows.
    fn rows(&self) -> usize;

    /// The stored values of a column, one per row.
    fn values(&self, column: usize) -> Values<'_>;

    /// Validity bits (1 = valid, row r is bit r % 8 of byte r / 8); `None` when no row is NULL.
    fn validity(&self, column: usize) -> Option<&[u8]>;

    /// The texts that are too long for a view.
    fn heap(&self) -> &[u8];
}

/// A stored value, as one that may be written.
pub(crate) fn stored_value(rows: &impl Stored, row: usize, column: usize) -> Input<'static> {
    if rows.validity(column).is_some_and(|bits| bits[row / 8] >> (row % 8) & 1 == 0) {
        return Input::Null;
    }
    match rows.values(column) {
        Values::U8(values) => Input::Bits(values[row].into()),
        Values::I16(values) => Input::Bits(values[row] as u128),
        Values::I32(values) => Input::Bits(values[row] as u128),
        Values::I64(values) => Input::Bits(values[row] as u128),
        Values::I128(values) => Input::Bits(values[row] as u128),
        Values::F32(values) => Input::Bits(values[row].to_bits().into()),
        Values::F64(values) => Input::Bits(values[row].to_bits().into()),
        Values::Views(values) => {
            let (view, length) = (values[row], view::length(values[row]));
            let text = if length > view::INLINE_BYTES_MAX {
                rows.heap()[view::offset(view)..][..length].to_vec()
            } else {
                view.to_le_bytes()[4..4 + length].to_vec()
            };
            Input::Text(text.into())
        }
    }
}

impl Stored for Chunk {
    fn rows(&self) -> usize {
        self.rows
    }

    fn values(&self, column: usize) -> Values<'_> {
        Chunk::values(self, column)
    }

    fn validity(&self, column: usize) -> Option<&[u8]> {
        Chunk::validity(self, column)
    }

    fn heap(&self) -> &[u8] {
        Chunk::heap(self)
    }
}

/// An immutable horizontal share of a relation.
pub struct Chunk {
    schema: Arc<Schema>,
    rows: usize,
    columns: Vec<ChunkColumn>,
    /// One buffer, the shape in which arrays of views take it.
    heap: Arc<[Buffer]>,
}

/// A column of a chunk. Its buffers may be longer than the rows need.
pub(crate) struct ChunkColumn {
    pub(crate) values: Buffer,
    /// Bit 0 is row 0; `None` when no row is NULL.
    pub(crate) validity: Option<Buffer>,
    pub(crate) statistics: ColumnStatistics,
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
    /// Booleans are 0 or 1; views are valid, long ones refer to `heap`, those of text columns are UTF-8.
    pub(crate) unsafe fn from_parts(
        schema: Arc<Schema>,
        rows: usize,
        columns: Vec<ChunkColumn>,
        heap: Buffer,
    ) -> Chunk {
        Chunk { schema, rows, columns, heap: Arc::new([heap]) }
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
        let columns: usize = self.columns.iter().map(|column| column.values.len() + validity_bytes(column)).sum();
        columns + self.heap().len()
    }

    /// The stored values of a column.
    #[must_use]
    pub fn values(&self, column: usize) -> Values<'_> {
        let values = &self.columns[column].values;
        match self.physical(column) {
            Physical::U8 => Values::U8(values.as_slice()),
            Physical::I16 => Values::I16(values.typed_data()),
            Physical::I32 => Values::I32(values.typed_data()),
            Physical::I64 => Values::I64(values.typed_data()),
            Physical::I128 => Values::I128(values.typed_data()),
            Physical::F32 => Values::F32(values.typed_data()),
            Physical::F64 => Values::F64(values.typed_data()),
            Physical::View => Values::Views(values.typed_data()),
        }
    }

    /// Validity bits (1 = valid, row r is bit r % 8 of byte r / 8); `None` when no row is NULL.
    #[must_use]
    pub fn validity(&self, column: usize) -> Option<&[u8]> {
        self.columns[column].validity.as_deref()
    }

    /// The texts that are too long for a view.
    #[must_use]
    pub fn heap(&self) -> &[u8] {
        &self.heap[0]
    }

    /// Counts and bounds of a column.
    #[must_use]
    pub fn statistics(&self, column: usize) -> &ColumnStatistics {
        &self.columns[column].statistics
    }

    fn physical(&self, column: usize) -> Physical {
        self.schema.columns()[column].column_type.physical()
    }
}
