//! Runs and explains queries.

use sqlparser::ast::{Query, Statement};

use super::{Context, refuse};
use crate::sql::explain::ExplainOptions;
use crate::sql::repeated;
use crate::{Error, Outcome};

/// The rows that a query gives.
pub(super) async fn run_query(context: &Context<'_>, mut query: Box<Query>) -> Result<Outcome, Error> {
    refuse::unless_reads_only(&query)?;
    repeated::name_apart(&mut query);
    let statement = Statement::Query(query);
    let rows = context.database.queries.query(statement, &context.execution()).await?;
    Ok(Outcome::Rows(rows))
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
