//! `pg_locks`: who holds what, and who waits for it.
//!
//! As in PostgreSQL whoever waits for a row waits for the transaction that has it. Beside these, locks of rows are shown as
//! locks of tuples, the page being the number of the chunk. Reading takes no lock, so none is shown of that.

use longshore_storage::{AdvisoryKey, AdvisoryLock, Locked, Owner, RowLock, TableLock};

use super::super::SystemCatalog;
use super::super::objects::{Body, DATABASE_OID};
use super::super::rows::{Cell, Rows};
use crate::transaction::RELATIONS;

pub(super) fn pg_locks(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let numbers = catalog.transaction.numbers();
    let (Some((_, all)), Some(transactions)) = (numbers.entered(), numbers.advisory().transactions()) else { return };
    let sessions = all.all();
    let pid = |owner: Owner| sessions.iter().find(|session| session.is(owner)).map(|session| session.pid());
    let table = |wanted: u64| {
        let relations = catalog.objects().relations.iter();
        let mut tables = relations.filter_map(|relation| match &relation.body {
            Body::Table(table, _) => Some((relation.oid, table)),
            _ => None,
        });
        tables.find(|(_, table)| table.relation.lock_number() == wanted).map(|(oid, _)| oid)
    };
    rows.otherwise([("granted", true.into()), ("fastpath", false.into()), ("database", DATABASE_OID.into())]);
    for (owner, _) in transactions.active().into_iter().filter(|(_, writes)| *writes) {
        let Some(pid) = pid(owner) else { continue };
        rows.row([
            ("locktype", "transactionid".into()),
            ("database", Cell::Null),
            ("transactionid", id(owner)),
            ("pid", pid.into()),
            ("mode", "ExclusiveLock".into()),
        ]);
    }
    for held in transactions.locks() {
        let Some(pid) = pid(held.holder) else { continue };
        let mut cells = vec![("pid", pid.into())];
        match held.locked {
            Locked::Row(number, row, lock) => cells.extend([
                ("locktype", "tuple".into()),
                ("relation", table(number).into()),
                ("page", row.chunk().into()),
                ("tuple", row.row().into()),
                ("mode", row_mode(lock).into()),
            ]),
            Locked::Table(number, lock) => cells.extend([
                ("locktype", "relation".into()),
                ("relation", table(number).into()),
                ("mode", table_mode(lock).into()),
            ]),
            Locked::Advisory(AdvisoryLock { key: AdvisoryKey::Object(RELATIONS, oid), .. }) => cells.extend([
                ("locktype", "relation".into()),
                ("relation", oid.into()),
                ("mode", "ShareRowExclusiveLock".into()),
            ]),
            Locked::Advisory(lock) => {
                let ([classid, objid, objsubid], kind) = advisory(lock.key);
                cells.extend([
                    ("locktype", kind.into()),
                    ("classid", classid.into()),
                    ("objid", objid.into()),
                    ("objsubid", objsubid.into()),
                    ("mode", if lock.is_shared { "ShareLock" } else { "ExclusiveLock" }.into()),
                ]);
            }
        }
        rows.row(cells);
    }
    for waiting in transactions.waiting() {
        let Some(pid) = waiting.who.iter().find_map(|who| pid(*who)) else { continue };
        let mut cells = vec![("pid", pid.into()), ("granted", false.into())];
        if waiting.blocker.transaction().is_some() {
            cells.extend([
                ("locktype", "transactionid".into()),
                ("database", Cell::Null),
                ("transactionid", id(waiting.blocker)),
                ("mode", "ShareLock".into()),
            ]);
        } else {
            cells.extend([("locktype", "advisory".into()), ("mode", "ExclusiveLock".into())]);
        }
        rows.row(cells);
    }
}

/// The number of a transaction.
fn id(owner: Owner) -> Cell {
    owner.transaction().and_then(|id| i64::try_from(id).ok()).into()
}

/// The key of an advisory lock as `classid`, `objid` and `objsubid` tell it, and the type of the lock.
fn advisory(key: AdvisoryKey) -> ([i64; 3], &'static str) {
    let unsigned = |value: i32| i64::from(value.cast_unsigned());
    match key {
        AdvisoryKey::One(key) => ([(key >> 32) & 0xFFFF_FFFF, key & 0xFFFF_FFFF, 1], "advisory"),
        AdvisoryKey::Two(first, second) => ([unsigned(first), unsigned(second), 2], "advisory"),
        AdvisoryKey::Object(class, object) => ([class.into(), object.into(), 0], "object"),
    }
}

/// The mode of a lock of a tuple, as PostgreSQL takes it for a lock of a row.
fn row_mode(lock: RowLock) -> &'static str {
    match lock {
        RowLock::KeyShare => "AccessShareLock",
        RowLock::Share => "RowShareLock",
        RowLock::NoKeyUpdate => "ExclusiveLock",
        RowLock::Update => "AccessExclusiveLock",
    }
}

fn table_mode(lock: TableLock) -> &'static str {
    match lock {
        TableLock::AccessShare => "AccessShareLock",
        TableLock::RowShare => "RowShareLock",
        TableLock::RowExclusive => "RowExclusiveLock",
        TableLock::ShareUpdateExclusive => "ShareUpdateExclusiveLock",
        TableLock::Share => "ShareLock",
        TableLock::ShareRowExclusive => "ShareRowExclusiveLock",
        TableLock::Exclusive => "ExclusiveLock",
        TableLock::AccessExclusive => "AccessExclusiveLock",
    }
}
