//! Operators that hand on the rows of another one, and claim less of their order than it does.
//!
//! Not here: which operators claim more than what holds (`correct_order`).

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::window::WindowExpr;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    CardinalityEffect, ChildrenPropertiesMode, ReplaceChildrenOptions, replace_children_if_necessary,
};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};

pub(super) type Plan = Arc<dyn ExecutionPlan>;

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

/// The expressions of a window, and its input.
pub(super) fn window(node: &dyn ExecutionPlan) -> Option<(&[Arc<dyn WindowExpr>], &Plan)> {
    if let Some(window) = node.downcast_ref::<BoundedWindowAggExec>() {
        return Some((window.window_expr(), window.input()));
    }
    node.downcast_ref::<WindowAggExec>().map(|window| (window.window_expr(), window.input()))
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
pub(in crate::datafusion) struct CorrectedExec {
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
