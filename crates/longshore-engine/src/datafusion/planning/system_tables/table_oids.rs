//! `tableoid` and `xmin`: the OID of the table that a row is of, and the transaction that has made it.
//!
//! No table has such columns. So `t.tableoid` becomes the OID of what `t` stands for in FROM, which is the same for all rows;
//! and `t.xmin` of a system table becomes a number that no earlier statement was given: whoever asks for it wants to know
//! whether an object has changed since, and nobody keeps when objects change. Tables of users have no `xmin`.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{
    CaseWhen, Expr, Ident, Query, Select, SelectItem, SetExpr, Statement, TableFactor, TableWithJoins, Visitor,
    VisitorMut,
};

use super::{INFORMATION_SCHEMA, PG_CATALOG, SystemCatalog, definition};
use crate::sql::visit::{Visit, VisitMut};
use crate::sql::{build, names};

const COLUMN: &str = "tableoid";
const MADE_BY: &str = "xmin";
/// The function that gives a number that grows.
const MADE_NOW: &str = "txid_current";

/// Puts OIDs in the place of such columns.
pub(in crate::datafusion::planning) fn write_out(catalog: &SystemCatalog, statement: &mut Statement) {
    if Visit::visit(statement, &mut Finder).is_continue() {
        return;
    }
    let ControlFlow::Continue(()) = VisitMut::visit(statement, &mut Writer { catalog, scopes: Vec::new() });
}

fn is_called(name: &Ident, column: &str) -> bool {
    name.quote_style.is_none() && name.value.eq_ignore_ascii_case(column)
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
        let is_it = |name: &Ident| is_called(name, COLUMN) || is_called(name, MADE_BY);
        if name.is_some_and(is_it) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// What stands in FROM: names, and the OIDs of those that are tables, with whether they are the system's.
type Scope = Vec<(String, Option<(u32, bool)>)>;

struct Writer<'a> {
    catalog: &'a SystemCatalog,
    scopes: Vec<Scope>,
}

impl Writer<'_> {
    fn oid(&self, name: &str) -> Option<(u32, bool)> {
        if let Some(relation) = self.catalog.objects().relation_named(name) {
            return Some((relation.oid, false));
        }
        let (schema, own) = names::parts(name);
        let schema = if schema == INFORMATION_SCHEMA { INFORMATION_SCHEMA } else { PG_CATALOG };
        definition::find(schema, own).map(|known| (known.oid, true))
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

    /// The table whose column an expression is, if it is one called `column`.
    fn table(&self, expr: &Expr, column: &str) -> Option<(u32, bool)> {
        match expr {
            Expr::Identifier(name) if is_called(name, column) => match self.scopes.last()?.as_slice() {
                [(_, oid)] => *oid,
                _ => None,
            },
            Expr::CompoundIdentifier(parts) => {
                let [.., of, name] = parts.as_slice() else { return None };
                let of = names::identifier(of).ok().filter(|_| is_called(name, column))?;
                let mut scopes = self.scopes.iter().rev();
                scopes.find_map(|scope| scope.iter().find(|(known, _)| *known == of))?.1
            }
            _ => None,
        }
    }

    fn value(&self, expr: &Expr) -> Option<Expr> {
        if let Some((oid, is_system)) = self.table(expr, COLUMN) {
            let value = build::call("oid", vec![build::number(oid as usize)]);
            return Some(match expr {
                // An outer join may have no row of it.
                Expr::CompoundIdentifier(parts) if is_system && has_oid(oid) => {
                    let mut own = parts.clone();
                    own.pop();
                    own.push(Ident::new("oid"));
                    where_there(Expr::CompoundIdentifier(own), value)
                }
                _ => value,
            });
        }
        let (_, is_system) = self.table(expr, MADE_BY)?;
        is_system.then(|| build::call("xid", vec![build::call(MADE_NOW, Vec::new())]))
    }
}

/// Whether a system table has a column `oid`.
fn has_oid(table: u32) -> bool {
    let mut found = definition::relations().filter(|known| known.oid == table);
    found.any(|known| known.columns.iter().any(|column| column.name == "oid"))
}

/// A value where another one is not NULL.
fn where_there(other: Expr, value: Expr) -> Expr {
    let when = CaseWhen { condition: Expr::IsNotNull(Box::new(other)), result: value };
    build::case(vec![when], None)
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

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Infallible> {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && let Some(value) = self.value(expr)
            {
                let alias = if self.table(expr, COLUMN).is_some() { COLUMN } else { MADE_BY };
                *item = SelectItem::ExprWithAlias { expr: value, alias: Ident::new(alias) };
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Some(value) = self.value(expr) {
            *expr = value;
        }
        ControlFlow::Continue(())
    }
}
