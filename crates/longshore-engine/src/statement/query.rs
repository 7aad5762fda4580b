//! Runs and explains queries.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Statement, Visitor};

use super::{Context, refuse, row_locks};
use crate::sql::explain::ExplainOptions;
use crate::sql::repeated;
use crate::sql::visit::Visit;
use crate::{Error, Outcome};

/// The rows that a query gives.
pub(super) async fn run_query(context: &Context<'_>, mut query: Box<Query>) -> Result<Outcome, Error> {
    if !query.locks.is_empty() {
        return Box::pin(row_locks::run_query(context, query)).await;
    }
    refuse::unless_reads_only(&query)?;
    repeated::name_apart(&mut query);
    let statement = Statement::Query(query);
    let acts = acts(&statement);
    let rows = context.database.queries.query(statement, &context.execution()).await?;
    // Before there are rows.
    Ok(Outcome::Rows(if acts { rows.made().await? } else { rows }))
}

/// The query as the planner gets it ([`run_query`]), if that is all there is to its execution: it changes nothing, locks no
/// rows and calls no function that does something.
pub(super) fn plain(statement: &Statement) -> Option<Statement> {
    let Statement::Query(query) = statement else { return None };
    if !query.locks.is_empty() || refuse::unless_reads_only(query).is_err() || acts(statement) {
        return None;
    }
    let mut query = query.clone();
    repeated::name_apart(&mut query);
    Some(Statement::Query(query))
}

/// EXPLAIN of a query.
pub(super) async fn explain(context: &Context<'_>, explain: Statement) -> Result<Outcome, Error> {
    let (options, statement) = ExplainOptions::of(&explain)?;
    let query = match statement {
        Statement::Query(query) => {
            refuse::unless_reads_only(query)?;
            statement.clone()
        }
        other => {
            return Err(Error::unsupported(format!(
                "EXPLAIN of {} is not supported; explain the query in it",
                refuse::name(other)
            )));
        }
    };
    let rows = context.database.queries.explain(query, options, &context.execution()).await?;
    Ok(Outcome::Rows(rows))
}

/// Whether a query calls functions that do something, before its transaction ends: those that take advisory locks or numbers of
/// sequences, for which they may wait, and `pg_notify`.
fn acts(statement: &Statement) -> bool {
    struct Calls;

    impl Visitor for Calls {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
            let name = function.name.to_string().to_ascii_lowercase();
            let name = name.strip_prefix("pg_catalog.").unwrap_or(&name);
            let is_one = name.starts_with("pg_advisory_")
                || name.starts_with("pg_try_advisory_")
                || matches!(name, "nextval" | "setval" | "pg_notify");
            if is_one { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }

    statement.visit(&mut Calls).is_break()
}
