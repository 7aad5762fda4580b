//! `min` and `max` of enumerations, and sorts within aggregate and window functions: ranks take the place of values, and the
//! labels of what is found come back above.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction};
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, Projection, Window};

use super::find::{Found, of_expr};
use super::sorted;
use crate::datafusion::functions::enums::{Enumeration, label, rank};

/// The node with ranks in its functions.
pub(super) fn over_ranks(node: LogicalPlan, column: Found<'_>) -> Result<Transformed<LogicalPlan>> {
    match node {
        LogicalPlan::Aggregate(mut aggregate) => {
            let taken = taken(&mut aggregate.aggr_expr, column)?;
            if !taken.changes {
                return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
            }
            let Aggregate { input, group_expr, aggr_expr, schema, .. } = aggregate;
            let made = LogicalPlan::Aggregate(Aggregate::try_new(input, group_expr, aggr_expr)?);
            labelled(made, &schema, &taken.ranked)
        }
        LogicalPlan::Window(mut window) => {
            let taken = taken(&mut window.window_expr, column)?;
            if !taken.changes {
                return Ok(Transformed::no(LogicalPlan::Window(window)));
            }
            let Window { input, window_expr, schema, .. } = window;
            let made = LogicalPlan::Window(Window::try_new(window_expr, input)?);
            labelled(made, &schema, &taken.ranked)
        }
        other => Ok(Transformed::no(other)),
    }
}

/// What became of functions.
struct Taken {
    changes: bool,
    /// Those that give ranks now.
    ranked: Vec<Option<Arc<Enumeration>>>,
}

fn taken(functions: &mut [Expr], column: Found<'_>) -> Result<Taken> {
    let mut taken = Taken { changes: false, ranked: Vec::with_capacity(functions.len()) };
    for function in functions {
        let name = function.schema_name().to_string();
        let mut inner = std::mem::take(function).unalias();
        let (called, args, order_by) = match &mut inner {
            Expr::AggregateFunction(AggregateFunction { func, params }) => {
                (func.name().to_owned(), &mut params.args, &mut params.order_by)
            }
            Expr::WindowFunction(call) => {
                let WindowFunction { fun, params } = call.as_mut();
                (fun.name().to_owned(), &mut params.args, &mut params.order_by)
            }
            other => {
                let other = std::mem::take(other);
                *function = if other.schema_name().to_string() == name { other } else { other.alias(name) };
                taken.ranked.push(None);
                continue;
            }
        };
        let mut changes = sorted(order_by, column)?;
        let mut ranked = None;
        if let ("min" | "max", [argument]) = (called.as_str(), args.as_mut_slice())
            && let Some(found) = of_expr(argument, column)
        {
            *argument = rank(std::mem::take(argument), &found)?;
            changes = true;
            ranked = Some(found);
        }
        taken.changes |= changes;
        taken.ranked.push(ranked);
        *function = if inner.schema_name().to_string() == name { inner } else { inner.alias(name) };
    }
    Ok(taken)
}

/// The plan with the columns of `schema`, the last of which are labels of ranks.
fn labelled(
    plan: LogicalPlan,
    schema: &DFSchema,
    ranked: &[Option<Arc<Enumeration>>],
) -> Result<Transformed<LogicalPlan>> {
    if ranked.iter().all(Option::is_none) {
        return Ok(Transformed::yes(plan));
    }
    let first = plan.schema().fields().len() - ranked.len();
    let columns = plan.schema().columns().into_iter().zip(schema.iter()).enumerate();
    let exprs = columns.map(|(at, (column, (qualifier, field)))| {
        let found = at.checked_sub(first).and_then(|at| ranked.get(at)?.as_ref());
        match found {
            Some(found) => label(Expr::Column(column), found).alias_qualified(qualifier.cloned(), field.name()),
            None => Expr::Column(column),
        }
    });
    let exprs = exprs.collect();
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(plan))?)))
}
