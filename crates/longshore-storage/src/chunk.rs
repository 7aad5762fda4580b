//! Immutable columns.
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};

use crate::statistics::ColumnStatistics;
use crate::types::Schema;

/// The most rows of a chunk.
pub const CHUNK_ROWS_MAX: usize = 65_536;

/// An immutable horizontal share of a relation.
pub struct Chunk {}

/// The stored values of a column of a chunk, one per row; NULL rows hold 0 or the empty view.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// Booleans, 0 or 1.
    U8(&'a [u8]),
    /// 16-bit integers.
    I16(&'a [i16]),
    /// 32-bit integers.
    I32(&'a [i32]),
    /// 64-bit integers.
    I64(&'a [i64]),
    /// 128-bit integers.
    I128(&'a [i128]),
    /// 32-bit floats.
    F32(&'a [f32]),
    /// 64-bit floats.
    F64(&'a [f64]),
    /// Views; long ones point into the chunk's heap.
    Views(&'a [u128]),
}

impl Chunk {
    /// The schema.
    pub fn schema(&self) -> &Arc<Schema> { todo!() }
    /// Rows.
    pub fn rows(&self) -> usize { todo!() }
    /// Bytes of values, validity bits and heap that are in use.
    pub fn bytes(&self) -> usize { todo!() }
    /// The stored values of a column.
    pub fn values(&self, column: usize) -> Values<'_> { todo!() }
    /// Validity bits (1 = valid, row r is bit r % 8 of byte r / 8); `None` when no row is NULL.
    pub fn validity(&self, column: usize) -> Option<&[u8]> { todo!() }
    /// The texts that are too long for a view.
    pub fn heap(&self) -> &[u8] { todo!() }
    /// Counts and bounds of a column.
    pub fn statistics(&self, column: usize) -> &ColumnStatistics { todo!() }
    /// Rows of a column as an Arrow array.
    pub fn array(&self, column: usize, offset: usize, len: usize) -> ArrayRef { todo!() }
    /// Rows of some columns as a batch.
    pub fn batch(&self, projection: &[usize], offset: usize, len: usize) -> RecordBatch { todo!() }
}
