//! Keeps what is constant below an operator that fills up rows with NULL from counting as constant above it.
//!
//! Outer joins fill up rows that find no partner, and grouping sets the columns that a set has not. In 55.2 both pass on all
//! that their inputs know to be constant, so that `ORDER BY h` above `(SELECT 1 AS h ...) FULL JOIN ...` or `GROUP BY ROLLUP
//! (h)` was left out. So an input that is filled up, and knows of constants, says nothing of them: an operator above it
//! passes its rows on, and of them only their order, or nothing where they are grouped.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{JoinType, Result};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::order_properties::{Correction, Plan, correct_inputs, order_only};

/// Of a side of a join that is filled up, only the order is known.
const SIDE: Correction = Correction { name: "NullPaddedExec", properties: order_only, passes_order_down: true };
/// Of rows for grouping sets, nothing is known.
const GROUPED: Correction = Correction { name: "NullPaddedExec", properties: nothing, passes_order_down: true };

/// The operator, above inputs that claim no more than what holds behind it.
pub(super) fn corrected(node: Plan) -> Result<Transformed<Plan>> {
    let corrections = filled_up(node.as_ref());
    correct_inputs(node, &corrections)
}

/// The corrections of those inputs that the operator fills up, and that claim more than what holds behind it.
fn filled_up(node: &dyn ExecutionPlan) -> [Option<Correction>; 2] {
    if let Some(aggregate) = node.downcast_ref::<AggregateExec>() {
        let known = aggregate.input().equivalence_properties();
        let is_nothing = known.eq_group().is_empty() && known.oeq_class().is_empty();
        return [(aggregate.group_expr().has_grouping_set() && !is_nothing).then_some(GROUPED), None];
    }
    let Some(join_type) = join_type(node) else { return [None, None] };
    let is_filled_up =
        [matches!(join_type, JoinType::Right | JoinType::Full), matches!(join_type, JoinType::Left | JoinType::Full)];
    let has_constants = |side: usize| !node.children()[side].equivalence_properties().constants().is_empty();
    [0, 1].map(|side| (is_filled_up[side] && has_constants(side)).then_some(SIDE))
}

fn join_type(node: &dyn ExecutionPlan) -> Option<JoinType> {
    if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        return Some(*join.join_type());
    }
    if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
        return Some(*join.join_type());
    }
    node.downcast_ref::<SortMergeJoinExec>().map(SortMergeJoinExec::join_type)
}

#[allow(clippy::unnecessary_wraps, reason = "one of the functions that Correction has")]
fn nothing(input: &Plan) -> Result<EquivalenceProperties> {
    Ok(EquivalenceProperties::new(input.schema()))
}
