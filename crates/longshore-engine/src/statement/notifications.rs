//! LISTEN, UNLISTEN and NOTIFY. Not here: when others hear of it (`notifications`), `pg_notify`.

use super::Context;
use crate::notifications::Action;
use crate::sql::notifications::NotificationStatement;
use crate::{Error, Outcome};

/// Does what the statement says when its transaction commits.
pub(super) fn run(context: &Context<'_>, statement: &NotificationStatement) -> Result<Outcome, Error> {
    let transaction = context.transaction;
    match statement {
        NotificationStatement::Listen(channel) => transaction.say(Action::Listen(channel.as_str().into()))?,
        NotificationStatement::Unlisten(None) => transaction.say(Action::UnlistenAll)?,
        NotificationStatement::Unlisten(Some(channel)) => transaction.say(Action::Unlisten(channel.as_str().into()))?,
        NotificationStatement::Notify { channel, payload } => transaction.notify(channel, payload)?,
    }
    Ok(Outcome::done(statement.verb()))
}
