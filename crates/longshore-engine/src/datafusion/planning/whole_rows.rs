//! `SELECT t FROM t`, `row_to_json(q)`: the name of something in FROM, where it is no column, means its whole row.
//!
//! Such a name becomes a row of all its columns, which must be known for it. So does `t.*` as an argument. Not here:
//! `count(t.*)` (`merged_columns`).

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, OrderBy, OrderByKind, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, Statement, TableFactor, Value, Visitor, WildcardAdditionalOptions,
};

use super::merged_columns::from_items::{FromColumn, FromItems, each_select, factors, folded};
use super::planner::Planner;
use super::table_functions::own_column;
use crate::Error;
use crate::sql::build;
use crate::sql::expressions::each_own;
use crate::sql::visit::{Visit, VisitMut};

/// Writes whole rows of `statement` out.
pub(in crate::datafusion) fn write_out(planner: &Planner, statement: &mut Statement) -> Result<(), Error> {
    if Visit::visit(&*statement, &mut Needed).is_continue() {
        return Ok(());
    }
    each_select(planner, statement, |select, order_by, items| Writer { items }.select(select, order_by))
}

/// Finds out whether a name in a list may be that of something in FROM.
struct Needed;

impl Visitor for Needed {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let mut names = factors(&select.from).into_iter().filter_map(|(factor, _)| build::name_of(factor));
        let mut parts = Vec::new();
        for item in &select.projection {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                identifiers(expr, &mut parts);
            }
        }
        if names.any(|name| parts.contains(&folded(&name))) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

fn identifiers(expr: &Expr, names: &mut Vec<String>) {
    struct Identifiers<'a>(&'a mut Vec<String>);
    impl Visitor for Identifiers<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if let Expr::Identifier(name) = expr {
                self.0.push(folded(name));
            } else if let Expr::Function(function) = expr {
                self.0.extend(row_arguments(function).map(folded));
            }
            ControlFlow::Continue(())
        }
    }
    let (ControlFlow::Continue(()) | ControlFlow::Break(())) = expr.visit(&mut Identifiers(names));
}

/// The names in arguments such as `t.*`, which mean whole rows, but for `count`.
fn row_arguments(function: &Function) -> impl Iterator<Item = &Ident> {
    let list = match &function.args {
        FunctionArguments::List(list) if !function.name.to_string().eq_ignore_ascii_case("count") => &list.args[..],
        _ => &[],
    };
    list.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) => match name.0.as_slice() {
            [part] => part.as_ident(),
            _ => None,
        },
        _ => None,
    })
}

struct Writer<'a> {
    items: &'a FromItems<'a>,
}

impl Writer<'_> {
    fn select(&self, select: &mut Select, order_by: Option<&mut OrderBy>) -> Result<(), Error> {
        if Needed.pre_visit_select(select).is_continue() {
            return Ok(());
        }
        let factors: Vec<TableFactor> = factors(&select.from).into_iter().map(|(factor, _)| factor.clone()).collect();
        // What is known of each, and whether it is a function of one value, whose row is that value.
        let mut known: Vec<(Ident, Vec<FromColumn>, bool)> = Vec::new();
        for factor in &factors {
            let Some(name) = build::name_of(factor) else { continue };
            // What depends on others cannot be looked at alone.
            let columns = self.items.columns(factor).ok().or_else(|| own_column_of(factor, &name));
            if let Some(columns) = columns.or_else(|| self.listed(factor, &name)) {
                let is_value = matches!(factor, TableFactor::Function { .. }) && columns.len() == 1;
                known.push((name, columns, is_value));
            }
        }
        let is_column =
            |name: &Ident| known.iter().any(|(_, columns, _)| columns.iter().any(|column| column.name == folded(name)));
        let row = |name: &Ident| {
            let (_, columns, is_value) =
                known.iter().find(|(known, ..)| folded(known) == folded(name) && !is_column(name))?;
            if *is_value {
                return columns.first().map(|column| column.expr.clone());
            }
            let parts = columns.iter().flat_map(|column| {
                let name = Value::SingleQuotedString(column.name.clone());
                [build::value(name), column.expr.clone()]
            });
            Some(build::call("named_struct", parts.collect()))
        };
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(Expr::Identifier(name)) = item
                && let Some(expr) = row(name)
            {
                *item = SelectItem::ExprWithAlias { expr, alias: name.clone() };
                continue;
            }
            replace(item, &row)?;
        }
        replace(&mut select.selection, &row)?;
        replace(&mut select.having, &row)?;
        if let Some(OrderByKind::Expressions(keys)) = order_by.map(|order_by| &mut order_by.kind) {
            for key in keys.iter_mut().filter(|key| !matches!(key.expr, Expr::Identifier(_))) {
                replace(&mut key.expr, &row)?;
            }
        }
        Ok(())
    }
}

impl Writer<'_> {
    /// The columns of a query in FROM, as its list names them.
    fn listed(&self, factor: &TableFactor, alias: &Ident) -> Option<Vec<FromColumn>> {
        let TableFactor::Derived { subquery, alias: Some(given), .. } = factor else { return None };
        let SetExpr::Select(select) = subquery.body.as_ref() else { return None };
        if !given.columns.is_empty() {
            return None;
        }
        let mut names = Vec::new();
        for item in &select.projection {
            match item {
                SelectItem::ExprWithAlias { alias, .. } => names.push(folded(alias)),
                SelectItem::UnnamedExpr(Expr::Identifier(name)) => names.push(folded(name)),
                SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => names.push(folded(parts.last()?)),
                SelectItem::Wildcard(options) if *options == WildcardAdditionalOptions::default() => {
                    let all = self.items.columns_of_all(&select.from).ok()?;
                    names.extend(all.into_iter().map(|column| column.name));
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    let wanted = folded(name.0.last()?.as_ident()?);
                    let is_it =
                        |factor: &&TableFactor| build::name_of(factor).is_some_and(|name| folded(&name) == wanted);
                    let factor = factors(&select.from).into_iter().map(|(factor, _)| factor).find(is_it)?;
                    names.extend(self.items.columns(factor).ok()?.into_iter().map(|column| column.name));
                }
                _ => return None,
            }
        }
        let column = |name: String| {
            let expr = Expr::CompoundIdentifier(vec![alias.clone(), build::quoted(&name)]);
            FromColumn { name, expr, nullable: true, is_merged: false }
        };
        Some(names.into_iter().map(column).collect())
    }
}

/// The column of a function that has a name of its own.
fn own_column_of(factor: &TableFactor, alias: &Ident) -> Option<Vec<FromColumn>> {
    let TableFactor::Function { name, .. } = factor else { return None };
    let column = own_column(&name.to_string().to_lowercase())?;
    let expr = Expr::CompoundIdentifier(vec![alias.clone(), build::quoted(column)]);
    Some(vec![FromColumn { name: column.to_owned(), expr, nullable: true, is_merged: false }])
}

fn replace(node: &mut impl VisitMut, row: &impl Fn(&Ident) -> Option<Expr>) -> Result<(), Error> {
    each_own(node, |part| {
        match part {
            Expr::Identifier(name) => {
                if let Some(whole) = row(name) {
                    *part = whole;
                }
            }
            Expr::Function(function) if row_arguments(function).next().is_some() => {
                let FunctionArguments::List(list) = &mut function.args else { return Ok(()) };
                for argument in &mut list.args {
                    if let FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) = argument
                        && let [part] = name.0.as_slice()
                        && let Some(whole) = part.as_ident().and_then(row)
                    {
                        *argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(whole));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    })
}
