//! One row as a batch, and sums of its values.

use std::sync::Arc;

use arrow_array::builder::{BinaryViewBuilder, StringViewBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use longshore_storage::{ColumnType, Datum, Relation, RowId, Transaction, TransactionError};

/// Columns of a row as a batch.
pub(super) fn read(
    transaction: &mut Transaction,
    relation: &Relation,
    row: RowId,
    columns: &[usize],
    schema: &SchemaRef,
) -> Result<RecordBatch, TransactionError> {
    let mut arrays = Vec::with_capacity(columns.len());
    for &column in columns {
        let column_type = relation.schema().columns()[column].column_type;
        arrays.push(transaction.get_datum(relation, row, column, |value| array(value, column_type))?);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let batch = RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options);
    Ok(batch.expect("arrays have the types of their columns"))
}

/// A value of a column of this type as an array of one.
fn array(value: Datum<'_>, column_type: ColumnType) -> ArrayRef {
    let integer = match value {
        Datum::I16(value) => Some(i64::from(value)),
        Datum::I32(value) => Some(i64::from(value)),
        Datum::I64(value) => Some(value),
        _ => None,
    };
    match column_type {
        ColumnType::Boolean => {
            let value = if let Datum::Bool(value) = value { Some(value) } else { None };
            Arc::new(BooleanArray::from(vec![value]))
        }
        ColumnType::SmallInt => one::<Int16Type>(integer.map(|value| value as i16), column_type),
        ColumnType::Integer => one::<Int32Type>(integer.map(|value| value as i32), column_type),
        ColumnType::BigInt => one::<Int64Type>(integer, column_type),
        ColumnType::Date => one::<Date32Type>(integer.map(|value| value as i32), column_type),
        ColumnType::Time => one::<Time64MicrosecondType>(integer, column_type),
        ColumnType::Timestamp | ColumnType::TimestampTz => one::<TimestampMicrosecondType>(integer, column_type),
        ColumnType::Decimal { .. } => {
            let digits = if let Datum::I128(value) = value { Some(value) } else { integer.map(i128::from) };
            one::<Decimal128Type>(digits, column_type)
        }
        ColumnType::Real => {
            let value = if let Datum::F32(value) = value { Some(value) } else { None };
            one::<Float32Type>(value, column_type)
        }
        ColumnType::Double => {
            let value = if let Datum::F64(value) = value { Some(value) } else { None };
            one::<Float64Type>(value, column_type)
        }
        ColumnType::Bytea => {
            let mut builder = BinaryViewBuilder::with_capacity(1);
            builder.append_option(if let Datum::Bytes(bytes) = value { Some(bytes) } else { None });
            Arc::new(builder.finish())
        }
        ColumnType::Char(_) | ColumnType::Varchar(_) | ColumnType::Text | ColumnType::Uuid => {
            let mut builder = StringViewBuilder::with_capacity(1);
            builder.append_option(if let Datum::Text(text) = value { Some(text) } else { None });
            Arc::new(builder.finish())
        }
    }
}

fn one<T: ArrowPrimitiveType>(value: Option<T::Native>, column_type: ColumnType) -> ArrayRef {
    let array: PrimitiveArray<T> = std::iter::once(value).collect();
    Arc::new(array.with_data_type(column_type.arrow()))
}

/// The value of a column and another one, added or taken away as integers; `None` where that is not plain.
pub(super) fn sum(
    transaction: &mut Transaction,
    relation: &Relation,
    row: RowId,
    column: usize,
    other: Datum<'_>,
    operation: fn(i64, i64) -> Option<i64>,
) -> Result<Option<Datum<'static>>, TransactionError> {
    transaction.get_datum(relation, row, column, |value| match (value, other) {
        (Datum::Null, _) | (_, Datum::Null) => Some(Datum::Null),
        (Datum::I64(left), Datum::I64(right)) => operation(left, right).map(Datum::I64),
        (Datum::I32(left), Datum::I32(right)) => {
            operation(left.into(), right.into()).and_then(|sum| i32::try_from(sum).ok()).map(Datum::I32)
        }
        (Datum::I16(left), Datum::I16(right)) => {
            operation(left.into(), right.into()).and_then(|sum| i16::try_from(sum).ok()).map(Datum::I16)
        }
        _ => None,
    })
}
