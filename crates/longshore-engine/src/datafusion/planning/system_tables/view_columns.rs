//! The columns of views, with the types of the columns of tables that they come from.
//!
//! To Arrow a VARCHAR(10) is a text. So a column is followed down through the plan of the view to the table that it is of; what
//! is computed has no length and no precision, as in PostgreSQL.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::Column;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::objects::{Body, Objects};
use super::type_ref::{self, TypeRef};
use crate::datafusion::planning::names::name_of;

/// A column of a view.
pub(super) struct ViewColumn {
    pub(super) name: String,
    pub(super) of: TypeRef,
}

/// The columns of the view that `provider` is.
pub(super) fn of(objects: &Objects, provider: &Arc<dyn TableProvider>) -> Vec<ViewColumn> {
    let plan = provider.get_logical_plan();
    let schema = provider.schema();
    let columns = schema.fields().iter().enumerate().map(|(at, field)| {
        let origin = plan.as_ref().and_then(|plan| {
            let (qualifier, field) = plan.schema().qualified_field(at);
            origin(objects, plan, &Column::from((qualifier, field)))
        });
        let of = origin.unwrap_or_else(|| TypeRef { modifier: -1, ..type_ref::of_field(field) });
        ViewColumn { name: field.name().clone(), of }
    });
    columns.collect()
}

/// The type of the column of a table that a column of a plan is.
fn origin(objects: &Objects, plan: &LogicalPlan, column: &Column) -> Option<TypeRef> {
    match plan {
        LogicalPlan::Projection(projection) => {
            let at = projection.schema.maybe_index_of_column(column)?;
            of_expr(objects, &projection.input, &projection.expr[at])
        }
        LogicalPlan::Aggregate(aggregate) => {
            let at = aggregate.schema.maybe_index_of_column(column)?;
            of_expr(objects, &aggregate.input, aggregate.group_expr.get(at)?)
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let at = alias.schema.maybe_index_of_column(column)?;
            let (qualifier, field) = alias.input.schema().qualified_field(at);
            origin(objects, &alias.input, &Column::from((qualifier, field)))
        }
        LogicalPlan::Filter(filter) => origin(objects, &filter.input, column),
        LogicalPlan::Sort(sort) => origin(objects, &sort.input, column),
        LogicalPlan::Limit(limit) => origin(objects, &limit.input, column),
        LogicalPlan::Join(join) => {
            let is_left = join.left.schema().maybe_index_of_column(column).is_some();
            origin(objects, if is_left { &join.left } else { &join.right }, column)
        }
        LogicalPlan::TableScan(scan) => {
            if let Some(inner) = source_as_provider(&scan.source).ok()?.get_logical_plan() {
                let at = scan.projected_schema.maybe_index_of_column(column)?;
                let (qualifier, field) = inner.schema().qualified_field(at);
                return origin(objects, &inner, &Column::from((qualifier, field)));
            }
            let relation = objects.relation_named(&name_of(&scan.table_name))?;
            let Body::Table(table, rules) = &relation.body else { return None };
            let at = table.relation.schema().index_of(&column.name)?;
            Some(objects.type_of(table, rules, at))
        }
        _ => None,
    }
}

fn of_expr(objects: &Objects, input: &LogicalPlan, expr: &Expr) -> Option<TypeRef> {
    match expr {
        Expr::Alias(alias) => of_expr(objects, input, &alias.expr),
        Expr::Column(column) => origin(objects, input, column),
        _ => None,
    }
}
