//! Columns of the tables of a query around, where a table within has a column of such a table's name: `FROM t, LATERAL (SELECT
//! t.a FROM u)`, where `u` has a column `t`.
//!
//! `DataFusion` takes `t.a` for a part of that column. In PostgreSQL the table goes first, whichever query it is of. So such a
//! name gets another part before it, which no column has, and with which the table around is still found.

use std::convert::Infallible;
use std::ops::ControlFlow;

use datafusion::common::TableReference;
use datafusion::logical_expr::planner::ContextProvider;
use sqlparser::ast::{Expr, Query, SetExpr, Statement, TableFactor, TableWithJoins, VisitorMut};

use super::planner::Planner;
use crate::sql::visit::VisitMut;
use crate::sql::{build, names};

/// What such a name begins with.
const AROUND: &str = "query around";

/// Tells such names from parts of columns.
pub(super) fn write_out(planner: &Planner, statement: &mut Statement) {
    let mut names = OuterNames { planner, scopes: Vec::new(), is_apart: false };
    let (ControlFlow::Continue(()) | ControlFlow::Break(_)) = statement.visit(&mut names);
}

/// The tables of a query.
struct Scope {
    /// What they are called.
    names: Vec<String>,
    /// Those that are known by their names.
    known: Vec<String>,
    /// Whether there are others.
    has_others: bool,
    /// Whether it stands in FROM without LATERAL, and so does not see what stands beside it.
    is_apart: bool,
}

struct OuterNames<'a> {
    planner: &'a Planner,
    scopes: Vec<Scope>,
    /// Whether the query that comes next stands in FROM without LATERAL.
    is_apart: bool,
}

impl OuterNames<'_> {
    /// Whether a name before a column is that of a table around, and of a column of a table within.
    fn is_around(&self, name: &str) -> bool {
        let Some((within, around)) = self.scopes.split_last() else { return false };
        let mut hides = within.is_apart;
        let mut may_see = around.iter().rev().filter(|scope| !std::mem::replace(&mut hides, scope.is_apart));
        !within.names.iter().any(|own| own == name)
            && may_see.any(|scope| scope.names.iter().any(|own| own == name))
            && within.may_have_column(self.planner, name)
    }
}

impl Scope {
    fn may_have_column(&self, planner: &Planner, column: &str) -> bool {
        let has_column = |table: &String| {
            let source = planner.get_table_source(TableReference::bare(table.as_str()));
            source.map_or(true, |source| source.schema().index_of(column).is_ok())
        };
        self.has_others || self.known.iter().any(has_column)
    }

    fn take_body(&mut self, body: &SetExpr) {
        match body {
            SetExpr::Select(select) => self.take(&select.from),
            SetExpr::SetOperation { left, right, .. } => {
                self.take_body(left);
                self.take_body(right);
            }
            _ => {}
        }
    }

    fn take(&mut self, from: &[TableWithJoins]) {
        for TableWithJoins { relation, joins } in from {
            for factor in std::iter::once(relation).chain(joins.iter().map(|join| &join.relation)) {
                if let TableFactor::NestedJoin { table_with_joins, alias: None } = factor {
                    self.take(std::slice::from_ref(table_with_joins));
                    continue;
                }
                let name = build::name_of(factor).and_then(|name| names::identifier(&name).ok());
                self.names.extend(name);
                match factor {
                    TableFactor::Table { name, args: None, .. } => self.known.extend(names::relation(name).ok()),
                    _ => self.has_others = true,
                }
            }
        }
    }
}

impl VisitorMut for OuterNames<'_> {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        let is_apart = std::mem::take(&mut self.is_apart);
        let mut scope = Scope { names: Vec::new(), known: Vec::new(), has_others: false, is_apart };
        scope.take_body(&query.body);
        self.scopes.push(scope);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Infallible> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
        self.is_apart = matches!(factor, TableFactor::Derived { lateral: false, .. });
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [table, _] = parts.as_slice()
            && names::identifier(table).is_ok_and(|name| self.is_around(&name))
        {
            parts.insert(0, build::quoted(AROUND));
        }
        ControlFlow::Continue(())
    }
}
