//! How large arrays are, and where something is in them.

use std::fmt::Write as _;
use std::sync::Arc;

use datafusion::arrow::array::make_comparator;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Int32Array, Int32Builder, ListArray, ListBuilder, StringViewArray,
};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int32Type};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::ScalarUDF;

use super::{array_type, as_list, common_type, range};
use crate::datafusion::errors::external;
use crate::datafusion::functions::keys::keys;
use crate::datafusion::functions::nested::cast::cast_to;
use crate::datafusion::functions::nested::{element_of, flattened, list_of};
use crate::datafusion::functions::row_function::RowFunction;
use crate::datafusion::type_name::type_name;
use crate::{Error, ErrorKind};

pub(super) fn functions() -> Vec<ScalarUDF> {
    let int = |types: &[DataType]| array_type(types, 0).map(|_| DataType::Int32);
    [
        RowFunction::new("array_length", int, |args, _| dimension(args, Some)),
        RowFunction::new("array_upper", int, |args, _| dimension(args, Some)),
        RowFunction::new("array_lower", int, |args, _| dimension(args, |_| Some(1))),
        RowFunction::new("array_ndims", int, |args, _| {
            whole(args, |dimensions| (!dimensions.is_empty()).then_some(dimensions.len() as i32))
        }),
        RowFunction::new("cardinality", int, |args, _| {
            whole(args, |dimensions| Some(if dimensions.is_empty() { 0 } else { dimensions.iter().product() }))
        }),
        RowFunction::new("array_dims", |types| array_type(types, 0).map(|_| DataType::Utf8View), dims),
        RowFunction::new("array_position", int, position),
        RowFunction::new("array_positions", |types| array_type(types, 0).map(|_| list_of(DataType::Int32)), positions),
    ]
    .map(RowFunction::function)
    .into()
}

fn lists_of(args: &[ArrayRef]) -> Result<ListArray> {
    as_list(&args[0], &array_type(&[args[0].data_type().clone()], 0)?)
}

/// The lengths of the dimensions of one array; none if it is empty.
pub(super) fn dimensions(lists: &ListArray, row: usize) -> Vec<i32> {
    let range = range(lists, row);
    if range.is_empty() {
        return Vec::new();
    }
    let mut all = vec![range.len() as i32];
    if let DataType::List(_) = lists.value_type() {
        let inner = dimensions(lists.values().as_list::<i32>(), range.start);
        if inner.is_empty() {
            return inner;
        }
        all.extend(inner);
    }
    all
}

/// What is said of one dimension.
fn dimension(args: &[ArrayRef], of: fn(i32) -> Option<i32>) -> Result<ArrayRef> {
    let lists = lists_of(args)?;
    let wanted = match args.get(1) {
        Some(wanted) => cast(wanted, &DataType::Int32)?,
        None => Arc::new(Int32Array::from(vec![1; lists.len()])),
    };
    let wanted = wanted.as_primitive::<Int32Type>();
    let found = (0..lists.len()).map(|row| {
        if lists.is_null(row) || wanted.is_null(row) {
            return None;
        }
        let at = usize::try_from(wanted.value(row)).ok()?.checked_sub(1)?;
        of(*dimensions(&lists, row).get(at)?)
    });
    Ok(Arc::new(found.collect::<Int32Array>()))
}

/// What is said of all dimensions.
fn whole(args: &[ArrayRef], of: fn(&[i32]) -> Option<i32>) -> Result<ArrayRef> {
    let lists = lists_of(args)?;
    let found = (0..lists.len()).map(|row| if lists.is_null(row) { None } else { of(&dimensions(&lists, row)) });
    Ok(Arc::new(found.collect::<Int32Array>()))
}

fn dims(args: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let lists = lists_of(args)?;
    let found = (0..lists.len()).map(|row| {
        let dimensions = dimensions(&lists, row);
        let mut text = String::new();
        for length in &dimensions {
            // Writing to a string cannot fail.
            let _ = write!(text, "[1:{length}]");
        }
        (!dimensions.is_empty()).then_some(text)
    });
    Ok(Arc::new(found.collect::<StringViewArray>()))
}

/// For each row, whether the element at a place is the one that is looked for; NULL is NULL.
pub(super) fn same(values: &ArrayRef, wanted: &ArrayRef) -> Result<impl Fn(usize, usize) -> bool> {
    let wanted = cast_to(wanted, values.data_type())?;
    let compare = make_comparator(&keys(values)?, &keys(&wanted)?, SortOptions::default())?;
    Ok(move |at, row| compare(at, row).is_eq())
}

/// The elements, and what is looked for among them, in one type.
pub(super) fn united(lists: &ListArray, wanted: &ArrayRef) -> Result<(ListArray, ArrayRef)> {
    let (own, other) = (lists.value_type(), wanted.data_type());
    let is_instant = |known: &DataType| matches!(known, DataType::Timestamp(_, Some(_)));
    if own.is_temporal() && other.is_temporal() && is_instant(&own) != is_instant(other) {
        let (own, other) = (type_name(&own), type_name(other));
        return plan_err!(
            "elements of type {own} and a value of type {other} need a cast: it depends on the time zone"
        );
    }
    let common = common_type(&own, other);
    let array: ArrayRef = Arc::new(lists.clone());
    Ok((as_list(&array, &list_of(common.clone()))?, cast_to(wanted, &common)?))
}

fn searched(args: &[ArrayRef]) -> Result<(ListArray, ArrayRef)> {
    let lists = lists_of(args)?;
    if matches!(element_of(lists.data_type()), Some(DataType::List(_))) {
        return Err(external(Error::new(
            ErrorKind::Unsupported,
            "searching for elements in multidimensional arrays is not supported",
        )));
    }
    let lists: ArrayRef = Arc::new(lists);
    united(flattened(&lists)?.as_list::<i32>(), &args[1])
}

fn position(args: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    if !(2..=3).contains(&args.len()) {
        return plan_err!("array_position takes an array, an element and maybe where to begin");
    }
    let (lists, wanted) = searched(args)?;
    let starts = args.get(2).map(|starts| cast(starts, &DataType::Int32)).transpose()?;
    let is_same = same(lists.values(), &wanted)?;
    let mut found = Int32Builder::with_capacity(lists.len());
    for row in 0..lists.len() {
        let start = match &starts {
            Some(starts) if starts.is_null(row) => {
                return Err(external(Error::new(ErrorKind::Coded("22004"), "initial position must not be null")));
            }
            Some(starts) => starts.as_primitive::<Int32Type>().value(row).max(1) as usize - 1,
            None => 0,
        };
        let range = range(&lists, row);
        let mut places = range.clone().skip(start);
        found.append_option(places.find(|at| is_same(*at, row)).map(|at| (at - range.start) as i32 + 1));
    }
    Ok(Arc::new(found.finish()))
}

fn positions(args: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let (lists, wanted) = searched(args)?;
    let is_same = same(lists.values(), &wanted)?;
    let mut found = ListBuilder::new(Int32Builder::new());
    for row in 0..lists.len() {
        let range = range(&lists, row);
        let places = range.clone().filter(|at| is_same(*at, row)).map(|at| (at - range.start) as i32 + 1);
        places.for_each(|place| found.values().append_value(place));
        found.append(!lists.is_null(row));
    }
    Ok(Arc::new(found.finish()))
}
