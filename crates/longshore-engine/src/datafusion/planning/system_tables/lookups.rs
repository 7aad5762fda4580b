//! What functions look up in rows that are fixed, by OIDs and names.

use super::definition;
use super::fixed;
use super::objects::Body;
use super::pg_catalog::roles::RoleObject;
use super::rows::Cell;
use super::{PG_CATALOG, SystemCatalog, pg_catalog, types};
use crate::catalog::{ObjectId, UserType};
use crate::sql::{in_text, names};

/// All roles.
pub(in crate::datafusion::planning) fn roles(catalog: &SystemCatalog) -> Vec<RoleObject> {
    pg_catalog::roles::roles(catalog)
}

/// The names of the columns of a table or view, as far as they are known.
pub(in crate::datafusion::planning) fn columns_of(catalog: &SystemCatalog, name: &str) -> Vec<String> {
    match catalog.objects().relation_named(name).map(|relation| &relation.body) {
        Some(Body::Table(table, _)) => {
            table.relation.schema().columns().iter().map(|column| column.name.clone()).collect()
        }
        Some(Body::View(view)) => match catalog.view_columns(view) {
            Some(columns) => columns.into_iter().map(|column| column.name).collect(),
            None => view.columns.clone(),
        },
        _ => Vec::new(),
    }
}

/// The fixed row of an OID, which is the first column.
fn row(table: &str, oid: u32) -> Option<&'static Vec<Cell>> {
    let rows = &fixed::table(table)?.rows;
    let place = rows.binary_search_by_key(&i64::from(oid), |row| match row.first() {
        Some(Cell::Int(oid)) => *oid,
        _ => 0,
    });
    rows.get(place.ok()?)
}

/// The value of a column in the fixed row of an OID, as a text.
pub(in crate::datafusion::planning) fn system_rows(table: &str, column: &str, oid: u32) -> Option<String> {
    match &row(table, oid)?[fixed::place(table, column)] {
        Cell::Text(text) => Some(text.to_string()),
        Cell::Int(value) => Some(value.to_string()),
        Cell::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// The OID of the first fixed row with this text in a column.
pub(in crate::datafusion::planning) fn system_oid(table: &str, column: &str, text: &str) -> Option<u32> {
    let place = fixed::place(table, column);
    let is_it = |row: &&Vec<Cell>| matches!(&row[place], Cell::Text(known) if known == text);
    match fixed::table(table)?.rows.iter().find(is_it)?.first()? {
        Cell::Int(oid) => u32::try_from(*oid).ok(),
        _ => None,
    }
}

/// The types of the arguments of a function of the system.
pub(in crate::datafusion::planning) fn arguments_of(oid: u32) -> Option<Vec<u32>> {
    match &row("pg_proc", oid)?[fixed::place("pg_proc", "proargtypes")] {
        Cell::Ints(oids) => Some(oids.iter().filter_map(|oid| u32::try_from(*oid).ok()).collect()),
        _ => Some(Vec::new()),
    }
}

/// The OID of a table of `pg_catalog`.
pub(in crate::datafusion::planning) fn system_relation(name: &str) -> Option<u32> {
    definition::find(PG_CATALOG, name).map(|known| known.oid)
}

/// What PostgreSQL says of an object of the system that is in a table, or in any.
pub(in crate::datafusion::planning) fn system_comment(class: Option<u32>, oid: u32) -> Option<String> {
    let place = |name| fixed::place("pg_description", name);
    let (objects, classes, said) = (place("objoid"), place("classoid"), place("description"));
    let is_it = |row: &&Vec<Cell>| {
        row[objects] == Cell::from(oid) && class.is_none_or(|class| row[classes] == Cell::from(class))
    };
    match &fixed::table("pg_description")?.rows.iter().find(is_it)?[said] {
        Cell::Text(text) => Some(text.to_string()),
        _ => None,
    }
}

/// The OID of the type that a text names.
pub(in crate::datafusion::planning) fn type_named(catalog: &SystemCatalog, text: &str) -> Option<u32> {
    types::named(catalog.objects(), text).or_else(|| row_type_named(catalog, text))
}

/// The type of the rows of the table or view that a text names, or that of arrays of them.
fn row_type_named(catalog: &SystemCatalog, text: &str) -> Option<u32> {
    let objects = catalog.objects();
    let (text, is_array) = text.trim().strip_suffix("[]").map_or((text.trim(), false), |element| (element, true));
    let written = in_text::written(text).ok()?;
    let candidates: Vec<String> = match written.split_once(names::SEPARATOR) {
        Some((schema, own)) => vec![names::in_schema(schema, own)],
        None => objects.path.iter().map(|schema| names::in_schema(schema, &written)).collect(),
    };
    let found = candidates.iter().find_map(|name| objects.relation_named(name))?;
    let of = if is_array { ObjectId::RowArrayType(found.oid) } else { ObjectId::RowType(found.oid) };
    found.has_row_type().then(|| catalog.catalog.oid(of))
}

/// The type that a domain is over, be it by way of other domains.
pub(in crate::datafusion::planning) fn base_of_domain(catalog: &SystemCatalog, oid: u32) -> Option<u32> {
    let objects = catalog.objects();
    let mut base = None;
    let mut at = oid;
    // A domain cannot be over itself.
    while let Some(domain) =
        objects.user_type(|known| known.oid == at && matches!(*known.user_type, UserType::Domain(_)))
    {
        at = types::of_domain(objects, &domain.user_type).oid;
        base = Some(at);
    }
    base
}

/// What SQL calls the type of an OID, with a modifier.
pub(in crate::datafusion::planning) fn type_shown(
    catalog: &SystemCatalog,
    oid: u32,
    modifier: Option<i32>,
) -> Option<String> {
    types::shown(catalog.objects(), oid, modifier).or_else(|| row_type_shown(catalog, oid))
}

fn row_type_shown(catalog: &SystemCatalog, oid: u32) -> Option<String> {
    let objects = catalog.objects();
    objects.relations.iter().filter(|relation| relation.has_row_type()).find_map(|relation| {
        let name = objects.shown_relation(&relation.name);
        let is = |of: ObjectId| catalog.catalog.oid(of) == oid;
        if is(ObjectId::RowType(relation.oid)) {
            Some(name)
        } else {
            is(ObjectId::RowArrayType(relation.oid)).then(|| format!("{name}[]"))
        }
    })
}
