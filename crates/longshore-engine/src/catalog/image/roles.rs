//! Roles, owners and privileges as bytes.

use std::sync::Arc;

use super::{is_of_temporary, put_commented, take_commented};
use crate::Error;
use crate::catalog::operations::{Operation, Operations};
use crate::catalog::wire::{Reader, Writer, damaged};
use crate::catalog::{
    Access, Acl, AclItem, DefaultsFor, DefaultsOf, Definitions, Membership, Privileges, RoleDefinition, RoleId, Roles,
    SettingsOf,
};

/// What is said of roles, owners and privileges that was otherwise before.
pub(super) fn describe(operations: &mut Operations, before: &Definitions, after: &Definitions) {
    if !Arc::ptr_eq(&before.roles, &after.roles) {
        describe_roles(operations, &before.roles, &after.roles);
    }
    let gone = before.access.keys().filter(|on| !after.access.contains_key(*on)).map(|on| (on, None));
    let new = after.access.iter().filter(|(on, access)| before.access.get(*on) != Some(*access));
    for (on, access) in gone.chain(new.map(|(on, access)| (on, Some(access)))) {
        if is_of_temporary(on) {
            continue;
        }
        let writer = operations.begin(Operation::Access);
        put_commented(writer, on);
        writer.optional(access, |writer, access| {
            writer.optional(access.owner, put_role);
            writer.optional(access.acl.as_ref(), put_acl);
        });
    }
    let gone = before.defaults.keys().filter(|of| !after.defaults.contains_key(*of)).map(|of| (of, None));
    let new = after.defaults.iter().filter(|(of, acl)| before.defaults.get(*of) != Some(*acl));
    for (of, acl) in gone.chain(new.map(|(of, acl)| (of, Some(acl)))) {
        let writer = operations.begin(Operation::DefaultPrivileges);
        put_role(writer, of.creator);
        writer.optional(of.schema.as_deref(), Writer::text);
        writer.byte(match of.kind {
            DefaultsFor::Tables => 0,
            DefaultsFor::Sequences => 1,
            DefaultsFor::Types => 2,
            DefaultsFor::Schemas => 3,
        });
        writer.optional(acl, put_acl);
    }
}

fn describe_roles(operations: &mut Operations, before: &Roles, after: &Roles) {
    let gone = before.roles.keys().filter(|id| !after.roles.contains_key(*id)).map(|id| (*id, None));
    let new = after.roles.iter().filter(|(id, role)| before.roles.get(*id) != Some(*role));
    for (id, role) in gone.chain(new.map(|(id, role)| (*id, Some(role)))) {
        let writer = operations.begin(Operation::Role);
        put_role(writer, id);
        writer.optional(role, put_definition);
    }
    let gone = before.members.keys().filter(|key| !after.members.contains_key(*key)).map(|key| (*key, None));
    let new = after.members.iter().filter(|(key, how)| before.members.get(*key) != Some(*how));
    for ((role, member), how) in gone.chain(new.map(|(key, how)| (*key, Some(*how)))) {
        let writer = operations.begin(Operation::Membership);
        put_role(writer, role);
        put_role(writer, member);
        writer.optional(how, |writer, how| {
            put_role(writer, how.grantor);
            writer.flag(how.admin);
        });
    }
    let gone = before.settings.keys().filter(|of| !after.settings.contains_key(*of)).map(|of| (*of, &[][..]));
    let new = after.settings.iter().filter(|(of, settings)| before.settings.get(*of) != Some(*settings));
    for (of, settings) in gone.chain(new.map(|(of, settings)| (*of, settings.as_slice()))) {
        let writer = operations.begin(Operation::RoleSettings);
        writer.optional(of.role, put_role);
        writer.flag(of.in_database);
        writer.list(settings, |writer, (name, value)| {
            writer.text(name);
            writer.text(value);
        });
    }
}

fn put_role(writer: &mut Writer, role: RoleId) {
    writer.number(role.0.into());
}

fn take_id(reader: &mut Reader<'_>) -> Result<RoleId, Error> {
    let number = u32::try_from(reader.number()?);
    number.map(RoleId).map_err(|_| damaged("no role has such a number"))
}

fn put_definition(writer: &mut Writer, role: &RoleDefinition) {
    writer.text(&role.name);
    for attribute in [
        role.is_superuser,
        role.inherits,
        role.creates_roles,
        role.creates_databases,
        role.logs_in,
        role.replicates,
        role.bypasses_row_security,
    ] {
        writer.flag(attribute);
    }
    writer.signed(role.connection_limit.into());
    writer.optional(role.password.as_deref(), Writer::text);
    writer.optional(role.valid_until, Writer::signed);
}

fn take_definition(reader: &mut Reader<'_>) -> Result<RoleDefinition, Error> {
    Ok(RoleDefinition {
        name: reader.text()?,
        is_superuser: reader.flag()?,
        inherits: reader.flag()?,
        creates_roles: reader.flag()?,
        creates_databases: reader.flag()?,
        logs_in: reader.flag()?,
        replicates: reader.flag()?,
        bypasses_row_security: reader.flag()?,
        connection_limit: i32::try_from(reader.signed()?).map_err(|_| damaged("no role has so many sessions"))?,
        password: reader.optional(Reader::text)?,
        valid_until: reader.optional(Reader::signed)?,
    })
}

fn put_acl(writer: &mut Writer, acl: &Acl) {
    writer.list(&acl.0, |writer, item| {
        put_role(writer, item.grantee);
        put_role(writer, item.grantor);
        writer.number(item.privileges.0.into());
        writer.number(item.options.0.into());
    });
}

fn take_acl(reader: &mut Reader<'_>) -> Result<Acl, Error> {
    let privileges = |reader: &mut Reader<'_>| {
        let bits = u16::try_from(reader.number()?);
        bits.map(Privileges).map_err(|_| damaged("there are no such privileges"))
    };
    let items = reader.list(|reader| {
        Ok(AclItem {
            grantee: take_id(reader)?,
            grantor: take_id(reader)?,
            privileges: privileges(reader)?,
            options: privileges(reader)?,
        })
    });
    items.map(Acl)
}

pub(super) fn take_role(reader: &mut Reader<'_>, definitions: &mut Definitions) -> Result<(), Error> {
    let id = take_id(reader)?;
    let roles = Arc::make_mut(&mut definitions.roles);
    roles.next = roles.next.max(id.0.saturating_add(1));
    match reader.optional(take_definition)? {
        Some(role) => drop(roles.roles.insert(id, role)),
        None => drop(roles.roles.remove(&id)),
    }
    Ok(())
}

pub(super) fn take_membership(reader: &mut Reader<'_>, definitions: &mut Definitions) -> Result<(), Error> {
    let (role, member) = (take_id(reader)?, take_id(reader)?);
    let how = reader.optional(|reader| Ok(Membership { grantor: take_id(reader)?, admin: reader.flag()? }))?;
    Arc::make_mut(&mut definitions.roles).set_membership(role, member, how);
    Ok(())
}

pub(super) fn take_settings(reader: &mut Reader<'_>, definitions: &mut Definitions) -> Result<(), Error> {
    let of = SettingsOf { role: reader.optional(take_id)?, in_database: reader.flag()? };
    let settings = reader.list(|reader| Ok((reader.text()?, reader.text()?)))?;
    let roles = Arc::make_mut(&mut definitions.roles);
    if settings.is_empty() {
        roles.reset(of);
    } else {
        roles.settings.insert(of, settings);
    }
    Ok(())
}

pub(super) fn take_defaults(reader: &mut Reader<'_>, definitions: &mut Definitions) -> Result<(), Error> {
    let (creator, schema) = (take_id(reader)?, reader.optional(Reader::text)?);
    let kind = match reader.byte()? {
        0 => DefaultsFor::Tables,
        1 => DefaultsFor::Sequences,
        2 => DefaultsFor::Types,
        3 => DefaultsFor::Schemas,
        other => return Err(damaged(&format!("default privileges are on objects of the kind {other}"))),
    };
    let acl = reader.optional(take_acl)?;
    definitions.set_defaults(DefaultsOf { creator, schema, kind }, acl);
    Ok(())
}

pub(super) fn take_access(reader: &mut Reader<'_>, definitions: &mut Definitions) -> Result<(), Error> {
    let on = take_commented(reader)?;
    let access =
        reader.optional(|reader| Ok(Access { owner: reader.optional(take_id)?, acl: reader.optional(take_acl)? }))?;
    match access {
        Some(access) => drop(definitions.access.insert(on, access)),
        None => drop(definitions.access.remove(&on)),
    }
    Ok(())
}
