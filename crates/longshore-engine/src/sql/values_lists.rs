//! VALUES that a query consists of, as VALUES in FROM, where its columns get the types of all their values.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Query, SelectItem, SetExpr, Statement, UnaryOperator, VisitorMut, WildcardAdditionalOptions,
};

use crate::sql::build::{alone, derived, query, quoted, select};
use crate::sql::visit::VisitMut;

/// Puts VALUES of other than plain literals in FROM: those of WITH, and those that the statement consists of.
pub(crate) fn put_in_from(statement: &mut Statement) {
    if let Statement::Query(query) = statement {
        wrap(query);
    }
    let (ControlFlow::Continue(()) | ControlFlow::Break(_)) = statement.visit(&mut Definitions);
}

struct Definitions;

impl VisitorMut for Definitions {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        for table in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            wrap(&mut table.query);
        }
        ControlFlow::Continue(())
    }
}

fn wrap(whole: &mut Query) {
    let SetExpr::Values(values) = whole.body.as_ref() else { return };
    let is_plain = |value: &Expr| match value {
        Expr::Value(_) => true,
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => matches!(expr.as_ref(), Expr::Value(_)),
        _ => false,
    };
    if values.value_keyword || values.rows.iter().flat_map(|row| &row.content).all(is_plain) {
        return;
    }
    let rows = query(SetExpr::Values(values.clone()));
    let all = SelectItem::Wildcard(WildcardAdditionalOptions::default());
    *whole.body = SetExpr::Select(Box::new(select(vec![all], vec![alone(derived(rows, &quoted("values")))])));
}
