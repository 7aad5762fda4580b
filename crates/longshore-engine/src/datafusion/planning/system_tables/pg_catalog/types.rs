//! `pg_type`: types that users made and those of rows of tables, beside those of the system; `pg_enum`: the labels of
//! enumerations.

use super::super::expression_text::of_domain_default;
use super::super::fixed;
use super::super::objects::{OWNER_OID, RelationObject};
use super::super::rows::{Cell, Rows, text};
use super::super::types::{Layout, of_domain};
use super::super::{SystemCatalog, access};
use crate::catalog::{Commented, ObjectId, UserType};
use crate::sql::names;

pub(super) fn pg_type(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let zero = || Cell::Int(0);
    rows.otherwise([
        ("typowner", OWNER_OID.into()),
        ("typispreferred", false.into()),
        ("typisdefined", true.into()),
        ("typdelim", ','.into()),
        ("typrelid", zero()),
        ("typsubscript", zero()),
        ("typelem", zero()),
        ("typarray", zero()),
        ("typmodin", zero()),
        ("typmodout", zero()),
        ("typanalyze", zero()),
        ("typnotnull", false.into()),
        ("typbasetype", zero()),
        ("typtypmod", (-1).into()),
        ("typndims", zero()),
        ("typcollation", zero()),
    ]);
    let objects = catalog.objects();
    for known in &objects.types {
        let schema = objects.schema_of(&known.name);
        let own = names::own(&known.name);
        let layout = Layout::of(objects, known.oid);
        let mut cells = vec![
            ("oid", known.oid.into()),
            ("typowner", access::owner(catalog, &Commented::Type(known.name.clone()))),
            ("typacl", access::acl(catalog, &Commented::Type(known.name.clone()))),
            ("typname", text(own)),
            ("typnamespace", schema.into()),
            ("typlen", layout.length.into()),
            ("typbyval", layout.by_value.into()),
            ("typalign", layout.align),
            ("typstorage", layout.storage),
            ("typarray", known.array_oid.into()),
        ];
        match known.user_type.as_ref() {
            UserType::Enum(_) => {
                cells.extend([("typtype", 'e'.into()), ("typcategory", 'E'.into())]);
                cells.extend(functions("enum"));
            }
            UserType::Domain(domain) => {
                let base = of_domain(objects, &known.user_type);
                let default = domain.default.as_ref().map(|expr| of_domain_default(objects, &known.user_type, expr));
                cells.extend([
                    ("typtype", 'd'.into()),
                    ("typcategory", of_system(base.oid, "typcategory", 'E'.into())),
                    ("typnotnull", domain.not_null.into()),
                    ("typbasetype", base.oid.into()),
                    ("typtypmod", base.modifier.into()),
                    ("typndims", base.dimensions.into()),
                    ("typcollation", layout.collation.into()),
                    ("typdefaultbin", default.clone().into()),
                    ("typdefault", default.into()),
                ]);
                cells.extend([("typinput", function("domain_in")), ("typreceive", function("domain_recv"))]);
                cells.extend(
                    ["typoutput", "typsend"].map(|name| (name, of_system(base.oid, name, function("enum_out")))),
                );
            }
        }
        rows.row(cells);
        of_arrays(rows, (known.oid, known.array_oid), names::own(&known.name), schema, 'i');
    }
    for relation in objects.relations.iter().filter(|relation| relation.has_row_type()) {
        of_rows(catalog, rows, relation);
    }
}

/// The type of the rows of a table or view, and that of arrays of them.
fn of_rows(catalog: &SystemCatalog, rows: &mut Rows<'_>, relation: &RelationObject) {
    let oid = catalog.catalog.oid(ObjectId::RowType(relation.oid));
    let array_oid = catalog.catalog.oid(ObjectId::RowArrayType(relation.oid));
    let schema = catalog.objects().schema_of(&relation.name);
    let own = names::own(&relation.name);
    let cells = [
        ("oid", oid.into()),
        ("typowner", access::owner(catalog, &Commented::Relation(relation.name.clone()))),
        ("typname", text(own)),
        ("typnamespace", schema.into()),
        ("typlen", (-1).into()),
        ("typbyval", false.into()),
        ("typtype", 'c'.into()),
        ("typcategory", 'C'.into()),
        ("typrelid", relation.oid.into()),
        ("typarray", array_oid.into()),
        ("typalign", 'd'.into()),
        ("typstorage", 'x'.into()),
    ];
    rows.row(cells.into_iter().chain(functions("record")));
    of_arrays(rows, (oid, array_oid), own, schema, 'd');
}

/// The type of arrays of a type: the OIDs of both, its name, its schema and how it is aligned.
fn of_arrays(rows: &mut Rows<'_>, (oid, array_oid): (u32, u32), own: &str, schema: u32, align: char) {
    let cells = [
        ("oid", array_oid.into()),
        ("typname", format!("_{own}").into()),
        ("typnamespace", schema.into()),
        ("typlen", (-1).into()),
        ("typbyval", false.into()),
        ("typtype", 'b'.into()),
        ("typcategory", 'A'.into()),
        ("typalign", align.into()),
        ("typstorage", 'x'.into()),
        ("typelem", oid.into()),
        ("typsubscript", function("array_subscript_handler")),
    ];
    rows.row(cells.into_iter().chain(functions("array")));
}

/// The functions that read and write values of a type.
fn functions(prefix: &str) -> [(&'static str, Cell); 4] {
    let named = |ending: &str| function(&format!("{prefix}_{ending}"));
    [("typinput", named("in")), ("typoutput", named("out")), ("typreceive", named("recv")), ("typsend", named("send"))]
}

/// The OID of a function of the system.
fn function(name: &str) -> Cell {
    let place = |name| fixed::place("pg_proc", name);
    let (oid, named) = (place("oid"), place("proname"));
    let is_it = |row: &&Vec<Cell>| matches!(&row[named], Cell::Text(known) if known == name);
    let found = fixed::table("pg_proc").and_then(|table| table.rows.iter().find(is_it));
    found.map_or(Cell::Int(0), |row| row[oid].clone())
}

/// What `pg_type` has in a column for a type of the system.
fn of_system(oid: u32, column: &str, otherwise: Cell) -> Cell {
    let place = |name| fixed::place("pg_type", name);
    let is_it = |row: &&Vec<Cell>| row[place("oid")] == Cell::from(oid);
    let found = fixed::table("pg_type").and_then(|table| table.rows.iter().find(is_it));
    found.map_or(otherwise, |row| row[place(column)].clone())
}

pub(super) fn pg_enum(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    for known in &catalog.objects().types {
        let UserType::Enum(labels) = known.user_type.as_ref() else { continue };
        let with_new = catalog.catalog.labels_with_new(&known.name);
        let labels = with_new.as_ref().unwrap_or(labels);
        for (at, label) in labels.iter().enumerate() {
            let oid = catalog.catalog.oid(ObjectId::Label(known.name.clone(), label.clone()));
            rows.row([
                ("oid", oid.into()),
                ("enumtypid", known.oid.into()),
                ("enumsortorder", Cell::Float((at + 1) as f64)),
                ("enumlabel", text(label)),
            ]);
        }
    }
}
