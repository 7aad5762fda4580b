//! Which column of a table a column of a plan comes from, and so its type in SQL: Arrow has one type for CHAR, VARCHAR, TEXT
//! and UUID.

use std::sync::Arc;

use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::Column;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Distinct, Expr, ExprSchemable, JoinType, LogicalPlan};
use longshore_storage::ColumnType;

use crate::TypeId;
use crate::datafusion::scan::table::RelationTable;

/// The types of the columns of a plan.
pub(in crate::datafusion) fn types(plan: &LogicalPlan) -> Arc<[TypeId]> {
    let fields = plan.schema().fields().iter().enumerate();
    fields
        .map(|(at, field)| match column_type(plan, at) {
            // What was computed of columns of DECIMAL may have another precision.
            Some(column_type) if column_type.arrow() == *field.data_type() => TypeId::of_column(column_type),
            _ => match cast(plan, at) {
                Some(target) if target.data_type() == field.data_type() => TypeId::of_field(&target),
                _ => TypeId::of_field(field),
            },
        })
        .collect()
}

/// The field that a cast names which a column of a plan is: the metadata of the column may be those of what was cast.
fn cast(plan: &LogicalPlan, at: usize) -> Option<FieldRef> {
    let LogicalPlan::Projection(projection) = plan else { return None };
    let mut expr = projection.expr.get(at)?;
    while let Expr::Alias(alias) = expr {
        expr = &alias.expr;
    }
    match expr {
        Expr::Cast(cast) => Some(Arc::clone(&cast.field)),
        Expr::Column(column) => cast_below(&projection.input, column),
        _ => None,
    }
}

fn cast_below(input: &LogicalPlan, column: &Column) -> Option<FieldRef> {
    cast(input, input.schema().maybe_index_of_column(column)?)
}

/// The type of the column of a table that a column of a plan shows as it is; `None` if it is computed.
pub(in crate::datafusion) fn column_type(plan: &LogicalPlan, at: usize) -> Option<ColumnType> {
    let shown = |expr: &Expr, input: &LogicalPlan| {
        let mut expr = expr;
        while let Expr::Alias(alias) = expr {
            expr = &alias.expr;
        }
        match expr {
            Expr::Column(column) => column_type(input, input.schema().maybe_index_of_column(column)?),
            Expr::ScalarFunction(call) if gives_uuid(call.func.name()) => {
                let is_array = expr.get_type(input.schema()).is_ok_and(|given| given.is_nested());
                if is_array { ColumnType::Uuid.array() } else { Some(ColumnType::Uuid) }
            }
            _ => None,
        }
    };
    match plan {
        LogicalPlan::TableScan(scan) => {
            let at = scan.projection.as_ref().map_or(Some(at), |columns| columns.get(at).copied())?;
            let provider = source_as_provider(&scan.source).ok()?;
            let table = provider.downcast_ref::<RelationTable>()?;
            Some(table.relation().schema().columns().get(at)?.column_type)
        }
        LogicalPlan::SubqueryAlias(alias) => column_type(&alias.input, at),
        LogicalPlan::Filter(filter) => column_type(&filter.input, at),
        LogicalPlan::Sort(sort) => column_type(&sort.input, at),
        LogicalPlan::Limit(limit) => column_type(&limit.input, at),
        LogicalPlan::Distinct(Distinct::All(input)) => column_type(input, at),
        LogicalPlan::Union(union) => {
            let mut types = union.inputs.iter().map(|input| column_type(input, at));
            let first = types.next()??;
            types.try_fold(first, |known, next| common(known, next?))
        }
        LogicalPlan::Projection(projection) => shown(projection.expr.get(at)?, &projection.input),
        LogicalPlan::Aggregate(aggregate) => shown(aggregate.group_expr.get(at)?, &aggregate.input),
        LogicalPlan::Join(join) => {
            let left = join.left.schema().fields().len();
            match join.join_type {
                JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full if at >= left => {
                    column_type(&join.right, at - left)
                }
                JoinType::RightSemi | JoinType::RightAnti => column_type(&join.right, at),
                _ => column_type(&join.left, at),
            }
        }
        _ => None,
    }
}

/// Whether a function gives UUIDs.
pub(in crate::datafusion) fn gives_uuid(function: &str) -> bool {
    matches!(function, "uuid_in" | "gen_random_uuid" | "uuidv4" | "uuidv7")
}

/// The type of both columns: of texts of several lengths the longest.
fn common(left: ColumnType, right: ColumnType) -> Option<ColumnType> {
    match (left, right) {
        (ColumnType::Char(left), ColumnType::Char(right)) => Some(ColumnType::Char(left.max(right))),
        (left, right) => (left == right).then_some(left),
    }
}
