//! PostgreSQL's regression files, on PostgreSQL and on Longshore.
//!
//! `scripts/postgres-regression.sh` brings them and does the work; here stands when it can.

use std::path::Path;

use super::Outcome;
use crate::shell::{command, run};

pub(super) fn step() -> Result<Outcome, String> {
    if !Path::new("/usr/lib/postgresql").is_dir() {
        return Ok(Outcome::Skipped("PostgreSQL is not installed (the Debian package postgresql)".to_owned()));
    }
    if run(command("bash").args(["scripts/postgres-regression.sh", "--fetch"])).is_err() {
        return Ok(Outcome::Skipped("Debian's source package of PostgreSQL cannot be fetched".to_owned()));
    }
    run(command("bash").arg("scripts/postgres-regression.sh"))?;
    Ok(Outcome::Passed)
}
