//! The query by which asyncpg follows a domain down to the type that it is over, for each type that it asks for:
//!
//! ```sql
//! (WITH RECURSIVE typebases(oid, depth) AS (
//!     SELECT t2.typbasetype AS oid, 0 AS depth FROM pg_type t2 WHERE t2.oid = t.oid
//!     UNION ALL
//!     SELECT t2.typbasetype AS oid, tb.depth + 1 AS depth FROM pg_type t2, typebases tb
//!     WHERE tb.oid = t2.oid AND t2.typbasetype != 0
//! ) SELECT oid FROM typebases ORDER BY depth DESC LIMIT 1)
//! ```
//!
//! A query that goes on from its own rows cannot depend on the query around it here. So this one becomes a call.
//!
//! And the query by which psql looks for the trigger that one of a partition comes from: no table has partitions, so it has no
//! rows.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, Query, SetExpr, Statement, TableFactor, Value, VisitorMut};

use crate::sql::build;
use crate::sql::visit::VisitMut;

/// The function that gives the same.
pub(in crate::datafusion::planning) const BASE_TYPE: &str = "base of domain";

/// Puts calls in the place of such queries.
pub(in crate::datafusion::planning) fn write_out(statement: &mut Statement) {
    let ControlFlow::Continue(()) = VisitMut::visit(statement, &mut Writer);
}

struct Writer;

impl VisitorMut for Writer {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::Subquery(query) = expr
            && let Some(start) = start(query)
        {
            *expr = build::call(BASE_TYPE, vec![start]);
        } else if let Expr::Subquery(query) = expr
            && reads_partitions(query)
        {
            *expr = build::value(Value::Null);
        }
        ControlFlow::Continue(())
    }
}

/// Whether a query for one value joins the partitions that a table is part of, of which there are none.
fn reads_partitions(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else { return false };
    select.from.iter().any(|item| match &item.relation {
        TableFactor::Table { name, args: Some(_), .. } => name.to_string() == "pg_partition_ancestors",
        _ => false,
    })
}

/// The type that such a query starts from.
fn start(query: &Query) -> Option<Expr> {
    let with = query.with.as_ref().filter(|with| with.recursive)?;
    let [bases] = with.cte_tables.as_slice() else { return None };
    if bases.alias.name.value != "typebases" {
        return None;
    }
    let SetExpr::SetOperation { left, right, .. } = bases.query.body.as_ref() else { return None };
    let (SetExpr::Select(first), SetExpr::Select(next)) = (left.as_ref(), right.as_ref()) else { return None };
    let is_step = |projection: &str| projection.contains("typbasetype");
    let goes_on = next.projection.first().is_some_and(|item| is_step(&item.to_string()))
        && next.selection.as_ref().is_some_and(|condition| is_step(&condition.to_string()));
    let takes_last = query.order_by.as_ref().is_some_and(|order| order.to_string().contains("depth DESC"))
        && query.limit_clause.as_ref().is_some_and(|limit| limit.to_string().trim() == "LIMIT 1");
    match first.selection.as_ref()? {
        Expr::BinaryOp { op: BinaryOperator::Eq, right, .. } if goes_on && takes_last => Some(right.as_ref().clone()),
        _ => None,
    }
}
