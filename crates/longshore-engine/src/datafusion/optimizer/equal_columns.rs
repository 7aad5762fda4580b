//! Keeps a union from losing the order of inputs that have a column twice.
//!
//! An input of a union that has equal columns, as in `SELECT e, e AS x FROM t UNION ALL ... ORDER BY x, e`, is sorted by one
//! of them below. In 55.2 the union does not see that this is the order by both, and the plan is refused. So such an input
//! says nothing of what is equal: an operator above it claims its order only, and is sorted above.

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::physical_plan::union::UnionExec;

use super::restated::{Plan, Truth, above, order_only};

/// Of such an input, only the order is known, and no other one is asked of what is below.
const INPUT: Truth = Truth { name: "UnionInputExec", of: order_only, passes_order_down: false };

/// The operator, above inputs that do not say what is equal where it is a union.
pub(super) fn told(node: Plan) -> Result<Transformed<Plan>> {
    if !node.is::<UnionExec>() {
        return Ok(Transformed::no(node));
    }
    let has_equal = |input: &&Plan| input.equivalence_properties().eq_group().iter().any(|class| class.len() > 1);
    let truths: Vec<Option<Truth>> = node.children().iter().map(|input| has_equal(input).then_some(INPUT)).collect();
    if truths.iter().all(Option::is_none) {
        return Ok(Transformed::no(node));
    }
    above(node, truths)
}
