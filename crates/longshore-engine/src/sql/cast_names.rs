//! Casts that the planner tells apart: it calls `sum(e::double precision)` as `sum(e)`, and refuses a list that has both.
//!
//! So where two expressions of a list, its groups or its aggregates are the same but for casts, the casts are marked, and
//! `datafusion::literals` gives what is marked its text as its name.

use std::collections::HashMap;
use std::convert::Infallible;

use sqlparser::ast::{BinaryOperator, Expr, GroupByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, Value};

use crate::sql::expressions::each_own;
use crate::sql::unnamed::place;

/// Marks such casts of `query`, but not of queries within its expressions.
pub(crate) fn mark(query: &mut Query) {
    let keys = match query.order_by.as_mut().map(|order_by| &mut order_by.kind) {
        Some(OrderByKind::Expressions(keys)) => keys.iter_mut().map(|key| &mut key.expr).collect(),
        _ => Vec::new(),
    };
    mark_body(&mut query.body, keys);
}

/// Whether it marks a cast, to the left, whose name is to the right; no text is read as it.
pub(crate) fn is_mark(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::PGCustomBinaryOperator(name) if matches!(&name[..], [part] if part.is_empty()))
}

fn mark_body(body: &mut SetExpr, keys: Vec<&mut Expr>) {
    match body {
        SetExpr::Select(select) => mark_select(select, keys),
        SetExpr::SetOperation { left, right, .. } => {
            mark_body(left, Vec::new());
            mark_body(right, Vec::new());
        }
        _ => {}
    }
}

fn mark_select(select: &mut Select, keys: Vec<&mut Expr>) {
    // With each, whether the planner names it: what stands in the list without an alias, and groups, which may be meant by
    // their places in the list.
    let by_place = |group: &Expr| matches!(group, Expr::Value(_));
    let has_places = matches!(&select.group_by, GroupByExpr::Expressions(groups, _) if groups.iter().any(by_place));
    let mut all: Vec<(&mut Expr, bool)> = keys.into_iter().map(|key| (key, false)).collect();
    for item in &mut select.projection {
        match item {
            SelectItem::UnnamedExpr(expr) => all.push((expr, true)),
            SelectItem::ExprWithAlias { expr, .. } => all.push((expr, has_places)),
            _ => {}
        }
    }
    all.extend(select.having.iter_mut().map(|having| (having, false)));
    if let GroupByExpr::Expressions(groups, _) = &mut select.group_by {
        all.extend(groups.iter_mut().map(|group| (group, true)));
    }
    if !all.iter_mut().any(|(expr, _)| has_cast(expr)) {
        return;
    }
    let mut named: Vec<Expr> = Vec::new();
    for (expr, is_named) in &mut all {
        named.extend(is_named.then(|| expr.clone()));
        // Calls have names of their own wherever they stand.
        each(expr, |part| {
            if matches!(part, Expr::Function(_)) {
                named.push(part.clone());
            }
        });
    }
    let mut texts: HashMap<String, String> = HashMap::new();
    let meet = named.into_iter().any(|mut expr| {
        let whole = expr.to_string().to_lowercase();
        each(&mut expr, |part| {
            if let Some(value) = cast_value(part) {
                *part = value;
            }
        });
        let bare = expr.to_string().to_lowercase();
        texts.insert(bare, whole.clone()).is_some_and(|other| other != whole)
    });
    if meet {
        for (expr, _) in all {
            mark_casts(expr);
        }
        if has_places {
            write_out_places(select);
        }
    }
}

/// `GROUP BY 1` as what the first column is: the planner takes names off what is meant by its place.
fn write_out_places(select: &mut Select) {
    let GroupByExpr::Expressions(groups, _) = &mut select.group_by else { return };
    for group in groups {
        let Some(place) = place(group) else { continue };
        let before = select.projection.get(..=place).unwrap_or_default();
        if before.iter().all(|item| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }))
            && let Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = before.last()
            // A number would be a place again.
            && !matches!(expr, Expr::Value(_))
        {
            *group = expr.clone();
        }
    }
}

/// Marks the casts within `expr`.
fn mark_casts(expr: &mut Expr) {
    each(expr, |part| {
        if cast_value(part).is_some() {
            let name = Expr::Value(Value::SingleQuotedString(part.to_string()).into());
            let op = BinaryOperator::PGCustomBinaryOperator(vec![String::new()]);
            let cast = std::mem::replace(part, Expr::Value(Value::Null.into()));
            *part = Expr::BinaryOp { left: Box::new(cast), op, right: Box::new(name) };
        }
    });
}

fn has_cast(expr: &mut Expr) -> bool {
    each_own(expr, |part| if cast_value(part).is_some() { Err(()) } else { Ok(()) }).is_err()
}

/// What is cast.
fn cast_value(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Cast { expr, .. } => Some(expr.as_ref().clone()),
        Expr::TypedString(typed) => Some(Expr::Value(typed.value.clone())),
        _ => None,
    }
}

/// Gives `act` the parts of `expr`, and then itself.
fn each(expr: &mut Expr, mut act: impl FnMut(&mut Expr)) {
    let Ok(()) = each_own::<Infallible>(expr, |part| {
        act(part);
        Ok(())
    });
}
