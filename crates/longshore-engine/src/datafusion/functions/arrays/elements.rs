//! What arrays have in common, and their elements as rows.

use std::sync::Arc;

use datafusion::arrow::array::make_comparator;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Builder, ListArray, ListBuilder};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::ScalarUDF;

use super::{array_type, as_list, common_type, range};
use crate::datafusion::functions::keys::keys;
use crate::datafusion::functions::nested::cast::cast_to;
use crate::datafusion::functions::nested::{flattened, innermost, list_of};
use crate::datafusion::functions::row_function::RowFunction;

/// The function that makes one dimension of all; nobody can call it by its name.
pub(in crate::datafusion) const ELEMENTS: &str = "array elements";
/// The function that numbers the rows of the longest of its arrays.
pub(in crate::datafusion) const ORDINALS: &str = "array ordinals";

pub(super) fn functions() -> Vec<ScalarUDF> {
    let boolean = |_: &[DataType]| Ok(DataType::Boolean);
    [
        RowFunction::new("arraycontains", boolean, |args, _| {
            relation(args, |left, right, is_same| right.clone().all(|at| left.clone().any(|own| is_same(own, at))))
        }),
        RowFunction::new("arraycontained", boolean, |args, _| {
            let args = [Arc::clone(&args[1]), Arc::clone(&args[0])];
            relation(&args, |left, right, is_same| right.clone().all(|at| left.clone().any(|own| is_same(own, at))))
        }),
        RowFunction::new("arrayoverlap", boolean, |args, _| {
            relation(args, |left, right, is_same| right.clone().any(|at| left.clone().any(|own| is_same(own, at))))
        }),
        RowFunction::new(
            ELEMENTS,
            |types| Ok(list_of(innermost(&array_type(types, 0)?).clone())),
            |args, _| {
                let lists: ArrayRef = Arc::new(as_list(&args[0], &array_type(&[args[0].data_type().clone()], 0)?)?);
                flattened(&lists)
            },
        ),
        RowFunction::new(ORDINALS, |_| Ok(list_of(DataType::Int64)), |args, _| Ok(ordinals(args))),
    ]
    .map(RowFunction::function)
    .into()
}

type Places = std::ops::Range<usize>;
/// Whether the places of two arrays are in a relation, by whether the elements at two places are the same.
type Holds = fn(&Places, &Places, &dyn Fn(usize, usize) -> bool) -> bool;

/// What two arrays are to each other, by which of their elements are the same; NULL is the same as nothing.
fn relation(args: &[ArrayRef], holds: Holds) -> Result<ArrayRef> {
    let (left, right) = united(&args[0], &args[1])?;
    let (own, others) = (left.values(), right.values());
    let compare = make_comparator(&keys(own)?, &keys(others)?, SortOptions::default())?;
    let is_same = |at: usize, other: usize| own.is_valid(at) && others.is_valid(other) && compare(at, other).is_eq();
    let answers = (0..left.len()).map(|row| {
        let is_known = !left.is_null(row) && !right.is_null(row);
        is_known.then(|| holds(&range(&left, row), &range(&right, row), &is_same))
    });
    Ok(Arc::new(answers.collect::<BooleanArray>()))
}

/// Two arrays in one dimension and one type.
fn united(left: &ArrayRef, right: &ArrayRef) -> Result<(ListArray, ListArray)> {
    let is_list = |array: &ArrayRef| matches!(array.data_type(), DataType::List(_));
    let (left, right) = match (is_list(left), is_list(right)) {
        (true, true) => (flattened(left)?, flattened(right)?),
        (true, false) => (flattened(left)?, cast_to(right, left.data_type())?),
        (false, true) => (cast_to(left, right.data_type())?, flattened(right)?),
        (false, false) => return plan_err!("an array is wanted"),
    };
    let (own, other) = (innermost(left.data_type()).clone(), innermost(right.data_type()).clone());
    let common = list_of(common_type(&own, &other));
    Ok((as_list(&left, &common)?, as_list(&right, &common)?))
}

/// 1, 2, ... as many as the longest of the arrays has elements.
fn ordinals(args: &[ArrayRef]) -> ArrayRef {
    let rows = args.first().map_or(0, Array::len);
    let mut lists = ListBuilder::new(Int64Builder::new());
    for row in 0..rows {
        let lengths = args.iter().map(|array| match array.data_type() {
            DataType::List(_) => range(array.as_list::<i32>(), row).len(),
            _ => 0,
        });
        (1..=lengths.max().unwrap_or(0)).for_each(|number| lists.values().append_value(number as i64));
        lists.append(true);
    }
    Arc::new(lists.finish())
}
