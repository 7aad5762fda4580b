//! `pg_stat_activity` and `pg_stat_progress_copy`: what sessions do; `pg_stat_database`: what all of them have done.
//!
//! What a session does is shown to its own role, to superusers, and to members of `pg_read_all_stats` and `pg_monitor`. What
//! nobody counts is NULL.

use super::super::SystemCatalog;
use super::super::objects::DATABASE_OID;
use super::super::rows::{Cell, Rows, text};
use crate::activity::{Activity, CopyKind, Phase, PipedFrom};
use crate::catalog::{ObjectId, RoleId};
use crate::sql::names::CATALOG;
use crate::sql::secrets::without_secrets;

/// Bytes of a statement that are shown at most, as `track_activity_query_size` says with the zero byte at its end.
const QUERY_BYTES_MAX: usize = 1023;
/// What stands for the port of a client that came by a socket of the machine.
const NO_PORT: i32 = -1;

/// Whether the session that asks may see what another one does.
pub(super) fn may_see(catalog: &SystemCatalog, activity: &Activity) -> bool {
    let role = catalog.transaction.numbers().identity().current;
    let has_rights = |of| catalog.catalog.roles().has_rights_of(role, of);
    [activity.role(), RoleId::READ_ALL_STATS, RoleId::MONITOR].into_iter().any(has_rights)
}

/// A time in microseconds, where there is one.
fn time(micros: i64) -> Cell {
    if micros == 0 { Cell::Null } else { micros.into() }
}

pub(super) fn pg_stat_activity(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let numbers = catalog.transaction.numbers();
    let Some((own, all)) = numbers.entered() else { return };
    let transactions = numbers.advisory().transactions();
    let waiting = transactions.map(|transactions| transactions.waiting()).unwrap_or_default();
    let active = transactions.map(|transactions| transactions.active()).unwrap_or_default();
    for activity in all.all() {
        let doing = activity.doing();
        let role = catalog.catalog.roles().name(activity.role());
        let transaction = active.iter().find(|(owner, writes)| *writes && activity.is(*owner));
        let mut cells = vec![
            ("datid", DATABASE_OID.into()),
            ("datname", CATALOG.into()),
            ("pid", activity.pid().into()),
            ("usesysid", activity.role().0.into()),
            ("usename", text(&role)),
            ("application_name", text(&doing.application)),
            ("backend_xid", transaction.and_then(|(owner, _)| owner.transaction()).map(number).into()),
        ];
        if may_see(catalog, &activity) {
            // Who asks does something in any case.
            let is_own = activity.pid() == own.pid();
            let phase = if is_own && doing.phase == Phase::Untold { Phase::Active } else { doing.phase };
            let wait = waiting.iter().find(|waiting| waiting.who.iter().any(|who| activity.is(*who)));
            let wait = match wait {
                Some(wait) if wait.blocker.transaction().is_some() => Some(("Lock", "transactionid")),
                Some(_) => Some(("Lock", "advisory")),
                None if matches!(phase, Phase::Active | Phase::Untold) => None,
                None => Some(("Client", "ClientRead")),
            };
            let client = activity.client();
            let address = client.and_then(|client| client.address);
            let port = address.map_or(NO_PORT, |address| i32::from(address.port()));
            cells.extend([
                ("client_addr", address.map(|address| address.ip().to_canonical().to_string()).into()),
                ("client_port", client.map(|_| port).into()),
                ("backend_start", time(activity.began())),
                ("xact_start", time(doing.transaction_start)),
                ("query_start", time(doing.query_start)),
                ("state_change", time(doing.phase_since)),
                ("wait_event_type", wait.map(|(kind, _)| kind).into()),
                ("wait_event", wait.map(|(_, event)| event).into()),
                ("state", phase.name().into()),
                ("query", text(&shown(&doing.query))),
                ("backend_type", "client backend".into()),
            ]);
        } else {
            cells.push(("query", "<insufficient privilege>".into()));
        }
        rows.row(cells);
    }
}

fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A statement without secrets, cut where it is long.
fn shown(query: &str) -> String {
    let query = without_secrets(query);
    let end = query.char_indices().map(|(at, character)| at + character.len_utf8());
    let end = end.take_while(|end| *end <= QUERY_BYTES_MAX).last().unwrap_or(0);
    query[..end].to_owned()
}

pub(super) fn pg_stat_progress_copy(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let Some((_, all)) = catalog.transaction.numbers().entered() else { return };
    for activity in all.all() {
        let Some(copying) = activity.copying() else { continue };
        let mut cells =
            vec![("pid", activity.pid().into()), ("datid", DATABASE_OID.into()), ("datname", CATALOG.into())];
        if may_see(catalog, &activity) {
            let oid = copying.table.map_or(0, |table| catalog.catalog.oid(ObjectId::Table(table)));
            let progress = &copying.control.progress;
            let (command, by) = (
                if copying.kind == CopyKind::From { "COPY FROM" } else { "COPY TO" },
                match copying.by {
                    PipedFrom::File => "FILE",
                    PipedFrom::Client => "PIPE",
                    PipedFrom::Query => "CALLBACK",
                },
            );
            cells.extend([
                ("relid", oid.into()),
                ("command", command.into()),
                ("type", by.into()),
                ("bytes_processed", number(progress.bytes_done()).into()),
                ("bytes_total", number(progress.bytes_total()).into()),
                ("tuples_processed", number(progress.rows()).into()),
            ]);
        }
        rows.row(cells);
    }
}

pub(super) fn pg_stat_database(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let numbers = catalog.transaction.numbers();
    let Some((_, all)) = numbers.entered() else { return };
    let counts = numbers.advisory().transactions().map(|transactions| transactions.counts()).unwrap_or_default();
    rows.row([
        ("datid", DATABASE_OID.into()),
        ("datname", CATALOG.into()),
        ("numbackends", all.all().len().into()),
        ("xact_commit", number(counts.committed).into()),
        ("xact_rollback", number(counts.rolled_back).into()),
        // Nothing is replayed beside queries that read.
        ("conflicts", 0_i64.into()),
        ("deadlocks", number(counts.deadlocks).into()),
        ("sessions", number(all.begun()).into()),
    ]);
}
