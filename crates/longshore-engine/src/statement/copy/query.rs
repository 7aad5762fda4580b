//! The query that a COPY with a condition becomes.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Statement, Visit, Visitor};

use crate::Error;
use crate::sql::{self, Parsed};

/// A query of ours.
pub(super) fn parsed_query(sql: &str) -> Result<Box<Query>, Error> {
    match sql::parse(sql)? {
        Parsed::Sql(statement) => match *statement {
            Statement::Query(query) => Ok(query),
            other => Err(Error::internal(format!("a query expected, found {other}"))),
        },
        other => Err(Error::internal(format!("a query expected, found {other:?}"))),
    }
}

/// Refuses a condition that reads other tables: it is about one row, as in PostgreSQL.
pub(super) fn without_queries(condition: Expr) -> Result<Expr, Error> {
    struct NoQuery;
    impl Visitor for NoQuery {
        type Break = ();
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    match condition.visit(&mut NoQuery) {
        ControlFlow::Continue(()) => Ok(condition),
        ControlFlow::Break(()) => Err(Error::unsupported(
            "COPY ... WHERE cannot hold a query; write COPY table FROM (SELECT ... FROM read_csv(...) WHERE ...)",
        )),
    }
}
