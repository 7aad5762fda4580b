//! Functions that make a value of each value: of an array another one, of a scalar another one.

use datafusion::arrow::array::ArrayRef;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::ColumnarValue;

/// What `map`, which keeps the number of values, makes of `value`.
pub(in crate::datafusion) fn map_values(
    value: &ColumnarValue,
    map: impl FnOnce(&ArrayRef) -> Result<ArrayRef>,
) -> Result<ColumnarValue> {
    match value {
        ColumnarValue::Array(array) => map(array).map(ColumnarValue::Array),
        ColumnarValue::Scalar(value) => {
            ScalarValue::try_from_array(&map(&value.to_array()?)?, 0).map(ColumnarValue::Scalar)
        }
    }
}
