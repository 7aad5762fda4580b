//! Rows of a chunk as Arrow arrays.
//!
//! Most plain columns are stored as Arrow has them, and an array is a reference to them. Three are converted, a batch at a
//! time, because they are stored more tightly or more handily than Arrow allows: BOOLEAN (bytes become bits), DECIMAL of
//! up to 18 digits (64 become 128 bits; `DataFusion` computes wrongly with 64-bit decimals) and UUID (16 bytes become a
//! text of 36: the query engine knows UUIDs as texts).
//!
//! Packed columns are unpacked a batch at a time, as far as the rows that are asked for. Texts are not copied unless they
//! are compressed: the views refer to the column's heap.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::make_view;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType,
};
use arrow_array::{
    ArrayRef, BinaryViewArray, BooleanArray, Decimal128Array, PrimitiveArray, RecordBatch, RecordBatchOptions,
    StringViewArray, StructArray,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use longshore_value::uuid::{UUID_TEXT_BYTES, Uuid};

use super::{Chunk, ChunkColumn, ColumnValues};
use crate::lists;
use crate::packed::PackedColumn;
use crate::types::{ColumnType, Physical};
use crate::values::Values;

impl Chunk {
    /// Rows `offset..offset + len` of a column, of the type that [`ColumnType::arrow`] says. Nothing of a plain column is
    /// copied except for BOOLEAN, UUID and DECIMAL of up to 18 digits.
    ///
    /// # Panics
    ///
    /// When there is no such column, or not as many rows.
    #[must_use]
    pub fn array(&self, column: usize, offset: usize, len: usize) -> ArrayRef {
        self.array_of_wanted(column, offset, len, None)
    }

    /// The same where only some of the rows are wanted, those with a bit. What others have means nothing; their texts need
    /// not be decompressed.
    pub(super) fn array_of_wanted(
        &self,
        column: usize,
        offset: usize,
        len: usize,
        wanted: Option<&BooleanBuffer>,
    ) -> ArrayRef {
        assert!(offset + len <= self.rows, "rows {offset} to {} of {}", offset + len, self.rows);
        let ChunkColumn { values, validity, .. } = &self.columns[column];
        if let Some(stored) = self.plain_uuids(column) {
            return uuids(&stored[offset..offset + len], nulls(validity.as_ref(), offset, len), wanted);
        }
        match values {
            ColumnValues::Plain(values) => self.array_of(column, values, validity.as_ref(), offset, len),
            ColumnValues::Packed(packed) => {
                let nulls = nulls(validity.as_ref(), offset, len);
                self.unpacked_array(column, packed, offset..offset + len, wanted, nulls)
            }
        }
    }

    /// The values of some rows of a column, in the order given, as [`Chunk::array`] has them: nothing else is unpacked.
    ///
    /// # Panics
    ///
    /// When there is no such column, or not as many rows.
    #[must_use]
    pub fn array_of_rows(&self, column: usize, rows: &[u32]) -> ArrayRef {
        let ChunkColumn { values, validity, .. } = &self.columns[column];
        let valid = validity.as_ref().map(|bits| {
            let bits = BooleanBuffer::new(bits.clone(), 0, self.rows);
            BooleanBuffer::collect_bool(rows.len(), |at| bits.value(rows[at] as usize)).into_inner()
        });
        let nulls = nulls(valid.as_ref(), 0, rows.len());
        match values {
            ColumnValues::Plain(values) => {
                let picked = Values::of(self.physical(column), values).picked(rows);
                self.array_with(column, &picked, nulls, 0..rows.len(), &self.heap)
            }
            ColumnValues::Packed(packed) => {
                self.unpacked_array(column, &packed.picked(rows), 0..rows.len(), None, nulls)
            }
        }
    }

    /// The values that the codes of a packed column stand for, that of code 0 first, none of them NULL; there are as many as
    /// [`PackedColumn::entries`] says. `None` if that says nothing, or the column is plain.
    ///
    /// # Panics
    ///
    /// When there is no such column.
    #[must_use]
    pub fn entries(&self, column: usize) -> Option<ArrayRef> {
        let packed = self.packed(column)?;
        let count = packed.entries()?;
        Some(self.array_with(column, &packed.entry_values(), None, 0..count, packed.heap_buffers()))
    }

    fn unpacked_array(
        &self,
        column: usize,
        packed: &PackedColumn,
        rows: Range<usize>,
        wanted: Option<&BooleanBuffer>,
        nulls: Option<NullBuffer>,
    ) -> ArrayRef {
        match self.schema.all_columns()[column].column_type {
            ColumnType::Boolean if let Some(bits) = packed.as_bits() => {
                Arc::new(BooleanArray::new(BooleanBuffer::new(bits.clone(), rows.start, rows.len()), nulls))
            }
            _ if let Some(values) = packed.as_plain() => {
                self.array_with(column, values, nulls, rows, packed.heap_buffers())
            }
            column_type @ ColumnType::Decimal { .. } => {
                let values = ScalarBuffer::from(packed.unpack_decimals(rows));
                Arc::new(Decimal128Array::new(values, nulls).with_data_type(column_type.arrow()))
            }
            _ => {
                let count = rows.len();
                let (values, heap) = packed.unpack_to_buffers(rows, wanted);
                self.array_with(column, &values, nulls, 0..count, &heap)
            }
        }
    }

    /// The same as [`Chunk::array`] for plain values, of which the chunk's heap has the long texts.
    pub(super) fn array_of(
        &self,
        column: usize,
        values: &Buffer,
        validity: Option<&Buffer>,
        offset: usize,
        len: usize,
    ) -> ArrayRef {
        self.array_with(column, values, nulls(validity, offset, len), offset..offset + len, &self.heap)
    }

    /// The same with the NULLs of just these rows; `heap` has the long texts.
    fn array_with(
        &self,
        column: usize,
        values: &Buffer,
        nulls: Option<NullBuffer>,
        rows: Range<usize>,
        heap: &Arc<[Buffer]>,
    ) -> ArrayRef {
        let (offset, len) = (rows.start, rows.len());
        let column_type = self.schema.all_columns()[column].column_type;
        match column_type.unrounded() {
            ColumnType::Boolean => {
                let values = &values.as_slice()[offset..offset + len];
                let bits = BooleanBuffer::collect_bool(len, |row| values[row] != 0);
                Arc::new(BooleanArray::new(bits, nulls))
            }
            ColumnType::SmallInt => primitive::<Int16Type>(column_type, shared(values, offset, len), nulls),
            ColumnType::Integer => primitive::<Int32Type>(column_type, shared(values, offset, len), nulls),
            ColumnType::BigInt => primitive::<Int64Type>(column_type, shared(values, offset, len), nulls),
            ColumnType::Real => primitive::<Float32Type>(column_type, shared(values, offset, len), nulls),
            ColumnType::Double => primitive::<Float64Type>(column_type, shared(values, offset, len), nulls),
            ColumnType::Date => primitive::<Date32Type>(column_type, shared(values, offset, len), nulls),
            ColumnType::Time => primitive::<Time64MicrosecondType>(column_type, shared(values, offset, len), nulls),
            ColumnType::Timestamp | ColumnType::TimestampTz => {
                primitive::<TimestampMicrosecondType>(column_type, shared(values, offset, len), nulls)
            }
            ColumnType::Decimal { .. } => {
                let values = if column_type.physical() == Physical::I64 {
                    let values: &[i64] = values.typed_data();
                    values[offset..offset + len].iter().map(|&value| value.into()).collect()
                } else {
                    shared::<i128>(values, offset, len)
                };
                Arc::new(Decimal128Array::new(values, nulls).with_data_type(column_type.arrow()))
            }
            ColumnType::Uuid => uuids(&values.typed_data()[offset..offset + len], nulls, None),
            ColumnType::Char(_) | ColumnType::Varchar(_) | ColumnType::Text => {
                strings(shared(values, offset, len), Arc::clone(heap), nulls)
            }
            ColumnType::Bytea => binary(shared(values, offset, len), Arc::clone(heap), nulls),
            ColumnType::Json | ColumnType::Jsonb => {
                wrap(column_type, strings(shared(values, offset, len), Arc::clone(heap), nulls))
            }
            ColumnType::Numeric(_)
            | ColumnType::TimeTz
            | ColumnType::Interval
            | ColumnType::Array(..)
            | ColumnType::Rounded(..) => {
                wrap(column_type, binary(shared(values, offset, len), Arc::clone(heap), nulls))
            }
        }
    }

    /// Rows `offset..offset + len` of some columns, in the order of the projection, which may be empty.
    ///
    /// # Panics
    ///
    /// When there is no such column, or not as many rows.
    #[must_use]
    pub fn batch(&self, projection: &[usize], offset: usize, len: usize) -> RecordBatch {
        assert!(offset + len <= self.rows, "rows {offset} to {} of {}", offset + len, self.rows);
        let schema = self.schema.all_arrow();
        let schema = if projection.iter().copied().eq(0..schema.fields().len()) {
            schema
        } else {
            Arc::new(schema.project(projection).expect("the columns exist"))
        };
        let arrays = projection.iter().map(|&column| self.array(column, offset, len)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(len));
        RecordBatch::try_new_with_options(schema, arrays, &options).expect("the arrays have the types of the schema")
    }
}

/// Values of a type for which Arrow has none ([`ColumnType::unwrapped`]) in the array that readers get; others as they are.
#[must_use]
pub fn wrap(column_type: ColumnType, values: ArrayRef) -> ArrayRef {
    match column_type.arrow() {
        DataType::Struct(fields) => {
            let nulls = values.nulls().cloned();
            Arc::new(StructArray::new(fields, vec![values], nulls))
        }
        list @ DataType::List(_) => lists::decode(values.as_binary_view(), &list),
        _ => values,
    }
}

fn strings(views: ScalarBuffer<u128>, heap: Arc<[Buffer]>, nulls: Option<NullBuffer>) -> ArrayRef {
    if cfg!(debug_assertions) {
        return Arc::new(StringViewArray::try_new(views, heap, nulls).expect("a chunk's texts are valid"));
    }
    // SAFETY: a chunk's views are valid, refer to its heap, and are UTF-8 (`Chunk::from_parts`).
    Arc::new(unsafe { StringViewArray::new_unchecked(views, heap, nulls) })
}

/// The texts of UUIDs, of those rows that are wanted; empty ones of others, and where there is no value.
fn uuids(stored: &[i128], nulls: Option<NullBuffer>, wanted: Option<&BooleanBuffer>) -> ArrayRef {
    let is_wanted =
        |row| wanted.is_none_or(|wanted| wanted.value(row)) && nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    let count = wanted.map_or(stored.len(), BooleanBuffer::count_set_bits);
    let mut heap = Vec::with_capacity(count * UUID_TEXT_BYTES);
    let view = |(row, &stored): (usize, &i128)| {
        if !is_wanted(row) {
            return 0;
        }
        let text = Uuid::of_stored(stored).text();
        let view = make_view(&text, 0, heap.len() as u32);
        heap.extend_from_slice(&text);
        view
    };
    let views: ScalarBuffer<u128> = stored.iter().enumerate().map(view).collect();
    strings(views, Arc::new([Buffer::from_vec(heap)]), nulls)
}

fn binary(views: ScalarBuffer<u128>, heap: Arc<[Buffer]>, nulls: Option<NullBuffer>) -> ArrayRef {
    if cfg!(debug_assertions) {
        return Arc::new(BinaryViewArray::try_new(views, heap, nulls).expect("a chunk's views are valid"));
    }
    // SAFETY: a chunk's views are valid and refer to its heap (`Chunk::from_parts`).
    Arc::new(unsafe { BinaryViewArray::new_unchecked(views, heap, nulls) })
}

fn nulls(bits: Option<&Buffer>, offset: usize, len: usize) -> Option<NullBuffer> {
    let nulls = NullBuffer::new(BooleanBuffer::new(bits?.clone(), offset, len));
    (nulls.null_count() > 0).then_some(nulls)
}

fn shared<T: ArrowNativeType>(values: &Buffer, offset: usize, len: usize) -> ScalarBuffer<T> {
    ScalarBuffer::new(values.clone(), offset, len)
}

fn primitive<T: ArrowPrimitiveType>(
    column_type: ColumnType,
    values: ScalarBuffer<T::Native>,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let array = PrimitiveArray::<T>::new(values, nulls);
    let data_type = column_type.arrow();
    // Only time zones go beyond what the type parameter says.
    if matches!(data_type, DataType::Timestamp(_, Some(_))) {
        Arc::new(array.with_data_type(data_type))
    } else {
        Arc::new(array)
    }
}
