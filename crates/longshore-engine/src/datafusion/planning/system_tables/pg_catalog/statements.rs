//! `pg_stat_statements` and `pg_stat_statements_info`: what statements took, by their texts.
//!
//! As in PostgreSQL the texts of others are shown to superusers, `pg_read_all_stats` and `pg_monitor` alone. What nobody
//! counts is NULL.

use super::super::SystemCatalog;
use super::super::objects::DATABASE_OID;
use super::super::rows::{Cell, Rows, text};
use crate::catalog::RoleId;

pub(super) fn pg_stat_statements(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let Some((_, all)) = catalog.transaction.numbers().entered() else { return };
    let role = catalog.transaction.numbers().identity().current;
    let roles = catalog.catalog.roles();
    let sees_all = [RoleId::READ_ALL_STATS, RoleId::MONITOR].into_iter().any(|of| roles.has_rights_of(role, of));
    for entry in all.statements().all() {
        let numbers = entry.numbers();
        if numbers.calls == 0 {
            continue;
        }
        let is_shown = sees_all || entry.role() == role;
        let query = if is_shown { text(entry.query()) } else { "<insufficient privilege>".into() };
        rows.row([
            ("userid", entry.role().0.into()),
            ("dbid", DATABASE_OID.into()),
            ("toplevel", true.into()),
            ("queryid", is_shown.then(|| entry.id()).into()),
            ("query", query),
            ("calls", count(numbers.calls)),
            ("total_exec_time", numbers.total.into()),
            ("min_exec_time", numbers.least.into()),
            ("max_exec_time", numbers.most.into()),
            ("mean_exec_time", numbers.mean.into()),
            ("stddev_exec_time", numbers.deviation().into()),
            ("rows", count(numbers.rows)),
        ]);
    }
}

pub(super) fn pg_stat_statements_info(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let Some((_, all)) = catalog.transaction.numbers().entered() else { return };
    let (evictions, reset_at) = all.statements().info();
    let reset_at = if reset_at == 0 { all.since() } else { reset_at };
    rows.row([("dealloc", count(evictions)), ("stats_reset", reset_at.into())]);
}

fn count(count: u64) -> Cell {
    i64::try_from(count).unwrap_or(i64::MAX).into()
}
