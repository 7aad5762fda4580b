//! Functions that make a value of each value: of an array another one, of a scalar another one.

use datafusion::arrow::array::ArrayRef;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, Expr, ExprSchemable};

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

/// Whether `expr` is a text, or NULL.
pub(in crate::datafusion) fn is_text(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|data_type| data_type.is_string() || data_type.is_null())
}
