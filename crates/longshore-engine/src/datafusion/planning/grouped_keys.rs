//! `GROUP BY` the primary key of a table: its other columns may be used as if they were grouped by, too, since there is one
//! row of the table in each group.
//!
//! So those that are used join the groups. Only a primary key counts, as in PostgreSQL, and not beside GROUPING SETS.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, GroupByExpr, Ident, OrderBy, OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, Statement, TableFactor, Value, Visitor, VisitorMut,
};

use super::merged_columns::{factors, folded};
use super::planner::Planner;
use crate::catalog::{Role, Table};
use crate::sql::visit::{Visit, VisitMut};
use crate::sql::{build, names};

/// Adds the columns that are used to the groups of all queries in `statement`.
pub(in crate::datafusion) fn complete(planner: &Planner, statement: &mut Statement) {
    let ControlFlow::Continue(()) = VisitMut::visit(statement, &mut Completer { planner, definitions: Vec::new() });
}

struct Completer<'a> {
    planner: &'a Planner,
    /// The names that WITH gives to queries.
    definitions: Vec<String>,
}

impl VisitorMut for Completer<'_> {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        let definitions = query.with.iter().flat_map(|with| &with.cte_tables);
        self.definitions.extend(definitions.map(|definition| folded(&definition.alias.name)));
        self.body(&mut query.body, query.order_by.as_ref());
        ControlFlow::Continue(())
    }
}

impl Completer<'_> {
    fn body(&self, body: &mut SetExpr, order_by: Option<&OrderBy>) {
        match body {
            SetExpr::Select(select) => self.select(select, order_by),
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left, None);
                self.body(right, None);
            }
            _ => {}
        }
    }

    fn select(&self, select: &mut Select, order_by: Option<&OrderBy>) {
        let GroupByExpr::Expressions(groups, modifiers) = &select.group_by else { return };
        let is_plain =
            |group: &Expr| !matches!(group, Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_) | Expr::Tuple(_));
        if groups.is_empty() || !modifiers.is_empty() || !groups.iter().all(is_plain) {
            return;
        }
        let groups: Vec<&Expr> = groups.iter().map(|group| meant(group, &select.projection)).collect();
        let mut added = Vec::new();
        for (factor, _) in factors(&select.from) {
            let Some((alias, table)) = self.table(factor) else { continue };
            let columns = table.relation.schema().columns();
            let is_grouped = |column: usize| {
                groups.iter().any(|group| is_column(group, &alias, &columns[column].name))
                    || added.iter().any(|group| is_column(group, &alias, &columns[column].name))
            };
            let rules = table.rules();
            let key = rules.keys.iter().find(|key| key.role == Role::Primary);
            if !key.is_some_and(|key| key.columns.iter().all(|column| is_grouped(*column))) {
                continue;
            }
            let used = Used::of(select, order_by, &alias);
            let missing = (0..columns.len()).filter(|column| !is_grouped(*column) && used.has(&columns[*column].name));
            let missing: Vec<Expr> = missing.map(|column| build::column(&alias, &columns[column].name)).collect();
            added.extend(missing);
        }
        if let GroupByExpr::Expressions(groups, _) = &mut select.group_by {
            groups.extend(added);
        }
    }

    fn table(&self, factor: &TableFactor) -> Option<(Ident, std::sync::Arc<Table>)> {
        let TableFactor::Table { name, args: None, alias, .. } = factor else { return None };
        if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
            return None;
        }
        let relation = names::relation(name).ok().filter(|name| !self.definitions.contains(name))?;
        let table = self.planner.transaction.table(&self.planner.catalog, &relation)?;
        Some((build::name_of(factor)?, table))
    }
}

/// What is grouped by: a number means a column of the list.
fn meant<'a>(group: &'a Expr, projection: &'a [SelectItem]) -> &'a Expr {
    let place = match group {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => number.parse::<usize>().ok().and_then(|number| number.checked_sub(1)),
            _ => None,
        },
        _ => None,
    };
    match place.and_then(|place| projection.get(place)) {
        Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => expr,
        _ => group,
    }
}

fn is_column(expr: &Expr, table: &Ident, column: &str) -> bool {
    match expr {
        Expr::Identifier(name) => folded(name) == column,
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [.., of, name] => folded(of) == folded(table) && folded(name) == column,
            _ => false,
        },
        Expr::Nested(inner) => is_column(inner, table, column),
        _ => false,
    }
}

/// The columns of a table that a SELECT uses behind its groups.
struct Used {
    table: String,
    all: bool,
    names: Vec<String>,
}

impl Used {
    fn of(select: &Select, order_by: Option<&OrderBy>, table: &Ident) -> Self {
        let mut used = Self { table: folded(table), all: false, names: Vec::new() };
        let is_all = |item: &SelectItem| match item {
            SelectItem::Wildcard(_) => true,
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                name.0.last().and_then(|part| part.as_ident()).is_some_and(|name| folded(name) == folded(table))
            }
            _ => false,
        };
        used.all = select.projection.iter().any(is_all);
        let mut visit = |part: &dyn Fn(&mut Used) -> ControlFlow<Infallible>| {
            let ControlFlow::Continue(()) = part(&mut used);
        };
        visit(&|used| select.projection.visit(used));
        visit(&|used| select.having.visit(used));
        visit(&|used| select.qualify.visit(used));
        if let Some(OrderByKind::Expressions(keys)) = order_by.map(|order_by| &order_by.kind) {
            visit(&|used| keys.visit(used));
        }
        used
    }

    fn has(&self, column: &str) -> bool {
        self.all || self.names.iter().any(|name| name == column)
    }
}

impl Visitor for Used {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Infallible> {
        match expr {
            Expr::Identifier(name) => self.names.push(folded(name)),
            Expr::CompoundIdentifier(parts) => {
                if let [.., of, name] = parts.as_slice()
                    && folded(of) == self.table
                {
                    self.names.push(folded(name));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
