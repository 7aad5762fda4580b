//! Corrects what operators claim of the order of their rows where it is not true: `DataFusion` leaves out sorts for it.
//!
//! The rule puts an operator in between that hands on the rows, and has only those order properties that hold. Which
//! operators claim more, [`null_padded`], [`growing_windows`] and [`unions_in_order`] say; [`skipped_rows`], where an order
//! must not be asked of what is below; [`equal_columns`], of which filters an order would not be known;
//! [`windows_over_keys`], where an order must not follow from a key.

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

use super::{equal_columns, growing_windows, null_padded, skipped_rows, unions_in_order, windows_over_keys};

pub(super) type Plan = Arc<dyn ExecutionPlan>;

/// The rule; it must come before sorts that seem not to be needed are left out.
#[derive(Debug)]
pub(super) struct CorrectOrderProperties;

impl PhysicalOptimizerRule for CorrectOrderProperties {
    fn optimize(&self, plan: Plan, _config: &ConfigOptions) -> Result<Plan> {
        let asks_for_order = plan.exists(|node| Ok(asks_for_order(node)))?;
        let corrected = |node: Plan| {
            let corrected = null_padded::corrected(node)?.transform_data(unions_in_order::corrected)?;
            let corrected = corrected.transform_data(windows_over_keys::corrected)?;
            let corrected = corrected.transform_data(growing_windows::corrected)?;
            let corrected = corrected.transform_data(equal_columns::corrected)?;
            if asks_for_order { corrected.transform_data(skipped_rows::corrected) } else { Ok(corrected) }
        };
        plan.transform_up(corrected).map(|transformed| transformed.data)
    }

    fn name(&self) -> &'static str {
        "correct_order_properties"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether the operator sorts, or needs rows in an order.
fn asks_for_order(node: &Plan) -> bool {
    node.is::<SortExec>() || node.required_input_ordering().iter().any(Option::is_some)
}

/// The operator `node`, with those of its inputs corrected for which there is a correction.
pub(super) fn correct_inputs(node: Plan, corrections: &[Option<Correction>]) -> Result<Transformed<Plan>> {
    if corrections.iter().all(Option::is_none) {
        return Ok(Transformed::no(node));
    }
    let inputs = node.children().into_iter().zip(corrections).map(|(input, correction)| {
        correction.map_or_else(|| Ok(Arc::clone(input)), |correction| CorrectedExec::above(input, correction))
    });
    let inputs = inputs.collect::<Result<_>>()?;
    Ok(Transformed::yes(replace_children_if_necessary(node, inputs)?))
}

/// The operator `node`, with its own properties corrected.
pub(super) fn correct_output(node: &Plan, correction: Correction) -> Result<Transformed<Plan>> {
    CorrectedExec::above(node, correction).map(Transformed::yes)
}

/// The order of the rows, and nothing else that is known of them.
#[allow(clippy::unnecessary_wraps, reason = "one of the functions that Correction has")]
pub(super) fn order_only(input: &Plan) -> Result<EquivalenceProperties> {
    let mut known = EquivalenceProperties::new(input.schema());
    known.add_orderings(input.equivalence_properties().oeq_class().iter().cloned());
    Ok(known)
}

/// How the properties of an operator are corrected that claims more than what holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Correction {
    /// The name of the corrected operator in plans.
    pub(super) name: &'static str,
    /// The properties that hold for the rows of this input.
    pub(super) properties: fn(&Plan) -> Result<EquivalenceProperties>,
    /// Whether an order that is asked for above may be asked of the input instead. Not where the input would claim that
    /// its rows come in that order.
    pub(super) passes_order_down: bool,
}

/// The rows of its input, with corrected properties.
#[derive(Debug)]
struct CorrectedExec {
    input: Plan,
    correction: Correction,
    properties: Arc<PlanProperties>,
}

impl CorrectedExec {
    fn above(input: &Plan, correction: Correction) -> Result<Plan> {
        let properties = PlanProperties::clone(input.properties()).with_eq_properties((correction.properties)(input)?);
        Ok(Arc::new(Self { input: Arc::clone(input), correction, properties: Arc::new(properties) }))
    }
}

impl DisplayAs for CorrectedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.correction.name)
    }
}

impl ExecutionPlan for CorrectedExec {
    fn name(&self) -> &'static str {
        self.correction.name
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![self.correction.passes_order_down]
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
            return internal_err!("{} has one input", self.correction.name);
        };
        Self::above(&input, self.correction)
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
