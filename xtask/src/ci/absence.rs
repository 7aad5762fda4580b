//! The promises of absence: what each crate must not know.
//!
//! Every promise on a dependency comes with a control, the same question where the answer must be yes: otherwise
//! a misspelt name would pass. Promises on sources are searched in code, not in comments, with a control too.

use std::fs;

use super::Outcome;
use crate::shell::{capture, cargo, ending, files, root};

/// `(crate, what it must not depend on, a crate that does depend on it)`.
const DEPENDENCIES: &[(&str, &str, &str)] = &[
    ("longshore-value", "longshore-csv", "longshore-load"),
    ("longshore-value", "longshore-storage", "longshore-load"),
    ("longshore-value", "longshore-format", "longshore-load"),
    ("longshore-value", "longshore-source", "longshore-load"),
    ("longshore-value", "longshore-load", "longshore-engine"),
    ("longshore-value", "arrow-array", "longshore-storage"),
    ("longshore-csv", "datafusion", "longshore-engine"),
    ("longshore-csv", "tokio", "longshore-engine"),
    ("longshore-csv", "arrow-array", "longshore-storage"),
    ("longshore-csv", "longshore-storage", "longshore-load"),
    ("longshore-csv", "libc", "longshore-storage"),
    ("longshore-storage", "datafusion", "longshore-engine"),
    ("longshore-storage", "tokio", "longshore-engine"),
    ("longshore-storage", "sqlparser", "longshore-engine"),
    ("longshore-storage", "longshore-csv", "longshore-load"),
    ("longshore-format", "datafusion", "longshore-engine"),
    ("longshore-format", "tokio", "longshore-engine"),
    ("longshore-format", "longshore-storage", "longshore-load"),
    ("longshore-source", "datafusion", "longshore-engine"),
    ("longshore-source", "sqlparser", "longshore-engine"),
    // Without its feature `remote`.
    ("longshore-source", "tokio", "longshore-engine"),
    ("longshore-source", "longshore-load", "longshore-engine"),
    ("longshore-source", "longshore-csv", "longshore-load"),
    ("longshore-source", "longshore-format", "longshore-load"),
    ("longshore-source", "longshore-storage", "longshore-load"),
    ("longshore-load", "datafusion", "longshore-engine"),
    ("longshore-load", "tokio", "longshore-engine"),
    ("longshore-load", "sqlparser", "longshore-engine"),
];

/// `(folder, words that its code must not have, the promise)`.
const SOURCES: &[(&str, &[&str], &str)] = &[
    ("crates/longshore-value/src/", &["std::", "alloc::", "extern crate"], "does no I/O and does not allocate"),
    (
        "crates/longshore-csv/src/",
        &["std::fs", "std::io", "std::thread", "std::net", "std::process"],
        "does no I/O and starts no threads",
    ),
    (
        "crates/longshore-format/src/",
        &["std::fs", "std::io", "std::thread", "std::net", "std::process"],
        "does no I/O and starts no threads",
    ),
    ("crates/longshore-source/src/", &["longshore_csv", "longshore_format"], "knows nothing of records"),
    ("crates/longshore-storage/src/", &["async fn", ".await", "async move"], "is not asynchronous"),
    ("crates/longshore-load/src/", &["async fn", ".await", "async move"], "is not asynchronous"),
];

/// The only places that may name DataFusion.
const DATAFUSION_HOME: [&str; 2] =
    ["crates/longshore-engine/src/datafusion.rs", "crates/longshore-engine/src/datafusion/"];

pub(super) fn step() -> Result<Outcome, String> {
    for &(package, absent, control) in DEPENDENCIES {
        if depends(package, absent)? {
            return Err(format!("{package} must not depend on {absent}; see: cargo tree -p {package} -i {absent}"));
        }
        if !depends(control, absent)? {
            return Err(format!("the control failed: {control} does not depend on {absent}; is the name right?"));
        }
        println!("{package} has no {absent} (and {control} has)");
    }
    only_depend_on("longshore-bench", &[], "all")?;
    // What they are for is tests, and what is checked for any bytes.
    only_depend_on("longshore-testing", &["longshore-simdisk", "longshore-fuzz"], "normal,build")?;
    only_depend_on("longshore-simdisk", &["longshore-fuzz"], "normal,build")?;
    let sources = sources()?;
    for &(folder, words, promise) in SOURCES {
        let mut seen = 0;
        for (path, code) in sources.iter().filter(|(path, _)| path.starts_with(folder)) {
            seen += 1;
            if let Some(word) = words.iter().find(|word| code.contains(**word)) {
                return Err(format!("{path} has {word:?}, but {folder} {promise}"));
            }
        }
        if seen == 0 {
            return Err(format!("the control failed: no source under {folder}"));
        }
        println!("{folder} {promise} ({seen} files)");
    }
    datafusion_stays_home(&sources)?;
    Ok(Outcome::Passed)
}

/// Whether `absent` is among the dependencies of `package`, direct or not, of any kind.
fn depends(package: &str, absent: &str) -> Result<bool, String> {
    let tree = capture(&mut cargo(&["tree", "--locked", "--package", package, "--invert", absent]))?;
    if !tree.success && !tree.stderr.contains("did not match any packages") {
        return Err(format!("cargo tree -p {package} -i {absent}: {}", tree.stderr));
    }
    // Where the package is in the lock file but not below `package`, cargo warns and prints nothing.
    Ok(tree.success && !tree.stdout.trim().is_empty())
}

/// Checks that no crate but some depends on `absent` by edges of these kinds, as `cargo tree` names them.
fn only_depend_on(absent: &str, users_allowed: &[&str], edges: &str) -> Result<(), String> {
    let users = |name: &str| -> Result<usize, String> {
        let mut tree = cargo(&["tree", "--locked", "--workspace", "--prefix", "none", "--edges", edges]);
        let tree = capture(tree.args(["--invert", name]))?;
        if !tree.success {
            return Err(format!("cargo tree --workspace -e {edges} -i {name}: {}", tree.stderr));
        }
        let is_allowed = |line: &str| line.starts_with(name) || users_allowed.iter().any(|user| line.starts_with(user));
        Ok(tree.stdout.lines().filter(|line| !is_allowed(line) && !line.trim().is_empty()).count())
    };
    if users("longshore-engine")? == 0 {
        return Err("the control failed: nothing depends on longshore-engine".to_owned());
    }
    if users(absent)? > 0 {
        return Err(format!("something depends on {absent}; see: cargo tree --workspace -e {edges} -i {absent}"));
    }
    println!("nothing but {users_allowed:?} depends on {absent} (edges: {edges})");
    Ok(())
}

fn datafusion_stays_home(sources: &[(String, String)]) -> Result<(), String> {
    let mut at_home = 0;
    for (path, code) in sources {
        let home = DATAFUSION_HOME.iter().any(|home| path.starts_with(home));
        let names = code.lines().find(|line| names_datafusion(line));
        match names {
            Some(_) if home => at_home += 1,
            Some(line) => {
                return Err(format!(
                    "{path} names DataFusion ({}); only {} may: put the code there behind a type of ours",
                    line.trim(),
                    DATAFUSION_HOME[1]
                ));
            }
            None => {}
        }
    }
    if at_home == 0 {
        return Err(format!("the control failed: nothing under {} names DataFusion", DATAFUSION_HOME[1]));
    }
    println!("only {} names DataFusion ({at_home} files)", DATAFUSION_HOME[1]);
    Ok(())
}

/// Whether a line of code uses a path into the crate `datafusion` (our own module is `crate::datafusion`).
fn names_datafusion(line: &str) -> bool {
    line.match_indices("datafusion").any(|(at, word)| {
        let before = &line[..at];
        let after = &line[at + word.len()..];
        let ours = before.ends_with("crate::") || before.ends_with("super::") || before.ends_with("self::");
        let path =
            after.starts_with("::") || after.starts_with(" as ") || after.starts_with('_') && after.contains("::");
        let whole = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '"');
        path && whole && !ours
    })
}

/// Path and code without comments of every Rust source of the crates.
fn sources() -> Result<Vec<(String, String)>, String> {
    let mut sources = Vec::new();
    for path in files()? {
        if path.starts_with("crates/") && ending(&path) == "rs" {
            let text =
                fs::read_to_string(root().join(&path)).map_err(|error| format!("cannot read {path}: {error}"))?;
            sources.push((path, code(&text)));
        }
    }
    Ok(sources)
}

/// A source without its line comments.
fn code(text: &str) -> String {
    let lines = text.lines().map(|line| line.find("//").map_or(line, |comment| &line[..comment]));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_into_datafusion_are_found() {
        assert!(names_datafusion("use datafusion::prelude::SessionContext;"));
        assert!(names_datafusion("let x = ::datafusion::common::Result::Ok(());"));
        assert!(names_datafusion("use datafusion_common::Result;"));
        assert!(names_datafusion("use datafusion as df;"));
        assert!(!names_datafusion("use crate::datafusion::Queries;"));
        assert!(!names_datafusion("mod datafusion;"));
        assert!(!names_datafusion("use my_datafusion::x;"));
    }

    #[test]
    fn comments_are_not_code() {
        assert_eq!(code("//! std::fs\nuse std::fs; // std::io"), "\nuse std::fs; ");
    }
}
