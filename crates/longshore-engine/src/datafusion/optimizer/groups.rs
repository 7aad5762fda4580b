//! Filters move down, but for those that name no column: they stay above groups.
//!
//! `DataFusion` moves a condition below an aggregate if all columns that it names are group keys. A condition that names
//! none, such as one over a constant beside `count(*)`, passes as well; but an aggregate without keys, or with an empty
//! grouping set, has a row where there are none below it. One that is another each time (`random() < 0.5`) would take
//! rows from the groups. They cost nothing above: one that is constant is simplified in the same pass.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Filter, LogicalPlan};
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::simplify_expressions::simplify_predicates;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// Moves filters down by `DataFusion`'s rule, without the conditions that must stay.
pub(super) fn push_down_filters(
    rule: &PushDownFilter,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
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
