//! Puts columns first where conditions compare them with constants, and 0 for -0.
//!
//! `DataFusion`'s rule that moves filters down also takes several comparisons of a column for one of them (55.2). It takes
//! `a = 2 AND 2 = a` for a contradiction: `t LEFT JOIN u ON u.a = t.a AND 2 = t.a` found no partner. Of `a >= 1 AND 1 < a`
//! it keeps the first. It takes -0 for less than 0, and `f = 0 AND f = -0` for a contradiction. It puts a filter together with
//! those below it, so all of them have this form before it sees one.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// The name of the rule that needs this form.
pub(super) const TAKES_COMPARISONS_TOGETHER: &str = "push_down_filter";

/// The rule; it must come right before the one that needs it.
#[derive(Debug)]
pub(super) struct ColumnsFirst;

impl OptimizerRule for ColumnsFirst {
    fn name(&self) -> &'static str {
        "columns_first"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if !matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::Join(_)) {
            return Ok(Transformed::no(plan));
        }
        plan.map_expressions(|expr| expr.transform_up(|part| Ok(column_first(part))))
    }
}

/// `column > constant` for `constant < column`.
fn column_first(expr: Expr) -> Transformed<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else { return Transformed::no(expr) };
    let (column, op, constant, is_turned) = match (&*left, op.swap(), &*right) {
        (Expr::Literal(..), Some(swapped), Expr::Column(_)) => (right, swapped, left, true),
        _ => (left, op, right, false),
    };
    let constant = match (&*column, *constant) {
        (Expr::Column(_), Expr::Literal(value, metadata)) if op.swap().is_some() => {
            without_negative_zero(value).update_data(|value| Expr::Literal(value, metadata))
        }
        (_, constant) => Transformed::no(constant),
    };
    let is_turned = is_turned || constant.transformed;
    let compared = BinaryExpr { left: column, op, right: Box::new(constant.data) };
    Transformed::new_transformed(Expr::BinaryExpr(compared), is_turned)
}

/// The value, 0 if it is -0.
fn without_negative_zero(value: ScalarValue) -> Transformed<ScalarValue> {
    match value {
        ScalarValue::Float64(Some(zero)) if zero == 0.0 && zero.is_sign_negative() => {
            Transformed::yes(ScalarValue::Float64(Some(0.0)))
        }
        ScalarValue::Float32(Some(zero)) if zero == 0.0 && zero.is_sign_negative() => {
            Transformed::yes(ScalarValue::Float32(Some(0.0)))
        }
        value => Transformed::no(value),
    }
}
