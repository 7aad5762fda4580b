//! Filters move towards the leaves of a physical plan, column by position.
//!
//! `DataFusion`'s rule of the same name does this with static filters first and with dynamic ones (of joins, of sorts
//! with a limit, of aggregates) last. The operators tell it what may pass, but in 55.2 they look a filter's columns up in
//! their inputs by *name*. Where a name occurs twice, the values of another column decide (upstream issues 25244, 25262,
//! 25263, 25264 and 25296). So this copy of the rule asks them only whether a filter may pass, and says itself, from what
//! each operator makes of the columns of its inputs, what the filter is there. Nothing passes an operator that is not
//! known here, nor one that also limits its rows; nor does a filter that may fail pass a join, which may leave out the rows
//! on which it would.
//! Not here: what leaves do with filters (`pushdown`).

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinSide, JoinType, Result, internal_err};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{DynamicFilterTracking, PhysicalExpr};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::buffer::BufferExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::filter_pushdown::{
    ChildFilterPushdownResult, ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::joins::utils::build_join_schema;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::union::UnionExec;

use super::order_properties::CorrectedExec;
use crate::datafusion::scan::predicate::is_simple;

type Filter = Arc<dyn PhysicalExpr>;
type Plan = Arc<dyn ExecutionPlan>;

/// The rule, for one of its two phases.
#[derive(Debug)]
pub(super) struct FilterPushdown(pub(super) FilterPushdownPhase);

impl PhysicalOptimizerRule for FilterPushdown {
    fn optimize(&self, plan: Plan, config: &ConfigOptions) -> Result<Plan> {
        Ok(push(&plan, &[], config, self.0)?.updated_node.unwrap_or(plan))
    }

    /// That of the rule whose place it takes.
    fn name(&self) -> &str {
        match self.0 {
            FilterPushdownPhase::Pre => "FilterPushdown",
            FilterPushdownPhase::Post => "FilterPushdown(Post)",
        }
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Pushes the filters of `parents`, and those that come from `node` and below it, as far down as they go.
fn push(
    node: &Plan,
    parents: &[Filter],
    config: &ConfigOptions,
    phase: FilterPushdownPhase,
) -> Result<FilterPushdownPropagation<Plan>> {
    let children = node.children();
    let offered: Vec<usize> = (0..parents.len()).filter(|number| may_move(&parents[*number])).collect();
    let filters = offered.iter().map(|number| Arc::clone(&parents[*number])).collect();
    let description = node.gather_filters_for_pushdown(phase, filters, config)?;
    let (of_parents, of_node) = (description.parent_filters(), description.self_filters());
    if of_parents.len() != children.len() || of_node.len() != children.len() {
        return internal_err!("{} describes filters for another number of inputs than it has", node.name());
    }
    let mut answers = vec![vec![PushedDown::No; children.len()]; parents.len()];
    let mut own_answers = Vec::with_capacity(children.len());
    let mut pushed_children = Vec::with_capacity(children.len());
    let own_may_move = !joins_floats(node.as_ref());
    let is_join = node.is::<HashJoinExec>();
    for (place, child) in children.into_iter().enumerate() {
        let own = &of_node[place];
        let moving: Vec<usize> = (0..own.len()).filter(|number| own_may_move && may_move(&own[*number])).collect();
        let mut down: Vec<Filter> = moving.iter().map(|number| Arc::clone(&own[*number])).collect();
        let mut passed = Vec::new();
        let origins = origins(node.as_ref(), place, child);
        for (number, described) in offered.iter().zip(&of_parents[place]) {
            let origins = origins.as_ref().filter(|_| !is_join || cannot_fail(&parents[*number]));
            let filter = origins.map(|origins| over(&parents[*number], origins)).transpose()?.flatten();
            if let (PushedDown::Yes, Some(filter)) = (described.discriminant, filter) {
                passed.push(*number);
                down.push(filter);
            }
        }
        let result = push(child, &down, config, phase)?;
        pushed_children.push(result.updated_node.unwrap_or_else(|| Arc::clone(child)));
        let mut own_answer = vec![PushedDown::No; own.len()];
        for (number, answer) in moving.iter().zip(&result.filters) {
            own_answer[*number] = *answer;
        }
        own_answers.push(own_answer.into_iter().zip(own).map(|(a, f)| a.wrap_expression(Arc::clone(f))).collect());
        for (number, answer) in passed.iter().zip(&result.filters[moving.len()..]) {
            answers[*number][place] = *answer;
        }
    }
    let updated = replace_children_if_necessary(Arc::clone(node), pushed_children)?;
    let keeps_out = keeps_out(updated.as_ref(), phase);
    let told: &[Filter] = if keeps_out { &[] } else { parents };
    let result = ChildPushdownResult {
        parent_filters: told
            .iter()
            .zip(answers)
            .map(|(filter, child_results)| ChildFilterPushdownResult { filter: Arc::clone(filter), child_results })
            .collect(),
        self_filters: own_answers,
    };
    let mut propagation = updated.handle_child_pushdown_result(phase, result, config)?;
    if keeps_out {
        propagation.filters = vec![PushedDown::No; parents.len()];
    }
    if propagation.updated_node.is_none() && !Arc::ptr_eq(&updated, node) {
        propagation.updated_node = Some(updated);
    }
    Ok(propagation)
}

/// Whether a filter says the same wherever it is evaluated.
fn may_move(filter: &Filter) -> bool {
    !is_volatile(filter)
}

/// Whether a filter can be evaluated on any row.
fn cannot_fail(filter: &Filter) -> bool {
    is_simple(filter) || DynamicFilterTracking::classify(filter).contains_dynamic_filter()
}

/// Whether it joins by floating-point numbers. What it tells the other side of its values tells -0 from 0.
fn joins_floats(node: &dyn ExecutionPlan) -> bool {
    let Some(join) = node.downcast_ref::<HashJoinExec>() else { return false };
    let schema = join.left().schema();
    join.on().iter().any(|(key, _)| key.data_type(&schema).is_ok_and(|data_type| data_type.is_floating()))
}

/// Whether filters from above must not get to know the operator: a filter would take them in, and either look their
/// columns up by name or evaluate them before its limit.
fn keeps_out(node: &dyn ExecutionPlan, phase: FilterPushdownPhase) -> bool {
    let is_pre = matches!(phase, FilterPushdownPhase::Pre);
    is_pre && node.downcast_ref::<FilterExec>().is_some_and(|f| f.projection().is_some() || f.fetch().is_some())
}

/// `filter` over the columns that `origins` are about; `None` if it reads others.
fn over(filter: &Filter, origins: &[Option<Filter>]) -> Result<Option<Filter>> {
    let mut reads_others = false;
    let filter = Arc::clone(filter).transform_up(|part| {
        let Some(column) = part.downcast_ref::<Column>() else { return Ok(Transformed::no(part)) };
        if let Some(Some(origin)) = origins.get(column.index()) {
            return Ok(Transformed::yes(Arc::clone(origin)));
        }
        reads_others = true;
        Ok(Transformed::no(part))
    })?;
    Ok((!reads_others).then_some(filter.data))
}

/// What each column that `node` returns is over the columns of its input `child`, which stands at `place`; `None` where
/// it is nothing that a filter could be evaluated on, or if filters cannot pass at all.
pub(super) fn origins(node: &dyn ExecutionPlan, place: usize, child: &Plan) -> Option<Vec<Option<Filter>>> {
    if node.fetch().is_some() {
        // A filter must not choose among the rows that a limit sees.
        return None;
    }
    let input = child.schema();
    let column = |index: usize| Some(Arc::new(Column::new(input.field(index).name(), index)) as Filter);
    let all = || (0..input.fields().len()).map(column);
    if node.is::<SortExec>()
        || node.is::<RepartitionExec>()
        || node.is::<CoalescePartitionsExec>()
        || node.is::<UnionExec>()
        || node.is::<CooperativeExec>()
        || node.is::<BufferExec>()
        || node.is::<CorrectedExec>()
    {
        Some(all().collect())
    } else if let Some(filter) = node.downcast_ref::<FilterExec>() {
        Some(match filter.projection() {
            Some(columns) => columns.iter().map(|index| column(*index)).collect(),
            None => all().collect(),
        })
    } else if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
        Some(projection.expr().iter().map(|item| Some(Arc::clone(&item.expr))).collect())
    } else if let Some(aggregate) = node.downcast_ref::<AggregateExec>() {
        let groups = aggregate.group_expr().expr().iter().map(|(expr, _)| Some(Arc::clone(expr)));
        aggregate.limit_options().is_none().then(|| groups.collect())
    } else {
        let join = node.downcast_ref::<HashJoinExec>()?;
        let side = if place == 0 { JoinSide::Left } else { JoinSide::Right };
        let (_, columns) = build_join_schema(&join.left().schema(), &join.right().schema(), join.join_type());
        let origin = |index: usize| {
            let of = &columns[index];
            if of.side == side { column(of.index) } else { equal_key(join, of.side, of.index, side) }
        };
        Some(match &join.projection {
            Some(indices) => indices.iter().map(|index| origin(*index)).collect(),
            None => (0..columns.len()).map(origin).collect(),
        })
    }
}

/// What is equal on the side `to` of a semi join to a key column of the side that it returns.
fn equal_key(join: &HashJoinExec, from: JoinSide, index: usize, to: JoinSide) -> Option<Filter> {
    let is_semi = match join.join_type() {
        JoinType::LeftSemi => from == JoinSide::Left && to == JoinSide::Right,
        JoinType::RightSemi => from == JoinSide::Right && to == JoinSide::Left,
        _ => false,
    };
    if !is_semi {
        return None;
    }
    join.on().iter().find_map(|(left, right)| {
        let (key, other) = if from == JoinSide::Left { (left, right) } else { (right, left) };
        let is_key = key.downcast_ref::<Column>().is_some_and(|key| key.index() == index);
        is_key.then(|| Arc::clone(other))
    })
}
