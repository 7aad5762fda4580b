//! The rules of a table, compiled: CHECK constraints over batches of rows, and what columns take that no value is given
//! for.
//!
//! Not here: what the rules are (`catalog::rules`), where rows come from (`statement/rows`, `bulk_appender`, `longshore-load`).

mod elements;

use std::fmt::{self, Write as _};
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, new_null_array,
};
use datafusion::arrow::datatypes::{DataType, Schema as ArrowSchema};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::{DFSchema, Result as Planned};
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::physical_expr::PhysicalExpr;
use longshore_load::{DefectKind, RowCheck, RowViolation};
use longshore_storage::{Column, ColumnType, Schema};
use sqlparser::ast::{self, Visitor};

use super::compared_texts::{TextForm, compare_texts, trimmed};
use super::enums::compare_enums;
use super::expressions::{is_immutable, logical, over_columns, refuse_aggregates, simplified};
use super::generated::Generated;
use super::insert_of_query::cast_to_column;
use super::planner::Planner;
use crate::catalog::{Check, Origin, Rules, columns_read, constraint_of_domain, every_element};
use crate::datafusion::errors::from_datafusion;
use crate::datafusion::functions::numeric::convert::convert;
use crate::datafusion::functions::numeric::is_numeric;
use crate::sql::visit::Visit;
use crate::sql::{names, numbers, time_syntax};
use crate::{Error, ErrorDetails, ErrorKind};

/// Characters of a value that a message shows, as in PostgreSQL.
const VALUE_CHARS_MAX: usize = 64;

/// CHECK constraints of a table, and its generated columns where rows are made complete.
pub(crate) struct Checks {
    table: String,
    generated: Option<Generated>,
    compiled: Vec<Compiled>,
    columns: Vec<usize>,
    /// The columns of the table that are not hidden.
    visible: usize,
    /// Which of `columns` are CHAR: their values lose trailing blanks before a check sees them.
    chars: Vec<usize>,
}

struct Compiled {
    name: String,
    /// As SQL.
    condition: String,
    /// Over the columns that the checks read.
    expr: Arc<dyn PhysicalExpr>,
    /// The column of arrays, of those, whose elements it is about.
    elements: Option<usize>,
}

/// A row that is not as a check wants it.
pub(crate) struct Violation {
    /// Its number in the batch.
    pub(crate) row: usize,
    /// The table and the check.
    table: String,
    constraint: String,
    /// What it violates, as a part of a sentence.
    pub(crate) reason: String,
}

impl Checks {
    /// Those of the table's `checks` that are given, compiled; `None` if there is none.
    pub(in crate::datafusion) fn new<'a>(
        planner: &Planner,
        table: &str,
        schema: &Schema,
        checks: &(impl Iterator<Item = &'a Check> + Clone),
    ) -> Result<Option<Self>, Error> {
        let mut columns: Vec<usize> = checks.clone().flat_map(|check| check.columns.iter().copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        let over = over_columns(table, schema, &columns)?;
        let is_char = |at: usize| matches!(schema.columns()[at].column_type, ColumnType::Char(_));
        let chars = (0..columns.len()).filter(|at| is_char(columns[*at])).collect();
        let compile = |check: &Check| {
            if let Some((column, condition)) = every_element(&check.condition) {
                let at = columns.iter().position(|at| schema.columns()[*at].name == column.value);
                let at = at.ok_or_else(|| Error::internal("a check of elements is of a column"))?;
                return over_elements(planner, check, condition, (at, &schema.columns()[columns[at]]));
            }
            let expr = logical(planner, &check.condition, &over)?;
            let form = |at: usize| TextForm::of(schema.columns()[at].column_type);
            let expr = compare_texts(expr, &|column| schema.index_of(&column.name).and_then(form))
                .map_err(from_datafusion)?
                .data;
            let expr = compare_enums(expr, |at| &schema.columns()[at].name, checks.clone()).map_err(from_datafusion)?;
            if expr.get_type(&over).map_err(from_datafusion)? != DataType::Boolean {
                return Err(Error::new(
                    ErrorKind::TypeMismatch,
                    format!("CHECK ({}) must be true or false; write a comparison", check.condition),
                ));
            }
            let expr = planner.state.create_physical_expr(expr, &over).map_err(from_datafusion)?;
            Ok(Compiled { name: check.name.clone(), condition: check.condition.to_string(), expr, elements: None })
        };
        let compiled = checks.clone().map(compile).collect::<Result<Vec<_>, Error>>()?;
        let table = names::shown_name(table);
        Ok((!compiled.is_empty()).then_some(Self {
            table,
            generated: None,
            compiled,
            columns,
            visible: schema.columns().len(),
            chars,
        }))
    }

    /// All checks and generated columns of a table, compiled; `None` if there is none.
    pub(in crate::datafusion) fn of_rows(
        planner: &Planner,
        table: &str,
        schema: &Schema,
        rules: &Rules,
    ) -> Result<Option<Self>, Error> {
        let checks = Self::new(planner, table, schema, &rules.checks.iter())?;
        let Some(generated) = Generated::new(planner, table, schema, rules, None)? else { return Ok(checks) };
        let nothing = || Self {
            table: names::shown_name(table),
            generated: None,
            compiled: Vec::new(),
            columns: Vec::new(),
            visible: schema.columns().len(),
            chars: Vec::new(),
        };
        Ok(Some(Self { generated: Some(generated), ..checks.unwrap_or_else(nothing) }))
    }

    /// `rows`, which have all columns of the table but the hidden ones, with the values of those that are generated, and
    /// with the hidden ones behind them.
    pub(crate) fn complete(&self, rows: RecordBatch) -> Result<RecordBatch, Error> {
        match &self.generated {
            Some(generated) => generated.complete(&rows),
            None => Ok(rows),
        }
    }

    /// The generated columns.
    pub(crate) fn generated(&self) -> Option<&Generated> {
        self.generated.as_ref()
    }

    /// The columns of the table that they read, ascending.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The rows that violate a check, each once; `rows` has just the columns that the checks read.
    pub(crate) fn violations(&self, rows: &RecordBatch) -> Result<Vec<Violation>, Error> {
        let mut found: Vec<Violation> = Vec::new();
        let trimmed = trimmed(rows, &self.chars).map_err(from_datafusion)?;
        let rows = trimmed.as_ref().unwrap_or(rows);
        for check in &self.compiled {
            let fails = check.fails(rows).map_err(from_datafusion)?;
            let Some(fails) = fails else { continue };
            for row in fails {
                // The checks before have it already.
                if !found.iter().any(|earlier| earlier.row == row) {
                    let (table, constraint) = (self.table.clone(), check.name.clone());
                    found.push(Violation { row, table, constraint, reason: self.reason(check) });
                }
            }
        }
        found.sort_by_key(|violation| violation.row);
        Ok(found)
    }

    /// Refuses `rows`, which have all columns of the table, if one of them violates a check.
    pub(crate) fn check(&self, rows: &RecordBatch) -> Result<(), Error> {
        let read = rows.project(&self.columns).map_err(|error| from_datafusion(error.into()))?;
        match self.violations(&read)?.first() {
            None => Ok(()),
            Some(violation) => {
                let visible: Vec<usize> = (0..self.visible).collect();
                let rows = rows.project(&visible).map_err(|error| from_datafusion(error.into()))?;
                Err(violation.error(&rows, violation.row))
            }
        }
    }

    fn reason(&self, check: &Compiled) -> String {
        match check.name.rsplit_once(names::SEPARATOR) {
            Some((name, "")) => return format!("invalid input value for enum {}", names::shown_name(name)),
            Some((name, constraint)) => {
                let (name, constraint) = (names::shown_name(name), constraint_of_domain(constraint));
                return format!("value for domain {name} violates check constraint \"{constraint}\"");
            }
            None => {}
        }
        format!(
            "new row for relation \"{}\" violates check constraint \"{}\", CHECK ({})",
            self.table, check.name, check.condition
        )
    }
}

impl fmt::Debug for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checks").field("table", &self.table).field("columns", &self.columns).finish_non_exhaustive()
    }
}

impl RowCheck for Checks {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn violations(&self, rows: &RecordBatch) -> Result<Vec<RowViolation>, String> {
        let found = Checks::violations(self, rows).map_err(|error| error.to_string())?;
        Ok(found
            .into_iter()
            .map(|Violation { row, reason, .. }| RowViolation { row, kind: DefectKind::Check, reason, remedy: "" })
            .collect())
    }
}

impl Violation {
    /// The error for a violation by the row `row` of `rows`, which have all columns of the table.
    pub(crate) fn error(&self, rows: &RecordBatch, row: usize) -> Error {
        let message = format!("{}; failing row contains {}", self.reason, shown_row(rows, row));
        let is_label = self.constraint.ends_with(names::SEPARATOR);
        let kind = if is_label { ErrorKind::InvalidText } else { ErrorKind::Check };
        let of_type = self.constraint.rsplit_once(names::SEPARATOR).map(|(_, own)| constraint_of_domain(own));
        let own = of_type.unwrap_or(&self.constraint);
        let domain = self.constraint.rsplit_once(names::SEPARATOR).map(|(name, _)| names::shown_name(name));
        let (table, constraint) = (Some(self.table.clone()), Some(own.to_owned()));
        Error::new(kind, message).about(ErrorDetails { table, constraint, data_type: domain, ..ErrorDetails::NONE })
    }
}

impl Compiled {
    /// The rows for which it is false; `None` if there is none. NULL passes.
    fn fails(&self, rows: &RecordBatch) -> Planned<Option<Vec<usize>>> {
        if let Some(at) = self.elements {
            return elements::fails(&self.expr, rows.column(at));
        }
        let passes = self.expr.evaluate(rows)?.into_array(rows.num_rows())?;
        let passes: &BooleanArray = passes.as_boolean();
        if passes.false_count() == 0 {
            return Ok(None);
        }
        Ok(Some((0..passes.len()).filter(|row| passes.is_valid(*row) && !passes.value(*row)).collect()))
    }
}

/// A check of the elements of a column of arrays, which is at `at` of those that checks read.
fn over_elements(
    planner: &Planner,
    check: &Check,
    condition: &ast::Expr,
    (at, column): (usize, &Column),
) -> Result<Compiled, Error> {
    let over = elements::schema(&column.column_type.arrow()).map_err(from_datafusion)?;
    let expr = logical(planner, condition, &over)?;
    let expr = planner.state.create_physical_expr(expr, &over).map_err(from_datafusion)?;
    Ok(Compiled { name: check.name.clone(), condition: condition.to_string(), expr, elements: Some(at) })
}

/// What a column takes that no value is given for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    /// The same in every row: its text.
    Constant(String),
    /// Another one in every row.
    Volatile,
}

/// The expression by which a value is made that is not given, of the type of `column`; `None` for NULL.
pub(in crate::datafusion) fn default(planner: &Planner, origin: &Origin) -> Result<Option<Expr>, Error> {
    let Some(expr) = origin.expression() else { return Ok(None) };
    let mut named = ast::ExprWithAlias { expr, alias: None };
    time_syntax::rewrite_expression(&mut named.expr);
    numbers::mark_expression(&mut named.expr);
    let expr = planner.plan_expression(named, &DFSchema::empty()).map_err(from_datafusion)?;
    refuse_aggregates(&expr)?;
    Ok(Some(expr))
}

/// What `column` takes that no value is given for.
pub(in crate::datafusion) fn value(planner: &Planner, column: &Column, origin: &Origin) -> Result<Value, Error> {
    Ok(match default_value(planner, column, origin)? {
        None => Value::Volatile,
        Some(array) if array.is_null(0) => Value::Null,
        Some(array) => Value::Constant(shown(&array, 0).unwrap_or_default()),
    })
}

/// The value that `column` takes where none is given, in the only row of an array; `None` if it is another one in every
/// row.
pub(in crate::datafusion) fn default_value(
    planner: &Planner,
    column: &Column,
    origin: &Origin,
) -> Result<Option<ArrayRef>, Error> {
    let data_type = column.column_type.arrow();
    let Some(expr) = default(planner, origin)? else { return Ok(Some(new_null_array(&data_type, 1))) };
    let nothing = DFSchema::empty();
    let cast = cast_to_column(expr, &data_type, &nothing)
        .and_then(|expr| simplified(&planner.state, expr, &nothing))
        .map_err(from_datafusion)?;
    let is_volatile = cast.is_volatile();
    let physical = planner.state.create_physical_expr(cast, &nothing).map_err(from_datafusion)?;
    if is_volatile {
        return Ok(None);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(ArrowSchema::empty()), Vec::new(), &options);
    let array =
        row.map_err(Into::into).and_then(|row| physical.evaluate(&row)?.into_array(1)).map_err(from_datafusion)?;
    Ok(Some(array))
}

/// Refuses rules that cannot be followed: expressions of other types than they should have, or over other things.
pub(in crate::datafusion) fn check(
    planner: &Planner,
    table: &str,
    schema: &Schema,
    rules: &Rules,
) -> Result<(), Error> {
    for (column, rule) in schema.columns().iter().zip(&rules.columns) {
        let Origin::Default(expr) = &rule.origin else { continue };
        let named =
            |error: Error| error.reworded(|message| format!("column {}, DEFAULT {expr}: {message}", column.name));
        refuse_parts(expr, Place::Default).and_then(|()| value(planner, column, &rule.origin)).map_err(named)?;
    }
    for check in &rules.checks {
        refuse_parts(&check.condition, Place::Check)?;
    }
    for (column, expr) in rules.generated() {
        refuse_parts(expr, Place::Generated)?;
        if schema.all_columns()[column].is_hidden() {
            continue;
        }
        let reads = columns_read(expr, schema.columns());
        if let Some(other) = reads.iter().find(|read| rules.is_generated(**read)) {
            return Err(Error::new(
                ErrorKind::InvalidTable,
                format!(
                    "cannot use generated column \"{}\" in column generation expression of {}",
                    schema.columns()[*other].name,
                    schema.columns()[column].name
                ),
            ));
        }
        if !is_immutable(planner, expr, &over_columns(table, schema, &reads)?)? {
            let name = &schema.columns()[column].name;
            let message =
                format!("column {name}, GENERATED ALWAYS AS ({expr}): generation expression is not immutable");
            return Err(Error::new(ErrorKind::InvalidTable, message));
        }
    }
    Generated::new(planner, table, schema, rules, None)?;
    Checks::new(planner, table, schema, &rules.checks.iter()).map(|_| ())
}

/// Where an expression stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Default,
    Check,
    Generated,
}

/// Refuses parts that an expression must not have: queries, parameters, aggregates; in a DEFAULT, columns.
fn refuse_parts(expr: &ast::Expr, place: Place) -> Result<(), Error> {
    struct Parts(Place);
    impl Visitor for Parts {
        type Break = Error;

        fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<Error> {
            let place = match self.0 {
                Place::Default => "DEFAULT expression",
                Place::Check => "check constraint",
                Place::Generated => "column generation expression",
            };
            ControlFlow::Break(Error::unsupported(format!("cannot use subquery in {place}")))
        }

        fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<Error> {
            match expr {
                ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_) if self.0 == Place::Default => {
                    ControlFlow::Break(Error::unsupported(format!(
                        "cannot use column reference {expr} in DEFAULT expression; a text stands in single quotes"
                    )))
                }
                ast::Expr::Value(value) if matches!(value.value, ast::Value::Placeholder(_)) => {
                    ControlFlow::Break(Error::invalid(format!("there is no parameter {expr}")))
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    match expr.visit(&mut Parts(place)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// A row as PostgreSQL's messages show it.
fn shown_row(rows: &RecordBatch, row: usize) -> String {
    let mut text = String::from("(");
    for (index, array) in rows.columns().iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        let value = shown(array, row).unwrap_or_else(|| "null".to_owned());
        let cut = value.char_indices().nth(VALUE_CHARS_MAX).map_or(value.len(), |(at, _)| at);
        let dots = if cut < value.len() { "..." } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{}{dots}", &value[..cut]);
    }
    text.push(')');
    text
}

/// A value as text that reads back as it; `None` for NULL.
fn shown(array: &ArrayRef, row: usize) -> Option<String> {
    if array.is_null(row) {
        return None;
    }
    if is_numeric(array.data_type()) {
        let text = convert(array, &DataType::Utf8View, None).ok()?;
        return Some(text.as_string_view().value(row).to_owned());
    }
    let text = ArrayFormatter::try_new(array, &FormatOptions::default()).ok()?.value(row).to_string();
    let is_bytes = ColumnType::from_arrow(array.data_type()) == Some(ColumnType::Bytea);
    Some(if is_bytes { format!("\\x{text}") } else { text })
}
