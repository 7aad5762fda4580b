//! Keys of values whose equal ones may be different bytes: exact numbers of several scales, JSONB with such, intervals, of
//! which a month is 30 days, and arrays of these and of floating-point numbers, of which -0 and 0 are equal.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{Cast, Expr, ScalarUDF};

use crate::datafusion::functions::json_types::is_jsonb;
use crate::datafusion::functions::nested::{element_of, list_of};
use crate::datafusion::functions::numeric::is_numeric;
use crate::datafusion::functions::row_function::RowFunction;
use crate::datafusion::functions::time::kinds::{Kind, time_kind};
use crate::datafusion::functions::time::rewrite::INTERVAL_KEY;
use crate::datafusion::functions::{json, numeric, time, zeros};

static ARRAY_KEY: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let of_type = |types: &[DataType]| {
        if let [data_type] = types { Ok(key_type(data_type)) } else { plan_err!("one array is wanted") }
    };
    Arc::new(RowFunction::new("array key", of_type, |args, _| keys(&args[0])).function())
});

/// Whether values of this type are compared by their keys. Floating-point numbers by themselves are not (`functions::zeros`).
pub(in crate::datafusion) fn has_key(data_type: &DataType) -> bool {
    let is_of_elements = |element: &DataType| element.is_floating() || has_key(element);
    is_numeric(data_type)
        || is_jsonb(data_type)
        || is_interval(data_type)
        || element_of(data_type).is_some_and(is_of_elements)
}

/// Whether it is INTERVAL.
fn is_interval(data_type: &DataType) -> bool {
    time_kind(data_type) == Some(Kind::Interval)
}

fn key_type(data_type: &DataType) -> DataType {
    match element_of(data_type) {
        Some(element) => list_of(key_type(element)),
        None if is_numeric(data_type) || is_jsonb(data_type) => DataType::BinaryView,
        None if is_interval(data_type) => INTERVAL_KEY,
        None => data_type.clone(),
    }
}

/// The key of `expr`, which is of this type or becomes a value of it.
pub(in crate::datafusion) fn key(expr: Expr, data_type: &DataType) -> Expr {
    if is_jsonb(data_type) {
        json::key(expr)
    } else if is_numeric(data_type) {
        numeric::keys::key(expr)
    } else if is_interval(data_type) {
        time::rewrite::key(expr, Kind::Interval)
    } else {
        ARRAY_KEY.call(vec![expr])
    }
}

/// The key of `expr`, which is of the type `own` and compared with values of the type `common`, an array: it becomes one of
/// these before.
pub(in crate::datafusion) fn array_key(expr: Expr, own: Option<&DataType>, common: &DataType) -> Expr {
    match own {
        Some(own) if own != common && !own.is_null() => {
            key(Expr::Cast(Cast::new(Box::new(expr), common.clone())), common)
        }
        _ => key(expr, common),
    }
}

/// What values are compared by: their keys if they have such, and else themselves.
pub(in crate::datafusion) fn keys(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            let values = keys(lists.values())?;
            let DataType::List(item) = list_of(values.data_type().clone()) else {
                return plan_err!("an array is wanted");
            };
            Arc::new(ListArray::try_new(item, lists.offsets().clone(), values, lists.nulls().cloned())?)
        }
        data_type if is_numeric(data_type) => numeric::keys::keys(array)?,
        data_type if is_jsonb(data_type) => json::keys(array)?,
        data_type if is_interval(data_type) => time::rewrite::keys(array, Kind::Interval)?,
        data_type if data_type.is_floating() => zeros::positive(array),
        _ => Arc::clone(array),
    })
}
