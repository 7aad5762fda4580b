//! The types of columns that a correlated subquery takes from the query around it.
//!
//! `DataFusion` writes the type of such a column into the subquery when it reads the text, and keeps it. But the column may
//! get another type later, when function calls are rewritten and types are coerced: CASE has the type of its first branch
//! until then, and `nullif` a type that holds both of its arguments. So the subquery compared decimals of one scale with
//! decimals of another as if they were of one, and found no row (55.2). Here the columns get their final types before the
//! subquery is looked at.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, ExprSchema, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, Join, LogicalPlan, Subquery};
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::analyzer::function_rewrite::ApplyFunctionRewrites;

use crate::datafusion::execution::complexity;

/// `plan`, whose subqueries know the final types of outer columns.
///
/// # Errors
/// Those of a plan that does not fit its new types.
pub(in crate::datafusion) fn resolved(plan: LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
    if !is_correlated(&plan)? {
        return Ok(plan);
    }
    let rewrites = ApplyFunctionRewrites::new(state.analyzer().function_rewrites().to_vec());
    let levels = complexity::levels(&plan);
    complexity::with_stack(levels, || Resolver { state, rewrites, around: Vec::new() }.plan(plan))
}

fn is_correlated(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= matches!(node, LogicalPlan::Subquery(subquery) if !subquery.outer_ref_columns.is_empty());
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

struct Resolver<'a> {
    state: &'a SessionState,
    rewrites: ApplyFunctionRewrites,
    /// The columns of the queries around, the innermost last.
    around: Vec<DFSchemaRef>,
}

impl Resolver<'_> {
    fn plan(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let plan = match plan {
            // LATERAL takes columns from what stands left of it.
            LogicalPlan::Join(join) if is_correlated(&join.right)? => {
                let Join { left, right, .. } = &join;
                let left = self.plan(left.as_ref().clone())?;
                self.around.push(self.final_schema(&[&left]));
                let right = self.plan(right.as_ref().clone());
                self.around.pop();
                let (left, right) = (Arc::new(left), Arc::new(right?));
                LogicalPlan::Join(Join { left, right, ..join })
            }
            plan => plan.map_children(|input| self.plan(input).map(Transformed::yes))?.data,
        };
        let plan = if has_correlated_expressions(&plan)? {
            self.around.push(self.final_schema(&plan.inputs()));
            let resolved = plan.map_subqueries(|subquery| self.plan(subquery).map(Transformed::yes));
            self.around.pop();
            resolved?.data
        } else {
            plan
        };
        let plan = if self.around.is_empty() {
            plan
        } else {
            plan.map_expressions(|expr| expr.transform_up(|part| Ok(self.outer_column(part))))?.data
        };
        match plan {
            LogicalPlan::Subquery(Subquery { subquery, spans, .. }) => {
                let outer_ref_columns = subquery.all_out_ref_exprs();
                Ok(LogicalPlan::Subquery(Subquery { subquery, outer_ref_columns, spans }))
            }
            plan => plan.recompute_schema(),
        }
    }

    /// The columns of `inputs` as they are after the analysis, or as they are where that fails: it is then told later.
    fn final_schema(&self, inputs: &[&LogicalPlan]) -> DFSchemaRef {
        let analyzed = |input: &&LogicalPlan| -> Result<LogicalPlan> {
            let config = self.state.config_options();
            let plan = self.rewrites.analyze((*input).clone(), config)?;
            self.state.analyzer().rules.iter().try_fold(plan, |plan, rule| rule.analyze(plan, config))
        };
        let analyzed: Vec<LogicalPlan> =
            inputs.iter().map(|input| analyzed(input).unwrap_or_else(|_| (*input).clone())).collect();
        Arc::new(merge_schema(&analyzed.iter().collect::<Vec<_>>()))
    }

    fn outer_column(&self, expr: Expr) -> Transformed<Expr> {
        let Expr::OuterReferenceColumn(field, column) = expr else { return Transformed::no(expr) };
        match self.around.iter().rev().find_map(|schema| schema.field_from_column(&column).ok()) {
            Some(found) if found.data_type() != field.data_type() => {
                let field = field.as_ref().clone().with_data_type(found.data_type().clone());
                Transformed::yes(Expr::OuterReferenceColumn(Arc::new(field), column))
            }
            _ => Transformed::no(Expr::OuterReferenceColumn(field, column)),
        }
    }
}

fn has_correlated_expressions(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_subqueries(|subquery| {
        found |= is_correlated(subquery)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}
