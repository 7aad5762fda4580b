//! Keeps what is constant on one side of an outer join from counting as constant above the join.
//!
//! Rows that find no partner are filled up with NULL. In 55.2 a join passes on all that its inputs know to be constant,
//! whatever its type, so that `ORDER BY h` above `(SELECT 1 AS h ...) FULL JOIN ...` was left out. So an input that is filled
//! up, and knows of constants, says nothing of them: an operator above it passes its rows on, and only their order.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinType, Result};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::restated::{Plan, RestatedExec, Truth};

/// Of a side that is filled up, only the order is known.
const PADDED: Truth = Truth { name: "NullPaddedExec", of: orderings, passes_order_down: true };

/// The rule; it must come before sorts that seem not to be needed are left out.
#[derive(Debug)]
pub(super) struct NoConstantsOfPaddedSides;

impl PhysicalOptimizerRule for NoConstantsOfPaddedSides {
    fn optimize(&self, plan: Plan, _config: &ConfigOptions) -> Result<Plan> {
        plan.transform_up(|node| {
            let Some(join_type) = join_type(node.as_ref()) else { return Ok(Transformed::no(node)) };
            let is_padded = [
                matches!(join_type, JoinType::Right | JoinType::Full),
                matches!(join_type, JoinType::Left | JoinType::Full),
            ];
            let has_constants = |input: &Plan| !input.equivalence_properties().constants().is_empty();
            let inputs: Vec<Plan> = node.children().into_iter().cloned().collect();
            if !inputs.iter().zip(is_padded).any(|(input, is_padded)| is_padded && has_constants(input)) {
                return Ok(Transformed::no(node));
            }
            let inputs = inputs.into_iter().zip(is_padded).map(|(input, is_padded)| -> Result<Plan> {
                let is_told = is_padded && has_constants(&input);
                Ok(if is_told { Arc::new(RestatedExec::new(input, PADDED)?) } else { input })
            });
            Ok(Transformed::yes(replace_children_if_necessary(node, inputs.collect::<Result<_>>()?)?))
        })
        .map(|transformed| transformed.data)
    }

    fn name(&self) -> &'static str {
        "no_constants_of_padded_sides"
    }

    fn schema_check(&self) -> bool {
        true
    }
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

fn orderings(input: &Plan) -> Result<EquivalenceProperties> {
    let mut known = EquivalenceProperties::new(input.schema());
    known.add_orderings(input.equivalence_properties().oeq_class().iter().cloned());
    Ok(known)
}
