//! `tableoid`: the OID of the table that a row is of, which is the same for all rows of a table here.
//!
//! No table has such a column. So `t.tableoid` becomes the OID of what `t` stands for in FROM.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, Query, SetExpr, Statement, TableFactor, TableWithJoins, Visit, VisitMut, Visitor, VisitorMut,
};

use super::{INFORMATION_SCHEMA, PG_CATALOG, SystemCatalog, definition};
use crate::sql::{build, names};

const COLUMN: &str = "tableoid";

/// Puts OIDs in the place of such columns.
pub(in crate::datafusion::planning) fn write_out(catalog: &SystemCatalog, statement: &mut Statement) {
    if Visit::visit(statement, &mut Finder).is_continue() {
        return;
    }
    let ControlFlow::Continue(()) = VisitMut::visit(statement, &mut Writer { catalog, scopes: Vec::new() });
}

fn is_it(name: &Ident) -> bool {
    name.quote_style.is_none() && name.value.eq_ignore_ascii_case(COLUMN)
}

struct Finder;

impl Visitor for Finder {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let name = match expr {
            Expr::Identifier(name) => Some(name),
            Expr::CompoundIdentifier(parts) => parts.last(),
            _ => None,
        };
        if name.is_some_and(is_it) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// What stands in FROM: names, and the OIDs of those that are tables.
type Scope = Vec<(String, Option<u32>)>;

struct Writer<'a> {
    catalog: &'a SystemCatalog,
    scopes: Vec<Scope>,
}

impl Writer<'_> {
    fn oid(&self, name: &str) -> Option<u32> {
        if let Some(relation) = self.catalog.objects().relation_named(name) {
            return Some(relation.oid);
        }
        let (schema, own) = names::parts(name);
        let schema = if schema == INFORMATION_SCHEMA { INFORMATION_SCHEMA } else { PG_CATALOG };
        definition::find(schema, own).map(|known| known.oid)
    }

    fn add_body(&self, body: &SetExpr, scope: &mut Scope) {
        match body {
            SetExpr::Select(select) => select.from.iter().for_each(|item| self.add(item, scope)),
            SetExpr::SetOperation { left, right, .. } => {
                self.add_body(left, scope);
                self.add_body(right, scope);
            }
            _ => {}
        }
    }

    fn add(&self, item: &TableWithJoins, scope: &mut Scope) {
        let joined = item.joins.iter().map(|join| &join.relation);
        for factor in std::iter::once(&item.relation).chain(joined) {
            match factor {
                TableFactor::Table { name, alias, args: None, .. } => {
                    let Ok(known) = names::relation(name) else { continue };
                    let alias = alias.as_ref().and_then(|alias| names::identifier(&alias.name).ok());
                    let shown = alias.unwrap_or_else(|| names::own(&known).to_owned());
                    scope.push((shown, self.oid(&known)));
                }
                TableFactor::NestedJoin { table_with_joins, .. } => self.add(table_with_joins, scope),
                _ => scope.push((String::new(), None)),
            }
        }
    }

    fn found(&self, expr: &Expr) -> Option<u32> {
        match expr {
            Expr::Identifier(name) if is_it(name) => match self.scopes.last()?.as_slice() {
                [(_, oid)] => *oid,
                _ => None,
            },
            Expr::CompoundIdentifier(parts) => {
                let [.., of, name] = parts.as_slice() else { return None };
                let of = names::identifier(of).ok().filter(|_| is_it(name))?;
                let mut scopes = self.scopes.iter().rev();
                scopes.find_map(|scope| scope.iter().find(|(known, _)| *known == of))?.1
            }
            _ => None,
        }
    }
}

impl VisitorMut for Writer<'_> {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        let mut scope = Scope::new();
        self.add_body(&query.body, &mut scope);
        self.scopes.push(scope);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Infallible> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Some(oid) = self.found(expr) {
            *expr = build::call("oid", vec![build::number(oid as usize)]);
        }
        ControlFlow::Continue(())
    }
}
