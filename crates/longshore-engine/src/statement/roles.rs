//! CREATE, ALTER and DROP of roles, who is a member of which, and what their sessions begin with.
//!
//! The rules of who may do what are PostgreSQL 15's: a role with CREATEROLE makes and changes all but superusers. Not here:
//! privileges on objects (`grants`), what belongs to roles (`owners`), SET ROLE (`identity`).

mod password;
mod settings;

use longshore_time::read;
use longshore_time::settings::Context as TimeContext;

use crate::catalog::{Change, Membership, RoleDefinition, RoleId, Roles};
use crate::sql::grants::MembershipStatement;
use crate::sql::roles::{RoleOption, RoleSpec, RoleStatement};
use crate::statement::role_names::{denied, missing, named};
use crate::statement::{Context, owners};
use crate::{Error, ErrorKind, Outcome};

pub(crate) use settings::check as check_setting;

/// Does what a statement says of roles.
pub(crate) fn run(context: &Context<'_>, statement: &RoleStatement) -> Result<Outcome, Error> {
    match statement {
        RoleStatement::Create(noun, name, options) => create(context, noun, name, options),
        RoleStatement::Alter(role, options) => alter(context, role, options),
        RoleStatement::Rename(from, to) => rename(context, from, to),
        RoleStatement::Members { group, is_added, members } => {
            let of = named(context, group)?;
            let members = members.iter().map(|member| named(context, member)).collect::<Result<Vec<_>, _>>()?;
            let by = Grantor::of(context);
            let notices = context.database.catalog.change(|change| {
                if *is_added {
                    add_members(change, by, of, &members, false)
                } else {
                    remove_members(change, by, of, &members, false)
                }
            })?;
            Ok(Outcome::done("ALTER ROLE").with_notices(notices))
        }
        RoleStatement::Settings { role, database, change } => {
            settings::run(context, role.as_ref(), database.as_deref(), change)
        }
        RoleStatement::Drop(roles, if_exists) => drop_roles(context, roles, *if_exists),
        RoleStatement::DropOwned(of, cascade) => owners::drop_owned(context, of, *cascade),
        RoleStatement::ReassignOwned(of, to) => owners::reassign_owned(context, of, to),
    }
}

/// Whether a statement changes the catalog in several steps, so that it has a block to itself.
pub(crate) fn is_of_several_steps(statement: &RoleStatement) -> bool {
    matches!(statement, RoleStatement::DropOwned(..))
}

/// Refuses names that are kept for the system.
fn check_name(name: &str) -> Result<(), Error> {
    if name == "public" || name == "none" || name.starts_with("pg_") {
        return Err(Error::new(ErrorKind::ReservedName, format!("role name \"{name}\" is reserved")));
    }
    Ok(())
}

fn exists(name: &str) -> Error {
    Error::new(ErrorKind::DuplicateObject, format!("role \"{name}\" already exists"))
}

fn create(context: &Context<'_>, noun: &str, name: &str, options: &[RoleOption]) -> Result<Outcome, Error> {
    let mut role = RoleDefinition { logs_in: noun == "USER", ..RoleDefinition::new(name) };
    let by = context.transaction.numbers().identity().current;
    let roles = context.database.catalog.roles();
    let mut notices = Vec::new();
    apply(context, &mut role, options, &mut notices)?;
    if !roles.is_superuser(by) {
        if role.is_superuser {
            return Err(denied("must be superuser to create superusers"));
        }
        if role.replicates {
            return Err(denied("must be superuser to create replication users"));
        }
        if role.bypasses_row_security {
            return Err(denied("must be superuser to create bypassrls users"));
        }
        if !roles.creates_roles(by) {
            return Err(denied("permission denied to create role"));
        }
    }
    check_name(name)?;
    let lists = |spec: &[RoleSpec]| spec.iter().map(|role| named(context, role)).collect::<Result<Vec<_>, _>>();
    let (mut of, mut members, mut admins) = (Vec::new(), Vec::new(), Vec::new());
    for option in options {
        match option {
            RoleOption::InRole(roles) => of.extend(lists(roles)?),
            RoleOption::Role(roles) => members.extend(lists(roles)?),
            RoleOption::Admin(roles) => admins.extend(lists(roles)?),
            _ => {}
        }
    }
    let grantor = Grantor::of(context);
    notices.extend(context.database.catalog.change(|change| {
        if change.definitions.roles.named(name).is_some() {
            return Err(exists(name));
        }
        let id = change.roles().add(role);
        let mut notices = Vec::new();
        for role in of {
            notices.extend(add_members(change, grantor, role, &[id], false)?);
        }
        notices.extend(add_members(change, grantor, id, &members, false)?);
        notices.extend(add_members(change, grantor, id, &admins, true)?);
        Ok(notices)
    })?);
    Ok(Outcome::done("CREATE ROLE").with_notices(notices))
}

/// Gives a role the attributes that options say.
fn apply(
    context: &Context<'_>,
    role: &mut RoleDefinition,
    options: &[RoleOption],
    notices: &mut Vec<String>,
) -> Result<(), Error> {
    let mut seen = Vec::new();
    for option in options {
        let kind = std::mem::discriminant(option);
        if seen.contains(&kind) {
            return Err(Error::syntax("conflicting or redundant options"));
        }
        seen.push(kind);
        match option {
            RoleOption::Superuser(is) => role.is_superuser = *is,
            RoleOption::Inherit(is) => role.inherits = *is,
            RoleOption::CreateRole(is) => role.creates_roles = *is,
            RoleOption::CreateDatabase(is) => role.creates_databases = *is,
            RoleOption::Login(is) => role.logs_in = *is,
            RoleOption::Replication(is) => role.replicates = *is,
            RoleOption::BypassRowSecurity(is) => role.bypasses_row_security = *is,
            RoleOption::ConnectionLimit(limit) => {
                let found = i32::try_from(*limit).ok().filter(|limit| *limit >= -1);
                role.connection_limit =
                    found.ok_or_else(|| Error::invalid(format!("invalid connection limit: {limit}")))?;
            }
            RoleOption::Password(None) => role.password = None,
            RoleOption::Password(Some(text)) if text.is_empty() => {
                notices.push("empty string is not a valid password, clearing password".to_owned());
                role.password = None;
            }
            RoleOption::Password(Some(text)) => role.password = Some(password::verifier(text)?),
            RoleOption::ValidUntil(text) => {
                let time = context.transaction.time();
                let read_in = TimeContext { settings: &time.settings, now: time.began };
                let until = read::timestamptz(text, &read_in);
                let until = until.map_err(|error| Error::new(ErrorKind::DateTimeFormat, error.to_string()))?;
                role.valid_until = Some(until);
            }
            RoleOption::InRole(_) | RoleOption::Role(_) | RoleOption::Admin(_) => {}
        }
    }
    Ok(())
}

fn alter(context: &Context<'_>, spec: &RoleSpec, options: &[RoleOption]) -> Result<Outcome, Error> {
    let id = named(context, spec)?;
    let catalog = &context.database.catalog;
    let roles = catalog.roles();
    let by = context.transaction.numbers().identity().current;
    let before = roles.get(id).ok_or_else(|| missing(&id.0.to_string()))?.clone();
    if let RoleSpec::Named(name) = spec
        && name.starts_with("pg_")
        && id.is_of_system()
    {
        return Err(Error::new(ErrorKind::ReservedName, format!("role name \"{name}\" is reserved")));
    }
    let (mut role, mut notices) = (before.clone(), Vec::new());
    apply(context, &mut role, options, &mut notices)?;
    if !roles.is_superuser(by) {
        let says = |is_it: fn(&RoleOption) -> bool| options.iter().any(is_it);
        let is_own_password = id == by && options.iter().all(|option| matches!(option, RoleOption::Password(_)));
        if before.is_superuser || says(|option| matches!(option, RoleOption::Superuser(_))) {
            return Err(denied("must be superuser to alter superuser roles or change superuser attribute"));
        }
        if before.replicates || says(|option| matches!(option, RoleOption::Replication(_))) {
            return Err(denied("must be superuser to alter replication roles or change replication attribute"));
        }
        if says(|option| matches!(option, RoleOption::BypassRowSecurity(_))) {
            return Err(denied("must be superuser to change bypassrls attribute"));
        }
        if !roles.creates_roles(by) && !is_own_password {
            return Err(denied("permission denied"));
        }
    }
    if id == RoleId::SUPERUSER && !(role.is_superuser && role.logs_in) {
        return Err(Error::unsupported(format!("role \"{}\" stays a superuser who may log in", role.name)));
    }
    let members: Vec<RoleId> = options
        .iter()
        .filter_map(|option| match option {
            RoleOption::Role(roles) => Some(roles),
            _ => None,
        })
        .flatten()
        .map(|role| named(context, role))
        .collect::<Result<_, _>>()?;
    let grantor = Grantor::of(context);
    notices.extend(catalog.change(|change| {
        if change.definitions.roles.get(id) != Some(&before) {
            return Err(Error::new(ErrorKind::Conflict, "the role was changed meanwhile: try again"));
        }
        if let Some(known) = change.roles().get_mut(id) {
            *known = role;
        }
        add_members(change, grantor, id, &members, false)
    })?);
    Ok(Outcome::done("ALTER ROLE").with_notices(notices))
}

fn rename(context: &Context<'_>, from: &str, to: &str) -> Result<Outcome, Error> {
    let catalog = &context.database.catalog;
    let identity = context.transaction.numbers().identity();
    catalog.change(|change| {
        let roles = &change.definitions.roles;
        let id = roles.named(from).ok_or_else(|| missing(from))?;
        if id == identity.session {
            return Err(Error::unsupported("session user cannot be renamed"));
        }
        if id == identity.current {
            return Err(Error::unsupported("current user cannot be renamed"));
        }
        check_name(from)?;
        check_name(to)?;
        if roles.named(to).is_some() {
            return Err(exists(to));
        }
        if id == RoleId::SUPERUSER {
            return Err(Error::unsupported(format!("role \"{from}\" is called as the database was opened")));
        }
        if roles.is_superuser(id) && !roles.is_superuser(identity.current) {
            return Err(denied("must be superuser to rename superusers"));
        }
        if !roles.creates_roles(identity.current) {
            return Err(denied("permission denied to rename role"));
        }
        if let Some(role) = change.roles().get_mut(id) {
            to.clone_into(&mut role.name);
        }
        Ok(())
    })?;
    Ok(Outcome::done("ALTER ROLE"))
}

fn drop_roles(context: &Context<'_>, specs: &[RoleSpec], if_exists: bool) -> Result<Outcome, Error> {
    let catalog = &context.database.catalog;
    let identity = context.transaction.numbers().identity();
    let mut notices = Vec::new();
    catalog.change(|change| {
        if !change.definitions.roles.creates_roles(identity.current) {
            return Err(denied("permission denied to drop role"));
        }
        for spec in specs {
            let RoleSpec::Named(name) = spec else {
                return Err(Error::invalid("cannot use special role specifier in DROP ROLE"));
            };
            let Some(id) = change.definitions.roles.named(name) else {
                if if_exists {
                    notices.push(format!("role \"{name}\" does not exist, skipping"));
                    continue;
                }
                return Err(missing(name));
            };
            let used =
                [(identity.current, "current"), (identity.session, "session"), (identity.authenticated, "session")];
            if let Some((_, which)) = used.into_iter().find(|(role, _)| *role == id) {
                return Err(Error::new(ErrorKind::Coded("55006"), format!("{which} user cannot be dropped")));
            }
            if id.is_of_system() {
                return Err(Error::new(
                    ErrorKind::Dependent,
                    format!("cannot drop role {name} because it is required by the database system"),
                ));
            }
            if change.definitions.roles.is_superuser(id) && !change.definitions.roles.is_superuser(identity.current) {
                return Err(denied("must be superuser to drop superusers"));
            }
            change.roles().remove_memberships(id);
        }
        // Those that are dropped together may depend on each other.
        for spec in specs {
            let RoleSpec::Named(name) = spec else { continue };
            let Some(id) = change.definitions.roles.named(name) else { continue };
            owners::check_independent(change, id, name)?;
            change.roles().remove(id);
        }
        Ok(())
    })?;
    Ok(Outcome::done("DROP ROLE").with_notices(notices))
}

/// Who grants a role: who acts, and who is said to.
#[derive(Clone, Copy)]
pub(crate) struct Grantor {
    pub(crate) by: RoleId,
}

impl Grantor {
    fn of(context: &Context<'_>) -> Self {
        Self { by: context.transaction.numbers().identity().current }
    }
}

/// GRANT and REVOKE of roles.
pub(crate) fn memberships(context: &Context<'_>, statement: &MembershipStatement) -> Result<Outcome, Error> {
    let MembershipStatement { is_grant, of, members, admin, granted_by } = statement;
    let mut grantor = Grantor::of(context);
    if let Some(role) = granted_by {
        let said = named(context, role)?;
        if said != grantor.by && !context.database.catalog.roles().is_superuser(grantor.by) {
            return Err(denied("must be superuser to set grantor"));
        }
        grantor.by = said;
    }
    let members = members.iter().map(|member| named(context, member)).collect::<Result<Vec<_>, _>>()?;
    let of = of.iter().map(|role| named(context, &RoleSpec::Named(role.clone()))).collect::<Result<Vec<_>, _>>()?;
    let notices = context.database.catalog.change(|change| {
        let mut notices = Vec::new();
        for role in of {
            notices.extend(if *is_grant {
                add_members(change, grantor, role, &members, *admin)?
            } else {
                remove_members(change, grantor, role, &members, *admin)?
            });
        }
        Ok(notices)
    })?;
    let tag = if *is_grant { "GRANT ROLE" } else { "REVOKE ROLE" };
    Ok(Outcome::done(tag).with_notices(notices))
}

/// Refuses who may not make or take members of a role.
fn check_admin(roles: &Roles, by: RoleId, of: RoleId) -> Result<(), Error> {
    if roles.is_superuser(of) && !roles.is_superuser(by) {
        return Err(denied("must be superuser to alter superusers"));
    }
    if roles.creates_roles(by) || roles.is_admin_of(by, of) {
        return Ok(());
    }
    Err(denied(format!("must have admin option on role \"{}\"", roles.name(of))))
}

fn add_members(
    change: &mut Change,
    grantor: Grantor,
    of: RoleId,
    members: &[RoleId],
    admin: bool,
) -> Result<Vec<String>, Error> {
    let mut notices = Vec::new();
    if members.is_empty() {
        return Ok(notices);
    }
    check_admin(&change.definitions.roles, grantor.by, of)?;
    for member in members {
        let roles = &change.definitions.roles;
        let (role, name) = (roles.name(of), roles.name(*member));
        if of == RoleId::DATABASE_OWNER || *member == RoleId::DATABASE_OWNER {
            let problem =
                if of == RoleId::DATABASE_OWNER { "have explicit members" } else { "be a member of any role" };
            return Err(Error::new(ErrorKind::Coded("0LP01"), format!("role \"pg_database_owner\" cannot {problem}")));
        }
        if roles.is_plain_member_of(of, *member) {
            return Err(Error::new(
                ErrorKind::Coded("0LP01"),
                format!("role \"{role}\" is a member of role \"{name}\""),
            ));
        }
        let known = roles.membership(of, *member);
        if known.is_some_and(|known| known.admin || !admin) {
            notices.push(format!("role \"{name}\" is already a member of role \"{role}\""));
            continue;
        }
        change.roles().set_membership(of, *member, Some(Membership { grantor: grantor.by, admin }));
    }
    Ok(notices)
}

fn remove_members(
    change: &mut Change,
    grantor: Grantor,
    of: RoleId,
    members: &[RoleId],
    admin_only: bool,
) -> Result<Vec<String>, Error> {
    let mut notices = Vec::new();
    check_admin(&change.definitions.roles, grantor.by, of)?;
    for member in members {
        let roles = change.roles();
        match roles.membership(of, *member) {
            None => {
                let (role, name) = (roles.name(of), roles.name(*member));
                notices.push(format!("role \"{name}\" is not a member of role \"{role}\""));
            }
            Some(known) => {
                let left = admin_only.then_some(Membership { admin: false, ..known });
                roles.set_membership(of, *member, left);
            }
        }
    }
    Ok(notices)
}
