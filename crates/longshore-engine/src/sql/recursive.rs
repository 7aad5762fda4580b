//! Definitions of WITH RECURSIVE.
//!
//! The planner takes each UNION there for a recursion, and drops what stands around it: ORDER BY, LIMIT, a WITH of its own.
//! So one that does not read itself is put in parentheses, and one that does may have none of these, as in PostgreSQL.

use std::ops::ControlFlow;

use sqlparser::ast::{Cte, Expr, JoinOperator, Query, Select, SetExpr, TableFactor, TableWithJoins};

use crate::sql::expressions::each_own;
use crate::sql::names;
use crate::sql::references::relations_read;
use crate::sql::visit::visit_expressions;
use crate::{Error, ErrorKind};

/// Aggregates, as far as they are likely to be tried over the rows of the last round.
const AGGREGATES: [&str; 10] =
    ["count", "sum", "avg", "min", "max", "array_agg", "string_agg", "bool_and", "bool_or", "every"];

/// Puts the definitions of `query` that do not read themselves in parentheses where they must be.
///
/// # Errors
/// A definition that reads itself has a clause that the planner would drop, or does so where it cannot.
pub(crate) fn keep_clauses(query: &mut Query) -> Result<(), Error> {
    let Some(with) = query.with.as_mut().filter(|with| with.recursive) else { return Ok(()) };
    with.cte_tables.iter_mut().try_for_each(keep_clauses_of)
}

fn keep_clauses_of(table: &mut Cte) -> Result<(), Error> {
    let name = names::identifier(&table.alias.name)?;
    if let SetExpr::SetOperation { right, .. } = table.query.body.as_mut()
        && let SetExpr::Select(select) = right.as_mut()
    {
        check_rounds(&name, select)?;
    }
    let Query { with, body, order_by, limit_clause, fetch, .. } = table.query.as_ref();
    let clauses = [
        ("WITH", with.is_some()),
        ("ORDER BY", order_by.is_some()),
        ("LIMIT", limit_clause.is_some()),
        ("FETCH", fetch.is_some()),
    ];
    let Some((clause, _)) = clauses.into_iter().find(|(_, is_there)| *is_there) else { return Ok(()) };
    if !matches!(body.as_ref(), SetExpr::SetOperation { .. }) {
        return Ok(());
    }
    if relations_read(&table.query).contains(&name) {
        return Err(Error::unsupported(format!(
            "{clause} in the recursive query {name} is not supported; put it where {name} is read"
        )));
    }
    let whole = table.query.clone();
    let Query { with, body, order_by, limit_clause, fetch, .. } = table.query.as_mut();
    (*with, *order_by, *limit_clause, *fetch) = (None, None, None, None);
    **body = SetExpr::Query(whole);
    Ok(())
}

/// Refuses what PostgreSQL refuses in the part that reads the last round of the query `name`: it would never end, or give rows
/// that depend on the rounds.
fn check_rounds(name: &str, select: &mut Select) -> Result<(), Error> {
    let is_it = |factor: &TableFactor| match factor {
        TableFactor::Table { name: written, args: None, .. } => {
            matches!(written.0.as_slice(), [_])
                && names::relation(written).is_ok_and(|known| names::parts(&known).1 == name)
        }
        _ => false,
    };
    let is_read = |from: &TableWithJoins| is_it(&from.relation) || from.joins.iter().any(|join| is_it(&join.relation));
    if !select.from.iter().any(is_read) {
        return Ok(());
    }
    let refused = |message: String| Err(Error::new(ErrorKind::InvalidRecursion, message));
    for from in &select.from {
        let mut is_left = is_it(&from.relation);
        for join in &from.joins {
            let is_right = is_it(&join.relation);
            let may_be_padded = match &join.join_operator {
                JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => is_right,
                JoinOperator::Right(_) | JoinOperator::RightOuter(_) => is_left,
                JoinOperator::FullOuter(_) => is_left || is_right,
                _ => false,
            };
            if may_be_padded {
                let message = format!("recursive reference to query \"{name}\" must not appear within an outer join");
                return refused(message);
            }
            is_left |= is_right;
        }
    }
    let reads_it = |expr: &Expr| match expr {
        Expr::Subquery(query) | Expr::Exists { subquery: query, .. } | Expr::InSubquery { subquery: query, .. }
            if relations_read(query).contains(name) =>
        {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    };
    let parts = [
        visit_expressions(&select.projection, reads_it),
        visit_expressions(&select.selection, reads_it),
        visit_expressions(&select.having, reads_it),
    ];
    if parts.iter().any(ControlFlow::is_break) {
        return refused(format!("recursive reference to query \"{name}\" must not appear within a subquery"));
    }
    let is_aggregate = |expr: &mut Expr| match expr {
        Expr::Function(call) if call.over.is_none() => {
            let called = call.name.to_string().to_ascii_lowercase();
            if AGGREGATES.contains(&called.as_str()) { Err(()) } else { Ok(()) }
        }
        _ => Ok(()),
    };
    if each_own(&mut select.projection, is_aggregate).is_err() {
        return refused("aggregate functions are not allowed in a recursive query's recursive term".to_owned());
    }
    Ok(())
}
