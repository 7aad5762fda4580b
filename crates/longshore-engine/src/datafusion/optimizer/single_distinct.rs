//! Aggregates beside `count(DISTINCT ...)` keep their types.
//!
//! `DataFusion` makes groups of the values that must be DISTINCT, and aggregates again what it aggregated in them. A sum of sums
//! of decimals is wider than a sum (55.2), and what was planned for that is then compared with it:
//! `SELECT g, count(DISTINCT k) FROM t GROUP BY g HAVING sum(d) > 100.5` was refused. So the sums get back their type.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, cast};
use datafusion::optimizer::single_distinct_to_groupby::SingleDistinctToGroupBy;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// `DataFusion`'s rule, with the types that there were.
pub(super) fn group_distinct(
    rule: &SingleDistinctToGroupBy,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
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
