//! `pg_stat_user_tables` and its like: how many rows tables have. What nobody counts is 0.

use super::super::SystemCatalog;
use super::super::objects::Body;
use super::super::rows::{Cell, Rows, text};
use crate::sql::names;

const OF_TABLES: [&str; 16] = [
    "seq_scan",
    "seq_tup_read",
    "idx_scan",
    "idx_tup_fetch",
    "n_tup_ins",
    "n_tup_upd",
    "n_tup_del",
    "n_tup_hot_upd",
    "n_live_tup",
    "n_dead_tup",
    "n_mod_since_analyze",
    "n_ins_since_vacuum",
    "vacuum_count",
    "autovacuum_count",
    "analyze_count",
    "autoanalyze_count",
];

pub(super) fn tables(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.otherwise(OF_TABLES.map(|name| (name, Cell::Int(0))));
    for relation in &catalog.objects().relations {
        let Body::Table(table, _) = &relation.body else { continue };
        let (schema, own) = names::parts(&relation.name);
        let live = if rows.wants("n_live_tup") { catalog.size(&table.relation).0 } else { 0 };
        rows.row([
            ("relid", relation.oid.into()),
            ("schemaname", text(schema)),
            ("relname", text(own)),
            ("n_live_tup", i64::try_from(live).unwrap_or(i64::MAX).into()),
        ]);
    }
}

pub(super) fn tables_read(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.otherwise(
        ["heap_blks_read", "heap_blks_hit", "idx_blks_read", "idx_blks_hit"].map(|name| (name, Cell::Int(0))),
    );
    let objects = catalog.objects();
    for relation in objects.relations.iter().filter(|relation| matches!(relation.body, Body::Table(..))) {
        let (schema, own) = names::parts(&relation.name);
        rows.row([("relid", relation.oid.into()), ("schemaname", text(schema)), ("relname", text(own))]);
    }
}

pub(super) fn sequences_read(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.otherwise(["blks_read", "blks_hit"].map(|name| (name, Cell::Int(0))));
    let objects = catalog.objects();
    for relation in objects.relations.iter().filter(|relation| matches!(relation.body, Body::Sequence(_))) {
        let (schema, own) = names::parts(&relation.name);
        rows.row([("relid", relation.oid.into()), ("schemaname", text(schema)), ("relname", text(own))]);
    }
}

pub(super) fn indexes(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.otherwise(["idx_scan", "idx_tup_read", "idx_tup_fetch"].map(|name| (name, Cell::Int(0))));
    let objects = catalog.objects();
    for relation in &objects.relations {
        let Some((table, _, key)) = objects.index(&relation.body) else { continue };
        let (schema, own) = names::parts(&table.name);
        rows.row([
            ("relid", table.oid.into()),
            ("indexrelid", relation.oid.into()),
            ("schemaname", text(schema)),
            ("relname", text(own)),
            ("indexrelname", text(&key.name)),
        ]);
    }
}
