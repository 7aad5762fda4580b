//! `pg_settings`: the settings of the session that asks; `pg_cursors`: its cursors.

use super::super::SystemCatalog;
use super::super::rows::{Rows, text};

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
