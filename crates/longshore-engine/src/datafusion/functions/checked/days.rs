//! A date so many days later or earlier. `DataFusion` makes an interval of the days, by way of seconds, which few numbers of
//! days fit into, and which it cannot compare where it estimates how many rows a condition keeps.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::compute::kernels::numeric;
use datafusion::arrow::datatypes::{DataType, Date32Type, Int64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr_common::datum::apply;

use crate::datafusion::functions::element_wise::map_values;

/// Whether an operator adds days to a date, or takes them off.
pub(super) fn is_shift(left: &DataType, operator: Operator, right: &DataType) -> bool {
    match operator {
        Operator::Plus => {
            *left == DataType::Date32 && right.is_integer() || left.is_integer() && *right == DataType::Date32
        }
        Operator::Minus => *left == DataType::Date32 && right.is_integer(),
        _ => false,
    }
}

/// The dates, of an operator of which [`is_shift`] holds.
pub(super) fn shifted(left: &ColumnarValue, operator: Operator, right: &ColumnarValue) -> Result<ColumnarValue> {
    let number = |value: &ColumnarValue| value.cast_to(&DataType::Int32, None)?.cast_to(&DataType::Int64, None);
    let wide = |value: &ColumnarValue| match value.data_type() {
        DataType::Date32 => number(value),
        _ => value.cast_to(&DataType::Int64, None),
    };
    let (left, right) = (wide(left)?, wide(right)?);
    let kernel = if operator == Operator::Plus { numeric::add } else { numeric::sub };
    map_values(&apply(&left, &right, kernel)?, |days| Ok(dates(days)?))
}

/// Dates of their numbers of days since 1970.
fn dates(days: &dyn Array) -> Result<Arc<dyn Array>, ArrowError> {
    let date = |day: i64| {
        let date = i32::try_from(day).ok().filter(|&day| Date32Type::to_naive_date_opt(day).is_some());
        date.ok_or_else(|| ArrowError::ArithmeticOverflow(format!("date out of range: {day} days since 1970-01-01")))
    };
    Ok(Arc::new(days.as_primitive::<Int64Type>().try_unary::<_, Date32Type, _>(date)?))
}
