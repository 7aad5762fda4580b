//! LIMIT and OFFSET whose numbers are computed: `LIMIT 2 + 3`, `LIMIT '5'::bigint`. Each becomes its value before the plan is
//! optimized, so that what is wrong with it is told as of any other value.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::Schema;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{ColumnarValue, Expr, Limit, LogicalPlan, Volatility};

use super::expressions::simplified;

/// The plan with such numbers as literals.
pub(super) fn with_computed_limits(plan: LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::Limit(Limit { skip, fetch, input }) = node else { return Ok(Transformed::no(node)) };
        let computed = |number: Option<Box<Expr>>| match number {
            Some(number) if is_computed(&number)? => value(*number, state).map(|number| Some(Box::new(number))),
            number => Ok(number),
        };
        let limit = Limit { skip: computed(skip)?, fetch: computed(fetch)?, input };
        Ok(Transformed::yes(LogicalPlan::Limit(limit)))
    })?;
    Ok(plan.data)
}

/// Whether a number is neither written as such nor one of another statement or execution.
fn is_computed(number: &Expr) -> Result<bool> {
    if matches!(number, Expr::Literal(..)) {
        return Ok(false);
    }
    let depends = number.exists(|part| {
        Ok(match part {
            Expr::Placeholder(_) | Expr::Column(_) | Expr::OuterReferenceColumn(..) | Expr::ScalarSubquery(_) => true,
            // A plan that is kept has the value of another execution.
            Expr::ScalarFunction(call) => call.func.signature().volatility != Volatility::Immutable,
            _ => false,
        })
    })?;
    Ok(!depends)
}

fn value(number: Expr, state: &SessionState) -> Result<Expr> {
    let nothing = DFSchema::empty();
    let number = simplified(state, number, &nothing)?;
    if matches!(number, Expr::Literal(..)) {
        return Ok(number);
    }
    let one_row = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &one_row)?;
    let value = match state.create_physical_expr(number, &nothing)?.evaluate(&row)? {
        ColumnarValue::Scalar(value) => value,
        ColumnarValue::Array(array) => ScalarValue::try_from_array(&array, 0)?,
    };
    Ok(Expr::Literal(value, None))
}
