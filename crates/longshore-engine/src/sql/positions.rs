//! `ORDER BY 2`: names for the columns that are meant by their place.
//!
//! The planner writes `ORDER BY 2` as the heading of the second column, and looks for it among the groups and aggregates
//! where there are some: `SELECT e, sum(x) / count(*) FROM t GROUP BY e ORDER BY 2` was refused, as no such column is
//! there. It finds a column that has an alias. So what is not a column as it is gets its text as its alias.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, OrderByKind, Query, SelectItem, SetExpr, Statement, Value, VisitMut, VisitorMut};

/// Gives names to what queries in `statement` order by its place.
pub(crate) fn name_ordered(statement: &mut Statement) {
    struct Queries;
    impl VisitorMut for Queries {
        type Break = Infallible;

        fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
            name(query);
            ControlFlow::Continue(())
        }
    }
    let ControlFlow::Continue(()) = VisitMut::visit(statement, &mut Queries);
}

fn name(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    let Some(OrderByKind::Expressions(keys)) = query.order_by.as_ref().map(|order| &order.kind) else { return };
    let is_star = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    // Behind a star, places are not known yet.
    let known = select.projection.iter().position(is_star).unwrap_or(select.projection.len());
    for place in keys.iter().filter_map(|key| place(&key.expr)) {
        let Some(item) = select.projection[..known].get_mut(place) else { continue };
        if let SelectItem::UnnamedExpr(expr) = item
            && !matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
        {
            let alias = Ident::with_quote('"', expr.to_string());
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
    }
}

/// The item of the list that `key` means: 0 for `1`.
fn place(key: &Expr) -> Option<usize> {
    let Expr::Value(value) = key else { return None };
    let Value::Number(number, _) = &value.value else { return None };
    number.parse::<usize>().ok()?.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Parsed, parse};

    #[test]
    fn what_is_meant_by_its_place_gets_its_text_as_its_name() {
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
            ("SELECT -e FROM t UNION SELECT 1 ORDER BY 1", "SELECT -e FROM t UNION SELECT 1 ORDER BY 1"),
        ] {
            let Ok(Parsed::Sql(mut statement)) = parse(sql) else { panic!("{sql}") };
            name_ordered(&mut statement);
            assert_eq!(statement.to_string(), expected, "{sql}");
        }
    }
}
