//! `FETCH FIRST n ROWS WITH TIES`: also the rows that come in the order at the same place as the last one.
//!
//! These are the rows whose rank in the order is n at most, and of which OFFSET skips as many as it says.

use sqlparser::ast::{
    BinaryOperator, Expr, Function, Ident, LimitClause, OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr,
    WildcardAdditionalOptions, WindowSpec, WindowType,
};

use crate::Error;
use crate::sql::build;
use crate::sql::unnamed::place;

/// What a query is called that is a part of another one.
const PART: &str = "part (hidden)";

/// Leaves the first `rows` of the query, and those that are level with the last of them.
pub(super) fn first_with_ties(query: &mut Query, rows: Expr) -> Result<(), Error> {
    let Some(OrderByKind::Expressions(keys)) = query.order_by.as_ref().map(|order_by| &order_by.kind) else {
        return Err(Error::syntax("WITH TIES cannot be specified without ORDER BY clause"));
    };
    let keys = keys.clone();
    let last = match &query.limit_clause {
        None => rows,
        Some(LimitClause::LimitOffset { limit: None, offset: Some(offset), .. }) => {
            build::binary(rows, BinaryOperator::Plus, offset.value.clone())
        }
        Some(_) => return Err(Error::syntax("LIMIT and FETCH FIRST say the same; leave one out")),
    };
    let is_plain = |select: &Select| select.distinct.is_none() && select.qualify.is_none();
    if !matches!(query.body.as_ref(), SetExpr::Select(select) if is_plain(select)) {
        let everything = SelectItem::Wildcard(WildcardAdditionalOptions::default());
        let part = Query { with: None, ..build::query(SetExpr::Query(Box::new(build::query(*query.body.clone())))) };
        let from = build::alone(build::derived(part, &Ident::with_quote('"', PART)));
        *query.body = SetExpr::Select(Box::new(build::select(vec![everything], vec![from])));
    }
    let SetExpr::Select(select) = query.body.as_mut() else { return Err(Error::internal("a list was made")) };
    let keys = keys.into_iter().map(|key| ordered_by(key, &select.projection)).collect::<Result<Vec<_>, _>>()?;
    let Expr::Function(rank) = build::call("rank", Vec::new()) else {
        return Err(Error::internal("rank() is a function"));
    };
    let window = WindowSpec { window_name: None, partition_by: Vec::new(), order_by: keys, window_frame: None };
    let rank = Expr::Function(Function { over: Some(WindowType::WindowSpec(window)), ..rank });
    select.qualify = Some(build::binary(rank, BinaryOperator::LtEq, last));
    Ok(())
}

/// A key of ORDER BY as an expression: it may be the place or the name of a column of the result.
fn ordered_by(key: OrderByExpr, list: &[SelectItem]) -> Result<OrderByExpr, Error> {
    let expr = match &key.expr {
        Expr::Identifier(name) => list.iter().find_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } if alias.value.eq_ignore_ascii_case(&name.value) => Some(expr),
            _ => None,
        }),
        other => match place(other) {
            Some(place) => match list.get(place) {
                Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => Some(expr),
                _ => {
                    return Err(Error::unsupported(
                        "ORDER BY the place of a column that a star gives, beside WITH TIES; name the column",
                    ));
                }
            },
            None => None,
        },
    };
    Ok(match expr {
        Some(expr) => OrderByExpr { expr: expr.clone(), ..key },
        None => key,
    })
}
