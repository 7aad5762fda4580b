//! Executes prepared statements that do something to their session.

use longshore_storage::Datum;
use sqlparser::ast::Expr;

use super::{Arguments, SessionContext, cursors, execute_prepared, set_config};
use crate::prepared::{OfSession, Prepared};
use crate::sql::parameters::{bind, literal};
use crate::{Error, Outcome};

/// Executes a prepared statement that does something to its session.
pub(crate) async fn execute_of_session(
    mut session: SessionContext<'_>,
    prepared: &Prepared,
    values: &[Datum<'_>],
) -> Result<Outcome, Error> {
    match prepared.of_session.as_deref() {
        Some(OfSession::Declares(declaration)) => {
            cursors::declare_prepared(session, declaration, prepared, Arguments::Values(values)).await
        }
        Some(OfSession::Sets) => {
            session.block.refuse_if_failed()?;
            let mut statement = prepared.statement.clone();
            let texts: Vec<Expr> = values.iter().map(|value| literal(*value)).collect();
            let bound = prepared.check_count(texts.len()).and_then(|()| bind(&mut statement, &texts));
            let done = bound.and_then(|()| {
                let set = set_config::set_config(&mut session, &statement);
                set.unwrap_or_else(|| Err(Error::internal("the statement sets nothing")))
            });
            done.inspect_err(|_| session.block.fail())
        }
        None => execute_prepared(session, prepared, Arguments::Values(values)).await,
    }
}
