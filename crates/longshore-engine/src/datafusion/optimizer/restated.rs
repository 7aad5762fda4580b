//! What operators claim of the order of their rows, where it is not true: `DataFusion` leaves out sorts for it.
//!
//! The rule puts an operator in between that hands on the rows, and says of them only what is true. Which operators claim
//! what they should not, [`null_padded`], [`growing_windows`] and [`unions_in_order`] say; [`skipped_rows`], where an order must
//! not be asked of what is below.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{
    CardinalityEffect, ChildrenPropertiesMode, ReplaceChildrenOptions, replace_children_if_necessary,
};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};

use super::{growing_windows, null_padded, skipped_rows, unions_in_order};

pub(super) type Plan = Arc<dyn ExecutionPlan>;

/// The rule; it must come before sorts that seem not to be needed are left out.
#[derive(Debug)]
pub(super) struct ClaimWhatIsTrue;

impl PhysicalOptimizerRule for ClaimWhatIsTrue {
    fn optimize(&self, plan: Plan, _config: &ConfigOptions) -> Result<Plan> {
        let asks_for_order = plan.exists(|node| Ok(asks_for_order(node)))?;
        let told = |node: Plan| {
            let told = null_padded::told(node)?.transform_data(unions_in_order::told)?;
            let told = told.transform_data(growing_windows::told)?;
            if asks_for_order { told.transform_data(skipped_rows::told) } else { Ok(told) }
        };
        plan.transform_up(told).map(|transformed| transformed.data)
    }

    fn name(&self) -> &'static str {
        "claim_what_is_true"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether the operator sorts, or needs rows in an order.
fn asks_for_order(node: &Plan) -> bool {
    node.is::<SortExec>() || node.required_input_ordering().iter().any(Option::is_some)
}

/// The operator `node`, above what says the truth of those of its inputs for which there is one.
pub(super) fn above(node: Plan, truths: impl IntoIterator<Item = Option<Truth>>) -> Result<Transformed<Plan>> {
    let inputs = node.children().into_iter().zip(truths).map(|(input, truth)| -> Result<Plan> {
        let input = Arc::clone(input);
        Ok(if let Some(truth) = truth { Arc::new(RestatedExec::new(input, truth)?) } else { input })
    });
    let inputs = inputs.collect::<Result<_>>()?;
    Ok(Transformed::yes(replace_children_if_necessary(node, inputs)?))
}

/// The order of the rows, and nothing else that is known of them.
#[allow(clippy::unnecessary_wraps, reason = "as what is known of other operators")]
pub(super) fn order_only(input: &Plan) -> Result<EquivalenceProperties> {
    let mut known = EquivalenceProperties::new(input.schema());
    known.add_orderings(input.equivalence_properties().oeq_class().iter().cloned());
    Ok(known)
}

/// What is true of the rows of an operator that claims more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Truth {
    /// The name in plans.
    pub(super) name: &'static str,
    /// What is known of the rows of this input.
    pub(super) of: fn(&Plan) -> Result<EquivalenceProperties>,
    /// Whether an order that is asked for above may be asked of the input instead. Not where the input would claim that
    /// its rows come in that order.
    pub(super) passes_order_down: bool,
}

/// The rows of its input.
#[derive(Debug)]
pub(super) struct RestatedExec {
    input: Plan,
    truth: Truth,
    properties: Arc<PlanProperties>,
}

impl RestatedExec {
    pub(super) fn new(input: Plan, truth: Truth) -> Result<Self> {
        let properties = PlanProperties::clone(input.properties()).with_eq_properties((truth.of)(&input)?);
        Ok(Self { input, truth, properties: Arc::new(properties) })
    }
}

impl DisplayAs for RestatedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.truth.name)
    }
}

impl ExecutionPlan for RestatedExec {
    fn name(&self) -> &'static str {
        self.truth.name
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![self.truth.passes_order_down]
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
            return internal_err!("{} has one input", self.truth.name);
        };
        Ok(Arc::new(Self::new(input, self.truth)?))
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
