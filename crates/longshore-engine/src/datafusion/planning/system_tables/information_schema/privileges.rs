//! `table_privileges`, `column_privileges` and `enabled_roles`. There is one role, which owns everything.

use super::super::SystemCatalog;
use super::super::lookups::roles;
use super::super::objects::{Body, RelationObject};
use super::super::rows::{Rows, text};
use super::{TABLE, place, yes};
use crate::sql::names::USER;

/// What the owner of a table may do with it.
const OF_TABLES: [&str; 7] = ["INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"];
/// The same of a column.
const OF_COLUMNS: [&str; 4] = ["INSERT", "SELECT", "UPDATE", "REFERENCES"];

pub(super) fn enabled_roles(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    for role in roles(catalog) {
        rows.row([("role_name", role.name.into())]);
    }
}

fn is_told(relation: &&RelationObject) -> bool {
    matches!(relation.body, Body::Table(..) | Body::View(_))
}

pub(super) fn tables(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.otherwise([("grantor", USER.into()), ("grantee", USER.into()), ("is_grantable", yes(true))]);
    for relation in catalog.objects().relations.iter().filter(is_told) {
        for privilege in OF_TABLES {
            let further = [("privilege_type", privilege.into()), ("with_hierarchy", yes(privilege == "SELECT"))];
            rows.row(place(TABLE, &relation.name).into_iter().chain(further));
        }
    }
}

pub(super) fn columns(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.otherwise([("grantor", USER.into()), ("grantee", USER.into()), ("is_grantable", yes(true))]);
    for relation in catalog.objects().relations.iter().filter(is_told) {
        let names: Vec<String> = match &relation.body {
            Body::Table(table, _) => {
                table.relation.schema().columns().iter().map(|column| column.name.clone()).collect()
            }
            Body::View(view) => catalog.view_columns(view).into_iter().flatten().map(|column| column.name).collect(),
            Body::Sequence(_) | Body::Index(..) => Vec::new(),
        };
        for name in names {
            for privilege in OF_COLUMNS {
                let further = [("column_name", text(&name)), ("privilege_type", privilege.into())];
                rows.row(place(TABLE, &relation.name).into_iter().chain(further));
            }
        }
    }
}
