//! `pg_stat_activity`: the session that asks.

use super::super::SystemCatalog;
use super::super::objects::{DATABASE_OID, OWNER_OID};
use super::super::rows::Rows;
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
