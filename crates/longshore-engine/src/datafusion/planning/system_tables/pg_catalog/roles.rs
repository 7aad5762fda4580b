//! `pg_authid`, `pg_roles`, `pg_user` and `pg_shadow`: who there is; `pg_auth_members`: who is a member of which role.

use super::super::objects::DATABASE_OID;
use super::super::rows::{Cell, Rows, text};
use super::super::{Fill, SystemCatalog};
use crate::catalog::{RoleDefinition, RoleId, Roles, SettingsOf};

/// A role.
pub(in crate::datafusion::planning) struct RoleObject {
    pub(in crate::datafusion::planning) oid: u32,
    pub(in crate::datafusion::planning) name: String,
}

/// All roles.
pub(in crate::datafusion::planning) fn roles(catalog: &SystemCatalog) -> Vec<RoleObject> {
    let roles = catalog.catalog.roles();
    roles.all().map(|(id, role)| RoleObject { oid: id.0, name: role.name.clone() }).collect()
}

/// What stands for a password that nobody may see.
const HIDDEN: &str = "********";

/// What fills the table of this name.
pub(super) fn fill(name: &str) -> Option<Fill> {
    Some(match name {
        "pg_authid" => |catalog, rows| fill_roles(catalog, rows, true),
        "pg_roles" => |catalog, rows| fill_roles(catalog, rows, false),
        "pg_shadow" => |catalog, rows| fill_users(catalog, rows, true),
        "pg_user" => |catalog, rows| fill_users(catalog, rows, false),
        "pg_auth_members" => members,
        "pg_db_role_setting" => settings,
        "pg_group" => groups,
        _ => return None,
    })
}

fn password(role: &RoleDefinition, is_shown: bool) -> Cell {
    if is_shown { role.password.clone().into() } else { HIDDEN.into() }
}

/// Settings as `name=value`.
fn shown(settings: &[(String, String)]) -> Cell {
    let shown: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if shown.is_empty() { Cell::Null } else { shown.into() }
}

fn own_settings(roles: &Roles, role: RoleId) -> Cell {
    shown(roles.settings(SettingsOf { role: Some(role), in_database: false }))
}

fn fill_roles(catalog: &SystemCatalog, rows: &mut Rows<'_>, shows_passwords: bool) {
    let roles = catalog.catalog.roles();
    for (id, role) in roles.all() {
        let mut cells = vec![
            ("oid", id.0.into()),
            ("rolname", text(&role.name)),
            ("rolsuper", role.is_superuser.into()),
            ("rolinherit", role.inherits.into()),
            ("rolcreaterole", role.creates_roles.into()),
            ("rolcreatedb", role.creates_databases.into()),
            ("rolcanlogin", role.logs_in.into()),
            ("rolreplication", role.replicates.into()),
            ("rolbypassrls", role.bypasses_row_security.into()),
            ("rolconnlimit", role.connection_limit.into()),
            ("rolpassword", password(role, shows_passwords)),
            ("rolvaliduntil", role.valid_until.into()),
        ];
        if !shows_passwords {
            cells.push(("rolconfig", own_settings(&roles, id)));
        }
        rows.row(cells);
    }
}

fn fill_users(catalog: &SystemCatalog, rows: &mut Rows<'_>, shows_passwords: bool) {
    let roles = catalog.catalog.roles();
    for (id, role) in roles.all().filter(|(_, role)| role.logs_in) {
        rows.row([
            ("usename", text(&role.name)),
            ("usesysid", id.0.into()),
            ("usecreatedb", role.creates_databases.into()),
            ("usesuper", role.is_superuser.into()),
            ("userepl", role.replicates.into()),
            ("usebypassrls", role.bypasses_row_security.into()),
            ("passwd", password(role, shows_passwords)),
            ("valuntil", role.valid_until.into()),
            ("useconfig", own_settings(&roles, id)),
        ]);
    }
}

fn members(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    for (role, member, how) in catalog.catalog.roles().memberships() {
        rows.row([
            ("roleid", role.0.into()),
            ("member", member.0.into()),
            ("grantor", how.grantor.0.into()),
            ("admin_option", how.admin.into()),
        ]);
    }
}

fn settings(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    for (of, settings) in catalog.catalog.roles().all_settings() {
        rows.row([
            ("setdatabase", if of.in_database { DATABASE_OID } else { 0 }.into()),
            ("setrole", of.role.map_or(0, |role| role.0).into()),
            ("setconfig", shown(settings)),
        ]);
    }
}

fn groups(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let roles = catalog.catalog.roles();
    for (id, role) in roles.all().filter(|(_, role)| !role.logs_in) {
        let members = roles.memberships().filter(|(of, ..)| *of == id);
        let members: Vec<i64> = members.map(|(_, member, _)| member.0.into()).collect();
        rows.row([("groname", text(&role.name)), ("grosysid", id.0.into()), ("grolist", members.into())]);
    }
}
