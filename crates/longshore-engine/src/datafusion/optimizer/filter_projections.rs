//! Takes projections out of filters before projections move down.
//!
//! A filter may have a projection of its own, which leaves out columns that only its condition needs. In 55.2 a projection
//! that moves below such a filter takes its columns, which are those behind the filter's projection, for those before it:
//! `SELECT r.m, concat(r.s, l.x) FROM t AS l RIGHT JOIN t AS r ON ... WHERE l.m IS NULL` gave columns of `l`, or was refused
//! where their names differ. So a filter that has one gives it to an operator above it; the rule behind puts it back.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::ProjectionExec;

use super::order_properties::Plan;

/// The rule that moves projections.
pub(super) const MOVES_PROJECTIONS: &str = "ProjectionPushdown";

/// The rule; it must come before the one that moves projections.
#[derive(Debug)]
pub(super) struct TakeProjectionsOutOfFilters;

impl PhysicalOptimizerRule for TakeProjectionsOutOfFilters {
    fn optimize(&self, plan: Plan, _config: &ConfigOptions) -> Result<Plan> {
        let without = |node: Plan| {
            let Some(filter) = node.downcast_ref::<FilterExec>() else { return Ok(Transformed::no(node)) };
            let Some(projection) = filter.projection() else { return Ok(Transformed::no(node)) };
            let schema = filter.input().schema();
            let columns = projection.iter().map(|&index| {
                let name = schema.field(index).name();
                ProjectionExpr::new(Arc::new(Column::new(name, index)), name.clone())
            });
            let columns: Vec<ProjectionExpr> = columns.collect();
            let filter = FilterExecBuilder::from(filter).apply_projection(None)?.build()?;
            Ok(Transformed::yes(Arc::new(ProjectionExec::try_new(columns, Arc::new(filter) as Plan)?) as Plan))
        };
        plan.transform_up(without).map(|transformed| transformed.data)
    }

    fn name(&self) -> &'static str {
        "take_projections_out_of_filters"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
