//! Arrays as PostgreSQL has them, over Arrow's lists. Their elements count from 1; an array of arrays is a list of lists.

pub(in crate::datafusion) mod casts;
mod change;
mod elements;
mod measure;
pub(in crate::datafusion) mod operators;
mod quantified;
mod series;
mod subscripts;
pub(in crate::datafusion) mod text;

use std::sync::Arc;

pub(in crate::datafusion) use elements::ORDINALS;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{DataFusionError, Result, plan_err};
use datafusion::logical_expr::ScalarUDF;

use crate::datafusion::errors::external;
use crate::{Error, ErrorKind};

/// All scalar functions.
pub(in crate::datafusion) fn functions() -> impl Iterator<Item = ScalarUDF> {
    let tables = [
        measure::functions(),
        change::functions(),
        elements::functions(),
        series::functions(),
        subscripts::functions(),
        quantified::functions(),
        text::functions(),
    ];
    tables.into_iter().flatten()
}

/// The type of arrays of this element.
pub(in crate::datafusion) fn list_of(element: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(element, true)))
}

/// The type of the elements of an array.
pub(in crate::datafusion) fn element_of(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => Some(item.data_type()),
        _ => None,
    }
}

/// The type of what lies below all dimensions of an array.
fn innermost(data_type: &DataType) -> &DataType {
    element_of(data_type).map_or(data_type, innermost)
}

/// The type of an argument that is an array; for NULL and texts an array of texts.
fn array_type(types: &[DataType], at: usize) -> Result<DataType> {
    match types.get(at) {
        Some(list @ DataType::List(_)) => Ok(list.clone()),
        Some(DataType::Null) => Ok(list_of(DataType::Utf8View)),
        Some(other) if other.is_string() => Ok(list_of(DataType::Utf8View)),
        Some(other) => plan_err!("an array is wanted, not {other}"),
        None => plan_err!("an array is wanted"),
    }
}

/// An argument as an array of this type.
fn as_list(array: &ArrayRef, to: &DataType) -> Result<ListArray> {
    Ok(casts::cast_to(array, to)?.as_list::<i32>().clone())
}

/// The elements of all dimensions in one.
pub(in crate::datafusion) fn flattened(array: &ArrayRef) -> Result<ArrayRef> {
    let lists = match array.data_type() {
        DataType::List(item) if matches!(item.data_type(), DataType::List(_)) => array.as_list::<i32>(),
        _ => return Ok(Arc::clone(array)),
    };
    let inner = flattened(lists.values())?;
    let inner = inner.as_list::<i32>();
    let ends = inner.value_offsets();
    let offsets: Vec<i32> = lists.value_offsets().iter().map(|offset| ends[*offset as usize]).collect();
    let DataType::List(item) = inner.data_type() else { return plan_err!("an array is wanted") };
    let flat = ListArray::try_new(
        Arc::clone(item),
        OffsetBuffer::new(offsets.into()),
        Arc::clone(inner.values()),
        lists.nulls().cloned(),
    )?;
    Ok(Arc::new(flat))
}

/// Where the elements of `row` are.
fn range(lists: &ListArray, row: usize) -> std::ops::Range<usize> {
    if lists.is_null(row) {
        return 0..0;
    }
    lists.value_offsets()[row] as usize..lists.value_offsets()[row + 1] as usize
}

/// An error about subscripts and dimensions.
fn subscript_error(message: impl Into<String>) -> DataFusionError {
    external(Error::new(ErrorKind::Coded("2202E"), message))
}
