//! What `information_schema` says of roles and privileges: to each role what was granted to it, and what it has granted.

use super::columns::{Cell, Columns};
use super::{Described, place, yes};
use crate::catalog::{Acl, Commented, Definitions, Entry, ObjectClass, Privileges, RoleId};

pub(super) const TABLE_PRIVILEGES: Columns = &[
    "grantor",
    "grantee",
    "table_catalog",
    "table_schema",
    "table_name",
    "privilege_type",
    "is_grantable",
    "with_hierarchy",
];
pub(super) const COLUMN_PRIVILEGES: Columns = &[
    "grantor",
    "grantee",
    "table_catalog",
    "table_schema",
    "table_name",
    "column_name",
    "privilege_type",
    "is_grantable",
];
pub(super) const ENABLED_ROLES: Columns = &["role_name"];
pub(super) const APPLICABLE_ROLES: Columns = &["grantee", "role_name", "is_grantable"];

/// The name of who has or gave a privilege.
fn name(definitions: &Definitions, role: RoleId) -> Cell {
    if role == RoleId::PUBLIC { "PUBLIC".into() } else { definitions.roles.name(role).into() }
}

impl Described<'_> {
    fn current_role(&self) -> RoleId {
        self.planner.transaction.numbers().identity().current
    }

    /// Grantor, grantee, privilege and whether it may be granted further, of what concerns the current role; of roles alone,
    /// without what everybody has.
    fn items(&self, definitions: &Definitions, on: &Commented, acl: &Acl, roles_only: bool) -> Vec<[Cell; 4]> {
        let enabled = definitions.roles.with_rights(self.current_role());
        let is_superuser = definitions.roles.is_superuser(self.current_role());
        let concerns = |role: RoleId| is_superuser || enabled.contains(&role);
        let owner = definitions.owner(on);
        let mut found = Vec::new();
        for item in &acl.0 {
            let is_of_public = item.grantee == RoleId::PUBLIC;
            if !(concerns(item.grantor) || concerns(item.grantee) || is_of_public) || roles_only && is_of_public {
                continue;
            }
            for (privilege, privilege_name) in item.privileges.names() {
                let is_grantable = item.options.has(privilege) || item.grantee == owner;
                found.push([
                    name(definitions, item.grantor),
                    name(definitions, item.grantee),
                    privilege_name.into(),
                    yes(is_grantable).into(),
                ]);
            }
        }
        found
    }

    pub(super) fn table_privileges(&self, roles_only: bool) -> Vec<Vec<Cell>> {
        let entries = self.entries();
        self.planner.catalog.definitions(|definitions| {
            let mut rows = Vec::new();
            for entry in &entries {
                let on = Commented::Relation(entry.name().to_owned());
                let acl = definitions.acl(&on, ObjectClass::Table);
                for [grantor, grantee, privilege, is_grantable] in self.items(definitions, &on, &acl, roles_only) {
                    let mut row = vec![grantor, grantee];
                    row.extend(place(entry.name()));
                    row.extend([privilege, is_grantable, "NO".into()]);
                    rows.push(row);
                }
            }
            rows
        })
    }

    pub(super) fn column_privileges(&self) -> Vec<Vec<Cell>> {
        let entries = self.entries();
        self.planner.catalog.definitions(|definitions| {
            let mut rows = Vec::new();
            for entry in &entries {
                let Entry::Table(table) = entry else { continue };
                let whole = Commented::Relation(table.name.clone());
                let mut of_table = definitions.acl(&whole, ObjectClass::Table).into_owned();
                for item in &mut of_table.0 {
                    item.privileges = item.privileges & Privileges::OF_COLUMN;
                }
                for column in table.relation.schema().columns() {
                    let on = Commented::Column(table.name.clone(), column.name.clone());
                    let mut acl = of_table.clone();
                    acl.0.extend(&definitions.acl(&on, ObjectClass::Column).0);
                    for [grantor, grantee, privilege, is_grantable] in self.items(definitions, &whole, &acl, false) {
                        let mut row = vec![grantor, grantee];
                        row.extend(place(&table.name));
                        row.extend([column.name.as_str().into(), privilege, is_grantable]);
                        rows.push(row);
                    }
                }
            }
            rows
        })
    }

    pub(super) fn enabled_roles(&self) -> Vec<Vec<Cell>> {
        let roles = self.planner.catalog.roles();
        let role = self.current_role();
        let enabled = roles.all().filter(|(of, _)| roles.has_rights_of(role, *of));
        enabled.map(|(_, of)| vec![of.name.as_str().into()]).collect()
    }

    pub(super) fn applicable_roles(&self) -> Vec<Vec<Cell>> {
        let roles = self.planner.catalog.roles();
        let reached = roles.with_memberships(self.current_role());
        let applies = |member: &RoleId| roles.is_superuser(self.current_role()) || reached.contains(member);
        let memberships = roles.memberships().filter(|(_, member, _)| applies(member));
        memberships
            .map(|(role, member, how)| vec![roles.name(member).into(), roles.name(role).into(), yes(how.admin).into()])
            .collect()
    }
}
