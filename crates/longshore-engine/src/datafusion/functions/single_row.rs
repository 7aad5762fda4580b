//! The value of a subquery that may have several rows, and must have one at most where its value is asked for.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, exec_err, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::datafusion::errors::external;
use crate::{Error, ErrorKind};

static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(SingleRow::new())));

/// `value`, which is that of one of so many `rows`.
pub(in crate::datafusion) fn single_row(value: Expr, rows: Expr) -> Expr {
    FUNCTION.call(vec![value, rows])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SingleRow {
    signature: Signature,
}

impl SingleRow {
    fn new() -> Self {
        Self { signature: Signature::any(2, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for SingleRow {
    fn name(&self) -> &'static str {
        "single_row"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        types.first().map_or_else(|| internal_err!("single_row takes a value and a number of rows"), |t| Ok(t.clone()))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value, rows] = args.args.as_slice() else {
            return exec_err!("single_row takes a value and a number of rows");
        };
        let rows = rows.to_array(args.number_rows)?;
        if rows.as_primitive::<Int64Type>().iter().flatten().any(|rows| rows > 1) {
            return Err(external(Error::new(
                ErrorKind::Cardinality,
                "more than one row returned by a subquery used as an expression",
            )));
        }
        debug_assert!(rows.len() == args.number_rows);
        Ok(value.clone())
    }
}
