//! The tests of the workspace, with a part of what they try at random.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Outcome, compiler, lints};
use crate::shell::{cargo, root, run};

/// Of the random texts, statements and histories, the part that is tried, with the same seeds each time; `cargo test --workspace`
/// tries all. Tests that count what they have met have too little for that with less.
const SHARE: &str = "10";

/// Programs of tests that `--fast` leaves out: they take long, kill processes, or need features that it does not build.
const SLOW: [&str; 10] = [
    "binary",
    "book",
    "durable",
    "interleave",
    "interleave_log",
    "interleave_waits",
    "remote",
    "tiny",
    "transactions",
    "witness",
];

/// All of them.
pub(super) fn all() -> Result<Outcome, String> {
    run(&mut tests())?;
    Ok(Outcome::Passed)
}

/// Those of a first build, in which the steps `clippy` and `doc` are done as well.
pub(super) fn linted() -> Result<Outcome, String> {
    // This program alone is compiled already.
    lints::clippy_of(&["--package", "xtask"])?;
    let (name, wrapper) = compiler::wrapper()?;
    run(tests().env(name, wrapper))?;
    Ok(Outcome::Passed)
}

/// Those of `--fast`: units, and the programs of tests that are not slow.
pub(super) fn quick() -> Result<Outcome, String> {
    let mut tests = tests();
    tests.args(["--lib", "--bins"]);
    for name in programs()?.iter().filter(|name| !SLOW.contains(&name.as_str())) {
        tests.args(["--test", name]);
    }
    run(&mut tests)?;
    Ok(Outcome::Passed)
}

fn tests() -> Command {
    let mut test = cargo(&["test", "--locked", "--workspace"]);
    if std::env::var_os("LONGSHORE_TEST_SHARE").is_none() {
        test.env("LONGSHORE_TEST_SHARE", SHARE);
    }
    test
}

/// The names of all programs of tests: files and folders below `tests/` of each package.
fn programs() -> Result<BTreeSet<String>, String> {
    let mut names = BTreeSet::new();
    for packages in ["crates", "tests"] {
        for package in entries(&root().join(packages))? {
            let tests = package.join("tests");
            for entry in if tests.is_dir() { entries(&tests)? } else { Vec::new() } {
                let is_program = entry.extension().is_some_and(|end| end == "rs") || entry.join("main.rs").is_file();
                names.extend(entry.file_stem().filter(|_| is_program).map(|name| name.to_string_lossy().into_owned()));
            }
        }
    }
    Ok(names)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let cannot = |error| format!("cannot list {}: {error}", folder.display());
    let listed = fs::read_dir(folder).map_err(cannot)?;
    listed.map(|entry| entry.map(|entry| entry.path()).map_err(cannot)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_there() {
        let all = programs().expect("folders");
        for name in SLOW {
            assert!(all.contains(name), "{name}");
        }
        for name in ["engine", "storage", "load", "random"] {
            assert!(all.contains(name) && !SLOW.contains(&name), "{name}");
        }
    }
}
