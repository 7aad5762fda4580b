//! `x = ANY (array)` and `x < ALL (array)`.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, make_comparator};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::ScalarUDF;

use super::measure::united;
use super::{as_list, range};
use crate::datafusion::functions::keys::keys;
use crate::datafusion::functions::nested::cast::cast_to;
use crate::datafusion::functions::nested::text_out;
use crate::datafusion::functions::nested::{element_of, flattened, list_of};
use crate::datafusion::functions::numeric::data_type;
use crate::datafusion::functions::row_function::RowFunction;
use crate::sql::arrays::{ALL_OF, ANY_OF};

pub(super) fn functions() -> Vec<ScalarUDF> {
    let boolean = |_: &[DataType]| Ok(DataType::Boolean);
    [
        RowFunction::new(ANY_OF, boolean, |args, _| quantified(args, true)),
        RowFunction::new(ALL_OF, boolean, |args, _| quantified(args, false)),
    ]
    .map(RowFunction::function)
    .into()
}

/// The operator, its left side, and the array.
fn quantified(args: &[ArrayRef], wants_any: bool) -> Result<ArrayRef> {
    let [operators, values, arrays] = args else { return plan_err!("an operator, a value and an array are wanted") };
    let rows = values.len();
    let arrays = if let DataType::List(_) = arrays.data_type() {
        flattened(arrays)?
    } else {
        // A text is read as an array of what it is compared with.
        let element = match values.data_type() {
            DataType::Null => DataType::Utf8View,
            // A number that is written has all of its digits.
            DataType::Decimal128(..) => data_type(),
            other => other.clone(),
        };
        cast_to(arrays, &list_of(element))?
    };
    let operators = text_out::texts(operators)?;
    let operator = if rows == 0 { "=" } else { operators.value(0) };
    let lists = as_list(&arrays, arrays.data_type())?;
    let (lists, values) = match element_of(lists.data_type()) {
        Some(DataType::Null) => (as_list(&arrays, &list_of(values.data_type().clone()))?, Arc::clone(values)),
        _ => united(&lists, values)?,
    };
    let elements = lists.values();
    let compare = make_comparator(&keys(&values)?, &keys(elements)?, SortOptions::default())?;
    let holds = |row: usize, at: usize| {
        let order = compare(row, at);
        match operator {
            "=" => order.is_eq(),
            "<>" | "!=" => order.is_ne(),
            "<" => order.is_lt(),
            "<=" => order.is_le(),
            ">" => order.is_gt(),
            _ => order.is_ge(),
        }
    };
    let answers = (0..rows).map(|row| {
        if lists.is_null(row) {
            return None;
        }
        let mut is_unknown = false;
        for at in range(&lists, row) {
            if values.is_null(row) || elements.is_null(at) {
                is_unknown = true;
            } else if holds(row, at) == wants_any {
                return Some(wants_any);
            }
        }
        (!is_unknown).then_some(!wants_any)
    });
    Ok(Arc::new(answers.collect::<BooleanArray>()))
}
