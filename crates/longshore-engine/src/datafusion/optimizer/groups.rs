//! Filters move down, but for those that name no column: they stay above groups.
//!
//! `DataFusion` moves a condition below an aggregate if all columns that it names are group keys. A condition that names
//! none, such as one over a constant beside `count(*)`, passes as well; but an aggregate without keys, or with an empty
//! grouping set, has a row where there are none below it. One that is another each time (`random() < 0.5`) would take
//! rows from the groups. They cost nothing above: one that is constant is simplified in the same pass.
//!
//! The rule takes `a = 2 AND 2 = a` for a contradiction (55.2), and conditions of a join are not brought into one form before:
//! `t LEFT JOIN u ON u.a = t.a AND 2 = t.a` found no partner. Of `a >= 1 AND 1 < a` it keeps the first. So columns come first.
//! It takes -0 for less than 0, and `f = 0 AND f = -0` for a contradiction. So what a column is compared with is never -0.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, Filter, LogicalPlan};
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::simplify_expressions::simplify_predicates;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// Moves filters down by `DataFusion`'s rule, without the conditions that must stay.
pub(super) fn push_down_filters(
    rule: &PushDownFilter,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    let Transformed { data: plan, transformed: is_turned, .. } = columns_first(plan)?;
    let mut rewritten = push(rule, plan, config)?;
    rewritten.transformed |= is_turned;
    Ok(rewritten)
}

fn push(rule: &PushDownFilter, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Filter(filter) = plan else {
        return rule.rewrite(plan, config);
    };
    let (conditions, input) = chain(&filter);
    if !matches!(&**input, LogicalPlan::Aggregate(_) | LogicalPlan::Window(_) | LogicalPlan::Distinct(_)) {
        return rule.rewrite(LogicalPlan::Filter(filter), config);
    }
    // `count(*) = 0 AND count(*) = 3` becomes a condition that names none, which the rule would move at once.
    let conditions = simplify_predicates(conditions)?;
    let (without, with): (Vec<_>, Vec<_>) = conditions.into_iter().partition(|expr| expr.column_refs().is_empty());
    let Some(stays) = conjunction(without) else {
        return rule.rewrite(LogicalPlan::Filter(filter), config);
    };
    let Some(moves) = conjunction(with) else {
        return Filter::try_new(stays, Arc::clone(input)).map(LogicalPlan::Filter).map(Transformed::yes);
    };
    let moved = Filter::try_new(moves, Arc::clone(input))?;
    rule.rewrite(LogicalPlan::Filter(moved), config)?
        .map_data(|plan| Filter::try_new(stays, plan.into()).map(LogicalPlan::Filter))
}

/// The filter or join with `column > constant` for `constant < column`, and with no -0.
fn columns_first(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if !matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::Join(_)) {
        return Ok(Transformed::no(plan));
    }
    plan.map_expressions(|expr| expr.transform_up(|part| Ok(column_first(part))))
}

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

/// The conditions of a filter and of those right below it, which `DataFusion` makes one of, and what is below them.
fn chain(filter: &Filter) -> (Vec<Expr>, &Arc<LogicalPlan>) {
    let mut conditions = split_conjunction_owned(filter.predicate.clone());
    let mut input = &filter.input;
    while let LogicalPlan::Filter(below) = &**input {
        conditions.splice(0..0, split_conjunction_owned(below.predicate.clone()));
        input = &below.input;
    }
    (conditions, input)
}
