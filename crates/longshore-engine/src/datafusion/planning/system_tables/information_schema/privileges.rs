//! What `information_schema` says of roles and privileges: to each role what was granted to it, and what it has granted.

use super::super::SystemCatalog;
use super::super::objects::{Body, RelationObject};
use super::super::rows::{Cell, Rows, text};
use super::{TABLE, place, yes};
use crate::catalog::{Acl, Commented, Definitions, ObjectClass, Privileges, RoleId};

fn current_role(catalog: &SystemCatalog) -> RoleId {
    catalog.transaction.numbers().identity().current
}

pub(super) fn enabled_roles(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let roles = catalog.catalog.roles();
    for (_, role) in roles.all().filter(|(of, _)| roles.has_rights_of(current_role(catalog), *of)) {
        rows.row([("role_name", text(&role.name))]);
    }
}

pub(super) fn applicable_roles(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let roles = catalog.catalog.roles();
    let reached = roles.with_memberships(current_role(catalog));
    let is_superuser = roles.is_superuser(current_role(catalog));
    for (role, member, how) in roles.memberships().filter(|(_, member, _)| is_superuser || reached.contains(member)) {
        rows.row([
            ("grantee", roles.name(member).into()),
            ("role_name", roles.name(role).into()),
            ("is_grantable", yes(how.admin)),
        ]);
    }
}

/// The name of who has or gave a privilege.
fn name(definitions: &Definitions, role: RoleId) -> Cell {
    if role == RoleId::PUBLIC { "PUBLIC".into() } else { definitions.roles.name(role).into() }
}

/// A privilege that somebody was granted, as far as it concerns a role.
struct Granted {
    privilege: &'static str,
    cells: [(&'static str, Cell); 4],
}

/// What of a list concerns the current role; of roles alone, without what everybody has.
fn granted(
    catalog: &SystemCatalog,
    definitions: &Definitions,
    acl: &Acl,
    owner: RoleId,
    roles_only: bool,
) -> Vec<Granted> {
    let roles = &definitions.roles;
    let role = current_role(catalog);
    let concerns = |of: RoleId| roles.has_rights_of(role, of);
    let mut found = Vec::new();
    for item in &acl.0 {
        let is_of_public = item.grantee == RoleId::PUBLIC;
        let is_told = concerns(item.grantor) || !is_of_public && concerns(item.grantee);
        if if roles_only { !is_told || is_of_public } else { !is_told && !is_of_public } {
            continue;
        }
        for (privilege, privilege_name) in item.privileges.names() {
            let is_grantable = item.options.has(privilege) || item.grantee == owner;
            let cells = [
                ("grantor", name(definitions, item.grantor)),
                ("grantee", name(definitions, item.grantee)),
                ("privilege_type", privilege_name.into()),
                ("is_grantable", yes(is_grantable)),
            ];
            found.push(Granted { privilege: privilege_name, cells });
        }
    }
    found
}

fn is_told(relation: &&RelationObject) -> bool {
    matches!(relation.body, Body::Table(..) | Body::View(_))
}

pub(super) fn tables(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    of_tables(catalog, rows, false);
}

pub(super) fn tables_of_roles(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    of_tables(catalog, rows, true);
}

fn of_tables(catalog: &SystemCatalog, rows: &mut Rows<'_>, roles_only: bool) {
    for relation in catalog.objects().relations.iter().filter(is_told) {
        let on = Commented::Relation(relation.name.clone());
        let found = catalog.catalog.definitions(|definitions| {
            let acl = definitions.acl(&on, ObjectClass::Table);
            granted(catalog, definitions, &acl, definitions.owner(&on), roles_only)
        });
        for Granted { privilege, cells } in found {
            let further = [("with_hierarchy", yes(privilege == "SELECT"))];
            rows.row(place(TABLE, &relation.name).into_iter().chain(cells).chain(further));
        }
    }
}

pub(super) fn columns(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    of_columns(catalog, rows, false);
}

pub(super) fn columns_of_roles(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    of_columns(catalog, rows, true);
}

fn of_columns(catalog: &SystemCatalog, rows: &mut Rows<'_>, roles_only: bool) {
    for relation in catalog.objects().relations.iter().filter(is_told) {
        let names: Vec<String> = match &relation.body {
            Body::Table(table, _) => {
                table.relation.schema().columns().iter().map(|column| column.name.clone()).collect()
            }
            Body::View(view) => catalog.view_columns(view).into_iter().flatten().map(|column| column.name).collect(),
            Body::Sequence(_) | Body::Index(..) => Vec::new(),
        };
        let whole = Commented::Relation(relation.name.clone());
        for column in names {
            let on = Commented::Column(relation.name.clone(), column.clone());
            let found = catalog.catalog.definitions(|definitions| {
                let mut acl = definitions.acl(&whole, ObjectClass::Table).into_owned();
                for item in &mut acl.0 {
                    item.privileges = item.privileges & Privileges::OF_COLUMN;
                }
                acl.0.extend(&definitions.acl(&on, ObjectClass::Column).0);
                granted(catalog, definitions, &acl, definitions.owner(&whole), roles_only)
            });
            for Granted { cells, .. } in found {
                let further = [("column_name", text(&column))];
                rows.row(place(TABLE, &relation.name).into_iter().chain(cells).chain(further));
            }
        }
    }
}
