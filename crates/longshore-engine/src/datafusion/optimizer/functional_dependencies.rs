//! Keeps the functional dependencies of one side of a join from holding for a group above it.
//!
//! In 55.2 a group over a join takes a key of one side, which determines the columns of that side, for a key of the group:
//! above `(SELECT a.id, b.g FROM a JOIN (SELECT g FROM c GROUP BY g) AS b ON ... GROUP BY a.id, b.g)`, `ORDER BY g, id` became
//! `ORDER BY g`, and `GROUP BY g, id` became `GROUP BY g`. So joins have no functional dependencies wherever a rule asks for
//! them. This loses nothing else: tables do not tell plans their keys.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{FunctionalDependencies, Result};
use datafusion::logical_expr::{Join, LogicalPlan};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// The rules that leave out columns that others determine.
pub(super) const USE_DEPENDENCIES: [&str; 2] = ["eliminate_duplicated_expr", "optimize_projections"];

/// The rule; it must come before those that use them.
#[derive(Debug)]
pub(super) struct NoDependenciesOfJoins;

impl OptimizerRule for NoDependenciesOfJoins {
    fn name(&self) -> &'static str {
        "no_dependencies_of_joins"
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if !plan.exists(|node| Ok(matches!(node, LogicalPlan::Join(join) if has_dependencies(join))))? {
            return Ok(Transformed::no(plan));
        }
        let mut changed = false;
        plan.transform_up(|node| match node {
            LogicalPlan::Join(mut join) if changed || has_dependencies(&join) => {
                changed = true;
                let schema = join.schema.as_ref().clone();
                join.schema = Arc::new(schema.with_functional_dependencies(FunctionalDependencies::empty())?);
                Ok(Transformed::yes(LogicalPlan::Join(join)))
            }
            // What held below holds no longer.
            node if changed => node.recompute_schema().map(Transformed::yes),
            node => Ok(Transformed::no(node)),
        })
    }
}

fn has_dependencies(join: &Join) -> bool {
    !join.schema.functional_dependencies().is_empty()
}
