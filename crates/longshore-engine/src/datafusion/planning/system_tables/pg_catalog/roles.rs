//! `pg_authid`, `pg_roles`, `pg_user` and `pg_shadow`: who there is.

use super::super::objects::OWNER_OID;
use super::super::rows::{Cell, Rows};
use super::super::{Fill, SystemCatalog};
use crate::sql::names::USER;

/// A role.
pub(in crate::datafusion::planning) struct RoleObject {
    pub(in crate::datafusion::planning) oid: u32,
    pub(in crate::datafusion::planning) name: String,
    pub(in crate::datafusion::planning) is_superuser: bool,
    pub(in crate::datafusion::planning) can_sign_in: bool,
}

/// All roles.
pub(in crate::datafusion::planning) fn roles(_: &SystemCatalog) -> Vec<RoleObject> {
    vec![RoleObject { oid: OWNER_OID, name: USER.to_owned(), is_superuser: true, can_sign_in: true }]
}

/// What stands for a password that nobody may see.
const HIDDEN: &str = "********";

/// What fills the table of this name.
pub(super) fn fill(name: &str) -> Option<Fill> {
    Some(match name {
        "pg_authid" => |catalog, rows| fill_roles(catalog, rows, &Cell::Null),
        "pg_roles" => |catalog, rows| fill_roles(catalog, rows, &HIDDEN.into()),
        "pg_shadow" => |catalog, rows| fill_users(catalog, rows, &Cell::Null),
        "pg_user" => |catalog, rows| fill_users(catalog, rows, &HIDDEN.into()),
        _ => return None,
    })
}

fn fill_roles(catalog: &SystemCatalog, rows: &mut Rows<'_>, password: &Cell) {
    for role in roles(catalog) {
        let all = || Cell::Bool(role.is_superuser);
        rows.row([
            ("oid", role.oid.into()),
            ("rolname", role.name.clone().into()),
            ("rolsuper", all()),
            ("rolinherit", true.into()),
            ("rolcreaterole", all()),
            ("rolcreatedb", all()),
            ("rolcanlogin", role.can_sign_in.into()),
            ("rolreplication", all()),
            ("rolbypassrls", all()),
            ("rolconnlimit", (-1).into()),
            ("rolpassword", password.clone()),
        ]);
    }
}

fn fill_users(catalog: &SystemCatalog, rows: &mut Rows<'_>, password: &Cell) {
    for role in roles(catalog).into_iter().filter(|role| role.can_sign_in) {
        let all = || Cell::Bool(role.is_superuser);
        rows.row([
            ("usename", role.name.clone().into()),
            ("usesysid", role.oid.into()),
            ("usecreatedb", all()),
            ("usesuper", all()),
            ("userepl", all()),
            ("usebypassrls", all()),
            ("passwd", password.clone()),
        ]);
    }
}
