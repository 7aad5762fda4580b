//! Assignments to parts of arrays and of JSONB, as in `SET a[2] = 5`, `SET a[1:2] = '{7,8}'` and `SET j['a'] = '1'`: the value
//! with the part changed.
//!
//! An array may get longer, with NULL where nothing was assigned. Arrays begin with element 1, so what PostgreSQL lets begin
//! elsewhere is refused.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, ListArray, new_null_array};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::{cast, interleave};
use datafusion::arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::{DataFusionError, Result, plan_err};
use datafusion::logical_expr::ScalarUDF;

use super::{as_list, range, subscript_error};
use crate::datafusion::errors::external;
use crate::datafusion::functions::json;
use crate::datafusion::functions::json_types::is_jsonb;
use crate::datafusion::functions::nested::cast::cast_to;
use crate::datafusion::functions::nested::element_of;
use crate::datafusion::functions::row_function::RowFunction;
use crate::sql::subscripted::{ASSIGN_ELEMENT, ASSIGN_SLICE};
use crate::{Error, ErrorKind};

/// Elements of an array that an assignment makes longer, at most.
const ELEMENTS_MAX: usize = 1 << 24;

pub(super) fn functions() -> Vec<ScalarUDF> {
    [
        RowFunction::new(ASSIGN_ELEMENT, assigned_type, element_assigned),
        RowFunction::new(ASSIGN_SLICE, sliced_type, slice_assigned),
    ]
    .map(RowFunction::function)
    .into()
}

/// The type of what is assigned to, which stays.
fn assigned_type(types: &[DataType]) -> Result<DataType> {
    match types.first() {
        Some(whole) if is_jsonb(whole) => json::assigned_type(types),
        Some(whole @ DataType::List(_)) => Ok(whole.clone()),
        Some(other) => {
            let message = format!("cannot subscript type {other} because it does not support subscripting");
            Err(external(Error::new(ErrorKind::TypeMismatch, message)))
        }
        None => plan_err!("an array is wanted"),
    }
}

fn sliced_type(types: &[DataType]) -> Result<DataType> {
    if types.first().is_some_and(is_jsonb) {
        return Err(external(Error::unsupported("jsonb subscript does not support slices")));
    }
    assigned_type(types)
}

/// The first argument with the second one as the element at the subscripts that follow.
fn element_assigned(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    if is_jsonb(to) {
        return json::assigned(args, to);
    }
    let (lists, subscripts) = (as_list(&args[0], to)?, &args[2..]);
    let subscripts = subscripts.iter().map(numbers).collect::<Result<Vec<_>>>()?;
    let mut innermost = to;
    let mut dimensions = 0;
    while let Some(element) = element_of(innermost) {
        innermost = element;
        dimensions += 1;
    }
    let element = cast_to(&args[1], innermost)?;
    match subscripts.as_slice() {
        [subscript] if dimensions == 1 => {
            let new = |row| Ok(Some(Part { start: place(subscript, row)?, elements: row..row + 1 }));
            put(&lists, &element, new)
        }
        _ if subscripts.len() == dimensions => put_within(&lists, &element, &subscripts),
        _ => Err(subscript_error("wrong number of array subscripts")),
    }
}

/// The first argument with the elements of the second one as those between two bounds. A bound that is a text was left out.
fn slice_assigned(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let [whole, new, lower, upper] = args else {
        return Err(external(Error::unsupported(
            "assignments to slices of several dimensions are not supported; assign to elements, or to the whole array",
        )));
    };
    let (lists, new) = (as_list(whole, to)?, as_list(new, to)?);
    if element_of(to).is_some_and(|element| matches!(element, DataType::List(_))) {
        return Err(external(Error::unsupported(
            "assignments to slices of several dimensions are not supported; assign to elements, or to the whole array",
        )));
    }
    let given = |bound: &ArrayRef| (!bound.data_type().is_string()).then(|| numbers(bound)).transpose();
    let (lower, upper) = (given(lower)?, given(upper)?);
    put(&lists, new.values(), |row| {
        let len = range(&lists, row).len();
        if len == 0 && (lower.is_none() || upper.is_none()) {
            return Err(subscript_error("array slice subscript must provide both boundaries"));
        }
        let start = lower.as_ref().map_or(Ok(0), |lower| place(lower, row))?;
        let end = match &upper {
            Some(upper) => subscript(upper, row)?,
            None => len as i64,
        };
        if new.is_null(row) {
            return Ok(None);
        }
        let count = end - start as i64;
        let Ok(count) = usize::try_from(count) else {
            return Err(subscript_error("upper bound cannot be less than lower bound"));
        };
        let elements = range(&new, row);
        if elements.len() < count {
            return Err(subscript_error("source array too small"));
        }
        Ok(Some(Part { start, elements: elements.start..elements.start + count }))
    })
}

/// Elements that are put into an array.
struct Part {
    /// The place of the first one, from 0.
    start: usize,
    /// Where they lie among the new ones.
    elements: std::ops::Range<usize>,
}

/// `lists` with parts of `new` put into them, where there are such.
fn put(lists: &ListArray, new: &ArrayRef, part: impl Fn(usize) -> Result<Option<Part>>) -> Result<ArrayRef> {
    const OLD: usize = 0;
    const NEW: usize = 1;
    const NULL: usize = 2;
    let DataType::List(item) = lists.data_type() else { return plan_err!("an array is wanted") };
    let (mut indices, mut lengths, mut valid) = (Vec::new(), Vec::with_capacity(lists.len()), Vec::new());
    for row in 0..lists.len() {
        let (old, before) = (range(lists, row), indices.len());
        let part = part(row)?;
        valid.push(part.is_some() || !lists.is_null(row));
        match part {
            None => indices.extend(old.map(|at| (OLD, at))),
            Some(Part { start, elements }) => {
                let end = start + elements.len();
                if end > ELEMENTS_MAX {
                    let message = format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})");
                    return Err(external(Error::new(ErrorKind::TooLarge, message)));
                }
                if old.is_empty() && start > 0 {
                    return Err(begins_elsewhere());
                }
                indices.extend(old.clone().take(start).map(|at| (OLD, at)));
                indices.extend((old.len()..start).map(|_| (NULL, 0)));
                indices.extend(elements.map(|at| (NEW, at)));
                indices.extend(old.skip(end).map(|at| (OLD, at)));
            }
        }
        lengths.push(indices.len() - before);
    }
    let null = new_null_array(item.data_type(), 1);
    let values = interleave(&[lists.values().as_ref(), new.as_ref(), null.as_ref()], &indices)?;
    Ok(Arc::new(ListArray::try_new(Arc::clone(item), OffsetBuffer::from_lengths(lengths), values, Some(valid.into()))?))
}

/// Lists of lists with one of the innermost elements of each changed.
fn put_within(lists: &ListArray, new: &ArrayRef, subscripts: &[Int64Array]) -> Result<ArrayRef> {
    // The lists of each dimension from outside, and the row of them in which each row looks.
    let mut levels = vec![lists.clone()];
    let mut rows: Vec<usize> = (0..lists.len()).collect();
    for (dimension, subscript) in subscripts.iter().enumerate() {
        let Some(level) = levels.last().cloned() else { return plan_err!("an array is wanted") };
        for (row, list) in rows.iter_mut().enumerate() {
            let (range, place) = (range(&level, *list), place(subscript, row)?);
            if range.is_empty() {
                return Err(begins_elsewhere());
            }
            if place >= range.len() {
                return Err(subscript_error("array subscript out of range"));
            }
            *list = range.start + place;
        }
        if dimension + 1 < subscripts.len() {
            levels.push(level.values().as_list::<i32>().clone());
        }
    }
    let Some(innermost) = levels.last().map(|level| Arc::clone(level.values())) else {
        return plan_err!("an array is wanted");
    };
    let mut indices: Vec<(usize, usize)> = (0..innermost.len()).map(|at| (0, at)).collect();
    for (row, at) in rows.into_iter().enumerate() {
        indices[at] = (1, row);
    }
    let mut values = interleave(&[innermost.as_ref(), new.as_ref()], &indices)?;
    for level in levels.into_iter().rev() {
        let item: FieldRef = match level.data_type() {
            DataType::List(item) => Arc::clone(item),
            other => return plan_err!("an array is wanted, not {other}"),
        };
        let (offsets, nulls) = (level.offsets().clone(), level.nulls().cloned());
        values = Arc::new(ListArray::try_new(item, offsets, values, nulls)?);
    }
    Ok(values)
}

fn numbers(subscripts: &ArrayRef) -> Result<Int64Array> {
    Ok(cast(subscripts, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
}

fn subscript(subscripts: &Int64Array, row: usize) -> Result<i64> {
    if subscripts.is_null(row) {
        let message = "array subscript in assignment must not be null";
        return Err(external(Error::new(ErrorKind::Coded("22004"), message)));
    }
    Ok(subscripts.value(row))
}

/// The place that a subscript means, from 0.
fn place(subscripts: &Int64Array, row: usize) -> Result<usize> {
    let place = subscript(subscripts, row)?.checked_sub(1).and_then(|place| usize::try_from(place).ok());
    place.ok_or_else(begins_elsewhere)
}

fn begins_elsewhere() -> DataFusionError {
    external(Error::unsupported(
        "arrays begin with element 1: an assignment to an element before it, or behind it in an array without elements, is not \
         supported",
    ))
}
