//! Arrays that are made of others: appended to, joined, elements removed and replaced.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::{cast, interleave};
use datafusion::arrow::datatypes::{DataType, Int32Type};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::ScalarUDF;

use super::measure::same;
use super::{array_type, as_list, common_type, range, subscript_error};
use crate::datafusion::errors::external;
use crate::datafusion::functions::nested::cast::cast_to;
use crate::datafusion::functions::nested::{element_of, list_of};
use crate::datafusion::functions::row_function::RowFunction;
use crate::{Error, ErrorKind};

pub(super) fn functions() -> Vec<ScalarUDF> {
    [
        RowFunction::new("array_append", |types| appended(types, 0, 1), |args, to| joined(args, to, false)),
        RowFunction::new("array_prepend", |types| appended(types, 1, 0), |args, to| joined(args, to, false)),
        RowFunction::new("array_cat", cat_type, |args, to| joined(args, to, true)),
        RowFunction::new("array_concat", cat_type, |args, to| joined(args, to, true)),
        RowFunction::new("array_remove", |types| appended(types, 0, 1), remove),
        RowFunction::new("array_replace", replaced_type, replace),
        RowFunction::new("trim_array", |types| array_type(types, 0), trim),
        RowFunction::new("array_fill", fill_type, fill),
        RowFunction::new(
            "array or empty",
            |types| array_type(types, 0),
            |args, to| {
                let lists = as_list(&args[0], to)?;
                let DataType::List(item) = to else { return plan_err!("an array is wanted") };
                Ok(Arc::new(ListArray::try_new(
                    Arc::clone(item),
                    lists.offsets().clone(),
                    Arc::clone(lists.values()),
                    None,
                )?))
            },
        ),
    ]
    .map(RowFunction::function)
    .into()
}

/// The type of an array and an element that are put together; of NULL and an element, an array of it.
fn appended(types: &[DataType], array: usize, element: usize) -> Result<DataType> {
    let (Some(array), Some(element)) = (types.get(array), types.get(element)) else {
        return plan_err!("an array and an element are wanted");
    };
    match array {
        DataType::List(item) => Ok(list_of(common_type(item.data_type(), element))),
        DataType::Null => Ok(list_of(element.clone())),
        other if other.is_string() => Ok(list_of(element.clone())),
        other => plan_err!("an array is wanted, not {other}"),
    }
}

/// The type of an array whose elements are replaced by another one.
fn replaced_type(types: &[DataType]) -> Result<DataType> {
    let compared = appended(types, 0, 1)?;
    match types.get(2) {
        Some(new) => appended(&[compared, new.clone()], 0, 1),
        None => Ok(compared),
    }
}

/// The type of two arrays that are joined; one may be a row of the other.
fn cat_type(types: &[DataType]) -> Result<DataType> {
    let [left, right] = types else { return plan_err!("two arrays are wanted") };
    Ok(match (left, right) {
        (DataType::List(own), DataType::List(_)) if is_element(own.data_type(), right) => {
            list_of(own.data_type().clone())
        }
        (DataType::List(_), DataType::List(other)) if is_element(other.data_type(), left) => right.clone(),
        (DataType::List(own), DataType::List(other)) => list_of(common_type(own.data_type(), other.data_type())),
        (list @ DataType::List(_), _) | (_, list @ DataType::List(_)) => list.clone(),
        _ => return plan_err!("two arrays are wanted, not {left} and {right}"),
    })
}

/// Whether an array of this type is an element, itself an array.
fn is_element(element: &DataType, array: &DataType) -> bool {
    let depth = |mut data_type: &DataType| {
        let mut depth = 0;
        while let Some(inner) = element_of(data_type) {
            data_type = inner;
            depth += 1;
        }
        depth
    };
    matches!(element, DataType::List(_)) && depth(element) == depth(array)
}

/// What each argument gives to the array: elements of an array, or one element.
enum Part {
    Elements(ListArray),
    Element(ArrayRef),
}

impl Part {
    fn new(arg: &ArrayRef, to: &DataType, are_arrays: bool) -> Result<Self> {
        let Some(element) = element_of(to) else { return plan_err!("an array is wanted") };
        let is_array = match arg.data_type() {
            from @ DataType::List(_) => !is_element(element, from),
            DataType::Null => are_arrays,
            from if from.is_string() => are_arrays,
            _ => false,
        };
        if is_array { Ok(Self::Elements(as_list(arg, to)?)) } else { Ok(Self::Element(cast_to(arg, element)?)) }
    }

    fn values(&self) -> &dyn Array {
        match self {
            Self::Elements(lists) => lists.values().as_ref(),
            Self::Element(values) => values.as_ref(),
        }
    }

    fn places(&self, row: usize) -> std::ops::Range<usize> {
        match self {
            Self::Elements(lists) => range(lists, row),
            Self::Element(_) => row..row + 1,
        }
    }

    fn is_null_array(&self, row: usize) -> bool {
        matches!(self, Self::Elements(lists) if lists.is_null(row))
    }
}

/// Two arrays, or an array and an element, in their order. Two arrays of which one is NULL are the other one.
fn joined(args: &[ArrayRef], to: &DataType, are_arrays: bool) -> Result<ArrayRef> {
    let null_is_array = |arg: &ArrayRef| are_arrays || matches!(arg.data_type(), DataType::List(_));
    let parts = args.iter().map(|arg| Part::new(arg, to, null_is_array(arg))).collect::<Result<Vec<_>>>()?;
    let rows = args[0].len();
    let (mut indices, mut lengths, mut valid) = (Vec::new(), Vec::with_capacity(rows), Vec::with_capacity(rows));
    for row in 0..rows {
        let start = indices.len();
        for (number, part) in parts.iter().enumerate() {
            indices.extend(part.places(row).map(|at| (number, at)));
        }
        lengths.push(indices.len() - start);
        valid.push(!parts.iter().all(|part| part.is_null_array(row)));
    }
    let values: Vec<&dyn Array> = parts.iter().map(Part::values).collect();
    list(to, interleave(&values, &indices)?, lengths, Some(valid.into()))
}

fn list(to: &DataType, values: ArrayRef, lengths: Vec<usize>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let DataType::List(item) = to else { return plan_err!("an array is wanted") };
    Ok(Arc::new(ListArray::try_new(Arc::clone(item), OffsetBuffer::from_lengths(lengths), values, nulls)?))
}

fn one_dimension(lists: &ListArray, what: &str) -> Result<()> {
    if matches!(lists.value_type(), DataType::List(_)) {
        return Err(external(Error::new(
            ErrorKind::Unsupported,
            format!("{what} elements from multidimensional arrays is not supported"),
        )));
    }
    Ok(())
}

fn remove(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let lists = as_list(&args[0], to)?;
    one_dimension(&lists, "removing")?;
    let is_same = same(lists.values(), &args[1])?;
    let (mut indices, mut lengths) = (Vec::new(), Vec::with_capacity(lists.len()));
    for row in 0..lists.len() {
        let start = indices.len();
        indices.extend(range(&lists, row).filter(|at| !is_same(*at, row)).map(|at| (0, at)));
        lengths.push(indices.len() - start);
    }
    list(to, interleave(&[lists.values().as_ref()], &indices)?, lengths, lists.nulls().cloned())
}

fn replace(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let lists = as_list(&args[0], to)?;
    one_dimension(&lists, "replacing")?;
    let is_same = same(lists.values(), &args[1])?;
    let new = cast_to(&args[2], &lists.value_type())?;
    let (mut indices, mut lengths) = (Vec::new(), Vec::with_capacity(lists.len()));
    for row in 0..lists.len() {
        let range = range(&lists, row);
        lengths.push(range.len());
        indices.extend(range.map(|at| if is_same(at, row) { (1, row) } else { (0, at) }));
    }
    list(to, interleave(&[lists.values().as_ref(), new.as_ref()], &indices)?, lengths, lists.nulls().cloned())
}

fn trim(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let lists = as_list(&args[0], to)?;
    let counts = cast(&args[1], &DataType::Int32)?;
    let counts = counts.as_primitive::<Int32Type>();
    let (mut indices, mut lengths) = (Vec::new(), Vec::with_capacity(lists.len()));
    for row in 0..lists.len() {
        let range = range(&lists, row);
        let count = if counts.is_null(row) || lists.is_null(row) { 0 } else { counts.value(row) };
        let Some(kept) = usize::try_from(count).ok().and_then(|count| range.len().checked_sub(count)) else {
            let message = format!("number of elements to trim must be between 0 and {}", range.len());
            return Err(subscript_error(message));
        };
        indices.extend(range.take(kept).map(|at| (0, at)));
        lengths.push(kept);
    }
    let nulls = NullBuffer::union(lists.nulls(), counts.nulls());
    list(to, interleave(&[lists.values().as_ref()], &indices)?, lengths, nulls)
}

/// Elements of an array that a fill makes, at most.
const FILLED_MAX: i64 = 134_217_727;

fn fill_type(types: &[DataType]) -> Result<DataType> {
    // How many dimensions there are is told by values; those of more than one are made by `ARRAY[...]`.
    types.first().map_or_else(|| plan_err!("an element is wanted"), |element| Ok(list_of(element.clone())))
}

fn fill(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let null = |message: &str| external(Error::new(ErrorKind::Coded("22004"), message));
    let dimensions = as_list(&args[1], &list_of(DataType::Int32))?;
    let bounds = args.get(2).map(|bounds| as_list(bounds, &list_of(DataType::Int32))).transpose()?;
    let (mut indices, mut lengths) = (Vec::new(), Vec::with_capacity(dimensions.len()));
    for row in 0..dimensions.len() {
        if dimensions.is_null(row) || bounds.as_ref().is_some_and(|bounds| bounds.is_null(row)) {
            return Err(null("dimension array or low bound array cannot be null"));
        }
        let own = dimensions.value(row);
        let own = own.as_primitive::<Int32Type>();
        if own.null_count() > 0 {
            return Err(null("dimension values cannot be null"));
        }
        if own.len() > 1 {
            return Err(external(Error::unsupported("array_fill of more than one dimension is not supported")));
        }
        if let Some(bounds) = &bounds
            && bounds.value(row).as_primitive::<Int32Type>().iter().any(|bound| bound != Some(1))
        {
            return Err(external(Error::unsupported("arrays whose first element is not number 1 are not supported")));
        }
        let length = own.iter().flatten().next().unwrap_or(0);
        if i64::from(length) > FILLED_MAX {
            return Err(external(Error::new(ErrorKind::TooLarge, "array size exceeds the maximum allowed")));
        }
        let length = length.max(0) as usize;
        indices.extend(std::iter::repeat_n((0, row), length));
        lengths.push(length);
    }
    list(to, interleave(&[args[0].as_ref()], &indices)?, lengths, None)
}
