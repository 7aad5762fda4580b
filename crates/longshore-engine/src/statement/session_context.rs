//! What statements have of their session. Not here: what they have of their transaction (`Context`).

use std::sync::Arc;

use longshore_load::Control;
use sqlparser::ast::Statement;

use super::{ClientSettings, Cursors, Streams, identity, prepare};
use crate::prepared::Shapes;
use crate::transaction::Block;
use crate::{Database, Error, Outcome};

/// What of a session its statements work with.
pub(crate) struct SessionContext<'a> {
    pub(crate) database: &'a Arc<Database>,
    pub(crate) block: &'a mut Block,
    pub(crate) prepared: &'a mut prepare::Named,
    pub(crate) streams: &'a mut Streams,
    pub(crate) settings: &'a mut ClientSettings,
    pub(crate) shapes: &'a mut Shapes,
    pub(crate) cursors: &'a mut Cursors,
    pub(crate) control: &'a Arc<Control>,
}

impl SessionContext<'_> {
    /// The same, for a part of what is executed.
    pub(super) fn again(&mut self) -> SessionContext<'_> {
        SessionContext {
            database: self.database,
            block: self.block,
            prepared: self.prepared,
            streams: self.streams,
            settings: self.settings,
            shapes: self.shapes,
            cursors: self.cursors,
            control: self.control,
        }
    }
}

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
