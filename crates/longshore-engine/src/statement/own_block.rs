//! Statements that change the catalog in several steps: outside of a transaction block they have one to themselves, so that all
//! of it is done, or nothing.

use super::nature::nature;
use super::{Context, SessionContext, end_of_transaction, execute_in};
use crate::sql::Parsed;
use crate::{Error, Outcome};

/// Executes a statement in a block of its own; none is open.
pub(super) async fn execute(session: SessionContext<'_>, parsed: Parsed) -> Result<Outcome, Error> {
    let SessionContext { database, block, streams, control, .. } = session;
    block.begin(block.defaults())?;
    let nature = nature(&parsed, &database.catalog);
    let own = block.definitions_for(nature, &database.catalog).map(|catalog| database.with_catalog(catalog));
    let database = own.as_ref().unwrap_or(database);
    let outcome = block
        .run_once(nature, control, async |transaction| {
            let context = Context { database, control, transaction, parameters: None, with: None, named: &[] };
            execute_in(&context, streams, parsed).await
        })
        .await;
    let outcome = match outcome {
        Ok(outcome) => block.commit(false, control).map(|_| outcome),
        Err(error) => block.rollback(false).and(Err(error)),
    };
    block.wait_until_safe().await?;
    end_of_transaction(database, block)?;
    outcome
}
