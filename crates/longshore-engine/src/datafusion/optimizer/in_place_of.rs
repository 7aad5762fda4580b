//! A rule in the place of one of `DataFusion`'s: it has that rule's name and its place, and calls it.

use std::fmt;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// What a rule does with a plan and `DataFusion`'s rule `R`.
type Rewrite<R> = fn(&R, LogicalPlan, &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>>;

/// Rewrites plans by a function, which is given the rule `R`.
pub(super) struct InPlaceOf<R> {
    rule: R,
    rewrite: Rewrite<R>,
}

impl<R> InPlaceOf<R> {
    /// `rewrite` in the place of `rule`.
    pub(super) fn new(rule: R, rewrite: Rewrite<R>) -> Self {
        Self { rule, rewrite }
    }
}

impl<R: fmt::Debug> fmt::Debug for InPlaceOf<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InPlaceOf").field(&self.rule).finish()
    }
}

impl<R: OptimizerRule> OptimizerRule for InPlaceOf<R> {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        (self.rewrite)(&self.rule, plan, config)
    }
}
