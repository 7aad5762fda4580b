//! Columns of single rows, which a transaction reads one by one, as Arrow arrays.

use std::sync::Arc;

use arrow_array::builder::{BinaryViewBuilder, BooleanBuilder, PrimitiveBuilder, StringViewBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use longshore_storage::{ColumnType, Datum, Relation, RowId, Transaction, TransactionError, wrap};

/// Columns of rows as a batch.
pub(crate) fn read(
    transaction: &mut Transaction,
    relation: &Relation,
    rows: &[RowId],
    columns: &[usize],
    schema: &SchemaRef,
) -> Result<RecordBatch, TransactionError> {
    let mut arrays = Vec::with_capacity(columns.len());
    for &column in columns {
        arrays.push(values(transaction, relation, rows, column)?);
    }
    Ok(batch(arrays, rows.len(), schema))
}

/// Arrays of the types of `schema` as a batch.
pub(crate) fn batch(arrays: Vec<ArrayRef>, rows: usize, schema: &SchemaRef) -> RecordBatch {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options);
    batch.expect("arrays have the types of their columns")
}

/// A column of rows.
pub(crate) fn values(
    transaction: &mut Transaction,
    relation: &Relation,
    rows: &[RowId],
    column: usize,
) -> Result<ArrayRef, TransactionError> {
    let column_type = relation.schema().columns()[column].column_type;
    let mut cells = Cells { transaction, relation, rows, column, column_type };
    match column_type.unrounded() {
        ColumnType::SmallInt => cells.primitive::<Int16Type>(|value| integer(value).map(|value| value as i16)),
        ColumnType::Integer => cells.primitive::<Int32Type>(|value| integer(value).map(|value| value as i32)),
        ColumnType::BigInt => cells.primitive::<Int64Type>(|value| integer(value).map(|value| value as i64)),
        ColumnType::Date => cells.primitive::<Date32Type>(|value| integer(value).map(|value| value as i32)),
        ColumnType::Time => cells.primitive::<Time64MicrosecondType>(|value| integer(value).map(|value| value as i64)),
        ColumnType::Timestamp | ColumnType::TimestampTz => {
            cells.primitive::<TimestampMicrosecondType>(|value| integer(value).map(|value| value as i64))
        }
        ColumnType::Decimal { .. } => cells.primitive::<Decimal128Type>(integer),
        ColumnType::Real => {
            cells.primitive::<Float32Type>(|value| if let Datum::F32(value) = value { Some(value) } else { None })
        }
        ColumnType::Double => {
            cells.primitive::<Float64Type>(|value| if let Datum::F64(value) = value { Some(value) } else { None })
        }
        ColumnType::Boolean => {
            let mut builder = BooleanBuilder::with_capacity(rows.len());
            cells
                .each(|value| builder.append_option(if let Datum::Bool(value) = value { Some(value) } else { None }))?;
            Ok(Arc::new(builder.finish()))
        }
        ColumnType::Bytea => {
            let mut builder = BinaryViewBuilder::with_capacity(rows.len());
            cells.each(|value| {
                builder.append_option(if let Datum::Bytes(bytes) = value { Some(bytes) } else { None });
            })?;
            Ok(Arc::new(builder.finish()))
        }
        ColumnType::Json | ColumnType::Jsonb => {
            let mut builder = StringViewBuilder::with_capacity(rows.len());
            cells.each(|value| {
                builder.append_option(if let Datum::Text(text) = value { Some(text) } else { None });
            })?;
            Ok(wrap(column_type, Arc::new(builder.finish())))
        }
        ColumnType::Numeric(_)
        | ColumnType::TimeTz
        | ColumnType::Interval
        | ColumnType::Rounded(..)
        | ColumnType::Array(..) => {
            let mut builder = BinaryViewBuilder::with_capacity(rows.len());
            cells.each(|value| {
                builder.append_option(if let Datum::Bytes(bytes) = value { Some(bytes) } else { None });
            })?;
            Ok(wrap(column_type, Arc::new(builder.finish())))
        }
        ColumnType::Uuid => {
            let mut builder = StringViewBuilder::with_capacity(rows.len());
            cells.each(|value| {
                builder.append_option(if let Datum::Uuid(uuid) = value { Some(uuid.to_string()) } else { None });
            })?;
            Ok(Arc::new(builder.finish()))
        }
        ColumnType::Char(_) | ColumnType::Varchar(_) | ColumnType::Text => {
            let mut builder = StringViewBuilder::with_capacity(rows.len());
            cells.each(|value| {
                builder.append_option(if let Datum::Text(text) = value { Some(text) } else { None });
            })?;
            Ok(Arc::new(builder.finish()))
        }
    }
}

/// What is stored as a whole number: the digits of a decimal, the days of a date.
pub(crate) fn integer(value: Datum<'_>) -> Option<i128> {
    match value {
        Datum::I16(value) => Some(value.into()),
        Datum::I32(value) => Some(value.into()),
        Datum::I64(value) => Some(value.into()),
        Datum::I128(value) => Some(value),
        _ => None,
    }
}

/// Values of one column.
struct Cells<'a> {
    transaction: &'a mut Transaction,
    relation: &'a Relation,
    rows: &'a [RowId],
    column: usize,
    column_type: ColumnType,
}

impl Cells<'_> {
    fn each(&mut self, mut take: impl FnMut(Datum<'_>)) -> Result<(), TransactionError> {
        let Self { transaction, relation, rows, column, .. } = self;
        rows.iter().try_for_each(|row| transaction.get_datum(relation, *row, *column, &mut take))
    }

    fn primitive<T: ArrowPrimitiveType>(
        &mut self,
        convert: impl Fn(Datum<'_>) -> Option<T::Native>,
    ) -> Result<ArrayRef, TransactionError> {
        let mut builder =
            PrimitiveBuilder::<T>::with_capacity(self.rows.len()).with_data_type(self.column_type.arrow());
        self.each(|value| builder.append_option(convert(value)))?;
        Ok(Arc::new(builder.finish()))
    }
}
