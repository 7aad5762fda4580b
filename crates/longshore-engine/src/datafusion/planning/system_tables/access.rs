//! Owners and privileges as system tables show them.

use super::SystemCatalog;
use super::rows::Cell;
use crate::catalog::{Commented, ObjectClass};
use crate::sql::names::SCHEMA;

/// The OID of the role that something belongs to.
pub(super) fn owner(catalog: &SystemCatalog, of: &Commented) -> Cell {
    catalog.catalog.definitions(|definitions| definitions.owner(of)).0.into()
}

/// The name of that role.
pub(super) fn owner_name(catalog: &SystemCatalog, of: &Commented) -> Cell {
    catalog.catalog.definitions(|definitions| definitions.roles.name(definitions.owner(of))).into()
}

/// The privileges on something; NULL where they are the usual ones.
pub(super) fn acl(catalog: &SystemCatalog, on: &Commented) -> Cell {
    catalog.catalog.definitions(|definitions| {
        if matches!(on, Commented::Schema(name) if name == SCHEMA) {
            return definitions.acl(on, ObjectClass::Schema).shown(&definitions.roles).into();
        }
        let said = definitions.access.get(on).and_then(|access| access.acl.as_ref());
        said.map(|acl| acl.shown(&definitions.roles)).into()
    })
}

/// The owner and the privileges of a table, view or sequence.
pub(super) fn of_relation(catalog: &SystemCatalog, name: &str) -> [Cell; 2] {
    let on = Commented::Relation(name.to_owned());
    [owner(catalog, &on), acl(catalog, &on)]
}
