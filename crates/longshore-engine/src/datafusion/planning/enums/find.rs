//! Which expressions of a plan are of an enumeration.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction};
use datafusion::logical_expr::{Cast, Distinct, Expr, JoinType, LogicalPlan};

use crate::datafusion::functions::enums::{self, Enumeration, given};
use crate::datafusion::scan::table::RelationTable;
use crate::sql::arrays::SUBSCRIPT;

/// Of which enumeration a column is.
pub(super) type Found<'a> = &'a dyn Fn(&Column) -> Option<Arc<Enumeration>>;

/// Functions and aggregates that give one of the values that they are given first.
const SAME: [&str; 11] =
    ["coalesce", "nullif", "min", "max", "first_value", "last_value", "nth_value", "lag", "lead", "mode", "any_value"];

/// Whether a node reads a table with such columns, or names an enumeration.
fn may_have(node: &LogicalPlan) -> bool {
    if let LogicalPlan::TableScan(scan) = node
        && let Ok(provider) = source_as_provider(&scan.source)
        && let Some(table) = provider.downcast_ref::<RelationTable>()
    {
        return !table.enums().is_empty();
    }
    let mut found = false;
    let looked = node.apply_expressions(|expr| {
        found |= expr.exists(|part| Ok(names_one(part)))?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found || looked.is_err()
}

/// Whether a plan has values of an enumeration.
pub(super) fn has_enums(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= may_have(node);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Whether an expression names an enumeration.
pub(super) fn names_one(expr: &Expr) -> bool {
    match expr {
        Expr::Cast(cast) => Enumeration::of(&cast.field).is_some(),
        Expr::ScalarFunction(call) => given(call).is_some() || enums::elements(call).is_some(),
        _ => false,
    }
}

/// The enumeration that the elements of an array are of, where the expression says so.
fn of_elements(array: &Expr) -> Option<Arc<Enumeration>> {
    match array {
        Expr::Cast(Cast { field, .. }) => Enumeration::of(field).map(Arc::new),
        Expr::ScalarFunction(call) => enums::elements(call),
        _ => None,
    }
}

/// The enumeration that a value is of.
pub(super) fn of_expr(expr: &Expr, column: Found<'_>) -> Option<Arc<Enumeration>> {
    match expr {
        Expr::Column(name) => column(name),
        Expr::Alias(alias) => of_expr(&alias.expr, column),
        Expr::Cast(Cast { field, .. }) if !field.data_type().is_nested() => Enumeration::of(field).map(Arc::new),
        Expr::ScalarFunction(call) if call.func.name() == SUBSCRIPT => call.args.first().and_then(of_elements),
        Expr::ScalarFunction(call) => given(call).or_else(|| {
            let is_same = SAME.contains(&call.func.name());
            is_same.then(|| call.args.iter().find_map(|argument| of_expr(argument, column)))?
        }),
        Expr::AggregateFunction(AggregateFunction { func, params }) if SAME.contains(&func.name()) => {
            params.args.first().and_then(|argument| of_expr(argument, column))
        }
        Expr::WindowFunction(call) => {
            let WindowFunction { fun, params } = call.as_ref();
            let is_same = SAME.contains(&fun.name());
            is_same.then(|| params.args.first().and_then(|argument| of_expr(argument, column)))?
        }
        Expr::Case(case) => {
            let results = case.when_then_expr.iter().map(|(_, result)| result).chain(&case.else_expr);
            results.into_iter().find_map(|result| of_expr(result, column))
        }
        Expr::ScalarSubquery(subquery) => of_place(&subquery.subquery, 0),
        _ => None,
    }
}

/// The enumeration that a column of a plan is of.
pub(super) fn of_column(plan: &LogicalPlan, column: &Column) -> Option<Arc<Enumeration>> {
    plan.schema().maybe_index_of_column(column).and_then(|at| of_place(plan, at))
}

fn of_place(plan: &LogicalPlan, at: usize) -> Option<Arc<Enumeration>> {
    let over = |expr: &Expr, input: &LogicalPlan| of_expr(expr, &|column| of_column(input, column));
    match plan {
        LogicalPlan::TableScan(scan) => {
            let at = scan.projection.as_ref().map_or(Some(at), |columns| columns.get(at).copied())?;
            let provider = source_as_provider(&scan.source).ok()?;
            provider.downcast_ref::<RelationTable>()?.enums().get(&at).cloned()
        }
        LogicalPlan::SubqueryAlias(alias) => of_place(&alias.input, at),
        LogicalPlan::Filter(filter) => of_place(&filter.input, at),
        LogicalPlan::Sort(sort) => of_place(&sort.input, at),
        LogicalPlan::Limit(limit) => of_place(&limit.input, at),
        LogicalPlan::Repartition(repartition) => of_place(&repartition.input, at),
        LogicalPlan::Distinct(Distinct::All(input)) => of_place(input, at),
        LogicalPlan::Distinct(Distinct::On(distinct)) => over(distinct.select_expr.get(at)?, &distinct.input),
        LogicalPlan::Union(union) => union.inputs.iter().find_map(|input| of_place(input, at)),
        LogicalPlan::Projection(projection) => over(projection.expr.get(at)?, &projection.input),
        LogicalPlan::Window(window) => match at.checked_sub(window.input.schema().fields().len()) {
            None => of_place(&window.input, at),
            Some(at) => over(window.window_expr.get(at)?, &window.input),
        },
        LogicalPlan::Aggregate(aggregate) => {
            let groups = aggregate.group_expr.len();
            let exprs = aggregate.group_expr.iter().chain(&aggregate.aggr_expr);
            let is_plain = aggregate.schema.fields().len() == groups + aggregate.aggr_expr.len();
            if is_plain { over(exprs.clone().nth(at)?, &aggregate.input) } else { None }
        }
        LogicalPlan::Join(join) => {
            let left = join.left.schema().fields().len();
            match join.join_type {
                JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full if at >= left => {
                    of_place(&join.right, at - left)
                }
                JoinType::RightSemi | JoinType::RightAnti => of_place(&join.right, at),
                _ => of_place(&join.left, at),
            }
        }
        _ => None,
    }
}
