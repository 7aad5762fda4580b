//! The subqueries that most queries have, of which it is known without a trial that `DataFusion` makes joins:
//!
//! ```sql
//! WHERE [NOT] EXISTS (SELECT ... FROM ... WHERE inner = outer AND ...)
//! WHERE x < (SELECT min(...) FROM ... WHERE inner = outer AND ...)
//! ```
//!
//! A trial takes a fifth of the time of planning. Columns that are compared are of one type, of which the plan compares the values as
//! they are.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ExprSchema as _;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Expr, Filter, LogicalPlan, Operator, Projection, Subquery, SubqueryAlias,
};

use super::{has_outer, subquery};
use crate::datafusion::planning::nullable_subqueries::is_comparison;

/// Aggregates that are NULL where there are no rows, as is what a join finds there.
const AGGREGATES: [&str; 4] = ["min", "max", "sum", "avg"];

/// Whether all subqueries of an operator that depend on something are such, and there is one.
pub(super) fn has_plain_subqueries(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Filter(Filter { predicate, .. }) = plan else { return false };
    let mut found = false;
    for condition in split_conjunction(predicate) {
        if !has_outer(condition) {
            continue;
        }
        if !is_plain(condition) {
            return false;
        }
        found = true;
    }
    found
}

fn is_plain(condition: &Expr) -> bool {
    match condition {
        Expr::Not(inner) => matches!(inner.as_ref(), Expr::Exists(_)) && is_plain(inner),
        Expr::Exists(exists) => filtered(&exists.subquery).is_some_and(|filter| is_joined(filter, is_comparison)),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
            let (value, other) = match (value(left), value(right)) {
                (Some(value), None) => (value, right),
                (None, Some(value)) => (value, left),
                _ => return false,
            };
            let is_other = other.exists(|part| Ok(subquery(part).is_some())).is_ok_and(|has_another| !has_another);
            is_other && aggregated(value).is_some_and(|filter| is_joined(filter, |op| op == Operator::Eq))
        }
        _ => false,
    }
}

/// The subquery whose value `expr` is, perhaps in another type or as a key.
fn value(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::ScalarSubquery(subquery) => Some(subquery),
        Expr::Cast(cast) => value(&cast.expr),
        Expr::ScalarFunction(call) if call.func.is_strict() => match call.args.as_slice() {
            [argument] => value(argument),
            _ => None,
        },
        _ => None,
    }
}

/// The condition of a subquery whose rows are only looked for.
fn filtered(subquery: &Subquery) -> Option<&Filter> {
    let mut plan = subquery.subquery.as_ref();
    loop {
        plan = match plan {
            LogicalPlan::Projection(Projection { input, .. })
            | LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) => input,
            LogicalPlan::Filter(filter) => return Some(filter),
            _ => return None,
        };
    }
}

/// The condition of a subquery that gives an aggregate of its rows.
fn aggregated(subquery: &Subquery) -> Option<&Filter> {
    let LogicalPlan::Projection(Projection { expr, input, .. }) = subquery.subquery.as_ref() else { return None };
    let LogicalPlan::Aggregate(Aggregate { input, group_expr, aggr_expr, .. }) = input.as_ref() else { return None };
    let is_known = |aggregate: &Expr| match aggregate {
        Expr::AggregateFunction(AggregateFunction { func, .. }) => AGGREGATES.contains(&func.name()),
        _ => false,
    };
    // Of nothing, what is computed of the aggregate must be NULL, too.
    let is_strict = |part: &Expr| match part {
        Expr::Alias(_) | Expr::Column(_) | Expr::Literal(..) | Expr::Cast(_) => true,
        Expr::BinaryExpr(BinaryExpr { op, .. }) => op.is_numerical_operators(),
        Expr::ScalarFunction(call) => call.func.is_strict(),
        _ => false,
    };
    let is_computed_so =
        expr.iter().all(|expr| expr.exists(|part| Ok(!is_strict(part))).is_ok_and(|is_other| !is_other));
    let is_outer = expr.iter().chain(aggr_expr).any(has_outer_column);
    if !group_expr.is_empty() || !aggr_expr.iter().all(is_known) || !is_computed_so || is_outer {
        return None;
    }
    if let LogicalPlan::Filter(filter) = input.as_ref() { Some(filter) } else { None }
}

/// Whether nothing depends on something but conditions that compare a column with one further out by an operator of these, and
/// one of them by `=`.
fn is_joined(filter: &Filter, is_allowed: impl Fn(Operator) -> bool) -> bool {
    let mut is_equal = false;
    for condition in split_conjunction(&filter.predicate) {
        if condition.exists(|part| Ok(subquery(part).is_some())).unwrap_or(true) {
            return false;
        }
        if !has_outer_column(condition) {
            continue;
        }
        let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition else { return false };
        let ((Expr::Column(own), Expr::OuterReferenceColumn(field, _))
        | (Expr::OuterReferenceColumn(field, _), Expr::Column(own))) = (left.as_ref(), right.as_ref())
        else {
            return false;
        };
        let own = filter.input.schema().field_from_column(own);
        let is_same = own.is_ok_and(|own| own.data_type() == field.data_type() && is_simple(own.data_type()));
        if !is_same || !is_allowed(*op) {
            return false;
        }
        is_equal |= *op == Operator::Eq;
    }
    is_equal && is_independent(&filter.input)
}

fn is_simple(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::Date32)
}

fn has_outer_column(expr: &Expr) -> bool {
    expr.exists(|part| Ok(matches!(part, Expr::OuterReferenceColumn(..)))).unwrap_or(true)
}

/// Whether neither a plan nor a subquery of it depends on something.
fn is_independent(plan: &LogicalPlan) -> bool {
    let mut found = false;
    let walked = plan.apply_with_subqueries(|node| {
        found |= node.contains_outer_reference();
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    walked.is_ok() && !found
}
