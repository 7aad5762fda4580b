//! `pg_attribute`: the columns of tables, views, sequences and indexes; `pg_attrdef`: their defaults.

use sqlparser::ast::Expr;

use super::super::definition::relations;
use super::super::expression_text::of_column_default;
use super::super::objects::{Body, Objects, RelationObject, number};
use super::super::rows::{Cell, Rows, text};
use super::super::type_ref::TypeRef;
use super::super::types::{Layout, system_type};
use super::super::{SystemCatalog, access, index_text};
use crate::builtin_types::BuiltinType;
use crate::catalog::{Commented, ObjectId, Origin, Rules, Table};

/// The columns that a sequence has as a table.
const OF_SEQUENCES: [(&str, &str); 3] = [("last_value", "int8"), ("log_cnt", "int8"), ("is_called", "bool")];

/// A column on its way into the table.
struct ColumnRow {
    relation: u32,
    name: Cell,
    at: usize,
    of: TypeRef,
    not_null: bool,
}

pub(super) fn pg_attribute(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.otherwise([
        ("attstattarget", (-1).into()),
        ("attcacheoff", (-1).into()),
        ("attcompression", "".into()),
        ("atthasdef", false.into()),
        ("atthasmissing", false.into()),
        ("attidentity", "".into()),
        ("attgenerated", "".into()),
        ("attisdropped", false.into()),
        ("attislocal", true.into()),
        ("attinhcount", 0.into()),
    ]);
    let objects = catalog.objects();
    for known in relations() {
        for (at, column) in known.columns.iter().enumerate() {
            let Some(of) = system_type(|of| of.name == column.type_name) else { continue };
            let of = TypeRef { oid: of.oid, length: -1, modifier: -1, dimensions: 0 };
            let column = ColumnRow { relation: known.oid, name: column.name.into(), at, of, not_null: column.not_null };
            add(objects, rows, &column, []);
        }
    }
    for relation in &objects.relations {
        match &relation.body {
            Body::Table(table, rules) => of_table(catalog, rows, relation, table, rules),
            Body::View(view) => {
                for (at, column) in catalog.view_columns(view).into_iter().flatten().enumerate() {
                    let (name, of) = (column.name.into(), column.of);
                    add(objects, rows, &ColumnRow { relation: relation.oid, name, at, of, not_null: false }, []);
                }
            }
            Body::Sequence(_) => {
                for (at, (name, of)) in OF_SEQUENCES.into_iter().enumerate() {
                    let oid = BuiltinType::named(of).map_or(0, |of| of.oid);
                    let of = TypeRef { oid, length: -1, modifier: -1, dimensions: 0 };
                    let column = ColumnRow { relation: relation.oid, name: name.into(), at, of, not_null: true };
                    add(objects, rows, &column, []);
                }
            }
            Body::Index(..) => {
                for (at, (name, of)) in index_text::columns(objects, relation).into_iter().enumerate() {
                    let column = ColumnRow { relation: relation.oid, name: name.into(), at, of, not_null: false };
                    add(objects, rows, &column, []);
                }
            }
        }
    }
}

fn of_table(catalog: &SystemCatalog, rows: &mut Rows<'_>, relation: &RelationObject, table: &Table, rules: &Rules) {
    let objects = catalog.objects();
    for (at, column) in table.relation.schema().columns().iter().enumerate() {
        let origin = rules.origin(at);
        let identity = match origin {
            Origin::Identity { always: true, .. } => "a",
            Origin::Identity { always: false, .. } => "d",
            _ => "",
        };
        let generated = if matches!(origin, Origin::Generated(_)) { "s" } else { "" };
        let row = ColumnRow {
            relation: relation.oid,
            name: text(&column.name),
            at,
            of: objects.type_of(table, rules, at),
            not_null: !column.nullable,
        };
        let has_default = matches!(origin, Origin::Default(_) | Origin::Generated(_));
        let on = Commented::Column(table.name.clone(), column.name.clone());
        let further = [
            ("atthasdef", has_default.into()),
            ("attidentity", identity.into()),
            ("attgenerated", generated.into()),
            ("attacl", access::acl(catalog, &on)),
        ];
        add(objects, rows, &row, further);
    }
}

fn add<const N: usize>(objects: &Objects, rows: &mut Rows<'_>, column: &ColumnRow, further: [(&'static str, Cell); N]) {
    let layout = Layout::of(objects, column.of.oid);
    let cells = [
        ("attrelid", column.relation.into()),
        ("attname", column.name.clone()),
        ("atttypid", column.of.oid.into()),
        ("attlen", layout.length.into()),
        ("attnum", number(column.at).into()),
        ("attndims", column.of.dimensions.into()),
        ("atttypmod", column.of.modifier.into()),
        ("attbyval", layout.by_value.into()),
        ("attalign", layout.align),
        ("attstorage", layout.storage),
        ("attnotnull", column.not_null.into()),
        ("attcollation", layout.collation.into()),
    ];
    rows.row(cells.into_iter().chain(further));
}

impl SystemCatalog {
    /// The place of a column of a table or view.
    pub(in crate::datafusion::planning) fn column_place(&self, relation: &RelationObject, name: &str) -> Option<usize> {
        match &relation.body {
            Body::Table(table, _) => table.relation.schema().index_of(name),
            Body::View(view) => match self.view_columns(view) {
                Some(columns) => columns.iter().position(|column| column.name == name),
                None => view.columns.iter().position(|column| column == name),
            },
            Body::Sequence(_) | Body::Index(..) => None,
        }
    }
}

/// The default of a column of a table, or what it is generated from.
fn default_of(rules: &Rules, at: usize) -> Option<&Expr> {
    match rules.origin(at) {
        Origin::Default(expr) | Origin::Generated(expr) => Some(expr),
        Origin::Null | Origin::Identity { .. } => None,
    }
}

/// The OID of the default of a column.
pub(super) fn default_oid(catalog: &SystemCatalog, table: &Table, column: &str) -> u32 {
    catalog.catalog.oid(ObjectId::Default(table.identity(), column.to_owned()))
}

pub(super) fn pg_attrdef(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let objects = catalog.objects();
    for relation in &objects.relations {
        let Body::Table(table, rules) = &relation.body else { continue };
        for (at, column) in table.relation.schema().columns().iter().enumerate() {
            let Some(expr) = default_of(rules, at) else { continue };
            rows.row([
                ("oid", default_oid(catalog, table, &column.name).into()),
                ("adrelid", relation.oid.into()),
                ("adnum", number(at).into()),
                ("adbin", of_column_default(objects, (table, rules), at, expr, false).into()),
            ]);
        }
    }
}
