//! SET ROLE and SET SESSION AUTHORIZATION. What is set is a setting of the session, which a rollback takes back.

use super::client_settings::{ClientSettings, ROLE, Reach, SESSION_AUTHORIZATION};
use super::settings::on_or_off;
use super::{SessionContext, schemas};
use crate::catalog::SearchPath;
use crate::sql::set_identity::SetIdentity;
use crate::transaction::{Block, Identity};
use crate::{Database, Error, ErrorKind, Outcome};

/// Lets a session act as another role.
pub(super) fn set(session: &mut SessionContext<'_>, set: &SetIdentity) -> Result<Outcome, Error> {
    let reach = Reach::new(set.is_local, session.block.is_open());
    let tag = if set.is_reset { "RESET" } else { "SET" };
    let roles = session.database.catalog.roles();
    let identity = session.block.numbers().identity();
    let named = |name: &str| {
        let role = roles.named(name);
        role.ok_or_else(|| Error::invalid(format!("role \"{name}\" does not exist")))
    };
    if set.is_session {
        if let Some(name) = &set.role {
            let role = named(name)?;
            if role != identity.authenticated && !roles.is_superuser(identity.authenticated) {
                return Err(Error::new(ErrorKind::Privilege, "permission denied to set session authorization"));
            }
        }
        session.settings.put(ROLE, None, reach);
        session.settings.put(SESSION_AUTHORIZATION, set.role.as_deref(), reach);
    } else {
        if let Some(name) = &set.role
            && !roles.is_member_of(identity.session, named(name)?)
        {
            return Err(Error::new(ErrorKind::Privilege, format!("permission denied to set role \"{name}\"")));
        }
        session.settings.put(ROLE, set.role.as_deref(), reach);
    }
    follow(session)?;
    let notice = (reach == Reach::Nothing)
        .then(|| "SET LOCAL does nothing outside of a transaction block; BEGIN opens one".to_owned());
    Ok(Outcome::done(tag).with_notices(notice.into_iter().collect()))
}

/// What SHOW says of who the session acts as.
pub(super) fn shown(database: &Database, block: &Block, settings: &ClientSettings) -> [(&'static str, String); 3] {
    let numbers = block.numbers();
    let is_superuser = numbers.checked_role(&database.catalog).is_none();
    [
        ("is_superuser", on_or_off(is_superuser).to_owned()),
        (ROLE, settings.kept(ROLE).unwrap_or("none").to_owned()),
        (SESSION_AUTHORIZATION, database.catalog.roles().name(numbers.identity().session)),
    ]
}

/// Lets the session act as its settings say by now, and look through the schemas that they name.
pub(super) fn follow(session: &mut SessionContext<'_>) -> Result<(), Error> {
    let catalog = &session.database.catalog;
    let numbers = session.block.numbers();
    let before = numbers.identity();
    let roles = catalog.roles();
    let named = |name: &str| session.settings.kept(name).and_then(|name| roles.named(name));
    let in_session = named(SESSION_AUTHORIZATION).unwrap_or(before.authenticated);
    let current = named(ROLE).unwrap_or(in_session);
    let identity = Identity { session: in_session, current, ..before };
    if identity != before {
        numbers.set_identity(identity);
    }
    let path = schemas::search_path(&numbers.path(), &session.settings.value("search_path"))?;
    let user = roles.name(current).into();
    numbers.set_path(SearchPath { user, role: numbers.checked_role(catalog), ..path });
    Ok(())
}
