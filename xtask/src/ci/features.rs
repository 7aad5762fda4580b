//! Every package that needs DataFusion asks for the same features of all dependencies.
//!
//! Cargo gives a dependency the features that the packages of one command ask for. Were they fewer for one package, then
//! building, testing or documenting it alone would compile DataFusion once more, which takes many minutes.

use std::collections::BTreeSet;

use super::Outcome;
use crate::shell::{capture, cargo};

/// The packages that need DataFusion.
const PACKAGES: [&str; 7] = [
    "longshore-engine",
    "longshore-server",
    "longshore-cli",
    "longshore-bench",
    "longshore-python",
    "longshore-witness",
    "longshore-fuzz",
];

/// A package that is built with a dependency that the others do not have.
const CONTROL: [&str; 4] = ["--package", "longshore-storage", "--features", "longshore-storage/interleave"];

pub(super) fn step() -> Result<Outcome, String> {
    let all = dependencies(&["--workspace", "--edges", "normal,build,dev"])?;
    for package in PACKAGES {
        let own = dependencies(&["--package", package, "--edges", "normal,build"])?;
        if let Some(other) = own.difference(&all).next() {
            let name = other.split(' ').next().unwrap_or_default();
            return Err(format!(
                "{package} alone builds {other:?}, but the tests of the workspace build it with more features: ask for \
                 them in crates/longshore-engine/Cargo.toml; see: cargo tree --workspace -e features -i {name}"
            ));
        }
        println!("{package} alone builds {} packages as the whole workspace does", own.len());
    }
    if dependencies(&CONTROL)?.is_subset(&all) {
        return Err("the control failed: no dependency of storage's feature `interleave` is missed".to_owned());
    }
    Ok(Outcome::Passed)
}

/// The packages of a tree, each as name, version and features.
fn dependencies(arguments: &[&str]) -> Result<BTreeSet<String>, String> {
    let tree = capture(cargo(&["tree", "--locked", "--prefix", "none", "--format", "{p} {f}"]).args(arguments))?;
    if !tree.success {
        return Err(format!("cargo tree {}: {}", arguments.join(" "), tree.stderr));
    }
    Ok(tree.stdout.lines().map(|line| line.trim_end_matches(" (*)").trim().to_owned()).collect())
}
