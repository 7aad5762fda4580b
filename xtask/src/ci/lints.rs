//! Lints and documentation: warnings denied, on metadata that is made once.
//!
//! Both need the metadata of all dependencies and of each crate of ours. Clippy makes that of ours with its own compiler, so
//! that the documentation would make it once more: it takes clippy's compiler too.

use std::fs;

use super::Outcome;
use crate::shell::{cargo, run};

pub(super) fn clippy() -> Result<Outcome, String> {
    clippy_of(&["--workspace"])
}

/// The lints over these packages.
pub(super) fn clippy_of(packages: &[&str]) -> Result<Outcome, String> {
    let mut clippy = cargo(&["clippy", "--locked"]);
    run(clippy.args(packages).args(["--all-targets", "--", "-D", "warnings"]))?;
    Ok(Outcome::Passed)
}

pub(super) fn doc() -> Result<Outcome, String> {
    let mut doc = cargo(&["doc", "--locked", "--workspace", "--no-deps", "--lib"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    // As `cargo clippy` above finds and calls it: otherwise cargo would take nothing of what that made.
    let driver = fs::canonicalize(doc.get_program()).map(|cargo| cargo.with_file_name("clippy-driver"));
    if let Some(driver) = driver.ok().filter(|driver| driver.exists()) {
        doc.env("RUSTC_WORKSPACE_WRAPPER", driver);
        doc.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    }
    run(&mut doc)?;
    Ok(Outcome::Passed)
}
