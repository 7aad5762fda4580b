//! Definitions of WITH RECURSIVE.
//!
//! The planner takes each UNION there for a recursion, and drops what stands around it: ORDER BY, LIMIT, a WITH of its own.
//! So one that does not read itself is put in parentheses, and one that does may have none of these, as in PostgreSQL.

use sqlparser::ast::{Cte, Query, SetExpr};

use crate::Error;
use crate::sql::names;
use crate::sql::references::relations_read;

/// Puts the definitions of `query` that do not read themselves in parentheses where they must be.
///
/// # Errors
/// A definition that reads itself has a clause that the planner would drop.
pub(crate) fn keep_clauses(query: &mut Query) -> Result<(), Error> {
    let Some(with) = query.with.as_mut().filter(|with| with.recursive) else { return Ok(()) };
    with.cte_tables.iter_mut().try_for_each(keep_clauses_of)
}

fn keep_clauses_of(table: &mut Cte) -> Result<(), Error> {
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
    let name = names::identifier(&table.alias.name)?;
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
