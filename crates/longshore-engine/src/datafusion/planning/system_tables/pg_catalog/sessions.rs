//! `pg_cursors`: the cursors of the session that asks.

use super::super::SystemCatalog;
use super::super::rows::Rows;

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
