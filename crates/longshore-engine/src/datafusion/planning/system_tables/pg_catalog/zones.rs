//! `pg_timezone_names`: the time zones that have names, and how they count now.

use std::time::{SystemTime, UNIX_EPOCH};

use longshore_time::zone::Zone;

use super::super::SystemCatalog;
use super::super::rows::{Rows, text};

const MICROS_PER_SECOND: i64 = 1_000_000;

pub(super) fn pg_timezone_names(_: &SystemCatalog, rows: &mut Rows<'_>) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let now = i64::try_from(now).unwrap_or_default();
    for zone in Zone::all() {
        let local = zone.local(now);
        rows.row([
            ("name", text(zone.name())),
            ("abbrev", local.abbreviation.into()),
            ("utc_offset", (i64::from(local.east) * MICROS_PER_SECOND).into()),
            ("is_dst", local.is_dst.into()),
        ]);
    }
}
