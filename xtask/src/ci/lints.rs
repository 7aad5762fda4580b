//! Lints and documentation: warnings denied, on metadata that is made once.
//!
//! Both need the metadata of all dependencies and of each crate of ours. Clippy makes that of ours with its own compiler, so
//! that the documentation would make it once more: it takes clippy's compiler too.

use super::Outcome;
use super::compiler::{self, CLIPPY_ARGS};
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
    if let Some(driver) = compiler::tool(doc.get_program().as_ref(), "clippy-driver") {
        doc.env("RUSTC_WORKSPACE_WRAPPER", driver);
        doc.env("CLIPPY_ARGS", CLIPPY_ARGS);
    }
    run(&mut doc)?;
    Ok(Outcome::Passed)
}
