//! Generated columns of a table, compiled: what they are for batches of rows whose other columns are known.
//!
//! Not here: what they are (`catalog::rules`), where rows come from (`statement/rows`, `bulk_appender`).

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Field, Schema as ArrowSchema};
use datafusion::logical_expr::ExprSchemable;
use datafusion::physical_expr::PhysicalExpr;
use longshore_storage::{Column, ColumnType, Schema};
use sqlparser::ast;

use super::compared_texts::trimmed;
use super::enums::compare_enums;
use super::expressions::{is_immutable, logical, over_columns, simplified};
use super::implied::TableExpr;
use super::planner::Planner;
use crate::catalog::{Rules, columns_read};
use crate::datafusion::errors::from_datafusion;
use crate::{Error, ErrorKind};

/// The type of the values of an expression of an index over columns of a table. `what` it is called in messages.
pub(in crate::datafusion) fn type_of_key(
    planner: &Planner,
    (table, schema): (&str, &Schema),
    expr: &ast::Expr,
    what: &str,
) -> Result<ColumnType, Error> {
    let over = over_columns(table, schema, &columns_read(expr, schema.columns()))?;
    if !is_immutable(planner, expr, &over)? {
        let message = format!("functions in index {what} must be marked IMMUTABLE");
        return Err(Error::new(ErrorKind::InvalidTable, message));
    }
    let data_type = logical(planner, expr, &over)?.get_type(&over).map_err(from_datafusion)?;
    ColumnType::from_arrow(&data_type).ok_or_else(|| {
        Error::unsupported(format!("an index over {expr} is not supported: it is {data_type}; use CAST"))
    })
}

/// An expression over columns of a table, as it is compared with others of them.
pub(in crate::datafusion) fn table_expr(
    planner: &Planner,
    (table, schema): (&str, &Schema),
    rules: &Rules,
    expr: &ast::Expr,
) -> Result<TableExpr, Error> {
    let over = over_columns(table, schema, &columns_read(expr, schema.columns()))?;
    let value = logical(planner, expr, &over)?;
    let value = compare_enums(value, |at| &schema.columns()[at].name, rules.checks.iter());
    Ok(TableExpr(value.map_err(from_datafusion)?))
}

/// Generated columns.
pub(crate) struct Generated {
    columns: Vec<Compiled>,
}

struct Compiled {
    column: usize,
    /// Its name and type.
    described: Column,
    /// The columns that it is computed from, ascending.
    reads: Vec<usize>,
    /// Which of them are CHAR, by their places there.
    chars: Vec<usize>,
    /// Over these columns.
    expr: Arc<dyn PhysicalExpr>,
}

impl Generated {
    /// The generated columns of a table; of those alone that are computed from `changed` columns, where these are given. `None`
    /// if there is none.
    pub(in crate::datafusion) fn new(
        planner: &Planner,
        table: &str,
        schema: &Schema,
        rules: &Rules,
        changed: Option<&[usize]>,
    ) -> Result<Option<Self>, Error> {
        let mut columns = Vec::new();
        let mut changed = changed.map(<[usize]>::to_vec);
        for (column, expr) in rules.generated() {
            let reads = columns_read(expr, schema.columns());
            if let Some(changed) = &mut changed {
                if !changed.contains(&column) && !reads.iter().any(|read| changed.contains(read)) {
                    continue;
                }
                // A hidden column may be computed from one that is generated itself.
                changed.push(column);
            }
            let described = &schema.all_columns()[column];
            let named = |error: Error| {
                if described.is_hidden() {
                    return error;
                }
                error.reworded(|message| format!("column {}, GENERATED ALWAYS AS ({expr}): {message}", described.name))
            };
            let over = over_columns(table, schema, &reads)?;
            let value = logical(planner, expr, &over).map_err(named)?;
            let value = compare_enums(value, |at| &schema.columns()[at].name, rules.checks.iter());
            let value = value.map_err(|error| named(from_datafusion(error)))?;
            if value.is_volatile() {
                return Err(named(Error::new(ErrorKind::InvalidTable, "generation expression is not immutable")));
            }
            let physical = value
                .cast_to(&described.column_type.arrow(), &over)
                .and_then(|value| simplified(&planner.state, value, &over))
                .and_then(|value| planner.state.create_physical_expr(value, &over))
                .map_err(|error| named(from_datafusion(error)))?;
            let is_char = |at: &usize| matches!(schema.columns()[reads[*at]].column_type, ColumnType::Char(_));
            let chars = (0..reads.len()).filter(is_char).collect();
            columns.push(Compiled { column, described: described.clone(), reads, chars, expr: physical });
        }
        Ok((!columns.is_empty()).then_some(Self { columns }))
    }

    /// The columns that are generated.
    pub(crate) fn columns(&self) -> Vec<usize> {
        self.columns.iter().map(|compiled| compiled.column).collect()
    }

    /// The type of one of them.
    pub(crate) fn column_type(&self, column: usize) -> ColumnType {
        let found = self.columns.iter().find(|compiled| compiled.column == column);
        found.map_or(ColumnType::Text, |compiled| compiled.described.column_type)
    }

    /// The columns that they are computed from.
    pub(crate) fn reads(&self) -> Vec<usize> {
        self.columns.iter().flat_map(|compiled| compiled.reads.iter().copied()).collect()
    }

    /// `rows`, which have all columns of the table but the hidden ones, with the values of those that are generated, and
    /// with the hidden ones behind them.
    pub(crate) fn complete(&self, rows: &RecordBatch) -> Result<RecordBatch, Error> {
        let computed = self.values(rows.num_rows(), |column| Some(Arc::clone(rows.column(column))))?;
        let mut columns = rows.columns().to_vec();
        // NULL may stand where it must not: that is found out later.
        let schema = rows.schema();
        let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let mut fields: Vec<Field> = fields.collect();
        for (compiled, (column, values)) in self.columns.iter().zip(computed) {
            if let Some(place) = columns.get_mut(column) {
                *place = values;
            } else {
                fields.push(compiled.described.field());
                columns.push(values);
            }
        }
        let schema = ArrowSchema::new(fields);
        RecordBatch::try_new(Arc::new(schema), columns).map_err(|error| from_datafusion(error.into()))
    }

    /// The values of the generated columns of so many rows, of which `column` gives the values of other columns.
    pub(crate) fn values(
        &self,
        rows: usize,
        column: impl Fn(usize) -> Option<ArrayRef>,
    ) -> Result<Vec<(usize, ArrayRef)>, Error> {
        let mut computed: Vec<(usize, ArrayRef)> = Vec::with_capacity(self.columns.len());
        for Compiled { column: of, reads, chars, expr, .. } in &self.columns {
            let known = |read: &usize| {
                let made = computed.iter().find(|(of, _)| of == read);
                made.map_or_else(|| column(*read), |(_, values)| Some(Arc::clone(values)))
            };
            let read: Option<Vec<ArrayRef>> = reads.iter().map(known).collect();
            let read =
                read.ok_or_else(|| Error::internal("a column that another one is computed from was not read"))?;
            let fields = read
                .iter()
                .zip(reads)
                .map(|(array, read)| Field::new(format!("{read}"), array.data_type().clone(), true));
            let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            let batch = RecordBatch::try_new_with_options(schema, read, &options);
            let batch = batch.map_err(|error| from_datafusion(error.into()))?;
            let without_blanks = trimmed(&batch, chars).map_err(from_datafusion)?;
            let batch = without_blanks.as_ref().unwrap_or(&batch);
            let values = expr.evaluate(batch).and_then(|values| values.into_array(rows)).map_err(from_datafusion)?;
            computed.push((*of, values));
        }
        Ok(computed)
    }
}
