//! Whether `DataFusion` makes joins of the subqueries of an operator, and so they can stay as they are.
//!
//! Its rules know when they cannot, and say so in many ways: by an error of the analysis, of a rule, or by leaving the
//! subquery where it is. So they are asked, but for the usual subqueries (`plain`).

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::Optimizer;

use super::{has_outer, plain, subquery};
use crate::datafusion::planning::null_logic::with_null_logic;
use crate::datafusion::planning::outer_types;

/// The last of the rules that make joins of subqueries.
const LAST_RULE: &str = "decorrelate_lateral_join";

/// Whether no subquery that depends on the query around it is left behind the rules.
pub(super) fn is_left(plan: &LogicalPlan, state: &SessionState) -> bool {
    plain::has_plain_subqueries(plan) || tried(plan, state).is_ok_and(|plan| !has_any_left(&plan))
}

fn tried(plan: &LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
    let plan = with_null_logic(without_outer_columns(plan.clone())?)?.data;
    let plan = outer_types::resolved(plan, state)?;
    let plan = state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {})?;
    let rules = state.optimizers();
    let last = rules.iter().position(|rule| rule.name() == LAST_RULE).map_or(rules.len(), |last| last + 1);
    let optimizer = Optimizer::with_rules(rules[..last].to_vec());
    optimizer.optimize(plan, state, |_, _| {})
}

/// The plan with values in the place of columns of queries further out, which stay unknown here.
fn without_outer_columns(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up(|node| {
        node.map_expressions(|expr| {
            expr.transform_up(|part| match part {
                Expr::OuterReferenceColumn(field, column) => {
                    let id = format!("${}", column.flat_name());
                    let value = Placeholder::new_with_field(id, Some(Arc::clone(&field)));
                    Ok(Transformed::yes(Expr::Placeholder(value)))
                }
                other => Ok(Transformed::no(other)),
            })
        })
    })?;
    Ok(plan.data)
}

fn has_any_left(plan: &LogicalPlan) -> bool {
    let mut found = false;
    let walked = plan.apply_with_subqueries(|node| {
        found |= matches!(node, LogicalPlan::Subquery(subquery) if !subquery.outer_ref_columns.is_empty());
        node.apply_expressions(|expr| {
            let is_value = |part: &Expr| !matches!(part, Expr::ScalarSubquery(_)) && subquery(part).is_some();
            found |= has_outer(expr) || expr.contains_outer() || expr.exists(|part| Ok(is_value(part)))?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    walked.is_err() || found
}
