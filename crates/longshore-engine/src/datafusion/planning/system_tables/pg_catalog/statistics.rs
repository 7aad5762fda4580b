//! `pg_stat_user_tables` and its like: how many rows tables have. What nobody counts is NULL.

use super::super::SystemCatalog;
use super::super::objects::Body;
use super::super::rows::{Rows, text};
use crate::sql::names;

pub(super) fn tables(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
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
    let objects = catalog.objects();
    for relation in objects.relations.iter().filter(|relation| matches!(relation.body, Body::Table(..))) {
        let (schema, own) = names::parts(&relation.name);
        rows.row([("relid", relation.oid.into()), ("schemaname", text(schema)), ("relname", text(own))]);
    }
}

pub(super) fn sequences_read(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let objects = catalog.objects();
    for relation in objects.relations.iter().filter(|relation| matches!(relation.body, Body::Sequence(_))) {
        let (schema, own) = names::parts(&relation.name);
        rows.row([("relid", relation.oid.into()), ("schemaname", text(schema)), ("relname", text(own))]);
    }
}

pub(super) fn indexes(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
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
