//! Sizes of tables, and what tells of the server as a whole.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::Gives::{BigInt, Bool, Int, Moment, Typed};
use super::names::relation;
use super::{Entry, Takes, Value, entry};
use crate::Error;
use crate::datafusion::planning::system_tables::SystemCatalog;
use crate::datafusion::planning::system_tables::objects::Body;

/// PostgreSQL's number of UTF-8 among its encodings.
const UTF8: i32 = 6;

pub(super) const ENTRIES: &[Entry] = &[
    entry("pg_relation_size", &[Takes::Either, Takes::Text], BigInt, table_size).least(1),
    entry("pg_table_size", &[Takes::Either], BigInt, table_size),
    entry("pg_total_relation_size", &[Takes::Either], BigInt, table_size),
    entry("pg_indexes_size", &[Takes::Either], BigInt, |_, _| Ok(0_i64.into())),
    entry("pg_database_size", &[Takes::Either], BigInt, |catalog, _| {
        let tables = catalog.objects().relations.iter().filter_map(|relation| match &relation.body {
            Body::Table(table, _) => i64::try_from(catalog.size(&table.relation).1).ok(),
            _ => None,
        });
        Ok(tables.sum::<i64>().into())
    }),
    entry("pg_tablespace_size", &[Takes::Either], BigInt, |_, _| Ok(0_i64.into())),
    entry("pg_relation_filenode", &[Takes::Either], Typed("oid"), |catalog, args| Ok(found(catalog, &args[0])?.into())),
    entry("pg_char_to_encoding", &[Takes::Text], Int, |_, args| {
        let is_utf8 = ["utf8", "utf-8", "unicode"].iter().any(|known| args[0].text().eq_ignore_ascii_case(known));
        Ok(if is_utf8 { UTF8 } else { -1 }.into())
    }),
    entry("pg_postmaster_start_time", &[], Moment, |_, _| Ok((*STARTED).into())),
    entry("pg_conf_load_time", &[], Moment, |_, _| Ok((*STARTED).into())),
    entry("txid_current", &[], BigInt, |_, _| Ok(NEXT_TRANSACTION.fetch_add(1, Ordering::Relaxed).into())),
    entry("txid_current_if_assigned", &[], BigInt, |_, _| Ok(Value::Null)),
    entry("pg_is_wal_replay_paused", &[], Bool, |_, _| Ok(false.into())),
    entry("pg_sequence_last_value", &[Takes::Int], BigInt, |catalog, args| {
        Ok(match catalog.objects().relation(args[0].oid()).map(|relation| &relation.body) {
            Some(Body::Sequence(sequence)) => {
                let (last, is_called) = sequence.value();
                is_called.then_some(last).into()
            }
            _ => Value::Null,
        })
    }),
];

/// When the process was first asked for anything of this module.
static STARTED: LazyLock<i64> = LazyLock::new(|| {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
});

/// What the next transaction is called that asks.
static NEXT_TRANSACTION: AtomicI64 = AtomicI64::new(1000);

fn found(catalog: &SystemCatalog, value: &Value) -> Result<Option<u32>, Error> {
    match value {
        Value::Text(text) if text.parse::<u32>().is_err() => {
            let oid = relation(catalog, text)?;
            Ok(Some(oid.ok_or_else(|| Error::not_found(format!("relation \"{text}\" does not exist")))?))
        }
        other => Ok(Some(other.oid())),
    }
}

/// Bytes of the rows of a table; its indexes are part of it.
fn table_size(catalog: &SystemCatalog, args: &[Value]) -> Result<Value, Error> {
    let Some(oid) = found(catalog, &args[0])? else { return Ok(Value::Null) };
    let objects = catalog.objects();
    Ok(match objects.relation(oid).map(|relation| &relation.body) {
        Some(Body::Table(table, _)) => i64::try_from(catalog.size(&table.relation).1).ok().into(),
        Some(_) => 0_i64.into(),
        None if crate::datafusion::planning::system_tables::relations().any(|known| known.oid == oid) => 0_i64.into(),
        None => Value::Null,
    })
}
