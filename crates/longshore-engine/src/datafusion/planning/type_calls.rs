//! `pg_typeof` of values whose type Arrow has not: the column of a table tells it, or the function.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, lit};

use super::origin::told_type;

/// The plan with the names of such types in the place of the calls.
pub(super) fn with_told_types(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| {
        if !asks(&node)? {
            return Ok(Transformed::no(node));
        }
        let Some(input) = node.inputs().first().map(|input| (*input).clone()) else {
            return Ok(Transformed::no(node));
        };
        let names = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            let told = expr.transform_up(|part| {
                Ok(match asked(&part).and_then(|of| told_type(of, &input)) {
                    Some((told, is_array)) => {
                        Transformed::yes(lit(format!("{}{}", told.sql_name, if is_array { "[]" } else { "" })))
                    }
                    None => Transformed::no(part),
                })
            })?;
            Ok(told.update_data(|expr| name.restore(expr)))
        })
    })
    .map(|plan| plan.data)
}

/// Whether a node of one input asks for a type.
fn asks(node: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    if node.inputs().len() == 1 {
        node.apply_expressions(|expr| {
            found |= expr.exists(|part| Ok(asked(part).is_some()))?;
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
    }
    Ok(found)
}

/// Of what a call asks for the type.
fn asked(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::ScalarFunction(call) if call.func.name() == "pg_typeof" => call.args.first(),
        _ => None,
    }
}
