//! Aggregates beside `count(DISTINCT ...)` keep their types.
//!
//! `DataFusion` makes groups of the values that must be DISTINCT, and aggregates again what it aggregated in them. A sum of sums
//! of decimals is wider than a sum (55.2), and what was planned for that is then compared with it:
//! `SELECT g, count(DISTINCT k) FROM t GROUP BY g HAVING sum(d) > 100.5` was refused. So the sums get back their type.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Projection, cast};
use datafusion::optimizer::single_distinct_to_groupby::SingleDistinctToGroupBy;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use crate::datafusion::functions::keys::has_key;

/// `DataFusion`'s rule, with the types that there were.
pub(super) fn group_distinct(
    rule: &SingleDistinctToGroupBy,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    if compares_by_keys(&plan) {
        return Ok(Transformed::no(plan));
    }
    let schema = Arc::clone(plan.schema());
    let rewritten = rule.rewrite(plan, config)?;
    let types = || schema.fields().iter().map(|field| field.data_type());
    if rewritten.data.schema().fields().iter().map(|field| field.data_type()).eq(types()) {
        return Ok(rewritten);
    }
    rewritten.map_data(|plan| {
        let columns = plan.schema().iter().zip(types()).map(|((relation, field), data_type)| {
            let column = Expr::from((relation, field));
            if field.data_type() == data_type {
                column
            } else {
                cast(column, data_type.clone()).alias_qualified(relation.cloned(), field.name())
            }
        });
        let columns = columns.collect();
        Projection::try_new(columns, Arc::new(plan)).map(LogicalPlan::Projection)
    })
}

/// Whether values that must be DISTINCT are compared by their keys: groups of the values themselves would tell 1.0 from 1.00.
fn compares_by_keys(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Aggregate(aggregate) = plan else { return false };
    let schema = aggregate.input.schema();
    aggregate.aggr_expr.iter().any(|expr| match expr.clone().unalias() {
        Expr::AggregateFunction(call) if call.params.distinct => {
            call.params.args.iter().any(|arg| arg.get_type(schema).is_ok_and(|data_type| has_key(&data_type)))
        }
        _ => false,
    })
}
