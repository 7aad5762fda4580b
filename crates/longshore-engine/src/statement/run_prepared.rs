//! Runs prepared statements with the values of their parameters.
//!
//! Not here: PREPARE, DEALLOCATE and what EXECUTE says (`prepare`).

use std::borrow::Cow;
use std::ops::ControlFlow;

use longshore_storage::Datum;
use sqlparser::ast::Expr;

use super::query::plain;
use super::shaped::point_query_outcome;
use super::{Context, SessionContext, end_of_transaction, execute_tree, foreign, hint, prepare, rights, setting_calls};
use crate::datafusion::Parameters;
use crate::prepared::{Done, PointQueryPlan, Prepared};
use crate::report::without;
use crate::sql::parameters::{bind, literal};
use crate::sql::shape::Literal;
use crate::transaction::{Nature, Rerun, Run};
use crate::{Error, Outcome, RowStream};

/// The values of parameters.
#[derive(Clone, Copy)]
pub(crate) enum Arguments<'a> {
    Values(&'a [Datum<'a>]),
    Expressions(&'a [Expr]),
    Literals(&'a [Literal<'a>]),
}

/// Executes a prepared statement, in the session's transaction block or in a transaction of its own.
pub(crate) async fn execute_prepared(
    session: SessionContext<'_>,
    prepared: &Prepared,
    arguments: Arguments<'_>,
) -> Result<Outcome, Error> {
    if prepared.asks_for_settings {
        setting_calls::tell(session.database, session.block, session.settings);
    }
    let SessionContext { database, block, control, .. } = session;
    let (given, values, literals) = match arguments {
        Arguments::Values(values) => (values.len(), prepared.in_declared_types(Cow::Borrowed(values)), None),
        Arguments::Expressions(expressions) => {
            (expressions.len(), None, prepare::literals(expressions).map(Cow::Owned))
        }
        Arguments::Literals(literals) => (literals.len(), None, Some(Cow::Borrowed(literals))),
    };
    block.refuse_if_failed()?;
    prepared.check_count(given).inspect_err(|_| block.fail())?;
    rights::check_prepared(database, block, prepared).inspect_err(|_| block.fail())?;
    let nature = if prepared.changes_rows() { Nature::Writes } else { Nature::Reads };
    let mut run = Run::new(nature, Rerun::Allowed, control);
    let outcome = loop {
        let transaction = run.begin(block)?;
        let done = async {
            let context = Context { database, control, transaction, parameters: None, with: None, named: &[] };
            if literals.is_some() || values.is_some() {
                let surroundings = context.surroundings();
                let run = |point_query: &PointQueryPlan| match (&literals, &values) {
                    (Some(literals), _) => prepared.run_literals(point_query, surroundings, literals, control),
                    (None, Some(values)) if prepared.gives_what_it_takes(point_query, values) => {
                        transaction.with_any(|transaction| point_query.run(surroundings, transaction, values))
                    }
                    (None, _) => Ok(Done::Planner),
                };
                if let Some(done) = prepared.with_point_query(&database.catalog, transaction, run)
                    && let Some(outcome) = point_query_outcome(&context, done?)?
                {
                    return Ok(outcome);
                }
            }
            let of_literals = || {
                let values: Option<Vec<_>> = literals.as_ref()?.iter().map(Literal::value).collect();
                prepared.in_declared_types(Cow::Owned(values?))
            };
            let values = values.clone().or_else(of_literals);
            if let Some(values) = &values
                && let Some(rows) = Box::pin(rows_by_generic_plan(prepared, values, &context)).await?
            {
                return Ok(Outcome::Rows(rows));
            }
            let outcome = Box::pin(run_by_planner(prepared, arguments, values, &context)).await?;
            if nature == Nature::Writes {
                foreign::run_actions(&context)?;
            }
            Ok(outcome)
        };
        let done = done.await;
        if let ControlFlow::Break(outcome) = run.end(block, done).await {
            break outcome;
        }
    };
    end_of_transaction(database, block)?;
    let outcome = outcome.map_err(|error| hint::of_new_label(error, &database.catalog));
    if prepared.secrets.is_empty() { outcome } else { without(outcome, prepared.secrets.clone()) }
}

/// Executes a statement with the planner, with `values` in their declared types where there are any.
async fn run_by_planner(
    prepared: &Prepared,
    arguments: Arguments<'_>,
    values: Option<Cow<'_, [Datum<'_>]>>,
    context: &Context<'_>,
) -> Result<Outcome, Error> {
    let texts = match arguments {
        Arguments::Values(values) => prepared.texts(values.iter().map(|value| literal(*value))),
        Arguments::Expressions(expressions) => prepared.texts(expressions.iter().cloned()),
        Arguments::Literals(literals) => prepared.texts(literals.iter().map(prepare::expression)),
    };
    let mut statement = prepared.statement.clone();
    let Some(values) = values else {
        bind(&mut statement, &texts)?;
        return Box::pin(execute_tree(context, statement)).await;
    };
    let (plans, types) = (&prepared.plans, &prepared.types);
    let parameters = Parameters { plans, types, values: values.into_owned(), texts };
    Box::pin(execute_tree(&Context { parameters: Some(&parameters), ..*context }, statement)).await
}

/// The rows of a query that has a generic plan for these values.
async fn rows_by_generic_plan(
    prepared: &Prepared,
    values: &[Datum<'_>],
    context: &Context<'_>,
) -> Result<Option<RowStream>, Error> {
    if prepared.changes_rows() {
        return Ok(None);
    }
    let Some(query) = prepared.plain_query.get_or_init(|| plain(&prepared.statement)) else { return Ok(None) };
    let (plans, types) = (&prepared.plans, &prepared.types);
    let parameters = Parameters { plans, types, values: values.to_vec(), texts: Vec::new() };
    let context = Context { parameters: Some(&parameters), ..*context };
    context.database.queries.query_by_generic_plan(query, &context.execution()).await
}
