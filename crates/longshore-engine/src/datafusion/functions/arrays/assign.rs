//! `SET a[2] = v`, `SET a[1:2] = '{...}'` and `SET j['k'] = '1'`: an array or JSONB with an element or a part of it changed.
//!
//! The functions take the array, what is assigned, and subscripts; of a slice two for each dimension, of which a truth value
//! stands for one that is not said. Elements count from 1, so that an array cannot grow at its start.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt64Builder};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::{cast, concat, take};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{DataFusionError, Result, plan_err};
use datafusion::logical_expr::ScalarUDF;

use super::subscripts::check_subscripts;
use super::{array_type, as_list, range, subscript_error};
use crate::datafusion::errors::external;
use crate::datafusion::functions::json;
use crate::datafusion::functions::json_types::is_jsonb;
use crate::datafusion::functions::nested::cast::cast_to;
use crate::datafusion::functions::nested::{element_of, list_of};
use crate::datafusion::functions::row_function::RowFunction;
use crate::sql::subscripts::{ASSIGN_ELEMENT, ASSIGN_SLICE};
use crate::{Error, ErrorKind};

/// Elements of an array, at most; as in PostgreSQL.
const ELEMENTS_MAX: i64 = 134_217_727;

pub(super) fn functions() -> Vec<ScalarUDF> {
    [
        RowFunction::new(ASSIGN_ELEMENT, |types| assigned(types, false), |args, to| assign(args, to, false)),
        RowFunction::new(ASSIGN_SLICE, |types| assigned(types, true), |args, to| assign(args, to, true)),
    ]
    .map(RowFunction::function)
    .into()
}

/// The type of the array; of one that is not there yet, by what is assigned to it.
fn assigned(types: &[DataType], is_slice: bool) -> Result<DataType> {
    let [array, value, subscripts @ ..] = types else { return plan_err!("an array is wanted") };
    if is_jsonb(array) {
        if is_slice {
            return Err(external(Error::unsupported("jsonb subscript does not support slices")));
        }
        return json::assigned_type(types);
    }
    if *array != DataType::Null {
        check_subscripts(array, if is_slice { subscripts.len() / 2 } else { subscripts.len() })?;
        return array_type(types, 0);
    }
    let mut element = value;
    while let Some(inner) = element_of(element).filter(|_| is_slice) {
        element = inner;
    }
    let element = if element.is_null() || element.is_string() { DataType::Utf8View } else { element.clone() };
    let dimensions = if is_slice { subscripts.len() / 2 } else { subscripts.len() };
    Ok((0..dimensions).fold(element, |inner, _| list_of(inner)))
}

/// Arrays as their elements, those of the innermost ones, of which each row has some.
struct Flat {
    elements: ArrayRef,
    /// For each row, its dimensions and where its elements begin; `None` for NULL.
    rows: Vec<Option<(Vec<usize>, usize)>>,
}

impl Flat {
    fn new(lists: &ListArray) -> Self {
        let mut levels = vec![lists.clone()];
        while let Some(inner) = levels.last().and_then(|level| level.values().as_list_opt::<i32>()).cloned() {
            levels.push(inner);
        }
        let rows = (0..lists.len()).map(|row| (!lists.is_null(row)).then(|| shape(&levels, row))).collect();
        let elements = levels.last().map_or_else(|| Arc::clone(lists.values()), |level| Arc::clone(level.values()));
        Self { elements, rows }
    }
}

/// The dimensions of a row, none if it is empty, and the place of its first element.
fn shape(levels: &[ListArray], row: usize) -> (Vec<usize>, usize) {
    let (mut dimensions, mut at) = (Vec::with_capacity(levels.len()), row);
    for level in levels {
        let inner = range(level, at);
        if inner.is_empty() {
            return (Vec::new(), 0);
        }
        dimensions.push(inner.len());
        at = inner.start;
    }
    (dimensions, at)
}

/// An array that is being made: its dimensions, and for each element where it comes from.
struct Made {
    dimensions: Vec<usize>,
    elements: Vec<Option<u64>>,
}

fn assign(args: &[ArrayRef], to: &DataType, is_slice: bool) -> Result<ArrayRef> {
    if is_jsonb(to) {
        return json::assigned(args, to);
    }
    let [array, value, subscripts @ ..] = args else { return plan_err!("an array is wanted") };
    let mut leaf = to;
    let mut depth = 0;
    while let Some(inner) = element_of(leaf) {
        (leaf, depth) = (inner, depth + 1);
    }
    let subscripts = subscripts
        .iter()
        .map(|subscript| match subscript.data_type() {
            DataType::Boolean => Ok(None),
            _ => Ok(Some(cast(subscript, &DataType::Int64)?)),
        })
        .collect::<Result<Vec<Option<ArrayRef>>>>()?;
    let old = Flat::new(&as_list(array, to)?);
    let behind = old.elements.len() as u64;
    let new = if is_slice { Flat::new(&as_list(value, to)?) } else { one_each(&cast_to(value, leaf)?) };
    let elements = concat(&[&old.elements, &new.elements])?;
    let mut rows = Vec::with_capacity(array.len());
    for (row, (old, new)) in old.rows.iter().zip(&new.rows).enumerate() {
        let Some(new) = new else {
            // A slice that is NULL changes nothing.
            rows.push(old.as_ref().map(kept));
            continue;
        };
        let mut made = old.as_ref().map_or(Made { dimensions: Vec::new(), elements: Vec::new() }, kept);
        let bounds = bounds(&subscripts, row, is_slice, &made.dimensions)?;
        if bounds.len() > depth || bounds.len() < depth && (!is_slice || made.dimensions.is_empty()) {
            return Err(subscript_error("wrong number of array subscripts"));
        }
        let given: usize = new.0.iter().product();
        let new = (behind + new.1 as u64)..(behind + (new.1 + given) as u64);
        made.put(&bounds, new)?;
        rows.push(Some(made));
    }
    arrays(&rows, &elements, to)
}

/// Values as arrays of one element.
fn one_each(values: &ArrayRef) -> Flat {
    Flat { elements: Arc::clone(values), rows: (0..values.len()).map(|row| Some((vec![1], row))).collect() }
}

fn kept((dimensions, start): &(Vec<usize>, usize)) -> Made {
    let count: usize = if dimensions.is_empty() { 0 } else { dimensions.iter().product() };
    Made { dimensions: dimensions.clone(), elements: (*start..start + count).map(|at| Some(at as u64)).collect() }
}

/// The first and the last place that is assigned to, from 1, in each dimension.
fn bounds(
    subscripts: &[Option<ArrayRef>],
    row: usize,
    is_slice: bool,
    dimensions: &[usize],
) -> Result<Vec<(i64, i64)>> {
    let value = |subscript: &ArrayRef| {
        let values = subscript.as_primitive::<Int64Type>();
        let is_null = || Error::new(ErrorKind::Coded("22004"), "array subscript in assignment must not be null");
        if values.is_null(row) { Err(external(is_null())) } else { Ok(values.value(row)) }
    };
    if !is_slice {
        let subscripts = subscripts.iter().flatten();
        return subscripts.map(|subscript| value(subscript).map(|at| (at, at))).collect();
    }
    let pairs = subscripts.chunks_exact(2).enumerate().map(|(dimension, pair)| {
        let said = |subscript: &Option<ArrayRef>, otherwise: Option<i64>| match subscript {
            Some(subscript) => value(subscript),
            None => otherwise.ok_or_else(|| subscript_error("array slice subscript must provide both boundaries")),
        };
        let length = dimensions.get(dimension).map(|length| *length as i64);
        let (lower, upper) = (said(&pair[0], length.map(|_| 1))?, said(&pair[1], length)?);
        if lower > upper {
            return Err(subscript_error("upper bound cannot be less than lower bound"));
        }
        Ok((lower, upper))
    });
    pairs.collect()
}

fn too_large() -> DataFusionError {
    let message = format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})");
    external(Error::new(ErrorKind::Coded("54000"), message))
}

impl Made {
    /// Puts the first of the elements `new` between bounds.
    fn put(&mut self, bounds: &[(i64, i64)], new: std::ops::Range<u64>) -> Result<()> {
        let spans = bounds.iter().try_fold(1_i64, |size, (lower, upper)| {
            size.checked_mul(upper.checked_sub(*lower)?.checked_add(1)?).filter(|size| *size <= ELEMENTS_MAX)
        });
        if spans.is_none() || bounds.iter().any(|(_, upper)| *upper > ELEMENTS_MAX) {
            return Err(too_large());
        }
        if self.dimensions.is_empty() || self.dimensions.len() == 1 {
            self.grow(bounds)?;
        }
        let in_range = |((lower, upper), length): (&(i64, i64), &usize)| *lower >= 1 && *upper <= *length as i64;
        if !bounds.iter().zip(&self.dimensions).all(in_range) {
            return Err(subscript_error("array subscript out of range"));
        }
        let whole = self.dimensions[bounds.len()..].iter().map(|length| (1, *length as i64));
        let bounds: Vec<(i64, i64)> = bounds.iter().copied().chain(whole).collect();
        let wanted: i64 = bounds.iter().map(|(lower, upper)| upper - lower + 1).product();
        if new.end - new.start < wanted as u64 {
            return Err(subscript_error("source array too small"));
        }
        let mut place: Vec<i64> = bounds.iter().map(|(lower, _)| *lower).collect();
        for element in new.take(wanted as usize) {
            let at =
                place.iter().zip(&self.dimensions).fold(0, |at, (place, length)| at * length + *place as usize - 1);
            self.elements[at] = Some(element);
            for (place, (lower, upper)) in place.iter_mut().zip(&bounds).rev() {
                *place += 1;
                if *place <= *upper {
                    break;
                }
                *place = *lower;
            }
        }
        Ok(())
    }

    /// Makes room up to `bounds`, of NULLs.
    fn grow(&mut self, bounds: &[(i64, i64)]) -> Result<()> {
        let is_new = self.dimensions.is_empty();
        let at_start = |(lower, _): &(i64, i64)| if is_new { *lower == 1 } else { *lower >= 1 };
        if !bounds.iter().all(at_start) {
            let message = "arrays whose first element is not number 1 are not supported";
            return Err(external(Error::unsupported(message)));
        }
        if is_new {
            self.dimensions = bounds.iter().map(|(_, upper)| *upper as usize).collect();
        } else if let ([length], [(_, upper)]) = (self.dimensions.as_mut_slice(), bounds) {
            *length = (*length).max(*upper as usize);
        }
        self.elements.resize(self.dimensions.iter().product(), None);
        Ok(())
    }
}

/// The arrays that were made, of `elements`.
fn arrays(rows: &[Option<Made>], elements: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let mut places = UInt64Builder::new();
    for place in rows.iter().flatten().flat_map(|made| &made.elements) {
        places.append_option(*place);
    }
    let mut values = take(elements, &places.finish(), None)?;
    let mut items = Vec::new();
    let mut inner = to;
    while let DataType::List(item) = inner {
        items.push(item);
        inner = item.data_type();
    }
    for (level, item) in items.iter().enumerate().rev() {
        // How many lists a row has at this level, and how long they are.
        let lengths = rows.iter().flat_map(|row| {
            let dimensions = row.as_ref().map_or(&[][..], |made| &made.dimensions);
            let (count, length) = match (level, dimensions.get(level)) {
                (0, length) => (1, length.copied().unwrap_or(0)),
                (level, Some(length)) => (dimensions[..level].iter().product(), *length),
                (_, None) => (0, 0),
            };
            std::iter::repeat_n(length, count)
        });
        let nulls: Option<NullBuffer> =
            (level == 0).then(|| rows.iter().map(Option::is_some).collect::<Vec<bool>>().into());
        let offsets = OffsetBuffer::from_lengths(lengths);
        values = Arc::new(ListArray::try_new(Arc::clone(item), offsets, values, nulls)?);
    }
    Ok(values)
}
