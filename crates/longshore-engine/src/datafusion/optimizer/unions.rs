//! Gives the first input of a union the names of the union's columns.
//!
//! A union is called as its first input. In 55.2 the optimizer leaves out inputs without rows, and the union keeps its
//! names; a group above it then finds other names in the plan that runs than in the one that was optimized, and refuses
//! the query.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Union};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// The rule; it must come behind the one that leaves out inputs without rows.
#[derive(Debug)]
pub(super) struct FirstInputNamesUnion;

impl OptimizerRule for FirstInputNamesUnion {
    fn name(&self) -> &'static str {
        "first_input_names_union"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Union(union) = plan else { return Ok(Transformed::no(plan)) };
        let is_called_so = union.inputs.first().is_none_or(|first| {
            let mut names = first.schema().fields().iter().zip(union.schema.fields());
            names.all(|(own, wanted)| own.name() == wanted.name())
        });
        if is_called_so {
            return Ok(Transformed::no(LogicalPlan::Union(union)));
        }
        let Union { mut inputs, schema } = union;
        let first = Arc::clone(&inputs[0]);
        let columns = first
            .schema()
            .iter()
            .zip(schema.iter())
            .map(|(own, (relation, wanted))| Expr::from(own).alias_qualified(relation.cloned(), wanted.name()));
        inputs[0] = Arc::new(LogicalPlan::Projection(Projection::try_new(columns.collect(), first)?));
        Ok(Transformed::yes(LogicalPlan::Union(Union { inputs, schema })))
    }
}
