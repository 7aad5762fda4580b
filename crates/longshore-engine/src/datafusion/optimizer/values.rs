//! The values of VALUES.
//!
//! `DataFusion` evaluates the rows of VALUES while it plans them, which it cannot do with a subquery, and must not do with
//! `repeat('a', 1000000)`. Here another value stands for it, and a projection above puts what is meant in its place, by the
//! number of the row. It also types the columns
//! before the values are coerced, so that a CASE can become another type of text than its column is; here it is cast.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::{Case, Cast, Expr, ExprSchemable, LogicalPlan, Projection, Values, lit};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use crate::datafusion::execution::sizes::is_computed_later;

/// The rule.
#[derive(Debug)]
pub(super) struct ValuesOfTheirColumns;

impl OptimizerRule for ValuesOfTheirColumns {
    fn name(&self) -> &'static str {
        "values_of_their_columns"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Values(values) = plan else { return Ok(Transformed::no(plan)) };
        let Transformed { data: values, transformed, .. } = cast(values)?;
        if values.values.iter().flatten().any(is_for_later) {
            return above(values).map(Transformed::yes);
        }
        Ok(Transformed::new_transformed(LogicalPlan::Values(values), transformed))
    }
}

/// The values, each of the type of its column.
fn cast(mut values: Values) -> Result<Transformed<Values>> {
    let no_columns = DFSchema::empty();
    let mut is_changed = false;
    for row in &mut values.values {
        for (value, column) in row.iter_mut().zip(values.schema.fields()) {
            if value.get_type(&no_columns)? != *column.data_type() {
                *value = Expr::Cast(Cast::new(Box::new(mem::take(value)), column.data_type().clone()));
                is_changed = true;
            }
        }
    }
    Ok(Transformed::new_transformed(values, is_changed))
}

/// Whether a value cannot be computed while the statement is planned.
fn is_for_later(expr: &Expr) -> bool {
    let is_for_later = |expr: &Expr| {
        matches!(expr, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_)) || is_computed_later(expr)
    };
    expr.exists(|part| Ok(is_for_later(part))).expect("the closure does not fail")
}

/// The values that can be computed, and a projection above them that has the others.
fn above(Values { schema, mut values }: Values) -> Result<LogicalPlan> {
    let mut cases: Vec<Vec<(Box<Expr>, Box<Expr>)>> = vec![Vec::new(); schema.fields().len()];
    for (number, row) in (0_i64..).zip(&mut values) {
        for ((value, cases), field) in row.iter_mut().zip(&mut cases).zip(schema.fields()) {
            if is_for_later(value) {
                let any = if field.is_nullable() {
                    ScalarValue::try_from(field.data_type())?
                } else {
                    ScalarValue::new_default(field.data_type())?
                };
                cases.push((Box::new(lit(number)), Box::new(mem::replace(value, Expr::Literal(any, None)))));
            }
        }
        row.push(lit(number));
    }
    // The name that it gets anyway where parameters take their values.
    let name = format!("column{}", schema.fields().len() + 1);
    let row = Field::new(&name, DataType::Int64, false);
    let row = DFSchema::from_unqualified_fields(vec![row].into(), HashMap::new())?;
    let numbered = Values { schema: Arc::new(schema.join(&row)?), values };
    let values = schema.columns().into_iter().zip(cases).map(|(column, cases)| {
        let value = Expr::Column(column.clone());
        if cases.is_empty() {
            return value;
        }
        let row = Expr::Column(Column::new_unqualified(&name));
        Expr::Case(Case::new(Some(Box::new(row)), cases, Some(Box::new(value)))).alias(column.name)
    });
    let values = values.collect();
    Projection::try_new_with_schema(values, Arc::new(LogicalPlan::Values(numbered)), schema)
        .map(LogicalPlan::Projection)
}
