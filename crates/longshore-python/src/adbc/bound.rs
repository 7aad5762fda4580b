//! Rows of Arrow as values of parameters: one set for each row.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use longshore_engine::{Texts, TypeId, is_null};

use super::abi::{INVALID_ARGUMENT, NOT_IMPLEMENTED};
use super::problem::Problem;
use crate::parameters::{Parameters, Value};

/// The values of all rows, in the order of the parameters: by the names of the columns where the parameters have names, else
/// by their places.
pub(super) fn parameters(
    names: &[String],
    schema: &SchemaRef,
    batches: &[RecordBatch],
) -> Result<Vec<Parameters>, Problem> {
    let place = |name: &String| {
        let missing = |_| Problem::new(INVALID_ARGUMENT, format!("no column has the values of the parameter ${name}"));
        schema.index_of(name).map_err(missing)
    };
    let places = if names.is_empty() {
        (0..schema.fields().len()).collect()
    } else {
        names.iter().map(place).collect::<Result<Vec<_>, _>>()?
    };
    let mut rows = Vec::new();
    for batch in batches {
        let columns = places.iter().map(|at| values(batch.column(*at))).collect::<Result<Vec<_>, _>>()?;
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        rows.extend((0..batch.num_rows()).map(|_| columns.iter_mut().filter_map(Iterator::next).collect()));
    }
    Ok(rows)
}

/// All values of an array, each with the OID of its type.
fn values(array: &ArrayRef) -> Result<Parameters, Problem> {
    let oid = TypeId::of_values(array.data_type()).oid;
    Ok(match array.data_type() {
        DataType::Null => vec![(0, Value::Null); array.len()],
        DataType::Boolean => each(array, oid, |row| Value::Bool(array.as_boolean().value(row))),
        // There is no smaller value of a parameter than that of an integer.
        DataType::Int8 => small::<Int8Type>(array),
        DataType::Int16 => small::<Int16Type>(array),
        DataType::Int32 => small::<Int32Type>(array),
        DataType::UInt8 => small::<UInt8Type>(array),
        DataType::UInt16 => small::<UInt16Type>(array),
        DataType::UInt32 => each(array, oid, |row| Value::I64(array.as_primitive::<UInt32Type>().value(row).into())),
        DataType::Int64 => each(array, oid, |row| Value::I64(array.as_primitive::<Int64Type>().value(row))),
        DataType::Float32 => {
            let double = TypeId::of_values(&DataType::Float64).oid;
            each(array, double, |row| Value::F64(array.as_primitive::<Float32Type>().value(row).into()))
        }
        DataType::Float64 => each(array, oid, |row| Value::F64(array.as_primitive::<Float64Type>().value(row))),
        // A text means what the statement says, like those of Python.
        DataType::Utf8 => each(array, 0, |row| text(array.as_string::<i32>().value(row))),
        DataType::LargeUtf8 => each(array, 0, |row| text(array.as_string::<i64>().value(row))),
        DataType::Utf8View => each(array, 0, |row| text(array.as_string_view().value(row))),
        DataType::Binary => each(array, oid, |row| Value::Bytes(array.as_binary::<i32>().value(row).to_vec())),
        DataType::LargeBinary => each(array, oid, |row| Value::Bytes(array.as_binary::<i64>().value(row).to_vec())),
        DataType::BinaryView => each(array, oid, |row| Value::Bytes(array.as_binary_view().value(row).to_vec())),
        other => {
            let refused = || Problem::new(NOT_IMPLEMENTED, format!("values of type {other} cannot be parameters"));
            let texts = Texts::new(array).ok_or_else(refused)?;
            each(array, oid, |row| {
                let mut written = Vec::new();
                texts.write(row, &mut written);
                text(&String::from_utf8_lossy(&written))
            })
        }
    })
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn each(array: &ArrayRef, oid: u32, value: impl Fn(usize) -> Value) -> Parameters {
    let given = |row| if is_null(array, row) { (oid, Value::Null) } else { (oid, value(row)) };
    (0..array.len()).map(given).collect()
}

fn small<T: ArrowPrimitiveType<Native: Into<i32>>>(array: &ArrayRef) -> Parameters {
    let oid = TypeId::of_values(&DataType::Int32).oid;
    each(array, oid, |row| Value::I32(array.as_primitive::<T>().value(row).into()))
}
