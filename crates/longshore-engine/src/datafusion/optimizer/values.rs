//! Subqueries within VALUES.
//!
//! `DataFusion` evaluates the rows of VALUES while it plans them, which it cannot do with a subquery. Here such a value
//! becomes NULL, and a projection above puts the subquery in its place, by the number of the row.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::{Case, Expr, LogicalPlan, Projection, Values, lit};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// The name of the column of row numbers.
const ROW: &str = "__row";

/// The rule.
#[derive(Debug)]
pub(super) struct SubqueriesInValues;

impl OptimizerRule for SubqueriesInValues {
    fn name(&self) -> &'static str {
        "subqueries_in_values"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Values(values) if values.values.iter().flatten().any(has_subquery) => {
                above(values).map(Transformed::yes)
            }
            other => Ok(Transformed::no(other)),
        }
    }
}

fn has_subquery(expr: &Expr) -> bool {
    let is_subquery = |expr: &Expr| Ok(matches!(expr, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_)));
    expr.exists(is_subquery).expect("the closure does not fail")
}

/// The values without subqueries, and a projection above them that has these.
fn above(Values { schema, mut values }: Values) -> Result<LogicalPlan> {
    let mut cases: Vec<Vec<(Box<Expr>, Box<Expr>)>> = vec![Vec::new(); schema.fields().len()];
    for (number, row) in (0_i64..).zip(&mut values) {
        for ((value, cases), field) in row.iter_mut().zip(&mut cases).zip(schema.fields()) {
            if has_subquery(value) {
                let null = Expr::Literal(ScalarValue::try_from(field.data_type())?, None);
                cases.push((Box::new(lit(number)), Box::new(std::mem::replace(value, null))));
            }
        }
        row.push(lit(number));
    }
    let row = DFSchema::from_unqualified_fields(vec![Field::new(ROW, DataType::Int64, false)].into(), HashMap::new())?;
    let numbered = Values { schema: Arc::new(schema.join(&row)?), values };
    let values = schema.columns().into_iter().zip(cases).map(|(column, cases)| {
        let value = Expr::Column(column.clone());
        if cases.is_empty() {
            return value;
        }
        let row = Expr::Column(Column::new_unqualified(ROW));
        Expr::Case(Case::new(Some(Box::new(row)), cases, Some(Box::new(value)))).alias(column.name)
    });
    let values = values.collect();
    Projection::try_new_with_schema(values, Arc::new(LogicalPlan::Values(numbered)), schema)
        .map(LogicalPlan::Projection)
}
