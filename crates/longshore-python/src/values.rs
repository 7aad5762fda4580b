//! The values of batches as Python's: what psycopg gives for the same types.
//!
//! NUMERIC is `decimal.Decimal`, dates and times are those of `datetime` (with a zone in UTC), UUID is `uuid.UUID`, JSON what
//! `json.loads` makes of it, arrays are lists and rows dictionaries. Dates that Python has not, such as `infinity`, are errors.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time64MicrosecondType, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use longshore_engine::{BuiltinType, Texts, TypeId, is_null};
use longshore_time::calendar::{MICROS_PER_DAY, civil};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDate, PyDateTime, PyDict, PyList, PyTime, PyTuple, PyTzInfo};
use pyo3::{IntoPyObjectExt, intern};

use crate::errors;

/// The rows `start..end` of a batch, each a tuple.
pub(crate) fn rows<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
    types: &[TypeId],
    start: usize,
    end: usize,
) -> PyResult<Bound<'py, PyList>> {
    let (start, end) = (start.min(batch.num_rows()), end.min(batch.num_rows()));
    let columns = batch.columns().iter().zip(types).map(|(array, type_id)| {
        let sliced = array.slice(start, end.saturating_sub(start));
        column(py, &sliced, type_id.oid)
    });
    let mut columns: Vec<_> = columns.map(|column| column.map(Vec::into_iter)).collect::<PyResult<_>>()?;
    let rows = PyList::empty(py);
    for _ in start..end {
        let row: Vec<_> = columns.iter_mut().filter_map(Iterator::next).collect();
        rows.append(PyTuple::new(py, row)?)?;
    }
    Ok(rows)
}

type Values<'py> = PyResult<Vec<Bound<'py, PyAny>>>;

/// All values of an array; `oid` is that of their type in `pg_type`.
fn column<'py>(py: Python<'py>, array: &ArrayRef, oid: u32) -> Values<'py> {
    match array.data_type() {
        DataType::Boolean => {
            let values = array.as_boolean();
            each(py, array, |row| values.value(row).into_bound_py_any(py))
        }
        DataType::Int8 => plain::<Int8Type>(py, array),
        DataType::Int16 => plain::<Int16Type>(py, array),
        DataType::Int32 => plain::<Int32Type>(py, array),
        DataType::Int64 => plain::<Int64Type>(py, array),
        DataType::UInt8 => plain::<UInt8Type>(py, array),
        DataType::UInt16 => plain::<UInt16Type>(py, array),
        DataType::UInt32 => plain::<UInt32Type>(py, array),
        DataType::UInt64 => plain::<UInt64Type>(py, array),
        DataType::Float32 => plain::<Float32Type>(py, array),
        DataType::Float64 => plain::<Float64Type>(py, array),
        DataType::Decimal128(..) => decimals(py, array),
        DataType::Utf8 => texts(py, array, oid, |row| array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => texts(py, array, oid, |row| array.as_string::<i64>().value(row)),
        DataType::Utf8View => texts(py, array, oid, |row| array.as_string_view().value(row)),
        DataType::Binary => bytes(py, array, |row| array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => bytes(py, array, |row| array.as_binary::<i64>().value(row)),
        DataType::BinaryView => bytes(py, array, |row| array.as_binary_view().value(row)),
        DataType::Date32 => {
            let values = array.as_primitive::<Date32Type>();
            each(py, array, |row| date(py, values.value(row).into()))
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            let values = array.as_primitive::<Time64MicrosecondType>();
            each(py, array, |row| time(py, values.value(row)))
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let utc = zone.is_some().then(|| PyTzInfo::utc(py)).transpose()?;
            let values = array.as_primitive::<TimestampMicrosecondType>();
            each(py, array, |row| timestamp(py, values.value(row), utc.as_deref()))
        }
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            let element = element_of(oid);
            each(py, array, |row| Ok(PyList::new(py, column(py, &lists.value(row), element)?)?.into_any()))
        }
        DataType::Struct(fields) => {
            let structs = array.as_struct();
            let columns = structs.columns().iter().map(|values| column(py, values, 0)).collect::<PyResult<Vec<_>>>()?;
            each(py, array, |row| {
                let made = PyDict::new(py);
                for (field, values) in fields.iter().zip(&columns) {
                    made.set_item(field.name(), &values[row])?;
                }
                Ok(made.into_any())
            })
        }
        DataType::Null => Ok((0..array.len()).map(|_| py.None().into_bound(py)).collect()),
        other => {
            let Some(shown) = Texts::new(array) else {
                return Err(errors::own(
                    py,
                    "0A000",
                    &format!("values of type {other} have no form in Python; cast them"),
                ));
            };
            each(py, array, |row| {
                let mut text = Vec::new();
                shown.write(row, &mut text);
                String::from_utf8_lossy(&text).into_bound_py_any(py)
            })
        }
    }
}

/// What `value` makes of each row that is not NULL.
fn each<'py>(py: Python<'py>, array: &ArrayRef, value: impl Fn(usize) -> PyResult<Bound<'py, PyAny>>) -> Values<'py> {
    (0..array.len()).map(|row| if is_null(array, row) { Ok(py.None().into_bound(py)) } else { value(row) }).collect()
}

fn plain<'py, T>(py: Python<'py>, array: &ArrayRef) -> Values<'py>
where
    T: ArrowPrimitiveType,
    T::Native: IntoPyObject<'py>,
{
    let values = array.as_primitive::<T>();
    each(py, array, |row| values.value(row).into_bound_py_any(py))
}

fn decimals<'py>(py: Python<'py>, array: &ArrayRef) -> Values<'py> {
    let class = py.import(intern!(py, "decimal"))?.getattr(intern!(py, "Decimal"))?;
    let values = array.as_primitive::<Decimal128Type>();
    each(py, array, |row| class.call1((values.value_as_string(row),)))
}

fn bytes<'py, 'a>(py: Python<'py>, array: &ArrayRef, value: impl Fn(usize) -> &'a [u8]) -> Values<'py> {
    each(py, array, |row| Ok(PyBytes::new(py, value(row)).into_any()))
}

/// Texts, and what stands in texts because Arrow has no type for it.
fn texts<'py, 'a>(py: Python<'py>, array: &ArrayRef, oid: u32, value: impl Fn(usize) -> &'a str) -> Values<'py> {
    let name = BuiltinType::of_oid(oid).filter(|(_, is_array)| !is_array).map_or("text", |(builtin, _)| builtin.name);
    let made_by = match name {
        "numeric" => py.import(intern!(py, "decimal"))?.getattr(intern!(py, "Decimal"))?,
        "uuid" => py.import(intern!(py, "uuid"))?.getattr(intern!(py, "UUID"))?,
        "json" | "jsonb" => py.import(intern!(py, "json"))?.getattr(intern!(py, "loads"))?,
        "interval" => py.import(intern!(py, "longshore._adapt"))?.getattr(intern!(py, "interval"))?,
        "timetz" => py.import(intern!(py, "longshore._adapt"))?.getattr(intern!(py, "timetz"))?,
        _ => return each(py, array, |row| value(row).into_bound_py_any(py)),
    };
    each(py, array, |row| made_by.call1((value(row),)))
}

/// The type of the elements of arrays of this type.
fn element_of(oid: u32) -> u32 {
    match BuiltinType::of_oid(oid) {
        Some((builtin, true)) => builtin.oid,
        // Of more dimensions, the lists of a list have the same type.
        _ => oid,
    }
}

/// Year, month and day of so many days since 1970; `None` where Python has no such year.
fn python_date(days: i64) -> Option<(i32, u8, u8)> {
    let (year @ 1..=9999, month, day) = civil(days) else { return None };
    Some((i32::try_from(year).ok()?, u8::try_from(month).ok()?, u8::try_from(day).ok()?))
}

fn beyond(py: Python<'_>, what: &str) -> PyErr {
    errors::own(
        py,
        "22008",
        &format!("this {what} is beyond what Python's datetime has, years 1 to 9999; cast it to TEXT in the query"),
    )
}

fn date(py: Python<'_>, days: i64) -> PyResult<Bound<'_, PyAny>> {
    let (year, month, day) = python_date(days).ok_or_else(|| beyond(py, "date"))?;
    Ok(PyDate::new(py, year, month, day)?.into_any())
}

/// Hour, minute, second and microsecond.
fn clock(micros: i64) -> (u8, u8, u8, u32) {
    let seconds = micros / 1_000_000;
    let part = |seconds: i64| (seconds % 60) as u8;
    ((seconds / 3600) as u8, part(seconds / 60), part(seconds), (micros % 1_000_000) as u32)
}

fn time(py: Python<'_>, micros: i64) -> PyResult<Bound<'_, PyAny>> {
    if micros >= MICROS_PER_DAY {
        let problem = "24:00 is no time of day that Python's datetime has; cast it to TEXT in the query";
        return Err(errors::own(py, "22008", problem));
    }
    let (hour, minute, second, micros) = clock(micros);
    Ok(PyTime::new(py, hour, minute, second, micros, None)?.into_any())
}

fn timestamp<'py>(py: Python<'py>, micros: i64, zone: Option<&Bound<'py, PyTzInfo>>) -> PyResult<Bound<'py, PyAny>> {
    let (year, month, day) = python_date(micros.div_euclid(MICROS_PER_DAY)).ok_or_else(|| beyond(py, "timestamp"))?;
    let (hour, minute, second, micros) = clock(micros.rem_euclid(MICROS_PER_DAY));
    Ok(PyDateTime::new(py, year, month, day, hour, minute, second, micros, zone)?.into_any())
}
