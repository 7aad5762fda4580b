//! `a[1]`, `a[1][2]`, `a[2:3]`: elements and parts of arrays; and `j['a']` of JSONB.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, ListArray, UInt64Builder};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::ScalarUDF;

use super::{array_type, as_list, range};
use crate::datafusion::errors::external;
use crate::datafusion::functions::json;
use crate::datafusion::functions::json_types::is_jsonb;
use crate::datafusion::functions::nested::element_of;
use crate::datafusion::functions::row_function::RowFunction;
use crate::datafusion::type_name::type_name;
use crate::sql::arrays::{DIMENSIONS_MAX, SLICE, SUBSCRIPT};
use crate::{Error, ErrorKind};

pub(super) fn functions() -> Vec<ScalarUDF> {
    [RowFunction::new(SUBSCRIPT, subscripted, subscript), RowFunction::new(SLICE, sliced_type, slice)]
        .map(RowFunction::function)
        .into()
}

fn depth(data_type: &DataType) -> usize {
    element_of(data_type).map_or(0, |element| 1 + depth(element))
}

fn subscripted(types: &[DataType]) -> Result<DataType> {
    let Some((array, indexes)) = types.split_first() else { return plan_err!("an array is wanted") };
    if is_jsonb(array) {
        return Ok(array.clone());
    }
    check_subscripts(array, indexes.len())?;
    let mut element = &array_type(types, 0)?;
    for _ in indexes {
        let Some(inner) = element_of(element) else { break };
        element = inner;
    }
    // Fewer subscripts than dimensions, or more, mean no element.
    while let Some(inner) = element_of(element) {
        element = inner;
    }
    Ok(element.clone())
}

/// Refuses subscripts of what is no array, and more of them than an array has dimensions.
pub(super) fn check_subscripts(array: &DataType, dimensions: usize) -> Result<()> {
    if element_of(array).is_none() && !array.is_string() && !array.is_null() {
        let message = format!("cannot subscript type {} because it does not support subscripting", type_name(array));
        return Err(external(Error::new(ErrorKind::TypeMismatch, message)));
    }
    if dimensions > DIMENSIONS_MAX {
        let message =
            format!("number of array dimensions ({dimensions}) exceeds the maximum allowed ({DIMENSIONS_MAX})");
        return Err(external(Error::new(ErrorKind::Coded("54000"), message)));
    }
    Ok(())
}

fn sliced_type(types: &[DataType]) -> Result<DataType> {
    if let Some((array, bounds)) = types.split_first() {
        check_subscripts(array, bounds.len() / 2)?;
    }
    array_type(types, 0)
}

/// The element at subscripts, one for each dimension.
fn subscript(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let (array, indexes) = (&args[0], &args[1..]);
    if is_jsonb(array.data_type()) {
        return json::subscript(args, to);
    }
    let mut lists = as_list(array, &array_type(&[array.data_type().clone()], 0)?)?;
    if depth(lists.data_type()) != indexes.len() {
        return Ok(datafusion::arrow::array::new_null_array(to, lists.len()));
    }
    // The row of the innermost lists in which each row looks; `None` where there is none.
    let mut rows: Vec<Option<usize>> = (0..lists.len()).map(Some).collect();
    for (dimension, index) in indexes.iter().enumerate() {
        let index = cast(index, &DataType::Int64)?;
        let index = index.as_primitive::<Int64Type>();
        for (row, place) in rows.iter_mut().enumerate() {
            *place = place.and_then(|list| element_at(&lists, list, index, row));
        }
        if dimension + 1 < indexes.len() {
            lists = lists.values().as_list::<i32>().clone();
        }
    }
    let mut places = UInt64Builder::with_capacity(rows.len());
    for place in rows {
        places.append_option(place.map(|place| place as u64));
    }
    Ok(take(lists.values(), &places.finish(), None)?)
}

fn element_at(lists: &ListArray, list: usize, index: &Int64Array, row: usize) -> Option<usize> {
    let range = range(lists, list);
    let index = (!index.is_null(row)).then(|| index.value(row))?;
    let at = usize::try_from(index).ok()?.checked_sub(1)?;
    (at < range.len()).then_some(range.start + at)
}

/// The part between bounds, of which there are two for each dimension.
fn slice(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let bounds = args[1..].iter().map(|bound| cast(bound, &DataType::Int64)).collect::<Result<Vec<_>, _>>()?;
    let lists = as_list(&args[0], to)?;
    // A bound that is NULL makes all of it NULL.
    let nulls =
        bounds.iter().fold(lists.nulls().cloned(), |nulls, bound| NullBuffer::union(nulls.as_ref(), bound.nulls()));
    let DataType::List(item) = to else { return plan_err!("an array is wanted") };
    let lists = ListArray::try_new(Arc::clone(item), lists.offsets().clone(), Arc::clone(lists.values()), nulls)?;
    let rows: Vec<usize> = (0..lists.len()).collect();
    Ok(Arc::new(sliced(&lists, &bounds, &rows)?))
}

/// `lists` cut to bounds; the bounds of list number i are those of row `rows[i]`.
fn sliced(lists: &ListArray, bounds: &[ArrayRef], rows: &[usize]) -> Result<ListArray> {
    let [lower, upper, inner @ ..] = bounds else { return Ok(lists.clone()) };
    let (lower, upper) = (lower.as_primitive::<Int64Type>(), upper.as_primitive::<Int64Type>());
    let mut places = UInt64Builder::new();
    let (mut lengths, mut valid, mut inner_rows) = (Vec::new(), Vec::new(), Vec::new());
    for (list, row) in rows.iter().enumerate() {
        let range = range(lists, list);
        let is_known = !lists.is_null(list) && !lower.is_null(*row) && !upper.is_null(*row);
        valid.push(is_known);
        let kept = if is_known {
            let start = (lower.value(*row).max(1) - 1).min(range.len() as i64) as usize;
            let end = upper.value(*row).clamp(0, range.len() as i64) as usize;
            range.start + start..range.start + end.max(start)
        } else {
            0..0
        };
        lengths.push(kept.len());
        inner_rows.extend(kept.clone().map(|_| *row));
        kept.for_each(|place| places.append_value(place as u64));
    }
    let mut values = take(lists.values(), &places.finish(), None)?;
    if !inner.is_empty()
        && let DataType::List(_) = values.data_type()
    {
        values = Arc::new(sliced(values.as_list::<i32>(), inner, &inner_rows)?);
    }
    let DataType::List(item) = lists.data_type() else { return plan_err!("an array is wanted") };
    let nulls: NullBuffer = valid.into();
    Ok(ListArray::try_new(Arc::clone(item), OffsetBuffer::from_lengths(lengths), values, Some(nulls))?)
}
