//! Leaves out what has no rows, and keeps the columns of unions in their places.
//!
//! In 55.2, where one input of a union is left, its columns are taken by the names of the union's, and not by their places:
//! `SELECT a, b FROM t WHERE false UNION ALL SELECT DISTINCT b, a FROM t` gave `a` first. Where several are left, or two columns of
//! the first one have one name, a group above the union finds other names in the plan that runs, which has those of the
//! first input, than in the one that was optimized. So all inputs have the names of the union before one is left out, and
//! the first one has them in any case.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Union};
use datafusion::optimizer::propagate_empty_relation::PropagateEmptyRelation;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// Puts an empty relation in the place of a query that has no rows, with the columns that there were.
pub(super) fn propagate_empty(
    rule: &PropagateEmptyRelation,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    let Transformed { data: plan, transformed, .. } = match plan {
        LogicalPlan::Union(union) => named(union)?,
        other => Transformed::no(other),
    };
    let mut rewritten = rule.rewrite(plan, config)?;
    rewritten.transformed |= transformed;
    Ok(rewritten)
}

fn is_empty(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::EmptyRelation(empty) if !empty.produce_one_row)
}

/// The union of inputs that call their columns as the union does; only the first one, unless one has no rows.
fn named(Union { mut inputs, schema }: Union) -> Result<Transformed<LogicalPlan>> {
    let has_empty = inputs.iter().any(|input| is_empty(input));
    let wanted = if has_empty { inputs.len() } else { 1 };
    let mut changed = false;
    for input in inputs.iter_mut().take(wanted).filter(|input| !is_empty(input)) {
        let is_called_so =
            input.schema().iter().zip(schema.iter()).all(|((relation, own), (wanted, union))| {
                own.name() == union.name() && (!has_empty || relation == wanted)
            });
        if !is_called_so {
            let columns = input
                .schema()
                .iter()
                .zip(schema.iter())
                .map(|(own, (relation, wanted))| Expr::from(own).alias_qualified(relation.cloned(), wanted.name()));
            let projection = Projection::try_new(columns.collect(), Arc::clone(input))?;
            *input = Arc::new(LogicalPlan::Projection(projection));
            changed = true;
        }
    }
    Ok(Transformed::new_transformed(LogicalPlan::Union(Union { inputs, schema }), changed))
}
