//! `pg_description` and `pg_shdescription`: what people have said of objects (COMMENT ON).

use super::super::objects::{DATABASE_OID, Objects, number};
use super::super::rows::{Rows, text};
use super::super::{Comment, SystemCatalog};
use crate::catalog::Commented;
use crate::sql::names::{self, SCHEMA};

/// The OIDs of the tables that objects are in.
pub(in crate::datafusion::planning) const PG_TYPE_CLASS: u32 = 1247;
pub(in crate::datafusion::planning) const PG_CLASS_CLASS: u32 = 1259;
pub(in crate::datafusion::planning) const PG_DATABASE_CLASS: u32 = 1262;
pub(in crate::datafusion::planning) const PG_CONSTRAINT_CLASS: u32 = 2606;
pub(in crate::datafusion::planning) const PG_NAMESPACE_CLASS: u32 = 2615;

/// The table and the OID of what a comment is about, and the number of the column, or 0.
fn place(catalog: &SystemCatalog, objects: &Objects, on: &Commented) -> Option<(u32, u32, i64)> {
    Some(match on {
        Commented::Database => (PG_DATABASE_CLASS, DATABASE_OID, 0),
        Commented::Schema(name) => (PG_NAMESPACE_CLASS, objects.schema_oid(name), 0),
        Commented::Relation(name) => (PG_CLASS_CLASS, objects.relation_named(name)?.oid, 0),
        Commented::Index(of, name) => {
            let index = names::in_schema(names::parts(of).0, name);
            (PG_CLASS_CLASS, objects.relation_named(&index)?.oid, 0)
        }
        Commented::Column(of, name) => {
            let relation = objects.relation_named(of)?;
            let at = catalog.column_place(relation, name)?;
            (PG_CLASS_CLASS, relation.oid, number(at))
        }
        Commented::Constraint(of, name) => {
            let table = objects.relation_named(of)?.oid;
            let is_it = |place: usize| objects.relations[place].oid == table;
            let mut constraints = objects.constraints.iter();
            let found = constraints.find(|known| known.name == *name && known.table().is_some_and(is_it))?;
            (PG_CONSTRAINT_CLASS, found.oid, 0)
        }
        Commented::Type(name) => (PG_TYPE_CLASS, objects.user_type(|known| known.name == *name)?.oid, 0),
    })
}

/// All comments.
pub(in super::super) fn all(catalog: &SystemCatalog) -> Vec<Comment> {
    let objects = catalog.objects();
    let comments = catalog.catalog.definitions(|definitions| definitions.comments.clone());
    let found = comments.into_iter().filter_map(|(on, said)| {
        let (class, oid, column) = place(catalog, objects, &on)?;
        Some((class, oid, column, said))
    });
    let mut found: Vec<_> = found.collect();
    let public = objects.schema_oid(SCHEMA);
    let is_of_public = |on: &Comment| on.0 == PG_NAMESPACE_CLASS && on.1 == public;
    if public != 0 && !found.iter().any(is_of_public) {
        found.push((PG_NAMESPACE_CLASS, public, 0, "standard public schema".to_owned()));
    }
    found
}

pub(super) fn pg_description(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    for (class, oid, column, said) in catalog.comments() {
        if *class != PG_DATABASE_CLASS {
            rows.row([
                ("objoid", (*oid).into()),
                ("classoid", (*class).into()),
                ("objsubid", (*column).into()),
                ("description", text(said)),
            ]);
        }
    }
}

pub(super) fn pg_shdescription(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    for (class, oid, _, said) in catalog.comments() {
        if *class == PG_DATABASE_CLASS {
            rows.row([("objoid", (*oid).into()), ("classoid", (*class).into()), ("description", text(said))]);
        }
    }
}
