//! Definitions of views, a clause on a line as PostgreSQL writes them.

use std::convert::Infallible;

use sqlparser::ast::{
    Expr, GroupByExpr, Ident, ObjectName, Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins, VisitorMut,
};
use std::ops::ControlFlow;

use super::objects::Objects;
use crate::catalog::View;
use crate::datafusion::functions::quoted_identifier;
use crate::sql;
use crate::sql::expressions::each_own;
use crate::sql::names;
use crate::sql::visit::VisitMut;

/// The query of a view; with parentheses around its condition, unless it is to be pretty.
pub(in crate::datafusion::planning) fn definition(objects: &Objects, view: &View, pretty: bool) -> String {
    let text = match sql::parse_query(&view.sql) {
        Ok(mut query) => {
            name_columns(&mut query);
            if query.with.is_none() {
                let ControlFlow::Continue(()) = VisitMut::visit(query.as_mut(), &mut Found { objects });
            }
            let ControlFlow::Continue(()) = VisitMut::visit(query.as_mut(), &mut Unquoted);
            laid_out(&query, pretty).unwrap_or_else(|| query.to_string())
        }
        Err(_) => view.sql.clone(),
    };
    format!(" {text};")
}

/// Whether a row of a view is a row of one table, so that it may be changed by way of the view.
pub(in crate::datafusion::planning) fn is_simple(view: &View) -> bool {
    let Ok(query) = sql::parse_query(&view.sql) else { return false };
    let Query { with: None, body, limit_clause: None, fetch: None, .. } = query.as_ref() else { return false };
    let SetExpr::Select(select) = body.as_ref() else { return false };
    let is_plain = |item: &SelectItem| {
        let SelectItem::UnnamedExpr(expr) = item else { return true };
        !matches!(expr, Expr::Function(_))
    };
    let has_no_groups = matches!(&select.group_by, GroupByExpr::Expressions(exprs, _) if exprs.is_empty());
    select.distinct.is_none()
        && select.having.is_none()
        && has_no_groups
        && one_table(&select.from).is_some()
        && select.projection.iter().all(is_plain)
}

/// The name of the only table of FROM.
fn one_table(from: &[TableWithJoins]) -> Option<String> {
    let [TableWithJoins { relation: TableFactor::Table { name, alias, args: None, .. }, joins }] = from else {
        return None;
    };
    if !joins.is_empty() {
        return None;
    }
    let shown = alias.as_ref().map(|alias| &alias.name).or_else(|| name.0.last()?.as_ident())?;
    names::identifier(shown).ok()
}

/// Gives the columns of a query over one table the name of that.
fn name_columns(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    let Some(table) = one_table(&select.from) else { return };
    let mut name = |expr: &mut Expr| {
        if let Expr::Identifier(column) = expr {
            *expr = Expr::CompoundIdentifier(vec![Ident::new(table.clone()), column.clone()]);
        }
        Ok::<_, Infallible>(())
    };
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
            let Ok(()) = each_own(expr, &mut name);
        }
    }
    if let Some(selection) = &mut select.selection {
        let Ok(()) = each_own(selection, &mut name);
    }
}

/// Names of tables and views get their schemas where they would not be found without, and lose them where they would.
struct Found<'a> {
    objects: &'a Objects,
}

impl VisitorMut for Found<'_> {
    type Break = Infallible;

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<Infallible> {
        let Some(known) = names::relation(relation).ok().and_then(|name| self.objects.relation_named(&name)) else {
            return ControlFlow::Continue(());
        };
        let (schema, own) = names::parts(&known.name);
        let is_visible = self.objects.relation_is_visible(&known.name);
        let parts = if is_visible { vec![own] } else { vec![schema, own] };
        *relation = ObjectName::from(parts.into_iter().map(|part| Ident::with_quote('"', part)).collect::<Vec<_>>());
        ControlFlow::Continue(())
    }
}

/// Names lose quotes that they do not need.
struct Unquoted;

impl Unquoted {
    fn unquote(ident: &mut Ident) {
        if ident.quote_style == Some('"') && quoted_identifier(&ident.value) == ident.value {
            ident.quote_style = None;
        }
    }
}

impl VisitorMut for Unquoted {
    type Break = Infallible;

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<Infallible> {
        for part in &mut relation.0 {
            if let sqlparser::ast::ObjectNamePart::Identifier(ident) = part {
                Self::unquote(ident);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        match expr {
            Expr::Identifier(ident) => Self::unquote(ident),
            Expr::CompoundIdentifier(parts) => parts.iter_mut().for_each(Self::unquote),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// A query of one SELECT with nothing but the usual clauses.
fn laid_out(query: &Query, pretty: bool) -> Option<String> {
    let Query { with: None, body, order_by, limit_clause, fetch: None, .. } = query else { return None };
    let SetExpr::Select(select) = body.as_ref() else { return None };
    let Select { distinct: None, top: None, into: None, projection, from, selection, group_by, having, .. } =
        select.as_ref()
    else {
        return None;
    };
    let list = |items: Vec<String>, separator: &str| items.join(separator);
    let mut text = format!("SELECT {}", list(projection.iter().map(ToString::to_string).collect(), ",\n    "));
    if !from.is_empty() {
        text = format!("{text}\n   FROM {}", list(from.iter().map(ToString::to_string).collect(), ",\n    "));
    }
    if let Some(selection) = selection {
        text = format!("{text}\n  WHERE {selection}");
    }
    match group_by {
        GroupByExpr::Expressions(exprs, modifiers) if modifiers.is_empty() => {
            if !exprs.is_empty() {
                text = format!("{text}\n  GROUP BY {}", list(exprs.iter().map(ToString::to_string).collect(), ", "));
            }
        }
        _ => return None,
    }
    if let Some(having) = having {
        text = format!("{text}\n HAVING {having}");
    }
    if let Some(order_by) = order_by {
        text = format!("{text}\n  {order_by}");
    }
    if let Some(limit) = limit_clause {
        text = format!("{text}\n {}", limit.to_string().trim());
    }
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    // What else the query has would be lost.
    if words(&text) != words(&query.to_string()) {
        return None;
    }
    Some(match selection {
        Some(selection @ Expr::BinaryOp { .. }) if !pretty => {
            text.replace(&format!("\n  WHERE {selection}"), &format!("\n  WHERE ({selection})"))
        }
        _ => text,
    })
}
