//! Rows of a chunk as Arrow arrays.
//!
//! Most columns are stored as Arrow has them, and an array is a reference to them. Two are converted, a batch at a time,
//! because they are stored more tightly or more handily than Arrow allows: BOOLEAN (bytes become bits) and DECIMAL of up
//! to 18 digits (64 become 128 bits; `DataFusion` computes wrongly with 64-bit decimals).

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType,
};
use arrow_array::{
    ArrayRef, BinaryViewArray, BooleanArray, Decimal128Array, PrimitiveArray, RecordBatch, RecordBatchOptions,
    StringViewArray,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;

use super::{Chunk, Values};
use crate::types::ColumnType;

impl Chunk {
    /// Rows `offset..offset + len` of a column, of the type that [`ColumnType::arrow`] says. Nothing is copied except
    /// for BOOLEAN and DECIMAL of up to 18 digits.
    ///
    /// # Panics
    ///
    /// When there is no such column, or not as many rows.
    #[must_use]
    pub fn array(&self, column: usize, offset: usize, len: usize) -> ArrayRef {
        assert!(offset + len <= self.rows, "rows {offset} to {} of {}", offset + len, self.rows);
        let nulls = self.nulls(column, offset, len);
        let column_type = self.schema.columns()[column].column_type;
        match column_type {
            ColumnType::Boolean => {
                let values = match self.values(column) {
                    Values::U8(values) => &values[offset..offset + len],
                    _ => unreachable!("booleans are stored as bytes"),
                };
                let bits = BooleanBuffer::collect_bool(len, |row| values[row] != 0);
                Arc::new(BooleanArray::new(bits, nulls))
            }
            ColumnType::SmallInt => self.primitive::<Int16Type>(column, offset, len, nulls),
            ColumnType::Integer => self.primitive::<Int32Type>(column, offset, len, nulls),
            ColumnType::BigInt => self.primitive::<Int64Type>(column, offset, len, nulls),
            ColumnType::Real => self.primitive::<Float32Type>(column, offset, len, nulls),
            ColumnType::Double => self.primitive::<Float64Type>(column, offset, len, nulls),
            ColumnType::Date => self.primitive::<Date32Type>(column, offset, len, nulls),
            ColumnType::Time => self.primitive::<Time64MicrosecondType>(column, offset, len, nulls),
            ColumnType::Timestamp | ColumnType::TimestampTz => {
                self.primitive::<TimestampMicrosecondType>(column, offset, len, nulls)
            }
            ColumnType::Decimal { .. } => {
                let values = match self.values(column) {
                    Values::I64(values) => values[offset..offset + len].iter().map(|&value| value.into()).collect(),
                    _ => self.shared::<i128>(column, offset, len),
                };
                Arc::new(Decimal128Array::new(values, nulls).with_data_type(column_type.arrow()))
            }
            ColumnType::Char(_) | ColumnType::Varchar(_) | ColumnType::Text | ColumnType::Uuid => {
                self.strings(column, offset, len, nulls)
            }
            ColumnType::Bytea => self.binary(column, offset, len, nulls),
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
        let schema = self.schema.arrow();
        let schema = if projection.iter().copied().eq(0..schema.fields().len()) {
            schema
        } else {
            Arc::new(schema.project(projection).expect("the columns exist"))
        };
        let arrays = projection.iter().map(|&column| self.array(column, offset, len)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(len));
        RecordBatch::try_new_with_options(schema, arrays, &options).expect("the arrays have the types of the schema")
    }

    fn nulls(&self, column: usize, offset: usize, len: usize) -> Option<NullBuffer> {
        let bits = self.columns[column].validity.as_ref()?;
        let nulls = NullBuffer::new(BooleanBuffer::new(bits.clone(), offset, len));
        (nulls.null_count() > 0).then_some(nulls)
    }

    fn shared<T: ArrowNativeType>(&self, column: usize, offset: usize, len: usize) -> ScalarBuffer<T> {
        ScalarBuffer::new(self.columns[column].values.clone(), offset, len)
    }

    fn primitive<T: ArrowPrimitiveType>(
        &self,
        column: usize,
        offset: usize,
        len: usize,
        nulls: Option<NullBuffer>,
    ) -> ArrayRef {
        let array = PrimitiveArray::<T>::new(self.shared(column, offset, len), nulls);
        let data_type = self.schema.columns()[column].column_type.arrow();
        // Only time zones go beyond what the type parameter says.
        if matches!(data_type, DataType::Timestamp(_, Some(_))) {
            Arc::new(array.with_data_type(data_type))
        } else {
            Arc::new(array)
        }
    }

    fn strings(&self, column: usize, offset: usize, len: usize, nulls: Option<NullBuffer>) -> ArrayRef {
        let (views, heap) = (self.shared(column, offset, len), Arc::clone(&self.heap));
        if cfg!(debug_assertions) {
            return Arc::new(StringViewArray::try_new(views, heap, nulls).expect("a chunk's texts are valid"));
        }
        // SAFETY: a chunk's views are valid, refer to its heap, and are UTF-8 (`Chunk::from_parts`).
        Arc::new(unsafe { StringViewArray::new_unchecked(views, heap, nulls) })
    }

    fn binary(&self, column: usize, offset: usize, len: usize, nulls: Option<NullBuffer>) -> ArrayRef {
        let (views, heap) = (self.shared(column, offset, len), Arc::clone(&self.heap));
        if cfg!(debug_assertions) {
            return Arc::new(BinaryViewArray::try_new(views, heap, nulls).expect("a chunk's views are valid"));
        }
        // SAFETY: a chunk's views are valid and refer to its heap (`Chunk::from_parts`).
        Arc::new(unsafe { BinaryViewArray::new_unchecked(views, heap, nulls) })
    }
}
