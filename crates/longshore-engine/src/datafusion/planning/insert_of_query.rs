//! INSERT of the rows of a query.
//!
//! `DataFusion` would have Arrow cast the rows to the types of the columns while it plans, which it cannot where a type is one
//! that Arrow has not. So such values keep the types that the query gives them, and become what the columns are when they are
//! appended (`dml::bulk_appender`).

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, DFSchema, Result, ScalarValue, TableReference};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::planner::ContextProvider;
use datafusion::logical_expr::{
    Cast, DmlStatement, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, TableSource, WriteOp,
};
use datafusion::sql::parser::Statement as Parsed;
use longshore_storage::ColumnType;
use sqlparser::ast::{Insert, ObjectNamePart, SetExpr, Statement, TableObject};

use super::cast_types;
use super::origin::column_of_known_type;
use super::planner::Planner;
use crate::datafusion::errors::external;
use crate::datafusion::functions::time::casts::is_ours;
use crate::datafusion::functions::time::kinds::time_kind;
use crate::sql::names;
use crate::{Error, ErrorKind};

impl Planner {
    /// The plan of such an INSERT; `None` of one with VALUES.
    pub(in crate::datafusion) fn insert_of_query(&self, insert: &Insert) -> Result<Option<LogicalPlan>> {
        let (TableObject::TableName(name), Some(source)) = (&insert.table, &insert.source) else { return Ok(None) };
        if matches!(source.body.as_ref(), SetExpr::Values(_)) && source.with.is_none() {
            return Ok(None);
        }
        let name = TableReference::bare(names::relation(name).map_err(external)?);
        let target = self.get_table_source(name.clone())?;
        let schema = target.schema();
        let query = Parsed::Statement(Box::new(Statement::Query(source.clone())));
        let rows = self.plan_statement(query)?;
        let columns = rows.schema().columns();
        let given: Vec<&str> = if insert.columns.is_empty() {
            // The last ones get their defaults where the query has fewer.
            schema.fields().iter().map(|field| field.name().as_str()).take(columns.len()).collect()
        } else {
            insert.columns.iter().map(|name| last_part(&name.0)).collect()
        };
        if let Some(repeated) = given.iter().enumerate().find(|(at, name)| given[..*at].contains(name)) {
            let message = format!("column \"{}\" specified more than once", repeated.1);
            return Err(external(Error::new(ErrorKind::DuplicateColumn, message)));
        }
        if given.len() != columns.len() {
            let (more, fewer) = ("expressions than target columns", "target columns than expressions");
            let what = if given.len() < columns.len() { more } else { fewer };
            return Err(external(Error::syntax(format!("INSERT has more {what}"))));
        }
        let exprs = schema.fields().iter().map(|field| {
            let at = given.iter().position(|name| name == field.name());
            let expr = match at {
                Some(at) => {
                    if column_of_known_type(&rows, at).is_some() {
                        cast_types::check_assigned(
                            rows.schema().field(at).data_type(),
                            field.data_type(),
                            field.name(),
                        )?;
                    }
                    of_column(columns[at].clone(), field.data_type(), rows.schema())?
                }
                None => default_of(target.as_ref(), field.name(), field.data_type())?,
            };
            Ok(expr.alias(field.name()))
        });
        let exprs = exprs.collect::<Result<Vec<_>>>()?;
        let rows = LogicalPlanBuilder::from(rows).project(exprs)?.build()?;
        let write = WriteOp::Insert(InsertOp::Append);
        Ok(Some(LogicalPlan::Dml(DmlStatement::new(name, target, write, Arc::new(rows)))))
    }
}

/// The type of a column whose values Arrow cannot make of others.
fn is_unknown_to_arrow(data_type: &DataType) -> bool {
    ColumnType::from_arrow(data_type).is_some_and(|column_type| column_type.unwrapped().is_some())
}

/// `expr` in the type of a column, where that is to be cast to while it is planned.
///
/// # Errors
/// When there is no such cast.
pub(in crate::datafusion) fn cast_to_column(expr: Expr, to: &DataType, schema: &DFSchema) -> Result<Expr> {
    if is_unknown_to_arrow(to) && expr.get_type(schema)? != *to {
        return Ok(match expr {
            Expr::Literal(value, metadata) if value.is_null() => {
                Expr::Literal(ScalarValue::try_new_null(to)?, metadata)
            }
            expr => Expr::Cast(Cast::new(Box::new(expr), to.clone())),
        });
    }
    expr.cast_to(to, schema)
}

fn of_column(column: Column, to: &DataType, schema: &DFSchema) -> Result<Expr> {
    let expr = Expr::Column(column);
    let from = expr.get_type(schema)?;
    if time_kind(&from).is_some() && is_ours(&from, to) {
        return Ok(Expr::Cast(Cast::new(Box::new(expr), to.clone())));
    }
    let is_left = is_unknown_to_arrow(to) || is_unknown_to_arrow(&from);
    if is_left { Ok(expr) } else { expr.cast_to(to, schema) }
}

fn default_of(target: &dyn TableSource, column: &str, to: &DataType) -> Result<Expr> {
    let default = target.get_column_default(column).cloned();
    let default = default.unwrap_or_else(|| Expr::Literal(ScalarValue::Null, None));
    cast_to_column(default, to, &DFSchema::empty())
}

fn last_part(parts: &[ObjectNamePart]) -> &str {
    match parts.last() {
        Some(ObjectNamePart::Identifier(name)) => &name.value,
        _ => "",
    }
}
