//! The demo at a small scale: load, work, unload and reload through the binary, with its own proof at the end.
//!
//! It runs the binary that `cargo test --workspace` has built: building the package by itself would select
//! other features of the dependencies and compile DataFusion once more.

use std::fs;

use super::Outcome;
use crate::shell::{cargo, command, run, target};

pub(super) fn step() -> Result<Outcome, String> {
    let target = target();
    let binary = target.join("debug/longshore");
    run(&mut cargo(&["test", "--locked", "--workspace", "--no-run", "--quiet"]))?;
    if !binary.exists() {
        run(&mut cargo(&["build", "--locked", "--workspace", "--bins"]))?;
    }
    let folder = target.join("ci-demo");
    fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let mut demo = command(&binary.display().to_string());
    demo.args(["demo", "--scale", "0.01"]).current_dir(&folder);
    let result = run(&mut demo);
    fs::remove_dir_all(&folder).map_err(|error| format!("cannot remove {}: {error}", folder.display()))?;
    result.map(|()| Outcome::Passed)
}
