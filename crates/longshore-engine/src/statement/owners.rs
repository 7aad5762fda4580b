//! What belongs to roles: REASSIGN OWNED and DROP OWNED, and what keeps a role from being dropped.

use sqlparser::ast::{ObjectName, ObjectType};

use crate::catalog::{Access, Acl, AclItem, Behavior, Change, Commented, RoleId, Roles};
use crate::sql::build;
use crate::sql::names;
use crate::sql::roles::RoleSpec;
use crate::statement::role_names::{denied, named};
use crate::statement::{Context, drop, schemas, sequence, user_types};
use crate::{Error, ErrorKind, Outcome};

/// What messages call something.
fn shown(change: &Change, what: &Commented) -> String {
    match what {
        Commented::Database => format!("database {}", names::CATALOG),
        Commented::Schema(name) => format!("schema {name}"),
        Commented::Type(name) => format!("type {name}"),
        Commented::Relation(name) => format!("{} {name}", change.kind_of(name)),
        Commented::Column(of, name) => format!("column {name} of {} {of}", change.kind_of(of)),
        Commented::Index(_, name) => format!("index {name}"),
        Commented::Constraint(_, name) => format!("constraint {name}"),
    }
}

/// Refuses to drop a role that something belongs to, or is granted to or by.
pub(crate) fn check_independent(change: &Change, role: RoleId, name: &str) -> Result<(), Error> {
    let definitions = &change.definitions;
    let mut dependents: Vec<String> = definitions
        .dependents(role)
        .into_iter()
        .map(|(what, is_owner)| {
            let part = if is_owner { "owner of" } else { "privileges for" };
            format!("{part} {}", shown(change, what))
        })
        .collect();
    let defaults = definitions.defaults.iter().filter(|(of, acl)| of.creator == role || acl.names(role));
    dependents.extend(
        defaults.map(|(of, _)| {
            format!("default privileges for new objects of role {}", definitions.roles.name(of.creator))
        }),
    );
    if dependents.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Dependent,
        format!(
            "role \"{name}\" cannot be dropped because some objects depend on it: {}; REASSIGN OWNED and DROP OWNED deal \
             with them",
            dependents.join("; ")
        ),
    ))
}

/// The roles whose belongings a statement is about; who acts must have their rights.
fn owners(context: &Context<'_>, of: &[RoleSpec], verb: &str) -> Result<Vec<RoleId>, Error> {
    let by = context.transaction.numbers().identity().current;
    let roles = context.database.catalog.roles();
    of.iter()
        .map(|role| {
            let role = named(context, role)?;
            if !roles.has_rights_of(by, role) {
                return Err(denied(format!("permission denied to {verb} objects")));
            }
            if role.is_of_system() {
                return Err(Error::new(
                    ErrorKind::Dependent,
                    format!(
                        "cannot {verb} objects owned by role {} because they are required by the database system",
                        roles.name(role)
                    ),
                ));
            }
            Ok(role)
        })
        .collect()
}

/// REASSIGN OWNED: all that belongs to some roles belongs to another one.
pub(crate) fn reassign_owned(context: &Context<'_>, of: &[RoleSpec], to: &RoleSpec) -> Result<Outcome, Error> {
    let of = owners(context, of, "reassign")?;
    let to = named(context, to)?;
    let by = context.transaction.numbers().identity().current;
    context.database.catalog.change(|change| {
        let definitions = &mut change.definitions;
        if !definitions.roles.has_rights_of(by, to) {
            return Err(denied("permission denied to reassign objects"));
        }
        let is_owned = |(on, access): (&Commented, &Access)| {
            access.owner.is_some_and(|owner| of.contains(&owner)).then(|| on.clone())
        };
        let owned: Vec<Commented> = definitions.access.iter().filter_map(is_owned).collect();
        for what in owned {
            definitions.set_owner(&what, to);
        }
        Ok(())
    })?;
    Ok(Outcome::done("REASSIGN OWNED"))
}

/// DROP OWNED: drops all that belongs to some roles, and takes away what is granted to them. It runs in a block, so that all of
/// it is done or nothing.
pub(crate) fn drop_owned(context: &Context<'_>, of: &[RoleSpec], cascade: bool) -> Result<Outcome, Error> {
    let of = owners(context, of, "drop")?;
    let catalog = &context.database.catalog;
    let owned: Vec<Commented> = catalog.definitions(|definitions| {
        let is_owned = |access: &Access| access.owner.is_some_and(|owner| of.contains(&owner));
        definitions.access.iter().filter(|(_, access)| is_owned(access)).map(|(on, _)| on.clone()).collect()
    });
    let relations = |kind: &str| -> Vec<ObjectName> {
        let relations = owned.iter().filter_map(|on| match on {
            Commented::Relation(name) => Some(name),
            _ => None,
        });
        relations.filter(|name| catalog.kind_of(name) == Some(kind)).map(|name| build::written(name)).collect()
    };
    for (kind, object_type) in [("view", ObjectType::View), ("table", ObjectType::Table)] {
        let names = relations(kind);
        if !names.is_empty() {
            drop::drop_objects(context, object_type, true, &names, cascade, false)?;
        }
    }
    // Those of tables went with them.
    let sequences = relations("sequence");
    if !sequences.is_empty() {
        sequence::drop_sequences(context, true, &sequences, cascade)?;
    }
    let (mut types, mut own_schemas) = (Vec::new(), Vec::new());
    for on in &owned {
        match on {
            Commented::Type(name) => types.push(build::written(name)),
            Commented::Schema(name) => own_schemas.push(ObjectName::from(vec![build::quoted(name)])),
            _ => {}
        }
    }
    if !types.is_empty() {
        user_types::drop_types(context, true, &types, "DROP TYPE")?;
    }
    if !own_schemas.is_empty() {
        schemas::drop_schemas(context, true, &own_schemas, cascade)?;
    }
    catalog.change(|change| {
        let roles = std::sync::Arc::clone(&change.definitions.roles);
        let granted: Vec<(Commented, Acl)> = change
            .definitions
            .access
            .iter()
            .filter_map(|(on, access)| Some((on.clone(), access.acl.clone()?)))
            .collect();
        for (on, mut acl) in granted {
            let owner = change.definitions.owner(&on);
            for role in &of {
                revoke_all(&mut acl, &roles, *role, owner)?;
            }
            change.definitions.set_acl(&on, acl);
        }
        let defaults: Vec<_> = change.definitions.defaults.clone().into_iter().collect();
        for (defaults, mut acl) in defaults {
            if of.contains(&defaults.creator) {
                change.definitions.set_defaults(defaults, None);
                continue;
            }
            for role in &of {
                revoke_all(&mut acl, &roles, *role, defaults.creator)?;
            }
            change.definitions.set_defaults(defaults, Some(acl));
        }
        Ok(())
    })?;
    Ok(Outcome::done("DROP OWNED"))
}

/// Takes away all that a role was granted, and with it what it has granted.
fn revoke_all(acl: &mut Acl, roles: &Roles, role: RoleId, owner: RoleId) -> Result<(), Error> {
    if role == owner {
        return Ok(());
    }
    let is_its = |item: &AclItem| item.grantee == role || item.grantor == role;
    while let Some(item) = acl.0.iter().find(|item| is_its(item)).copied() {
        acl.remove(roles, item, owner, Behavior::Cascade)?;
    }
    Ok(())
}
