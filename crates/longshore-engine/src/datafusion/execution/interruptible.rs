//! Makes joins yield, so that a statement can be cancelled while a join multiplies its rows.
//!
//! `DataFusion` yields where rows enter a plan. A join may make billions of rows out of one batch, and an operator
//! above it that takes them all in (an aggregate, a sort) would not return for hours: nobody would look whether the
//! statement was cancelled. Not here: that look (`stream`).

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};

/// The same plan, in which every join returns to its caller now and then.
pub(in crate::datafusion) fn interruptible(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        if multiplies(node.as_ref()) {
            let yielding: Arc<dyn ExecutionPlan> = Arc::new(CooperativeExec::new(node));
            Ok(Transformed::yes(yielding))
        } else {
            Ok(Transformed::no(node))
        }
    })
    .map(|transformed| transformed.data)
}

/// Whether the operator may make many rows out of few.
fn multiplies(node: &dyn ExecutionPlan) -> bool {
    node.is::<CrossJoinExec>()
        || node.is::<NestedLoopJoinExec>()
        || node.is::<HashJoinExec>()
        || node.is::<SortMergeJoinExec>()
}
