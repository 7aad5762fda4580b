//! Sorted arrays in which each element stands once: what `array_agg(DISTINCT x)` gives where equal elements may differ in their
//! bytes (`functions::keys`).

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt64Array, make_comparator};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::{SortOptions, take};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{Expr, ScalarUDF};

use super::{array_type, range};
use crate::datafusion::functions::keys::keys;
use crate::datafusion::functions::row_function::RowFunction;

static DISTINCT: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let function = RowFunction::new("sorted array without repeats", |types| array_type(types, 0), without_repeats);
    Arc::new(function.function())
});

/// The sorted array that `expr` gives, without the elements that are equal to the one before them.
pub(in crate::datafusion) fn distinct(expr: Expr) -> Expr {
    DISTINCT.call(vec![expr])
}

fn without_repeats(args: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let DataType::List(item) = args[0].data_type() else { return plan_err!("an array is wanted") };
    let lists = args[0].as_list::<i32>();
    let elements = keys(lists.values())?;
    let compare = make_comparator(&elements, &elements, SortOptions::default())?;
    let (mut kept, mut lengths) = (Vec::new(), Vec::with_capacity(lists.len()));
    for row in 0..lists.len() {
        let range = range(lists, row);
        let is_first = |at: &usize| *at == range.start || compare(at - 1, *at).is_ne();
        let before = kept.len();
        range.clone().filter(is_first).for_each(|at| kept.push(at as u64));
        lengths.push(kept.len() - before);
    }
    let values = take(lists.values(), &UInt64Array::from(kept), None)?;
    let list =
        ListArray::try_new(Arc::clone(item), OffsetBuffer::from_lengths(lengths), values, lists.nulls().cloned())?;
    Ok(Arc::new(list))
}
