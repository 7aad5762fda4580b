//! Keeps unions from losing the order that is asked for.
//!
//! An input that has equal columns, as in `SELECT e, e AS x FROM t UNION ALL ... ORDER BY x, e`, is sorted by one of them
//! below. In 55.2 the union does not see that this is the order by both, and the plan is refused. So such an input says
//! nothing of what is equal: an operator above it claims its order only, and is sorted above.
//!
//! A column that is constant in each input, but not the same, as in `SELECT 0 AS a, b FROM t UNION ALL SELECT 5, b FROM u ORDER BY
//! a DESC, b LIMIT 1`, is no key of the sorts of the partitions. These tell each other the least row that they still look for,
//! though, without that key, and so leave out rows that come first. So what is constant by partition is no constant above.

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::physical_expr::AcrossPartitions;
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::physical_plan::union::UnionExec;

use super::order_properties::{Correction, Plan, correct_inputs, correct_output, order_only};

/// Of such an input, only the order is known, and no other one is asked of what is below.
const INPUT: Correction = Correction { name: "UnionInputExec", properties: order_only, passes_order_down: false };
/// The same of such a union.
const OUTPUT: Correction = Correction { name: "UnionOutputExec", properties: order_only, passes_order_down: false };

/// The union, between operators that claim less.
pub(super) fn corrected(node: Plan) -> Result<Transformed<Plan>> {
    if !node.is::<UnionExec>() {
        return Ok(Transformed::no(node));
    }
    let has_equal = |input: &&Plan| input.equivalence_properties().eq_group().iter().any(|class| class.len() > 1);
    let corrections: Vec<_> = node.children().iter().map(|input| has_equal(input).then_some(INPUT)).collect();
    let union = correct_inputs(node, &corrections)?;
    let constants = union.data.equivalence_properties().constants();
    if constants.iter().any(|constant| constant.across_partitions == AcrossPartitions::Heterogeneous) {
        return correct_output(&union.data, OUTPUT);
    }
    Ok(union)
}
