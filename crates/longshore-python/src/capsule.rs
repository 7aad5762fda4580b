//! Arrow's `PyCapsule` interface: `__arrow_c_stream__` and its like, by which libraries of Python hand each other data.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::c_data::stream::{Batches, StreamReader};
use crate::c_data::{CArray, CSchema, CStream};
use crate::errors;

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";

/// A stream of batches.
pub(crate) fn of_batches(py: Python<'_>, batches: Batches) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, CStream::new(batches), STREAM)
}

/// The columns of a table.
pub(crate) fn of_schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = CSchema::of_table(schema).map_err(|error| PyTypeError::new_err(error.to_string()))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// One batch, as a schema and an array.
pub(crate) fn of_batch<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let array = PyCapsule::new_with_value(py, CArray::of_batch(batch), ARRAY)?;
    Ok((of_schema(py, batch.schema_ref())?, array))
}

/// Batches of another library.
pub(crate) type Reader = Box<dyn Iterator<Item = Result<RecordBatch, String>> + Send>;

/// What `object` streams, or the one batch that it is, and its columns.
pub(crate) fn reader(object: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Reader)> {
    let py = object.py();
    let failed = |error: arrow_schema::ArrowError| errors::own(py, "22000", &error.to_string());
    if object.hasattr(intern!(py, "__arrow_c_stream__"))? {
        let capsule = object.call_method0(intern!(py, "__arrow_c_stream__"))?;
        let place = pointer(&capsule, STREAM)?;
        // SAFETY: a capsule of this name has a stream; the interpreter is ours, so that nobody else takes it meanwhile.
        let reader = unsafe { StreamReader::new(CStream::take(place.cast())) }.map_err(failed)?;
        let schema = Arc::clone(reader.schema());
        return Ok((schema, Box::new(reader.map(|batch| batch.map_err(|error| error.to_string())))));
    }
    if !object.hasattr(intern!(py, "__arrow_c_array__"))? {
        let class = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "a {class} is no table of Arrow; give one of pyarrow, polars, pandas or another library with __arrow_c_stream__"
        )));
    }
    let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
        object.call_method0(intern!(py, "__arrow_c_array__"))?.extract()?;
    let (schema, array) = (pointer(&schema, SCHEMA)?, pointer(&array, ARRAY)?);
    // SAFETY: capsules of these names have a schema and an array of it; as above.
    let (schema, array) = unsafe { (CSchema::take(schema.cast()), CArray::take(array.cast())) };
    let arrow_schema::DataType::Struct(fields) = schema.data_type().map_err(failed)? else {
        return Err(PyTypeError::new_err("this Arrow array is no table: its values are no structs"));
    };
    let schema = Arc::new(Schema::new(fields));
    // SAFETY: as above.
    let batch = unsafe { array.batch(&schema) }.map_err(failed)?;
    Ok((schema, Box::new(std::iter::once(Ok(batch)))))
}

fn pointer(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<*mut std::ffi::c_void> {
    Ok(capsule.cast::<PyCapsule>()?.pointer_checked(Some(name))?.as_ptr())
}
