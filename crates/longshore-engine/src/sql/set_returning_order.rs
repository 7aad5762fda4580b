//! ORDER BY of a query whose list has functions that give rows: the rows are there before they are ordered.
//!
//! The planner orders what such a list gives, and knows nothing else. So what is ordered by and is no column of the list becomes
//! one of a query in FROM; what is in the list as well is meant by its place.
//!
//! The planner computes what else is in such a list beside the columns that it is computed of. Where a value has the name
//! of one of these (`SELECT unnest(a), upper(b) AS b`), the list is that of a query in FROM, too.

use std::mem;

use sqlparser::ast::{Distinct, Expr, GroupByExpr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr};

use crate::sql::build;
use crate::sql::expressions::each_own;
use crate::sql::set_functions::{UNNEST, is_set_call};

/// How the names of the columns of the query in FROM begin, which nobody writes.
const COLUMN: &str = "row column ";
const KEY: &str = "row key ";

/// Writes out what `query` itself is ordered by.
pub(super) fn write_out(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    let mut none = Vec::new();
    let keys = match query.order_by.as_mut().map(|order_by| &mut order_by.kind) {
        Some(OrderByKind::Expressions(keys)) => keys,
        Some(OrderByKind::All(_)) => return,
        None => &mut none,
    };
    if !select.projection.iter_mut().any(gives_rows) {
        return;
    }
    let texts = select.projection.iter().map_while(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr.to_string()),
        _ => None,
    });
    let texts: Vec<String> = texts.collect();
    for key in keys.iter_mut().filter(|key| is_set_call(&key.expr)) {
        let text = key.expr.to_string();
        if let Some(place) = texts.iter().position(|other| *other == text) {
            key.expr = build::number(place + 1);
        }
    }
    let is_plain = select.distinct.is_none()
        && select.having.is_none()
        && select.qualify.is_none()
        && matches!(&select.group_by, GroupByExpr::Expressions(groups, _) if groups.is_empty());
    let is_hiding =
        !matches!(select.distinct, Some(Distinct::On(_))) && select.projection.iter_mut().any(hides_own_column);
    let names = select.projection.iter().map(name).collect::<Option<Vec<Ident>>>();
    let Some(names) = names.filter(|_| is_plain || is_hiding) else { return };
    let mut hidden = Vec::new();
    let mut written = Vec::new();
    for key in keys.iter() {
        let column = match &key.expr {
            Expr::Value(_) => None,
            Expr::Identifier(column) => Some(column),
            Expr::CompoundIdentifier(parts) => parts.last(),
            _ => return,
        };
        written.push(match column {
            None => key.expr.clone(),
            Some(column) if names.iter().any(|name| is_same(name, column)) => Expr::Identifier(column.clone()),
            Some(_) => {
                hidden.push(key.expr.clone());
                Expr::Identifier(build::quoted(&format!("{KEY}{}", hidden.len())))
            }
        });
    }
    if if hidden.is_empty() { !is_hiding } else { !is_plain } {
        return;
    }
    for (key, written) in keys.iter_mut().zip(written) {
        key.expr = written;
    }
    put_in_from(select, &names, hidden);
}

/// Makes `select` one of a query in FROM that has its columns and those of `hidden`.
fn put_in_from(select: &mut Select, names: &[Ident], hidden: Vec<Expr>) {
    let column = |place: usize| build::quoted(&format!("{COLUMN}{place}"));
    let list = names
        .iter()
        .enumerate()
        .map(|(place, name)| SelectItem::ExprWithAlias { expr: Expr::Identifier(column(place)), alias: name.clone() });
    let outer = build::select(list.collect(), Vec::new());
    let mut inner = mem::replace(select, outer);
    let items = mem::take(&mut inner.projection).into_iter().enumerate().filter_map(|(place, item)| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            Some(SelectItem::ExprWithAlias { expr, alias: column(place) })
        }
        _ => None,
    });
    inner.projection = items.collect();
    let keys = hidden.into_iter().enumerate().map(|(place, expr)| build::named(expr, &format!("{KEY}{}", place + 1)));
    inner.projection.extend(keys);
    select.from = vec![build::alone(build::derived(build::query_of(inner), &build::quoted("rows")))];
}

/// Whether an item of a list has a function that gives rows.
fn gives_rows(item: &mut SelectItem) -> bool {
    let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else { return false };
    let found = each_own(expr, |part| {
        let is_unnest = matches!(part, Expr::Function(call) if call.name.to_string().eq_ignore_ascii_case(UNNEST));
        if is_unnest || is_set_call(part) { Err(()) } else { Ok(()) }
    });
    found.is_err()
}

/// Whether an item of a list is a value that has the name of a column that it is computed of.
fn hides_own_column(item: &mut SelectItem) -> bool {
    if gives_rows(item) {
        return false;
    }
    let SelectItem::ExprWithAlias { expr, alias: name } = item else { return false };
    if matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) {
        return false;
    }
    let found = each_own(expr, |part| match part {
        Expr::Identifier(column) if is_same(column, name) => Err(()),
        Expr::CompoundIdentifier(parts) if parts.last().is_some_and(|column| is_same(column, name)) => Err(()),
        _ => Ok(()),
    });
    found.is_err()
}

/// What the column of an item is called, if that shows.
fn name(item: &SelectItem) -> Option<Ident> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.clone()),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(name.clone()),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => parts.last().cloned(),
        SelectItem::UnnamedExpr(Expr::Function(call)) => build::last_name(&call.name).ok(),
        _ => None,
    }
}

/// Whether two names are those of one column.
fn is_same(one: &Ident, other: &Ident) -> bool {
    let folded = |name: &Ident| if name.quote_style.is_some() { name.value.clone() } else { name.value.to_lowercase() };
    folded(one) == folded(other)
}
