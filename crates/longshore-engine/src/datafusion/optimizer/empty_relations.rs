//! Leaves out what has no rows, and keeps the columns of unions in their places.
//!
//! In 55.2, where one input of a union is left, its columns are taken by the names of the union's, and not by their places:
//! `SELECT a, b FROM t WHERE false UNION ALL SELECT DISTINCT b, a FROM t` gave `a` first. Where several are left, the union keeps the
//! names of the input that is gone, and a group above it finds other names in the plan that runs. So the inputs of such a
//! union have its names before one is left out.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Union};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::propagate_empty_relation;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// The rule, in the place of `DataFusion`'s.
#[derive(Debug, Default)]
pub(super) struct PropagateEmptyRelation(propagate_empty_relation::PropagateEmptyRelation);

impl OptimizerRule for PropagateEmptyRelation {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let plan = match plan {
            LogicalPlan::Union(union) if union.inputs.iter().any(|input| is_empty(input)) => named(union)?,
            other => other,
        };
        self.0.rewrite(plan, config)
    }
}

fn is_empty(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::EmptyRelation(empty) if !empty.produce_one_row)
}

/// The union of inputs that call their columns as the union does.
fn named(Union { inputs, schema }: Union) -> Result<LogicalPlan> {
    let inputs = inputs.into_iter().map(|input| {
        let is_called_so = || {
            input
                .schema()
                .iter()
                .zip(schema.iter())
                .all(|(own, (relation, wanted))| own.0 == relation && own.1.name() == wanted.name())
        };
        if is_empty(&input) || is_called_so() {
            return Ok(input);
        }
        let columns = input
            .schema()
            .iter()
            .zip(schema.iter())
            .map(|(own, (relation, wanted))| Expr::from(own).alias_qualified(relation.cloned(), wanted.name()));
        Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(columns.collect(), input)?)))
    });
    Ok(LogicalPlan::Union(Union { inputs: inputs.collect::<Result<_>>()?, schema }))
}
