//! What a worker fills.
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::arena::Arena;
use crate::chunk::Chunk;
use crate::error::{AppendError, OutOfMemory};
use crate::types::Schema;

/// The most bytes that a heap of long texts may have, because views hold their offsets in 31 bits.
pub const HEAP_BYTES_MAX: usize = i32::MAX as usize;

/// Columns of up to `capacity` rows in the layout of a relation's chunk.
pub struct PartitionBuffer {}

impl PartitionBuffer {
    /// An empty buffer for `rows` rows (at most 65,536) with `heap_bytes` for texts of more than 12 bytes.
    pub fn with_capacity(schema: &Arc<Schema>, rows: usize, heap_bytes: usize, arena: &mut Arena) -> Result<PartitionBuffer, OutOfMemory> { todo!() }
    /// Stops gathering min and max.
    pub fn without_bounds(self) -> PartitionBuffer { todo!() }
    /// A full buffer, or several, of a batch's rows.
    pub fn from_batch(schema: &Arc<Schema>, batch: &RecordBatch, arena: &mut Arena) -> Result<Vec<PartitionBuffer>, AppendError> { todo!() }
    /// The schema.
    pub fn schema(&self) -> &Arc<Schema> { todo!() }
    /// Rows filled.
    pub fn rows(&self) -> usize { todo!() }
    /// Rows there is room for altogether.
    pub fn capacity(&self) -> usize { todo!() }
    /// Bytes of the heap that are filled.
    pub fn heap_used(&self) -> usize { todo!() }
    /// Bytes left in the heap.
    pub fn heap_room(&self) -> usize { todo!() }
    /// Room for the next `rows` rows.
    pub fn spare(&mut self, rows: usize) -> Spare<'_> { todo!() }
    /// Takes in the first rows of the spare ones.
    ///
    /// # Safety
    /// todo
    pub unsafe fn advance(&mut self, rows: usize, nulls: &[usize], heap_used: usize) { todo!() }
    /// Appends rows of a batch; returns how many there was room for.
    pub fn append_batch(&mut self, batch: &RecordBatch, rows: Range<usize>) -> Result<usize, AppendError> { todo!() }
    /// Makes it immutable.
    pub fn seal(self) -> Chunk { todo!() }
}

/// Room for rows to come.
pub struct Spare<'a> {
    /// One per column.
    pub columns: Vec<SpareColumn<'a>>,
    /// The heap, shared by all columns.
    pub heap: SpareHeap<'a>,
}

/// Room for values to come.
pub struct SpareColumn<'a> {
    /// One slot per row.
    pub values: SpareValues<'a>,
    /// Validity bits, preset to ones; the bit of row r is `validity_offset + r`.
    pub validity: &'a mut [u8],
    /// The bit of the first row.
    pub validity_offset: usize,
}

/// Slots by physical type.
pub enum SpareValues<'a> {
    /// Booleans.
    U8(&'a mut [MaybeUninit<u8>]),
    /// 16-bit integers.
    I16(&'a mut [MaybeUninit<i16>]),
    /// 32-bit integers.
    I32(&'a mut [MaybeUninit<i32>]),
    /// 64-bit integers.
    I64(&'a mut [MaybeUninit<i64>]),
    /// 128-bit integers.
    I128(&'a mut [MaybeUninit<i128>]),
    /// 32-bit floats.
    F32(&'a mut [MaybeUninit<f32>]),
    /// 64-bit floats.
    F64(&'a mut [MaybeUninit<f64>]),
    /// String views.
    Views(&'a mut [MaybeUninit<u128>]),
}

/// The heap for texts of more than 12 bytes.
pub struct SpareHeap<'a> {
    /// All of it; the first `used` bytes are filled.
    pub bytes: &'a mut [MaybeUninit<u8>],
    /// Bytes filled so far.
    pub used: usize,
}
