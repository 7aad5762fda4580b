//! `pg_stat_activity`: the session that asks; `pg_settings`: its settings; `pg_cursors`: its cursors.

use super::super::SystemCatalog;
use super::super::objects::{DATABASE_OID, OWNER_OID};
use super::super::rows::{Rows, text};
use crate::sql::names::{CATALOG, USER};

pub(super) fn pg_stat_activity(_: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.row([
        ("datid", DATABASE_OID.into()),
        ("datname", CATALOG.into()),
        ("pid", i64::from(std::process::id()).into()),
        ("usesysid", OWNER_OID.into()),
        ("usename", USER.into()),
        ("application_name", "".into()),
        ("state", "active".into()),
        ("backend_type", "client backend".into()),
    ]);
}

pub(super) fn pg_cursors(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    for cursor in catalog.transaction.numbers().cursors() {
        rows.row([
            ("name", cursor.name.into()),
            ("statement", cursor.statement.into()),
            ("is_holdable", cursor.is_holdable.into()),
            ("is_binary", cursor.is_binary.into()),
            ("is_scrollable", cursor.is_scrollable.into()),
            ("creation_time", cursor.created.into()),
        ]);
    }
}

pub(super) fn pg_settings(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.otherwise([
        ("category", "Settings".into()),
        ("short_desc", "".into()),
        ("context", "user".into()),
        ("source", "default".into()),
        ("pending_restart", false.into()),
    ]);
    for (name, value) in catalog.transaction.numbers().settings().iter() {
        let kind = match value.as_str() {
            "on" | "off" => "bool",
            digits if digits.parse::<i64>().is_ok() => "integer",
            _ => "string",
        };
        rows.row([
            ("name", (*name).into()),
            ("setting", text(value)),
            ("vartype", kind.into()),
            ("boot_val", text(value)),
            ("reset_val", text(value)),
        ]);
    }
}
