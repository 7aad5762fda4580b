//! What statements ask of the rules of a table: checks, and the values of columns that nothing is given for.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use longshore_storage::{Column, ColumnType, OnConflict, Relation, Schema};
use sqlparser::ast;

use super::Queries;
use crate::catalog::{Check, Origin, Rules, Table};
use crate::datafusion::dml::insert;
use crate::datafusion::planning::generated::{self, Generated};
use crate::datafusion::planning::implied::TableExpr;
use crate::datafusion::planning::rules;
use crate::datafusion::planning::rules::{Checks, Value};
use crate::datafusion::request::ExecutionContext;
use crate::{Error, RowStream};

impl Queries {
    /// Those of the checks of `table` that are given, compiled; `None` if there is none.
    pub(crate) fn checks<'a>(
        &self,
        table: &Table,
        checks: &(impl Iterator<Item = &'a Check> + Clone),
        context: &ExecutionContext<'_>,
    ) -> Result<Option<Checks>, Error> {
        if checks.clone().next().is_none() {
            return Ok(None);
        }
        let planner = self.planner(context);
        Checks::new(&planner, &table.name, table.relation.schema(), checks)
    }

    /// All checks and generated columns of `table`, compiled; `None` if there is none.
    pub(crate) fn checks_of_rows(
        &self,
        table: &Table,
        rules: &Rules,
        context: &ExecutionContext<'_>,
    ) -> Result<Option<Checks>, Error> {
        if rules.checks.is_empty() && rules.generated().next().is_none() {
            return Ok(None);
        }
        Checks::of_rows(&self.planner(context), &table.name, table.relation.schema(), rules)
    }

    /// The generated columns of `table` that are computed from `changed` columns; `None` if there is none.
    pub(crate) fn generated(
        &self,
        table: &Table,
        rules: &Rules,
        changed: &[usize],
        context: &ExecutionContext<'_>,
    ) -> Result<Option<Generated>, Error> {
        if rules.generated().next().is_none() {
            return Ok(None);
        }
        Generated::new(&self.planner(context), &table.name, table.relation.schema(), rules, Some(changed))
    }

    /// Appends all `rows` to the relation of a table to come, in a transaction of its own, with the values of columns that its
    /// rules generate; none of them if one violates a check.
    pub(crate) async fn append_completed(
        &self,
        rows: RowStream,
        (name, relation): (&str, &Arc<Relation>),
        rules: &Rules,
        context: &ExecutionContext<'_>,
    ) -> Result<u64, Error> {
        let checks = Checks::of_rows(&self.planner(context), name, relation.schema(), rules)?;
        let stop = OnConflict::stop();
        let merged = insert::append(relation, rows, checks.as_ref(), None, &stop, context.control).await?;
        Ok(merged.inserted)
    }

    /// The type of the values of an expression of an index, over columns of a table with this name and schema; behind it
    /// stands what it is called.
    pub(crate) fn type_of_key(
        &self,
        table: &str,
        schema: &Schema,
        (expr, what): (&ast::Expr, &str),
        context: &ExecutionContext<'_>,
    ) -> Result<ColumnType, Error> {
        generated::type_of_key(&self.planner(context), (table, schema), expr, what)
    }

    /// An expression over columns of `table`, as it is compared with others of them.
    pub(crate) fn table_expr(
        &self,
        table: &Table,
        rules: &Rules,
        expr: &ast::Expr,
        context: &ExecutionContext<'_>,
    ) -> Result<TableExpr, Error> {
        generated::table_expr(&self.planner(context), (&table.name, table.relation.schema()), rules, expr)
    }

    /// Refuses rules that a table of this name and schema cannot follow.
    pub(crate) fn check_rules(
        &self,
        table: &str,
        schema: &Schema,
        rules: &Rules,
        context: &ExecutionContext<'_>,
    ) -> Result<(), Error> {
        rules::check(&self.planner(context), table, schema, rules)
    }

    /// The value that `column` takes where none is given, in the only row of an array; `None` if it is another one in
    /// every row.
    pub(crate) fn default_value(
        &self,
        column: &Column,
        origin: &Origin,
        context: &ExecutionContext<'_>,
    ) -> Result<Option<ArrayRef>, Error> {
        rules::default_value(&self.planner(context), column, origin)
    }

    /// What `column` takes that no value is given for.
    pub(crate) fn value(
        &self,
        column: &Column,
        origin: &Origin,
        context: &ExecutionContext<'_>,
    ) -> Result<Value, Error> {
        rules::value(&self.planner(context), column, origin)
    }
}
