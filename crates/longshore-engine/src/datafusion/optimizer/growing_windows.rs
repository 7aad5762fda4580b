//! Keeps windows from claiming that `max`, `min` or `sum` over a growing frame come in an order.
//!
//! Over `ORDER BY id` the values of `max(e)` ascend, but NULL, which `max` gives until it meets a value, comes before them.
//! In 55.2 a window claims the order with NULL at either end, so that `ORDER BY 1` behind it was left out. So an operator
//! above such a window passes its rows on, and claims only the order that the window's input has.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_expr::window::{PlainAggregateWindowExpr, SlidingAggregateWindowExpr, WindowExpr};
use datafusion::physical_plan::ExecutionPlanProperties;

use super::order_properties::{Correction, Plan, correct_output, window};

/// Of such a window, what is known of its input.
const GROWING: Correction =
    Correction { name: "GrowingWindowExec", properties: known_of_input, passes_order_down: false };

/// The operator, below one that claims less where it is such a window.
pub(super) fn corrected(node: Plan) -> Result<Transformed<Plan>> {
    if !window(node.as_ref()).is_some_and(|(expressions, _)| expressions.iter().any(is_aggregate)) {
        return Ok(Transformed::no(node));
    }
    correct_output(&node, GROWING)
}

fn is_aggregate(expression: &Arc<dyn WindowExpr>) -> bool {
    expression.as_any().is::<PlainAggregateWindowExpr>() || expression.as_any().is::<SlidingAggregateWindowExpr>()
}

fn known_of_input(node: &Plan) -> Result<EquivalenceProperties> {
    let known = EquivalenceProperties::new(node.schema());
    match window(node.as_ref()) {
        // The columns of the input are the first ones of the window.
        Some((_, input)) => known.extend(input.equivalence_properties().clone()),
        None => Ok(known),
    }
}
