//! Functions in FROM that use columns of what stands before them: `FROM t, unnest(t.a)`, `FROM t LEFT JOIN LATERAL
//! jsonb_each(t.j) ON true`.
//!
//! The planner joins what stands before with a query that depends on it. As the rows of such a function are made of an
//! array, they are made beside the columns of each row before, and no join is left.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, NullHandling, Result, ScalarValue, TableReference, UnnestOptions};
use datafusion::logical_expr::{
    Expr, Join, JoinType, LogicalPlan, LogicalPlanBuilder, Projection, Subquery, SubqueryAlias, Unnest,
};

/// The plan in which such functions are joined with nothing.
pub(in crate::datafusion) fn without_joins(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::Join(join) = node else { return Ok(Transformed::no(node)) };
        match Function::of(&join) {
            Some(function) => function.beside(&join).map(Transformed::yes),
            None => Ok(Transformed::no(LogicalPlan::Join(join))),
        }
    })?;
    Ok(plan.data)
}

/// A function that depends on what it is joined with.
struct Function {
    alias: Option<TableReference>,
    /// Its columns, over the elements of its arrays.
    outputs: Vec<Expr>,
    /// Its arrays.
    arrays: Vec<Expr>,
    columns: Vec<Column>,
    keeps_rows: bool,
}

impl Function {
    fn of(join: &Join) -> Option<Self> {
        let keeps_rows = match join.join_type {
            JoinType::Inner => false,
            JoinType::Left if join.filter.as_ref().is_none_or(is_true) => true,
            _ => return None,
        };
        if !join.on.is_empty() {
            return None;
        }
        let (query, alias) = match join.right.as_ref() {
            LogicalPlan::SubqueryAlias(SubqueryAlias { input, alias, .. }) => (input.as_ref(), Some(alias.clone())),
            other => (other, None),
        };
        let LogicalPlan::Subquery(Subquery { subquery, .. }) = query else { return None };
        let (query, alias) = match subquery.as_ref() {
            LogicalPlan::SubqueryAlias(SubqueryAlias { input, alias: inner, .. }) => {
                (input.as_ref(), alias.or_else(|| Some(inner.clone())))
            }
            other => (other, alias),
        };
        let LogicalPlan::Projection(Projection { expr: outputs, input, .. }) = query else { return None };
        let LogicalPlan::Unnest(Unnest { input, exec_columns, .. }) = input.as_ref() else { return None };
        let LogicalPlan::Projection(Projection { expr: arrays, input, .. }) = input.as_ref() else { return None };
        let LogicalPlan::EmptyRelation(_) = input.as_ref() else { return None };
        let (outputs, arrays) = (outputs.clone(), arrays.clone());
        Some(Self { alias, outputs, arrays, columns: exec_columns.clone(), keeps_rows })
    }

    /// The rows of the function beside those that it is joined with.
    fn beside(self, join: &Join) -> Result<LogicalPlan> {
        let own: Vec<Expr> = join.left.schema().columns().into_iter().map(Expr::Column).collect();
        let arrays = self.arrays.into_iter().map(inner).collect::<Result<Vec<_>>>()?;
        let nulls = if self.keeps_rows { NullHandling::PreserveAndExpandEmpty } else { NullHandling::Drop };
        let rows = LogicalPlanBuilder::from(Arc::clone(&join.left))
            .project(own.iter().cloned().chain(arrays))?
            .unnest_columns_with_options(self.columns, UnnestOptions::new().with_null_handling(nulls))?;
        let outputs = self.outputs.into_iter().map(|output| {
            let name = output.schema_name().to_string();
            Ok(inner(output)?.unalias().alias_qualified(self.alias.clone(), name))
        });
        let outputs = outputs.collect::<Result<Vec<_>>>()?;
        let rows = rows.project(own.into_iter().chain(outputs))?;
        match &join.filter {
            Some(filter) if !is_true(filter) => rows.filter(filter.clone())?.build(),
            _ => rows.build(),
        }
    }
}

/// Columns of the outer query are those of the same query then.
fn inner(expr: Expr) -> Result<Expr> {
    let expr = expr.transform(|part| {
        Ok(match part {
            Expr::OuterReferenceColumn(_, column) => Transformed::yes(Expr::Column(column)),
            other => Transformed::no(other),
        })
    })?;
    Ok(expr.data)
}

fn is_true(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Boolean(Some(true)), _))
}
