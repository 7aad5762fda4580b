//! Aggregates whose ORDER BY has a subquery.
//!
//! In 55.2, a column of what such an aggregate has collected is named for the subquery's value, which is known only when the
//! query runs: `string_agg(a, ',' ORDER BY (SELECT b FROM t))` found another name then, and was refused. So the values to
//! order by are computed below the aggregate.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, Projection};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// Computes what aggregates are ordered by before they are computed.
#[derive(Debug)]
pub(super) struct OrdersBelowAggregates;

impl OptimizerRule for OrdersBelowAggregates {
    fn name(&self) -> &'static str {
        "orders_below_aggregates"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(Aggregate { input, group_expr, aggr_expr, schema, .. }) = &plan else {
            return Ok(Transformed::no(plan));
        };
        let names = NamePreserver::new(&plan);
        let mut computed = Vec::new();
        let aggregates = aggr_expr.iter().cloned().map(|aggregate| {
            let name = names.save(&aggregate);
            let changed = aggregate.transform_up(|part| {
                let Expr::AggregateFunction(AggregateFunction { func, params }) = part else {
                    return Ok(Transformed::no(part));
                };
                let before = computed.len();
                let order_by = params.order_by.into_iter().map(|mut sort| {
                    if has_subquery(&sort.expr) {
                        let name = config.alias_generator().next("__order_by");
                        computed.push(std::mem::take(&mut sort.expr).alias(&name));
                        sort.expr = Expr::Column(Column::new_unqualified(name));
                    }
                    sort
                });
                let params = AggregateFunctionParams { order_by: order_by.collect(), ..params };
                let aggregate = Expr::AggregateFunction(AggregateFunction { func, params });
                Ok(if computed.len() > before { Transformed::yes(aggregate) } else { Transformed::no(aggregate) })
            });
            changed.map(|changed| changed.update_data(|aggregate| name.restore(aggregate)).data)
        });
        let aggregates = aggregates.collect::<Result<Vec<_>>>()?;
        if computed.is_empty() {
            return Ok(Transformed::no(plan));
        }
        let columns = input.schema().columns().into_iter().map(Expr::Column).chain(computed).collect();
        let input = Projection::try_new(columns, Arc::clone(input))?;
        let input = Arc::new(LogicalPlan::Projection(input));
        let aggregate = Aggregate::try_new_with_schema(input, group_expr.clone(), aggregates, Arc::clone(schema))?;
        Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
    }
}

fn has_subquery(expr: &Expr) -> bool {
    expr.exists(|part| Ok(matches!(part, Expr::ScalarSubquery(subquery) if subquery.outer_ref_columns.is_empty())))
        .is_ok_and(|found| found)
}
