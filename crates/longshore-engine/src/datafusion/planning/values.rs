//! `FROM (VALUES ...) AS v (a, b)`: rows of as many values as they have, of the types of their values.
//!
//! `DataFusion` plans VALUES anywhere in an INSERT as rows of its table, with the table's number of columns. This is
//! right for the VALUES that an INSERT consists of only, so those in FROM are planned here, in every statement.

use std::mem;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, FieldRef};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::logical_expr::{self, Cast, ExprSchemable, LogicalPlanBuilder};
use sqlparser::ast::{Expr, Parens, Query, SetExpr, TableFactor};

use super::matched_types;
use crate::builtin_types::PG_TYPE;
use crate::datafusion::functions::casts::cast_number;
use crate::datafusion::functions::enums::ENUM;
use crate::datafusion::functions::nested::text_out::is_nested;
use crate::datafusion::functions::nested_casts;
use crate::datafusion::functions::numeric::{data_type, is_number, is_numeric, rounds};
use crate::datafusion::functions::operators::of_list;

/// Plans VALUES in FROM.
#[derive(Debug)]
pub(in crate::datafusion) struct ValuesInFrom;

impl RelationPlanner for ValuesInFrom {
    fn plan_relation(
        &self,
        mut relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let TableFactor::Derived { subquery, alias, .. } = &mut relation else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let Some(rows) = rows(subquery) else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let no_columns = DFSchema::empty();
        let rows = mem::take(rows).into_iter().map(|row| {
            let values = row.content.into_iter().map(|value| context.sql_to_expr(value, &no_columns));
            values.collect::<Result<Vec<_>>>()
        });
        let rows = rows.collect::<Result<Vec<_>>>()?;
        matched_types::check_rows(&rows)?;
        let rows = numbers_as_numeric(texts_as_others(rows))?;
        let rows = of_one_type_each(rows)?;
        let plan = LogicalPlanBuilder::values(rows)?.build()?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias.take()))))
    }
}

/// The rows, with texts that are written beside JSON or arrays in their column as values of that type.
fn texts_as_others(mut rows: Vec<Vec<logical_expr::Expr>>) -> Vec<Vec<logical_expr::Expr>> {
    let columns = rows.first().map_or(0, Vec::len);
    let nothing = DFSchema::empty();
    for column in 0..columns {
        let nested = rows.iter().filter_map(|row| row.get(column)?.get_type(&nothing).ok()).find(is_nested);
        let Some(nested) = nested else { continue };
        for value in rows.iter_mut().filter_map(|row| row.get_mut(column)) {
            if matches!(value, logical_expr::Expr::Literal(text, _) if text.data_type().is_string()) {
                let text = mem::take(value);
                *value = nested_casts::cast(text, &nested);
            }
        }
    }
    rows
}

/// The rows, with other numbers, and texts that are written, beside a NUMERIC in their column as such; all of them as floats if
/// one is a float.
fn numbers_as_numeric(mut rows: Vec<Vec<logical_expr::Expr>>) -> Result<Vec<Vec<logical_expr::Expr>>> {
    let columns = rows.first().map_or(0, Vec::len);
    let nothing = DFSchema::empty();
    for column in 0..columns {
        let types = rows.iter().filter_map(|row| row.get(column)?.get_type(&nothing).ok());
        let types: Vec<_> = types.filter(|known| !known.is_null() && !known.is_string()).collect();
        let is_rounded = |value: &logical_expr::Expr| types.iter().any(|known| rounds(value, known));
        let is_exact = types.iter().any(is_numeric) || rows.iter().filter_map(|row| row.get(column)).any(is_rounded);
        if !is_exact || !types.iter().all(is_number) {
            continue;
        }
        let common = of_list(&types).filter(|common| !common.is_decimal()).unwrap_or_else(data_type);
        for value in rows.iter_mut().filter_map(|row| row.get_mut(column)) {
            let known = value.get_type(&nothing)?;
            let is_written = matches!(value, logical_expr::Expr::Literal(..));
            if known != common && !known.is_null() && (is_written || !known.is_string()) {
                *value = cast_number(mem::take(value), &common, &nothing)?;
            }
        }
    }
    Ok(rows)
}

/// The rows, with values of one type in each column where its metadata tell the type: others beside an enumeration or an OID
/// are of that type, and texts have no length beside texts of another one.
fn of_one_type_each(mut rows: Vec<Vec<logical_expr::Expr>>) -> Result<Vec<Vec<logical_expr::Expr>>> {
    let columns = rows.first().map_or(0, Vec::len);
    let nothing = DFSchema::empty();
    for column in 0..columns {
        let fields = rows.iter().filter_map(|row| row.get(column)).map(|value| Ok(value.to_field(&nothing)?.1));
        let fields = fields.collect::<Result<Vec<_>>>()?;
        if fields.iter().all(|field| field.metadata() == fields[0].metadata()) {
            continue;
        }
        let is_known = |field: &&FieldRef| !field.data_type().is_null();
        let Some(any) = fields.iter().find(is_known) else { continue };
        let told = fields.iter().find(|field| [PG_TYPE, ENUM].iter().any(|key| field.metadata().contains_key(*key)));
        let data_type = told.unwrap_or(any).data_type().clone();
        // With a name, since a cast to one without keeps the metadata that were there.
        let common = Field::new("value", data_type, true);
        let common = Arc::new(common.with_metadata(told.map(|told| told.metadata().clone()).unwrap_or_default()));
        for (value, field) in rows.iter_mut().filter_map(|row| row.get_mut(column)).zip(&fields) {
            if field.metadata() != common.metadata() {
                *value =
                    logical_expr::Expr::Cast(Cast::new_from_field(Box::new(mem::take(value)), Arc::clone(&common)));
            }
        }
    }
    Ok(rows)
}

/// The rows of a query that is VALUES and nothing else.
fn rows(query: &mut Query) -> Option<&mut Vec<Parens<Vec<Expr>>>> {
    if query.with.is_some() || query.order_by.is_some() || query.limit_clause.is_some() || query.fetch.is_some() {
        return None;
    }
    match query.body.as_mut() {
        SetExpr::Values(values) if !values.value_keyword => Some(&mut values.rows),
        _ => None,
    }
}
