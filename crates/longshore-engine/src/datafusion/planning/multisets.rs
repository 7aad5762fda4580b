//! EXCEPT ALL and INTERSECT ALL: how often a row comes is part of the answer.
//!
//! `DataFusion` makes an anti or a semi join of them, which drops or keeps all rows that are equal to one on the other
//! side. Here equal rows are numbered on each side first, and the number takes part in the comparison: of m and n equal
//! rows, m - n are left by EXCEPT ALL, and the fewer of both by INTERSECT ALL. Without ALL, the rows on the left are
//! distinct already, and the joins are right. In all of them, columns are compared by position: `DataFusion` looks them
//! up by name, of which there may be several.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, JoinType, NullEquality, Result};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{Distinct, Expr, ExprFunctionExt, Join, LogicalPlan, LogicalPlanBuilder};

/// The columns that number equal rows.
const LEFT: &str = "copy (left)";
const RIGHT: &str = "copy (right)";

/// The plan with such operations.
pub(in crate::datafusion) fn with_multisets(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Join(join) if is_set_operation(&join) => {
            let columns: Vec<Expr> = join.left.schema().columns().into_iter().map(Expr::Column).collect();
            let keys = columns.iter().cloned().zip(join.right.schema().columns().into_iter().map(Expr::Column));
            let on = keys.collect::<Vec<_>>();
            if matches!(*join.left, LogicalPlan::Distinct(Distinct::All(_))) {
                return Ok(Transformed::yes(LogicalPlan::Join(Join { on, ..join })));
            }
            let mut numbered = on;
            numbered.push((Expr::Column(Column::from_name(LEFT)), Expr::Column(Column::from_name(RIGHT))));
            let (left, right) = (numbered_rows(&join.left, LEFT)?, numbered_rows(&join.right, RIGHT)?);
            let join = over(&join, left, right, numbered)?;
            let plan = LogicalPlanBuilder::from(LogicalPlan::Join(join)).project(columns)?.build()?;
            Ok(Transformed::yes(plan))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

/// Whether it is an INTERSECT or an EXCEPT: nothing else makes joins of this kind before a plan is optimized.
pub(super) fn is_set_operation(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNull
        && join.on.len() == join.left.schema().fields().len()
        && join.filter.is_none()
}

/// The same operation over other sides, whose rows are equal where these columns are.
pub(super) fn over(operation: &Join, left: LogicalPlan, right: LogicalPlan, on: Vec<(Expr, Expr)>) -> Result<Join> {
    let Join { join_type, join_constraint, null_equality, null_aware, .. } = *operation;
    Join::try_new(Arc::new(left), Arc::new(right), on, None, join_type, join_constraint, null_equality, null_aware)
}

/// Both sides of one as they are written: without the DISTINCT that the planner puts above the left one, and without the names
/// that it gives sides with columns of the same names.
pub(super) fn sides(set_operation: &Join) -> [&Arc<LogicalPlan>; 2] {
    let left = match set_operation.left.as_ref() {
        LogicalPlan::Distinct(Distinct::All(rows)) => rows,
        _ => &set_operation.left,
    };
    [(left, "left"), (&set_operation.right, "right")].map(|(side, name)| match side.as_ref() {
        LogicalPlan::SubqueryAlias(alias) if alias.alias.table() == name => &alias.input,
        _ => side,
    })
}

/// The rows of `plan` with a column `name` behind the others, that numbers equal ones from 1.
fn numbered_rows(plan: &Arc<LogicalPlan>, name: &str) -> Result<LogicalPlan> {
    let mut columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
    let number = row_number().partition_by(columns.clone()).build()?;
    let number_name = Column::from_name(number.schema_name().to_string());
    columns.push(Expr::Column(number_name).alias(name));
    LogicalPlanBuilder::from(Arc::clone(plan)).window([number])?.project(columns)?.build()
}
