//! Definitions of WITH RECURSIVE.
//!
//! The planner takes each UNION there for a recursion, and drops what stands around it: ORDER BY, LIMIT, a WITH of its own.
//! So one that does not read itself is put in parentheses, and one that does may have none of these, as in PostgreSQL.

use std::ops::ControlFlow;

use sqlparser::ast::{Cte, Query, SetExpr, Statement, VisitMut, VisitorMut};

use crate::Error;
use crate::sql::expressions::flow;
use crate::sql::names;
use crate::sql::references::relations_read;

/// Tells the definitions that read themselves from the others in `statement`.
pub(crate) fn told_apart(statement: &mut Statement) -> Result<(), Error> {
    match VisitMut::visit(statement, &mut Queries) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Queries;

impl VisitorMut for Queries {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let Some(with) = query.with.as_mut().filter(|with| with.recursive) else { return ControlFlow::Continue(()) };
        flow(with.cte_tables.iter_mut().try_for_each(tell_apart))
    }
}

fn tell_apart(table: &mut Cte) -> Result<(), Error> {
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
