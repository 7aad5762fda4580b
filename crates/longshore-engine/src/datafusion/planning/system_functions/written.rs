//! Functions that stand in a plan only where it was rewritten: subscripts of an `int2vector`, which begin at 0, and values of
//! which nothing is told but Arrow's type.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int32Builder, ListBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::ScalarUDF;

use crate::datafusion::functions::nested::list_of;
use crate::datafusion::functions::row_function::RowFunction;

/// `generate_subscripts` of a vector.
pub(in crate::datafusion::planning) const VECTOR_SUBSCRIPTS: &str = "vector subscripts";

/// A value as it is, without what metadata tell of it.
pub(in crate::datafusion::planning) const UNTOLD: &str = "untold";

/// The function of this name.
pub(super) fn function(name: &str) -> Option<Arc<ScalarUDF>> {
    let function = match name {
        VECTOR_SUBSCRIPTS => RowFunction::new(VECTOR_SUBSCRIPTS, |_| Ok(list_of(DataType::Int32)), subscripts),
        UNTOLD => RowFunction::new(UNTOLD, |types| Ok(types[0].clone()), |args, _| Ok(Arc::clone(&args[0]))),
        _ => return None,
    };
    Some(Arc::new(function.function()))
}

fn subscripts(args: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let Some(lists) = args[0].as_list_opt::<i32>() else { return plan_err!("{VECTOR_SUBSCRIPTS} takes an array") };
    let mut numbers = ListBuilder::new(Int32Builder::new());
    for row in 0..lists.len() {
        if lists.is_valid(row) {
            (0..lists.value_length(row)).for_each(|number| numbers.values().append_value(number));
        }
        numbers.append(lists.is_valid(row));
    }
    Ok(Arc::new(numbers.finish()))
}
