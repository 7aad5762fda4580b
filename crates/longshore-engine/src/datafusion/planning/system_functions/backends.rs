//! `pg_backend_pid`, `pg_cancel_backend`, `pg_terminate_backend` and `pg_blocking_pids`: sessions by their numbers; and
//! `pg_stat_statements_reset`.

use std::sync::Arc;

use super::Gives::{Bool, Int, Ints, Text};
use super::{Entry, Takes, Value, entry};
use crate::activity::Activity;
use crate::catalog::RoleId;
use crate::datafusion::planning::system_tables::SystemCatalog;
use crate::datafusion::planning::system_tables::objects::DATABASE_OID;
use crate::{Error, ErrorKind};

pub(super) const ENTRIES: &[Entry] = &[
    entry("pg_backend_pid", &[], Int, |catalog, _| {
        let own = catalog.transaction.numbers().entered().map(|(own, _)| own.pid());
        Ok(own.into())
    }),
    // The address without the mask behind it.
    entry("host", &[Takes::Text], Text, |_, args| {
        Ok(args[0].text().split_once('/').map_or(args[0].text(), |(address, _)| address).into())
    }),
    entry("pg_blocking_pids", &[Takes::Int], Ints, |catalog, args| Ok(Value::Ints(blocking(catalog, args[0].int())))),
    entry("pg_cancel_backend", &[Takes::Int], Bool, |catalog, args| {
        let Some(session) = session(catalog, args[0].int()) else { return Ok(false.into()) };
        check(
            catalog,
            &session,
            "must be a superuser to cancel superuser query",
            "must be a member of the role whose query is being canceled or member of pg_signal_backend",
        )?;
        Ok(session
            .client()
            .is_some_and(|client| {
                (client.cancel)();
                true
            })
            .into())
    })
    .acting(),
    entry("pg_terminate_backend", &[Takes::Int, Takes::Int], Bool, |catalog, args| {
        if args.get(1).is_some_and(|timeout| timeout.int() < 0) {
            return Err(Error::new(ErrorKind::OutOfRange, "\"timeout\" must not be negative"));
        }
        if args.get(1).is_some_and(|timeout| timeout.int() > 0) {
            return Err(Error::unsupported(
                "pg_terminate_backend does not wait for the end of the session; leave the timeout out",
            ));
        }
        let Some(session) = session(catalog, args[0].int()) else { return Ok(false.into()) };
        check(
            catalog,
            &session,
            "must be a superuser to terminate superuser process",
            "must be a member of the role whose process is being terminated or member of pg_signal_backend",
        )?;
        Ok(session
            .client()
            .is_some_and(|client| {
                (client.terminate)();
                true
            })
            .into())
    })
    .least(1)
    .acting(),
    entry("pg_stat_statements_reset", &[Takes::Int, Takes::Int, Takes::Int], Text, |catalog, args| {
        let role = catalog.transaction.numbers().identity().current;
        if !catalog.catalog.roles().is_superuser(role) {
            return Err(Error::new(ErrorKind::Privilege, "permission denied for function pg_stat_statements_reset"));
        }
        let argument = |at: usize| args.get(at).map_or(0, Value::int);
        let is_other_database = ![0, i64::from(DATABASE_OID)].contains(&argument(1));
        if let Some((_, all)) = catalog.transaction.numbers().entered()
            && !is_other_database
        {
            all.statements().reset(u32::try_from(argument(0)).unwrap_or(u32::MAX), argument(2));
        }
        Ok("".into())
    })
    .least(0)
    .acting(),
];

/// The session of this number.
fn session(catalog: &SystemCatalog, pid: i64) -> Option<Arc<Activity>> {
    let (_, all) = catalog.transaction.numbers().entered()?;
    all.get(i32::try_from(pid).ok()?)
}

/// Refuses to stop a session unless the role that asks may.
fn check(catalog: &SystemCatalog, of: &Activity, superuser: &str, other: &str) -> Result<(), Error> {
    let role = catalog.transaction.numbers().identity().current;
    let roles = catalog.catalog.roles();
    if roles.is_superuser(of.role()) && !roles.is_superuser(role) {
        return Err(Error::new(ErrorKind::Privilege, superuser));
    }
    if !roles.has_rights_of(role, of.role()) && !roles.has_rights_of(role, RoleId::SIGNAL_BACKEND) {
        return Err(Error::new(ErrorKind::Privilege, other));
    }
    Ok(())
}

/// The sessions that one waits for.
fn blocking(catalog: &SystemCatalog, pid: i64) -> Vec<i64> {
    let numbers = catalog.transaction.numbers();
    let (Some((_, all)), Some(transactions)) = (numbers.entered(), numbers.advisory().transactions()) else {
        return Vec::new();
    };
    let Some(waits) = i32::try_from(pid).ok().and_then(|pid| all.get(pid)) else { return Vec::new() };
    let waiting = transactions.waiting().into_iter();
    let blockers =
        waiting.filter(|waiting| waiting.who.iter().any(|who| waits.is(*who))).map(|waiting| waiting.blocker);
    let sessions = all.all();
    let found = blockers.filter_map(|blocker| sessions.iter().find(|session| session.is(blocker)));
    found.map(|session| i64::from(session.pid())).collect()
}
