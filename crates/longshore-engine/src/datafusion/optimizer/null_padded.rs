//! Keeps what is constant on one side of an outer join from counting as constant above the join.
//!
//! Rows that find no partner are filled up with NULL. In 55.2 a join passes on all that its inputs know to be constant,
//! whatever its type, so that `ORDER BY h` above `(SELECT 1 AS h ...) FULL JOIN ...` was left out. So an input that is filled
//! up, and knows of constants, says nothing of them: an operator above it passes its rows on, and only their order.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{
    CardinalityEffect, ChildrenPropertiesMode, ReplaceChildrenOptions, replace_children_if_necessary,
};
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};

type Plan = Arc<dyn ExecutionPlan>;

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
            let inputs = inputs.into_iter().zip(is_padded).map(|(input, is_padded)| -> Plan {
                if is_padded && has_constants(&input) { Arc::new(NullPaddedExec::new(input)) } else { input }
            });
            Ok(Transformed::yes(replace_children_if_necessary(node, inputs.collect())?))
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

/// The rows of its input, of which nothing is known but their order.
#[derive(Debug)]
struct NullPaddedExec {
    input: Plan,
    properties: Arc<PlanProperties>,
}

impl NullPaddedExec {
    fn new(input: Plan) -> Self {
        let known = input.equivalence_properties();
        let mut properties = EquivalenceProperties::new(input.schema());
        properties.add_orderings(known.oeq_class().iter().cloned());
        let properties = PlanProperties::clone(input.properties()).with_eq_properties(properties);
        Self { input, properties: Arc::new(properties) }
    }
}

impl DisplayAs for NullPaddedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NullPaddedExec")
    }
}

impl ExecutionPlan for NullPaddedExec {
    fn name(&self) -> &'static str {
        "NullPaddedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Plan> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(self: Arc<Self>, children: Vec<Plan>, _: ReplaceChildrenOptions) -> Result<Plan> {
        let Ok([input]) = <[_; 1]>::try_from(children) else {
            return internal_err!("NullPaddedExec has one input");
        };
        Ok(Arc::new(Self::new(input)))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Plan>) -> Result<Plan> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        Ok(Arc::clone(&inputs[0]))
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }
}
