//! Arrays as PostgreSQL has them, over Arrow's lists. Their elements count from 1; an array of arrays is a list of lists.

mod assign;
mod change;
mod distinct;
mod elements;
mod literal;
mod measure;
pub(in crate::datafusion) mod operators;
mod quantified;
mod series;
mod subscripts;
mod to_string;

pub(in crate::datafusion) use distinct::distinct;
pub(in crate::datafusion) use elements::{ELEMENTS, ORDINALS};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result, plan_err};
use datafusion::logical_expr::ScalarUDF;
use datafusion::logical_expr::type_coercion::binary::comparison_coercion;

use super::nested::cast::cast_to;
use super::nested::list_of;
use super::numeric::is_number;
use super::operators::of_list;
use crate::datafusion::errors::external;
use crate::{Error, ErrorKind};

/// All scalar functions.
pub(in crate::datafusion) fn functions() -> impl Iterator<Item = ScalarUDF> {
    let tables = [
        measure::functions(),
        assign::functions(),
        change::functions(),
        elements::functions(),
        literal::functions(),
        series::functions(),
        subscripts::functions(),
        assign::functions(),
        quantified::functions(),
        to_string::functions(),
    ];
    tables.into_iter().flatten()
}

/// The common type of elements: numbers and dates widen, and anything else becomes what the array has.
fn common_type(own: &DataType, other: &DataType) -> DataType {
    match (own, other) {
        (DataType::Null, other) => other.clone(),
        (own, other) if is_number(own) && is_number(other) => of_list(&[own.clone(), other.clone()])
            .or_else(|| comparison_coercion(own, other))
            .unwrap_or_else(|| own.clone()),
        (DataType::Date32, moment @ DataType::Timestamp(_, None)) => moment.clone(),
        (own, _) => own.clone(),
    }
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
    Ok(cast_to(array, to)?.as_list::<i32>().clone())
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
