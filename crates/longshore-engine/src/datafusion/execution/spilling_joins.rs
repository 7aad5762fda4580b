//! Joins that spill: in the place of products, which keep one of their sides in memory.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::JoinType;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::{CrossJoinExec, NestedLoopJoinExec};

/// The same plan, in which products of two relations are made by an operator that spills.
pub(in crate::datafusion) fn without_cross_joins(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let Some(join) = node.downcast_ref::<CrossJoinExec>() else { return Ok(Transformed::no(node)) };
        let (left, right) = (Arc::clone(join.left()), Arc::clone(join.right()));
        let product = NestedLoopJoinExec::try_new(left, right, None, &JoinType::Inner, None)?;
        Ok(Transformed::yes(Arc::new(product) as Arc<dyn ExecutionPlan>))
    })
    .map(|transformed| transformed.data)
}
