//! Takes rows of Arrow batches (INSERT, CREATE TABLE AS, IMPORT) into partition buffers.
//!
//! Batches come with exactly the types of the schema, but for arrays, which come as their bytes (`lists`); what SQL asks of stored values beyond that is checked here: NOT
//! NULL, the lengths of texts, the digits of decimals, the form of UUIDs.
//!
//! Not here: casts, which the query engine plans.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::make_view;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use longshore_value::decimal;
use longshore_value::text::{fit_char, fit_varchar};
use longshore_value::uuid::Uuid;

use super::{AppendError, PartitionBuffer, Spare, SpareColumn, SpareHeap};
use crate::arena::Arena;
use crate::row_id::CHUNK_ROWS_MAX;
use crate::typed::{self, NO_TIME, shown};
use crate::types::{Column, ColumnType, Schema, TimeType};
use crate::values::SpareValues;
use crate::view::{self, HEAP_BYTES_MAX, INLINE_BYTES_MAX};

impl PartitionBuffer {
    /// Buffers, each of just the needed size, with all rows of a batch of the schema's Arrow types.
    ///
    /// # Errors
    ///
    /// When a value breaks a rule of its column, or memory is short.
    pub fn from_batch(
        schema: &Arc<Schema>,
        batch: &RecordBatch,
        arena: &mut Arena,
    ) -> Result<Vec<PartitionBuffer>, AppendError> {
        check_types(schema, batch)?;
        let mut buffers = Vec::new();
        let mut row = 0;
        while row < batch.num_rows() {
            let rows = row..batch.num_rows().min(row + CHUNK_ROWS_MAX);
            let (count, heap_bytes) = rows_that_fit(schema, batch, rows.clone(), HEAP_BYTES_MAX);
            if count == 0 {
                let (_, bytes) = rows_that_fit(schema, batch, row..row + 1, usize::MAX);
                return Err(AppendError::RowTooLarge { row, bytes });
            }
            let mut buffer = PartitionBuffer::with_capacity(schema, count, heap_bytes, arena)?;
            row += buffer.append_batch(batch, row..row + count)?;
            buffers.push(buffer);
        }
        Ok(buffers)
    }

    /// Bytes of heap that the rows of a batch of the schema's Arrow types need at most.
    #[must_use]
    pub fn heap_bytes_of(schema: &Schema, batch: &RecordBatch) -> usize {
        rows_that_fit(schema, batch, 0..batch.num_rows(), usize::MAX).1
    }

    /// Appends rows of a batch of the schema's Arrow types, as many as there is room for; says how many. On an error
    /// the buffer is as it was.
    ///
    /// # Errors
    ///
    /// When a value breaks a rule of its column.
    ///
    /// # Panics
    ///
    /// When the batch does not have these rows.
    pub fn append_batch(&mut self, batch: &RecordBatch, rows: Range<usize>) -> Result<usize, AppendError> {
        assert!(rows.end <= batch.num_rows(), "the batch has {} rows", batch.num_rows());
        check_types(&self.schema, batch)?;
        let offered = rows.start..rows.end.min(rows.start + self.capacity() - self.rows());
        let (count, _) = rows_that_fit(&self.schema, batch, offered, self.heap_room());
        let rows = rows.start..rows.start + count;
        let schema = Arc::clone(&self.schema);
        let mut nulls = Vec::with_capacity(schema.all_columns().len());
        let Spare { columns, mut heap } = self.spare(count);
        for ((column, target), array) in schema.all_columns().iter().zip(columns).zip(batch.columns()) {
            nulls.push(Source { column, array, rows: rows.clone() }.write(target, &mut heap)?);
        }
        let heap_used = heap.used;
        // SAFETY: `Source::write` has written every value of these rows, valid by the rules of Arrow arrays, views
        // anew with offsets into the heap, and counted the validity bits it cleared.
        unsafe { self.advance(count, &nulls, heap_used) };
        Ok(count)
    }
}

fn check_types(schema: &Schema, batch: &RecordBatch) -> Result<(), AppendError> {
    let (expected, found) = (schema.all_columns().len(), batch.num_columns());
    if expected != found {
        return Err(AppendError::ColumnCount { expected, found });
    }
    for (column, array) in schema.all_columns().iter().zip(batch.columns()) {
        let expected = match column.column_type {
            // As their bytes.
            ColumnType::Array(..) => DataType::BinaryView,
            column_type => column_type.arrow(),
        };
        if *array.data_type() != expected {
            return Err(AppendError::Type {
                column: column.name.clone(),
                expected: expected.to_string(),
                found: array.data_type().to_string(),
            });
        }
    }
    Ok(())
}

/// How many of the rows have texts that fit in a heap of this room, and how much of it they take.
fn rows_that_fit(schema: &Schema, batch: &RecordBatch, rows: Range<usize>, heap_room: usize) -> (usize, usize) {
    let columns = schema.all_columns().iter().zip(batch.columns());
    let columns: Vec<ViewColumn<'_>> =
        columns.filter_map(|(column, array)| ViewColumn::of(column.column_type, array)).collect();
    let all: usize = columns.iter().map(|texts| texts.heap_bytes(rows.clone())).sum();
    if all <= heap_room {
        return (rows.len(), all);
    }
    let mut bytes = 0;
    for row in rows.clone() {
        let more: usize = columns.iter().map(|texts| texts.heap_bytes(row..row + 1)).sum();
        if bytes + more > heap_room {
            return (row - rows.start, bytes);
        }
        bytes += more;
    }
    (rows.len(), bytes)
}

/// A column of texts or of BYTEA, by its views.
struct ViewColumn<'a> {
    views: &'a [u128],
    nulls: Option<&'a NullBuffer>,
}

impl ViewColumn<'_> {
    /// `None` of values that need no heap.
    fn of(column_type: ColumnType, array: &ArrayRef) -> Option<ViewColumn<'_>> {
        if column_type == ColumnType::Uuid {
            return None;
        }
        let nulls = array.nulls();
        let array = values_of(column_type, array);
        let strings = array.as_string_view_opt().map(|array| &array.views()[..]);
        let views = strings.or_else(|| array.as_binary_view_opt().map(|array| &array.views()[..]))?;
        Some(ViewColumn { views, nulls })
    }

    fn heap_bytes(&self, rows: Range<usize>) -> usize {
        match self.nulls {
            None => view::heap_bytes(&self.views[rows]),
            // What a view says where the row is NULL means nothing.
            Some(nulls) => {
                let valid = rows.filter(|&row| nulls.is_valid(row));
                valid.map(|row| view::heap_bytes(&self.views[row..=row])).sum()
            }
        }
    }
}

/// The values of a column, out of the array that wraps them.
fn values_of(column_type: ColumnType, array: &ArrayRef) -> &ArrayRef {
    array.as_struct_opt().filter(|_| column_type.unwrapped().is_some()).map_or(array, |wrapped| wrapped.column(0))
}

/// Rows of a column of a batch.
struct Source<'a> {
    column: &'a Column,
    array: &'a ArrayRef,
    rows: Range<usize>,
}

impl Source<'_> {
    /// Writes the rows to their slots; says how many are NULL.
    fn write(&self, target: SpareColumn<'_>, heap: &mut SpareHeap<'_>) -> Result<usize, AppendError> {
        let SpareColumn { values, validity, validity_offset, .. } = target;
        let nulls = self.write_validity(validity, validity_offset)?;
        match (values, self.column.column_type) {
            (SpareValues::U8(slots), _) => {
                let bits = self.array.as_boolean().values();
                self.fill(slots, |row| Ok(bits.value(row).into()))?;
            }
            (SpareValues::I16(slots), _) => self.copy::<Int16Type>(slots)?,
            (SpareValues::I32(slots), ColumnType::Date) => self.copy::<Date32Type>(slots)?,
            (SpareValues::I32(slots), _) => self.copy::<Int32Type>(slots)?,
            (SpareValues::I64(slots), ColumnType::Decimal { precision, .. }) => {
                let values = self.array.as_primitive::<Decimal128Type>().values();
                let narrow = |value: i128| decimal::fits(value, precision).then_some(value as i64);
                self.fill(slots, |row| narrow(values[row]).ok_or_else(|| self.invalid_decimal(row)))?;
            }
            (SpareValues::I64(slots), ColumnType::Time | ColumnType::Rounded(TimeType::Time, _)) => {
                self.copy::<Time64MicrosecondType>(slots)?;
            }
            (SpareValues::I64(slots), ColumnType::Timestamp | ColumnType::TimestampTz | ColumnType::Rounded(..)) => {
                self.copy::<TimestampMicrosecondType>(slots)?;
            }
            (SpareValues::I64(slots), _) => self.copy::<Int64Type>(slots)?,
            (SpareValues::I128(slots), ColumnType::Uuid) => {
                let values = self.array.as_string_view();
                self.fill(slots, |row| {
                    let text = values.value(row);
                    Ok(Uuid::parse(text.as_bytes()).map_err(|_| self.invalid(row, text))?.stored())
                })?;
            }
            (SpareValues::I128(slots), column_type) => {
                let values = self.array.as_primitive::<Decimal128Type>().values();
                let precision = if let ColumnType::Decimal { precision, .. } = column_type { precision } else { 38 };
                let whole = |value: i128| decimal::fits(value, precision).then_some(value);
                self.fill(slots, |row| whole(values[row]).ok_or_else(|| self.invalid_decimal(row)))?;
            }
            (SpareValues::F32(slots), _) => self.copy::<Float32Type>(slots)?,
            (SpareValues::F64(slots), _) => self.copy::<Float64Type>(slots)?,
            (SpareValues::Views(slots), ColumnType::Bytea | ColumnType::Array(..)) => {
                let values = self.array.as_binary_view();
                self.fill(slots, |row| Ok(push(heap, values.value(row))))?;
            }
            (SpareValues::Views(slots), ColumnType::Numeric(limit)) => {
                let values = values_of(self.column.column_type, self.array).as_binary_view();
                let mut room = Vec::new();
                self.fill(slots, |row| {
                    let bytes = typed::numeric(values.value(row), limit, &mut room);
                    Ok(push(heap, bytes.map_err(|shown| self.invalid(row, &shown))?))
                })?;
            }
            (SpareValues::Views(slots), column_type) if column_type.time_type().is_some() => {
                let values = values_of(column_type, self.array).as_binary_view();
                self.fill(slots, |row| {
                    let bytes = typed::time(values.value(row), column_type);
                    Ok(push(heap, &bytes.ok_or_else(|| self.invalid(row, NO_TIME))?))
                })?;
            }
            (SpareValues::Views(slots), _) => {
                let values = values_of(self.column.column_type, self.array).as_string_view();
                self.fill(slots, |row| Ok(push(heap, self.fitted(row, values.value(row))?.as_bytes())))?;
            }
        }
        Ok(nulls)
    }

    /// Clears the bits of rows that are NULL; says how many.
    fn write_validity(&self, bits: &mut [u8], offset: usize) -> Result<usize, AppendError> {
        let Some(nulls) = self.nulls() else { return Ok(0) };
        let mut count = 0;
        for row in self.rows.clone().filter(|&row| nulls.is_null(row)) {
            if !self.column.nullable {
                return Err(AppendError::Null { column: self.column.name.clone(), row });
            }
            let bit = offset + row - self.rows.start;
            bits[bit / 8] &= !(1 << (bit % 8));
            count += 1;
        }
        Ok(count)
    }

    fn nulls(&self) -> Option<&NullBuffer> {
        self.array.nulls().filter(|nulls| nulls.null_count() > 0)
    }

    fn copy<T: ArrowPrimitiveType>(&self, slots: &mut [MaybeUninit<T::Native>]) -> Result<(), AppendError>
    where
        T::Native: Default,
    {
        let values = self.array.as_primitive::<T>().values();
        if self.nulls().is_none() {
            slots.write_copy_of_slice(&values[self.rows.clone()]);
            return Ok(());
        }
        self.fill(slots, |row| Ok(values[row]))
    }

    /// Writes a value per row, 0 where it is NULL.
    fn fill<T: Copy + Default>(
        &self,
        slots: &mut [MaybeUninit<T>],
        mut value: impl FnMut(usize) -> Result<T, AppendError>,
    ) -> Result<(), AppendError> {
        let nulls = self.nulls();
        for (slot, row) in slots.iter_mut().zip(self.rows.clone()) {
            let is_null = nulls.is_some_and(|nulls| nulls.is_null(row));
            slot.write(if is_null { T::default() } else { value(row)? });
        }
        Ok(())
    }

    /// A text as its column stores it.
    fn fitted<'t>(&self, row: usize, text: &'t str) -> Result<&'t str, AppendError> {
        let stored = match self.column.column_type {
            ColumnType::Char(n) => fit_char(text, n),
            ColumnType::Varchar(n) => fit_varchar(text, n),
            _ => Some(text),
        };
        stored.ok_or_else(|| AppendError::TooLong {
            column: self.column.name.clone(),
            column_type: self.column.column_type,
            row,
            value: shown(text),
            length: text.chars().count(),
        })
    }

    fn invalid(&self, row: usize, value: &str) -> AppendError {
        AppendError::Invalid {
            column: self.column.name.clone(),
            column_type: self.column.column_type,
            row,
            value: shown(value),
        }
    }

    fn invalid_decimal(&self, row: usize) -> AppendError {
        let value = self.array.as_primitive::<Decimal128Type>().value(row);
        let scale = if let ColumnType::Decimal { scale, .. } = self.column.column_type { scale } else { 0 };
        self.invalid(row, &decimal_text(value, scale.into()))
    }
}

/// All digits of a decimal. (Arrow's own display leaves out those beyond the precision.)
fn decimal_text(value: i128, scale: usize) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let digits = format!("{:0width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let point = if scale > 0 { "." } else { "" };
    format!("{sign}{whole}{point}{fraction}")
}

/// The view of a text, which is copied to the heap if it is long.
fn push(heap: &mut SpareHeap<'_>, text: &[u8]) -> u128 {
    let view = make_view(text, 0, heap.used as u32);
    if text.len() > INLINE_BYTES_MAX {
        heap.bytes[heap.used..heap.used + text.len()].write_copy_of_slice(text);
        heap.used += text.len();
    }
    view
}

#[cfg(test)]
mod tests;
