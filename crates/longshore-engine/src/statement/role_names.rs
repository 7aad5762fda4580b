//! The roles that statements name. Not here: what is done to them (`roles`), what belongs to them (`owner`, `owners`).

use sqlparser::ast::Ident;

use crate::catalog::RoleId;
use crate::sql::names;
use crate::sql::roles::RoleSpec;
use crate::statement::Context;
use crate::{Error, ErrorKind};

/// The role that a statement names.
pub(crate) fn named(context: &Context<'_>, role: &RoleSpec) -> Result<RoleId, Error> {
    let identity = context.transaction.numbers().identity();
    match role {
        RoleSpec::CurrentUser => Ok(identity.current),
        RoleSpec::SessionUser => Ok(identity.session),
        RoleSpec::Public => Err(missing("public")),
        RoleSpec::Named(name) => context.database.catalog.roles().named(name).ok_or_else(|| missing(name)),
    }
}

pub(crate) fn missing(name: &str) -> Error {
    Error::no_object(format!("role \"{name}\" does not exist"))
}

pub(crate) fn denied(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Privilege, message)
}

/// The role that OWNER TO names.
pub(crate) fn owner_named(owner: &Ident) -> Result<RoleSpec, Error> {
    Ok(match (owner.quote_style, owner.value.to_lowercase().as_str()) {
        (None, "current_user" | "current_role") => RoleSpec::CurrentUser,
        (None, "session_user") => RoleSpec::SessionUser,
        _ => RoleSpec::Named(names::identifier(owner)?),
    })
}
