//! `ALTER ROLE ... SET`, `ALTER DATABASE ... SET`: settings that sessions begin with.

use sqlparser::ast::{Expr, Ident, ObjectName, Set, Statement};

use crate::catalog::SettingsOf;
use crate::sql::names::CATALOG;
use crate::sql::roles::{RoleSpec, RoleStatement, SettingChange};
use crate::statement::role_names::{denied, missing, named};
use crate::statement::{ClientSettings, Context, SessionContext, rights, schemas, set};
use crate::transaction::Block;
use crate::{Error, ErrorKind, Outcome};

pub(super) fn run(
    context: &Context<'_>,
    role: Option<&RoleSpec>,
    database: Option<&str>,
    setting: &SettingChange,
) -> Result<Outcome, Error> {
    let catalog = &context.database.catalog;
    if let Some(name) = database.filter(|name| *name != CATALOG) {
        return Err(Error::new(ErrorKind::Coded("3D000"), format!("database \"{name}\" does not exist")));
    }
    let tag = if role.is_none() && database.is_some() { "ALTER DATABASE" } else { "ALTER ROLE" };
    let role = role.map(|role| named(context, role)).transpose()?;
    let by = context.transaction.numbers().identity().current;
    let roles = catalog.roles();
    match role {
        Some(role) if roles.is_superuser(role) && !roles.is_superuser(by) => {
            return Err(denied("must be superuser to alter superusers"));
        }
        Some(role) if role != by && !roles.creates_roles(by) => return Err(denied("permission denied")),
        None if !roles.is_superuser(by) => {
            return Err(denied(match database {
                Some(name) => format!("must be owner of database {name}"),
                None => "must be superuser to alter settings globally".to_owned(),
            }));
        }
        _ => {}
    }
    let of = SettingsOf { role, in_database: database.is_some() };
    let change_to = match setting {
        SettingChange::ResetAll => None,
        SettingChange::Reset(name) => Some((name, None)),
        SettingChange::Set(name, Some(values)) => Some((name, Some(text(name, values)?))),
        SettingChange::Set(name, None) => {
            return Err(Error::unsupported(format!("SET {name} FROM CURRENT is not supported; write the value")));
        }
    };
    catalog.change(|change| {
        if let Some(role) = role
            && change.definitions.roles.get(role).is_none()
        {
            return Err(missing(&role.0.to_string()));
        }
        match change_to {
            None => change.roles().reset(of),
            Some((name, value)) => change.roles().set(of, name, value),
        }
        Ok(())
    })?;
    Ok(Outcome::done(tag))
}

/// A value as one text.
fn text(name: &str, values: &[Expr]) -> Result<String, Error> {
    if name == "search_path" {
        return schemas::path_text(values).ok_or_else(|| Error::invalid("search_path takes names of schemas"));
    }
    let texts: Option<Vec<String>> = values.iter().map(crate::statement::client_settings::text).collect();
    texts
        .map(|texts| texts.join(", "))
        .ok_or_else(|| Error::invalid(format!("{name} takes words, texts and numbers only")))
}

/// Refuses a setting that sessions do not have, or not with this value: it is tried in one that is given up.
pub(crate) fn check(session: &mut SessionContext<'_>, statement: &RoleStatement) -> Result<(), Error> {
    let RoleStatement::Settings { change: SettingChange::Set(name, Some(values)), .. } = statement else {
        return Ok(());
    };
    if name == "role" {
        return Ok(());
    }
    if session.block.numbers().checked_role(&session.database.catalog).is_some() {
        rights::check_set(name)?;
    }
    let (mut block, mut settings) =
        (Block::new(std::sync::Arc::clone(&session.database.transactions), None, true), ClientSettings::default());
    let variable = ObjectName::from(vec![Ident::new(name)]);
    let statement =
        Statement::Set(Set::SingleAssignment { scope: None, hivevar: false, variable, values: values.clone() });
    if crate::statement::settings::is_of_database(name) {
        return Err(Error::new(ErrorKind::Coded("55P02"), format!("parameter \"{name}\" cannot be changed now")));
    }
    let mut tried = SessionContext {
        database: session.database,
        block: &mut block,
        prepared: &mut *session.prepared,
        streams: &mut *session.streams,
        settings: &mut settings,
        shapes: &mut *session.shapes,
        cursors: &mut *session.cursors,
        control: session.control,
    };
    match set(&mut tried, &statement) {
        Some(outcome) => outcome.map(|_| ()),
        None => Err(Error::no_object(format!("unrecognized configuration parameter \"{name}\""))),
    }
}
