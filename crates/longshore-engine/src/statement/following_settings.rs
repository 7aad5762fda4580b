//! What becomes of the settings of a session behind its statements.

use sqlparser::ast::Statement;

use super::{SessionContext, identity};
use crate::{Error, Outcome};

/// Settings become what they are behind the block that `statement` has ended, if it has.
pub(super) fn settings_behind(
    session: &mut SessionContext<'_>,
    statement: &Statement,
    outcome: &Result<Outcome, Error>,
) -> Result<(), Error> {
    if !matches!(statement, Statement::Commit { .. } | Statement::Rollback { savepoint: None, .. }) {
        return Ok(());
    }
    let is_committed = matches!(outcome, Ok(Outcome::Done { tag, .. }) if tag == "COMMIT");
    if session.settings.end_block(is_committed) {
        follow_path(session, Outcome::done(""))?;
    }
    Ok(())
}

/// Lets the session look through the schemas that its settings name by now, and its statements take as long as they say.
pub(super) fn follow_path(session: &mut SessionContext<'_>, outcome: Outcome) -> Result<Outcome, Error> {
    identity::follow(session)?;
    session.settings.apply(session.block);
    Ok(outcome)
}
