//! Names of the columns of LATERAL queries.
//!
//! The planner gives a column of the query around it a name of its own there: `LATERAL (SELECT v.a)` had no column `a`. It
//! keeps a name that is written.

use std::convert::Infallible;
use std::ops::ControlFlow;

use crate::sql::visit::VisitMut;
use sqlparser::ast::{Expr, Ident, SelectItem, SetExpr, Statement, TableFactor, VisitorMut};

/// Writes the names of columns out that LATERAL queries have in their lists.
pub(crate) fn write_out(statement: &mut Statement) {
    let (ControlFlow::Continue(()) | ControlFlow::Break(_)) = statement.visit(&mut Names);
}

struct Names;

impl VisitorMut for Names {
    type Break = Infallible;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
        if let TableFactor::Derived { lateral: true, subquery, .. } = factor
            && subquery.order_by.is_none()
        {
            name(&mut subquery.body);
        }
        ControlFlow::Continue(())
    }
}

/// Names the columns of the query that gives the names.
fn name(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) if select.distinct.is_none() => {
            for item in &mut select.projection {
                if let SelectItem::UnnamedExpr(expr) = item
                    && let Some(alias) = last(expr)
                {
                    *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
                }
            }
        }
        SetExpr::SetOperation { left, .. } => name(left),
        _ => {}
    }
}

/// The name of a column.
fn last(expr: &Expr) -> Option<Ident> {
    match expr {
        Expr::Identifier(name) => Some(name.clone()),
        Expr::CompoundIdentifier(parts) => parts.last().cloned(),
        _ => None,
    }
}
