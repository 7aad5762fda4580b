//! Keeps an order that is asked for above OFFSET from counting the rows that are skipped.
//!
//! In 55.2 a sort that moves below a limit takes the number of rows that come out of it along, and not of those that go in:
//! `SELECT * FROM (SELECT u FROM t ORDER BY u LIMIT 1 OFFSET 1) AS s ORDER BY u` looked for one row, skipped it, and had none. So an
//! operator above a limit that skips rows lets no order through, in plans that ask for one anywhere. It claims what the
//! limit does, which is enough where the order is there.

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::physical_plan::limit::GlobalLimitExec;

use super::order_properties::{Correction, Plan, correct_output};

/// Of such a limit, what is known of it.
const SKIPPING: Correction = Correction {
    name: "SkippedRowsExec",
    properties: |limit| Ok(limit.equivalence_properties().clone()),
    passes_order_down: false,
};

/// The operator, below one that lets no order through where it skips rows.
pub(super) fn corrected(node: Plan) -> Result<Transformed<Plan>> {
    let skips = node.downcast_ref::<GlobalLimitExec>().is_some_and(|limit| limit.skip() > 0);
    if !skips {
        return Ok(Transformed::no(node));
    }
    correct_output(&node, SKIPPING)
}
