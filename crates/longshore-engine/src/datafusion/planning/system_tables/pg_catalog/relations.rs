//! `pg_class`: tables, views, sequences and indexes, those of the system included; `pg_rewrite`: the rules that views are.

use longshore_storage::IndexKind;

use super::super::access;
use super::super::definition::relations;
use super::super::objects::{Body, INFORMATION_SCHEMA_OID, OWNER_OID, Objects, PG_CATALOG_OID, RelationObject};
use super::super::rows::{Cell, Rows, text};
use super::super::{PG_CATALOG, SystemCatalog};
use crate::catalog::ObjectId;
use crate::sql::names;

/// The OIDs of access methods.
pub(in super::super) const HEAP: u32 = 2;
const BTREE: u32 = 403;
const HASH: u32 = 405;

/// Bytes of a page of PostgreSQL.
const PAGE_BYTES: usize = 8192;
/// Columns of a sequence, which PostgreSQL has as a table.
const SEQUENCE_COLUMNS: i64 = 3;

/// The access method that an index is of.
pub(in super::super) fn access_method(kind: IndexKind) -> u32 {
    match kind {
        IndexKind::Art => BTREE,
        IndexKind::Hash => HASH,
    }
}

pub(super) fn pg_class(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let zero = || Cell::Int(0);
    rows.otherwise([
        ("reltype", zero()),
        ("reloftype", zero()),
        ("relowner", OWNER_OID.into()),
        ("relam", zero()),
        ("relfilenode", zero()),
        ("reltablespace", zero()),
        ("relpages", zero()),
        ("reltuples", Cell::Float(0.0)),
        ("relallvisible", zero()),
        ("reltoastrelid", zero()),
        ("relhasindex", false.into()),
        ("relisshared", false.into()),
        ("relpersistence", 'p'.into()),
        ("relchecks", zero()),
        ("relhasrules", false.into()),
        ("relhastriggers", false.into()),
        ("relhassubclass", false.into()),
        ("relrowsecurity", false.into()),
        ("relforcerowsecurity", false.into()),
        ("relispopulated", true.into()),
        ("relreplident", 'n'.into()),
        ("relispartition", false.into()),
        ("relrewrite", zero()),
        ("relfrozenxid", zero()),
        ("relminmxid", zero()),
    ]);
    for known in relations() {
        let schema = if known.schema == PG_CATALOG { PG_CATALOG_OID } else { INFORMATION_SCHEMA_OID };
        rows.row([
            ("oid", known.oid.into()),
            ("relname", known.name.into()),
            ("relnamespace", schema.into()),
            ("relkind", if known.is_view { 'v' } else { 'r' }.into()),
            ("relam", if known.is_view { 0 } else { HEAP }.into()),
            ("relnatts", known.columns.len().into()),
            ("relhasrules", known.is_view.into()),
        ]);
    }
    let objects = catalog.objects();
    for relation in &objects.relations {
        let mut cells = vec![
            ("oid", relation.oid.into()),
            ("relname", text(names::own(&relation.name))),
            ("relnamespace", objects.schema_of(&relation.name).into()),
            ("relkind", relation.kind().into()),
            ("relpersistence", relation.persistence(objects).into()),
        ];
        let owned = objects.index(&relation.body).map_or(relation, |(table, ..)| table);
        let [owner, acl] = access::of_relation(catalog, &owned.name);
        cells.push(("relowner", owner));
        if !matches!(relation.body, Body::Index(..)) {
            cells.push(("relacl", acl));
        }
        if rows.wants("reltype") && relation.has_row_type() {
            cells.push(("reltype", catalog.catalog.oid(ObjectId::RowType(relation.oid)).into()));
        }
        of_body(catalog, objects, relation, rows, &mut cells);
        rows.row(cells);
    }
}

/// What depends on whether it is a table, a view, a sequence or an index.
fn of_body(
    catalog: &SystemCatalog,
    objects: &Objects,
    relation: &RelationObject,
    rows: &Rows<'_>,
    cells: &mut Vec<(&'static str, Cell)>,
) {
    let size = |cells: &mut Vec<(&'static str, Cell)>, table| {
        if rows.wants("reltuples") || rows.wants("relpages") {
            let (count, bytes) = catalog.size(table);
            cells.extend([("reltuples", Cell::Float(count as f64)), ("relpages", bytes.div_ceil(PAGE_BYTES).into())]);
        }
    };
    match &relation.body {
        Body::Table(table, rules) => {
            let checks = rules.checks.iter().filter(|check| check.user_type().is_none()).count();
            cells.extend([
                ("relam", HEAP.into()),
                ("relfilenode", relation.oid.into()),
                ("relhasindex", (!rules.keys.is_empty()).into()),
                ("relnatts", table.relation.schema().columns().len().into()),
                ("relchecks", checks.into()),
                ("relhastriggers", (!rules.references.is_empty() || objects.is_referenced(relation)).into()),
                ("relreplident", 'd'.into()),
            ]);
            size(cells, &table.relation);
        }
        Body::View(view) => {
            let count = catalog.view_columns(view).map_or(view.columns.len(), |columns| columns.len());
            cells.extend([("relnatts", count.into()), ("relhasrules", true.into())]);
        }
        Body::Sequence(_) => cells.extend([
            ("relfilenode", relation.oid.into()),
            ("relnatts", SEQUENCE_COLUMNS.into()),
            ("relpages", 1.into()),
            ("reltuples", Cell::Float(1.0)),
        ]),
        Body::Index(..) => {
            let Some((_, table, key)) = objects.index(&relation.body) else { return };
            let count = key.definition.as_ref().map_or(key.columns.len(), |of| of.parts.len() + of.include.len());
            cells.extend([
                ("relam", access_method(key.index).into()),
                ("relfilenode", relation.oid.into()),
                ("relnatts", count.into()),
            ]);
            size(cells, &table.relation);
        }
    }
}

/// The rule that a view is.
pub(super) fn rule_oid(catalog: &SystemCatalog, view: &str) -> u32 {
    catalog.catalog.oid(ObjectId::Rule(view.to_owned()))
}

pub(super) fn pg_rewrite(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    for relation in &catalog.objects().relations {
        if let Body::View(view) = &relation.body {
            rows.row([
                ("oid", rule_oid(catalog, &view.name).into()),
                ("rulename", "_RETURN".into()),
                ("ev_class", relation.oid.into()),
                ("ev_type", '1'.into()),
                ("ev_enabled", 'O'.into()),
                ("is_instead", true.into()),
                ("ev_qual", "<>".into()),
                ("ev_action", text(&view.sql)),
            ]);
        }
    }
}
