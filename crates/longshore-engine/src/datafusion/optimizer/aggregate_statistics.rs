//! Aggregates of all rows that the statistics of their input know: `count(*)`, `min(k)`, `max(k)`.
//!
//! In 55.2 the rule looks below an aggregate with FILTER for one without, as far down as it takes, and puts the inner one in
//! the place of the outer one: `SELECT count(d) FILTER (WHERE d > 100) FROM (SELECT max(m) AS d FROM a)` gave the maximum. So
//! this one looks at an aggregate and at the first step of the same, nowhere else. It also takes a constant for a value that
//! is there, though there may be no row, also in one part of a union, and NULL for one that `count(DISTINCT ...)` counts;
//! none of these is asked for here.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::StatisticsArgs as ValueArgs;
use datafusion::physical_expr::expressions::lit;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};

use super::order_properties::Plan;

/// The rule.
#[derive(Debug, Default)]
pub(super) struct AggregateStatistics;

impl PhysicalOptimizerRule for AggregateStatistics {
    fn optimize(&self, plan: Plan, _config: &ConfigOptions) -> Result<Plan> {
        plan.transform_up(|node| match known(&node)? {
            Some(values) => Ok(Transformed::yes(values)),
            None => Ok(Transformed::no(node)),
        })
        .map(|transformed| transformed.data)
    }

    fn name(&self) -> &'static str {
        "aggregate_statistics"
    }

    fn schema_check(&self) -> bool {
        // Whether a value can be NULL is known better afterwards.
        false
    }
}

/// The values of an aggregate, if the statistics of its input know all of them.
fn known(node: &Plan) -> Result<Option<Plan>> {
    let Some(first) = first_step(node) else { return Ok(None) };
    let statistics = StatisticsContext::new().compute(first.input().as_ref(), &StatisticsArgs::new())?;
    let is_distinct = first.aggr_expr().iter().any(|function| function.is_distinct());
    if is_distinct || statistics.num_rows == Precision::Exact(0) {
        return Ok(None);
    }
    let values = first.aggr_expr().iter().map(|function| {
        let exprs = function.expressions();
        let field = function.field();
        let value = function.fun().value_from_stats(&ValueArgs {
            statistics: &statistics,
            return_type: field.data_type(),
            is_distinct: false,
            exprs: &exprs,
        })?;
        Some(ProjectionExpr { expr: lit(value), alias: function.name().to_owned() })
    });
    let Some(values) = values.collect::<Option<Vec<_>>>() else { return Ok(None) };
    if !every_input_has_rows(first.input())? {
        return Ok(None);
    }
    let row = Arc::new(PlaceholderRowExec::new(node.schema()));
    Ok(Some(Arc::new(ProjectionExec::try_new(values, row)?)))
}

/// Whether each input of a union or a join, however deep, is known to have rows: the statistics of a constant column say
/// that its value is there, and those of a union do not ask each input whether it has a row at all.
fn every_input_has_rows(plan: &Plan) -> Result<bool> {
    let inputs = plan.children();
    for input in &inputs {
        if inputs.len() > 1 {
            let statistics = StatisticsContext::new().compute(input.as_ref(), &StatisticsArgs::new())?;
            if !matches!(statistics.num_rows, Precision::Exact(1..)) {
                return Ok(false);
            }
        }
        if !every_input_has_rows(input)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The first step of an aggregate without groups and filters, which may be its only one.
fn first_step(node: &Plan) -> Option<&AggregateExec> {
    let last = node.downcast_ref::<AggregateExec>().filter(|last| is_of_all_rows(last))?;
    if matches!(last.mode(), AggregateMode::Single | AggregateMode::SinglePartitioned) {
        return Some(last);
    }
    if last.mode().input_mode() != AggregateInputMode::Partial {
        return None;
    }
    let gathered = last.input().downcast_ref::<CoalescePartitionsExec>();
    let input = gathered.map_or(last.input(), CoalescePartitionsExec::input);
    let first = input.downcast_ref::<AggregateExec>().filter(|first| is_of_all_rows(first))?;
    (first.mode().input_mode() == AggregateInputMode::Raw).then_some(first)
}

fn is_of_all_rows(aggregate: &AggregateExec) -> bool {
    aggregate.group_expr().is_empty() && aggregate.filter_expr().iter().all(Option::is_none)
}
