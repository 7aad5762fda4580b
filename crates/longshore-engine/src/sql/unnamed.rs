//! Columns without a name, where the planner calls them in a way that it cannot take itself: they get their text as their
//! name.
//!
//! `ORDER BY 2` it writes as the heading of the second column, and looks for it among the groups and aggregates where there
//! are some: `SELECT e, sum(x) / count(*) FROM t GROUP BY e ORDER BY 2` was refused, as no such column is there. It finds a
//! column that has an alias.
//!
//! Behind UNION, INTERSECT and EXCEPT it calls what is computed as the column of the first query that it meets, where a
//! column may be called so: `SELECT id, e FROM t UNION SELECT e + 1, id FROM t` was refused, for two columns `id`.

use sqlparser::ast::{Expr, Ident, OrderByKind, Query, SelectItem, SetExpr, Value};

use crate::sql::headings;

/// Gives names to such columns of `query`, but not of queries within its expressions.
pub(crate) fn name(query: &mut Query) {
    name_ordered(query);
    name_behind(&mut query.body, false);
}

/// Names what `query` orders by its place.
fn name_ordered(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    let Some(OrderByKind::Expressions(keys)) = query.order_by.as_ref().map(|order| &order.kind) else { return };
    let is_star = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => headings::has_columns(expr),
        _ => true,
    };
    // Behind a star, places are not known yet.
    let known = select.projection.iter().position(is_star).unwrap_or(select.projection.len());
    for place in keys.iter().filter_map(|key| place(&key.expr)) {
        if let Some(item) = select.projection[..known].get_mut(place) {
            name_computed(item);
        }
    }
}

/// Names the columns of all queries in `body` that another one stands before.
fn name_behind(body: &mut SetExpr, is_behind: bool) {
    match body {
        SetExpr::Select(select) if is_behind => select.projection.iter_mut().for_each(name_computed),
        SetExpr::Query(query) if is_behind => name_behind(&mut query.body, true),
        SetExpr::SetOperation { left, right, .. } => {
            name_behind(left, is_behind);
            name_behind(right, true);
        }
        _ => {}
    }
}

/// Names a column that has no alias, and is not one of a relation.
fn name_computed(item: &mut SelectItem) {
    if let SelectItem::UnnamedExpr(expr) = item
        && !matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
        && !headings::has_columns(expr)
    {
        let alias = Ident::with_quote('"', expr.to_string());
        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
    }
}

/// The item of the list that `key` means: 0 for `1`.
pub(crate) fn place(key: &Expr) -> Option<usize> {
    let Expr::Value(value) = key else { return None };
    let Value::Number(number, _) = &value.value else { return None };
    number.parse::<usize>().ok()?.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::sql::expressions::each_query;
    use crate::sql::{Parsed, parse};

    #[test]
    fn what_needs_a_name_gets_its_text() {
        for (sql, expected) in [
            (
                "SELECT e, count(*) + 1, 5, -e FROM t GROUP BY e ORDER BY 2, 1, 3, 9, 0",
                "SELECT e, count(*) + 1 AS \"count(*) + 1\", 5 AS \"5\", -e FROM t GROUP BY e ORDER BY 2, 1, 3, 9, 0",
            ),
            ("SELECT t.e, -e AS m FROM t ORDER BY 1, 2", "SELECT t.e, -e AS m FROM t ORDER BY 1, 2"),
            ("SELECT -e, *, -e FROM t ORDER BY 1, 3", "SELECT -e AS \"-e\", *, -e FROM t ORDER BY 1, 3"),
            ("SELECT -e FROM t ORDER BY -e", "SELECT -e FROM t ORDER BY -e"),
            (
                "SELECT * FROM (SELECT -e FROM t ORDER BY 1) AS s",
                "SELECT * FROM (SELECT -e AS \"-e\" FROM t ORDER BY 1) AS s",
            ),
            (
                "SELECT -e, 1 FROM t UNION SELECT e, 1 UNION (SELECT 2, 3 EXCEPT SELECT 4 AS a, 5) ORDER BY 1",
                "SELECT -e, 1 FROM t UNION SELECT e, 1 AS \"1\" UNION (SELECT 2 AS \"2\", 3 AS \"3\" EXCEPT SELECT 4 AS a, 5 \
                 AS \"5\") ORDER BY 1",
            ),
        ] {
            let Ok(Parsed::Sql(mut statement)) = parse(sql) else { panic!("{sql}") };
            let Ok(()) = each_query::<Infallible>(&mut statement, |query| {
                name(query);
                Ok(())
            });
            assert_eq!(statement.to_string(), expected, "{sql}");
        }
    }
}
