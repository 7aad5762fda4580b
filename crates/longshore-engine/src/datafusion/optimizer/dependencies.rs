//! Keeps what a key decides below a join from deciding everything above a group of it.
//!
//! In 55.2 a group over a join takes a key of one side for a key of the whole group: above `(SELECT a.id, b.g FROM a JOIN
//! (SELECT g FROM c GROUP BY g) AS b ON ... GROUP BY a.id, b.g)`, `ORDER BY g, id` became `ORDER BY g`, and `GROUP BY g, id`
//! became `GROUP BY g`. So joins know of no keys wherever a rule asks for them. This loses nothing else: tables do not tell
//! their keys to plans.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{FunctionalDependencies, Result};
use datafusion::logical_expr::{Join, LogicalPlan};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// The rules that leave out what a key decides.
pub(super) const ASK_FOR_KEYS: [&str; 2] = ["eliminate_duplicated_expr", "optimize_projections"];

/// The rule; it must come before those that ask for keys.
#[derive(Debug)]
pub(super) struct NoKeysOfJoins;

impl OptimizerRule for NoKeysOfJoins {
    fn name(&self) -> &'static str {
        "no_keys_of_joins"
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if !plan.exists(|node| Ok(matches!(node, LogicalPlan::Join(join) if knows_keys(join))))? {
            return Ok(Transformed::no(plan));
        }
        let mut changed = false;
        plan.transform_up(|node| match node {
            LogicalPlan::Join(mut join) if changed || knows_keys(&join) => {
                changed = true;
                let schema = join.schema.as_ref().clone();
                join.schema = Arc::new(schema.with_functional_dependencies(FunctionalDependencies::empty())?);
                Ok(Transformed::yes(LogicalPlan::Join(join)))
            }
            // What was known below is known no longer.
            node if changed => node.recompute_schema().map(Transformed::yes),
            node => Ok(Transformed::no(node)),
        })
    }
}

fn knows_keys(join: &Join) -> bool {
    !join.schema.functional_dependencies().is_empty()
}
