//! Statements that ask for settings: `current_setting(name)` and `pg_settings`. Settings belong to the session, which the planner
//! does not know; so they are told to it before such a statement is planned.
//!
//! Not here: the function and the table (`datafusion::planning`), `set_config`.

use super::{ClientSettings, show};
use crate::Database;
use crate::transaction::Block;

/// Lets the statements of a session know its settings.
pub(super) fn tell(database: &Database, block: &Block, settings: &ClientSettings) {
    block.numbers().tell_settings(show::all_settings(database, block, settings));
}
