//! Windows over rows that are sorted by a key of them.
//!
//! What is grouped by `k` has one row for each, so that rows in the order of `k` are in the order of `k, c`. `DataFusion` sorts
//! them no more then, but a window with `PARTITION BY k, c` does not know about keys, and fails when it is to run (55.2):
//! `rank() OVER (PARTITION BY k, c)` over `SELECT k, count(*) AS c ... GROUP BY k ORDER BY k LIMIT 5`. So a window is not told
//! of keys below it.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Constraints, Result};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::ExecutionPlanProperties;

use super::order_properties::{Correction, Plan, correct_inputs, window};

const WITHOUT_KEYS: Correction =
    Correction { name: "KeysUnknownExec", properties: without_keys, passes_order_down: false };

/// The operator, above one that knows no keys where it is such a window.
pub(super) fn corrected(node: Plan) -> Result<Transformed<Plan>> {
    let is_found = window(node.as_ref()).is_some_and(|(expressions, input)| {
        expressions.iter().any(|expression| expression.partition_by().len() > 1)
            && !input.equivalence_properties().constraints().is_empty()
    });
    correct_inputs(node, &[is_found.then_some(WITHOUT_KEYS)])
}

#[allow(clippy::unnecessary_wraps, reason = "one of the functions that Correction has")]
fn without_keys(input: &Plan) -> Result<EquivalenceProperties> {
    Ok(input.equivalence_properties().clone().with_constraints(Constraints::default()))
}
