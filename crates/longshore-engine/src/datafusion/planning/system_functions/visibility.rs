//! `pg_table_is_visible` and its like: whether a name alone means the object.

use super::Gives::{Bool, Text};
use super::{Entry, Takes, Value, entry};
use crate::datafusion::planning::system_tables::{SystemCatalog, relations, system_rows};

pub(super) const ENTRIES: &[Entry] = &[
    entry("pg_table_is_visible", &[Takes::Int], Bool, |catalog, args| {
        let objects = catalog.objects();
        if let Some(relation) = objects.relation(args[0].oid()) {
            return Ok(objects.relation_is_visible(&relation.name).into());
        }
        let known = relations().find(|known| known.oid == args[0].oid());
        Ok(known.map(|known| objects.path.iter().any(|schema| schema == known.schema)).into())
    }),
    entry("pg_type_is_visible", &[Takes::Int], Bool, |catalog, args| Ok(type_is_visible(catalog, args[0].oid()))),
    entry("pg_is_other_temp_schema", &[Takes::Int], Bool, |_, _| Ok(false.into())),
    // What there is nothing of.
    entry("pg_get_partkeydef", &[Takes::Int], Text, nothing),
    entry("pg_get_partition_constraintdef", &[Takes::Int], Text, nothing),
    entry("pg_get_triggerdef", &[Takes::Int, Takes::Bool], Text, nothing).least(1),
    entry("pg_get_statisticsobjdef", &[Takes::Int], Text, nothing),
    entry("pg_get_statisticsobjdef_columns", &[Takes::Int], Text, nothing),
    entry("pg_relation_is_publishable", &[Takes::Int], Bool, |_, _| Ok(false.into())),
    entry("pg_tablespace_location", &[Takes::Int], Text, |_, _| Ok("".into())),
];

#[expect(clippy::unnecessary_wraps, reason = "one of many functions of a table")]
fn nothing(_: &SystemCatalog, _: &[Value]) -> Result<Value, crate::Error> {
    Ok(Value::Null)
}

fn type_is_visible(catalog: &SystemCatalog, oid: u32) -> Value {
    let objects = catalog.objects();
    match objects.user_type(|known| known.oid == oid || known.array_oid == oid) {
        Some(known) => objects.type_is_visible(&known.name).into(),
        None => system_rows("pg_type", "typname", oid).map(|_| true).into(),
    }
}
