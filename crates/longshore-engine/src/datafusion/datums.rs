//! Values of arrays as storage has them.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use longshore_storage::{ColumnType, Datum, Physical};

/// A value of an array that has the Arrow type of `column_type`.
pub(crate) fn datum(array: &ArrayRef, column_type: ColumnType, row: usize) -> Datum<'_> {
    if array.is_null(row) {
        return Datum::Null;
    }
    match array.data_type() {
        DataType::Boolean => Datum::Bool(array.as_boolean().value(row)),
        DataType::Int16 => Datum::I16(array.as_primitive::<Int16Type>().value(row)),
        DataType::Int32 => Datum::I32(array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => Datum::I64(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float32 => Datum::F32(array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => Datum::F64(array.as_primitive::<Float64Type>().value(row)),
        DataType::Date32 => Datum::I32(array.as_primitive::<Date32Type>().value(row)),
        DataType::Time64(_) => Datum::I64(array.as_primitive::<Time64MicrosecondType>().value(row)),
        DataType::Timestamp(..) => Datum::I64(array.as_primitive::<TimestampMicrosecondType>().value(row)),
        DataType::Decimal128(..) => {
            let digits = array.as_primitive::<Decimal128Type>().value(row);
            match i64::try_from(digits) {
                Ok(short) if column_type.physical() == Physical::I64 => Datum::I64(short),
                _ => Datum::I128(digits),
            }
        }
        DataType::BinaryView => Datum::Bytes(array.as_binary_view().value(row)),
        // Of a type that Arrow has not.
        DataType::Struct(_) => datum(array.as_struct().column(0), column_type, row),
        _ => Datum::Text(array.as_string_view().value(row)),
    }
}
