//! Values that are compared with the rows of a query: `x IN (SELECT ...)`, and the same with ANY and ALL.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{InSubquery, SetComparison};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Subquery};

use super::columns::in_types;
use super::{ReadAs, in_type, of_literals, of_moments, of_times};
use crate::datafusion::functions::numeric::{data_type, is_number, is_numeric};
use crate::datafusion::functions::untyped::is_untyped;
use crate::datafusion::planning::origin::column_of_known_type;

/// A node that compares such values with rows of their type: a literal without a type is read as one of it.
pub(super) fn with_comparable_rows(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let mut found = false;
    node.apply_expressions(|expr| {
        found = found || expr.exists(|part| Ok(matches!(part, Expr::InSubquery(_) | Expr::SetComparison(_))))?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if !found {
        return Ok(Transformed::no(node));
    }
    let schema = merge_schema(&node.inputs());
    let names = NamePreserver::new(&node);
    node.map_expressions(|expr| {
        let name = names.save(&expr);
        let compared = expr.transform_up(|mut part| {
            let changed = match &mut part {
                Expr::InSubquery(InSubquery { expr, subquery, .. }) => compare(expr, subquery, &schema, of_members)?,
                Expr::SetComparison(SetComparison { expr, subquery, .. }) => compare(expr, subquery, &schema, of_all)?,
                _ => false,
            };
            Ok(if changed { Transformed::yes(part) } else { Transformed::no(part) })
        })?;
        Ok(compared.update_data(|expr| name.restore(expr)))
    })
}

/// Gives a value and the rows of a query one type, by `common` where both have one; says whether that changes anything.
fn compare(
    value: &mut Expr,
    query: &mut Subquery,
    schema: &DFSchema,
    common: fn(&[DataType; 2]) -> Option<DataType>,
) -> Result<bool> {
    let rows = &query.subquery;
    let read_as = if is_untyped(value) { read_as(rows) } else { None };
    if let Some(read_as) = &read_as {
        *value = read_as.cast(std::mem::take(value));
    }
    let [field] = &rows.schema().fields()[..] else { return Ok(read_as.is_some()) };
    let own = value.get_type(schema);
    let Some(common) = own.ok().and_then(|own| common(&[own, field.data_type().clone()])) else {
        return Ok(read_as.is_some());
    };
    *value = in_type(std::mem::take(value), &common, schema)?;
    query.subquery = Arc::new(in_types(rows, rows.schema(), &[Some(ReadAs::Type(common))])?);
    Ok(true)
}

/// What a literal is read as beside the rows of a query.
fn read_as(rows: &LogicalPlan) -> Option<ReadAs> {
    let of_text = column_of_known_type(rows, 0).and_then(ReadAs::text);
    of_text.or_else(|| of_literals(&[rows.schema().fields().first()?.data_type().clone()]).map(ReadAs::Type))
}

/// The type of a value and of the rows that it may be one of. Numbers are compared when types are final (`functions::operators`).
fn of_members(types: &[DataType; 2]) -> Option<DataType> {
    of_moments(types).or_else(|| of_times(types))
}

/// The type of a value and of the rows that all, or any, compare with it.
fn of_all(types: &[DataType; 2]) -> Option<DataType> {
    let has_numeric = types.iter().any(is_numeric) && types.iter().all(is_number) && types[0] != types[1];
    let of_numbers = || if types.iter().any(DataType::is_floating) { DataType::Float64 } else { data_type() };
    of_members(types).or_else(|| has_numeric.then(of_numbers))
}
