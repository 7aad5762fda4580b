//! DISCARD: a session forgets what it has for itself, as connection pools ask for it.

use sqlparser::ast::{DiscardObject, Reset};

use super::reset::reset_settings;
use super::{SessionContext, identity, temporary};
use crate::sql::set_identity::SetIdentity;
use crate::{Error, ErrorKind, Outcome};

/// Forgets settings, prepared statements, temporary tables and the last numbers of sequences, or one of these. Kept plans are
/// found to be stale when they are.
pub(super) fn discard(session: &mut SessionContext<'_>, what: DiscardObject) -> Result<Outcome, Error> {
    let is_all = what == DiscardObject::ALL;
    let tag = format!("DISCARD {what}");
    if (is_all || what == DiscardObject::TEMP) && session.block.is_open() {
        return Err(Error::new(
            ErrorKind::ActiveTransaction,
            format!("{tag} takes effect at once and cannot be rolled back, so it cannot run in a transaction block"),
        ));
    }
    if is_all {
        let set = SetIdentity { is_session: true, is_local: false, role: None, is_reset: true };
        identity::set(session, &set)?;
        reset_settings(session, &Reset::ALL)?;
        session.prepared.clear();
        session.cursors.close_all(session.block);
        session.block.numbers().advisory().give_all_back()?;
        if let Some((activity, all)) = session.block.numbers().entered() {
            all.channels().leave(activity.inbox());
        }
    }
    let numbers = session.block.numbers();
    if is_all || what == DiscardObject::TEMP {
        temporary::drop_all(&session.database.catalog, &numbers.path())?;
        numbers.temporary.restore(&[]);
    }
    if is_all || what == DiscardObject::SEQUENCES {
        numbers.forget();
    }
    Ok(Outcome::done(tag))
}
