//! Expressions of SQL over columns of a table, planned and made as simple as they can be: what rules of tables are.

use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema as ArrowSchema};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, Result as Planned, TableReference};
use datafusion::execution::SessionState;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, Volatility};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use longshore_storage::Schema;
use sqlparser::ast;

use super::planner::Planner;
use crate::Error;
use crate::datafusion::errors::from_datafusion;
use crate::datafusion::optimizer::in_lists;
use crate::sql::{names, numbers, time_syntax};

/// The columns of a table that an expression may name, alone or behind the name of the table.
pub(super) fn over_columns(table: &str, schema: &Schema, columns: &[usize]) -> Result<DFSchema, Error> {
    let arrow = schema.arrow();
    // Whether a value is NULL that must not be, is for others to find out.
    let fields = columns.iter().map(|column| arrow.field(*column).clone().with_nullable(true));
    let schema = ArrowSchema::new(fields.collect::<Vec<Field>>());
    DFSchema::try_from_qualified_schema(TableReference::bare(names::own(table)), &schema).map_err(from_datafusion)
}

/// An expression of SQL over the columns of `schema`, as simple as it can be made.
pub(super) fn logical(planner: &Planner, expr: &ast::Expr, schema: &DFSchema) -> Result<Expr, Error> {
    simplified(&planner.state, planned(planner, expr, schema)?, schema).map_err(from_datafusion)
}

/// Whether an expression has the same value for the same row whenever it is computed.
pub(super) fn is_immutable(planner: &Planner, expr: &ast::Expr, schema: &DFSchema) -> Result<bool, Error> {
    let changes = |part: &Expr| {
        Ok(matches!(part, Expr::ScalarFunction(call) if call.func.signature().volatility != Volatility::Immutable))
    };
    Ok(!planned(planner, expr, schema)?.exists(changes).map_err(from_datafusion)?)
}

/// An expression of SQL over the columns of `schema`, as it is written.
fn planned(planner: &Planner, expr: &ast::Expr, schema: &DFSchema) -> Result<Expr, Error> {
    let mut named = ast::ExprWithAlias { expr: expr.clone(), alias: None };
    time_syntax::rewrite_expression(&mut named.expr);
    numbers::mark_expression(&mut named.expr);
    let expr = planner.plan_expression(named, schema).map_err(from_datafusion)?;
    refuse_aggregates(&expr)?;
    Ok(expr)
}

/// Refuses what needs more rows than one.
pub(super) fn refuse_aggregates(expr: &Expr) -> Result<(), Error> {
    let of_rows = |expr: &Expr| Ok(matches!(expr, Expr::AggregateFunction(_) | Expr::WindowFunction(_)));
    if expr.exists(of_rows).map_err(from_datafusion)? {
        return Err(Error::invalid("aggregate and window functions are not allowed in rules of a table"));
    }
    Ok(())
}

/// The same expression with our functions in the place of `DataFusion`'s, and what is constant evaluated.
pub(in crate::datafusion) fn simplified(state: &SessionState, expr: Expr, schema: &DFSchema) -> Planned<Expr> {
    let config = state.config_options();
    let context = SimplifyContext::builder()
        .with_schema(Arc::new(schema.clone()))
        .with_config_options(Arc::clone(config))
        .with_query_execution_start_time(state.execution_props().query_execution_start_time)
        .build();
    let simplifier = ExprSimplifier::new(context);
    let mut expr = expr;
    for rewrite in state.analyzer().function_rewrites() {
        expr = expr.transform_up(|expr| rewrite.rewrite(expr, schema, config))?.data;
    }
    let hidden = in_lists::hide(simplifier.coerce(expr, schema)?)?.data;
    Ok(in_lists::show(simplifier.simplify(hidden)?)?.data)
}
