//! Definitions of views, a clause on a line as PostgreSQL writes them.

use sqlparser::ast::{GroupByExpr, Query, Select, SetExpr};

use crate::catalog::View;
use crate::sql;

/// The query of a view.
pub(in crate::datafusion::planning) fn definition(view: &View) -> String {
    let text = match sql::parse_query(&view.sql) {
        Ok(query) => laid_out(&query),
        Err(_) => None,
    };
    format!(" {};", text.unwrap_or_else(|| view.sql.clone()))
}

/// A query of one SELECT with nothing but the usual clauses.
fn laid_out(query: &Query) -> Option<String> {
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
    (words(&text) == words(&query.to_string())).then_some(text)
}
