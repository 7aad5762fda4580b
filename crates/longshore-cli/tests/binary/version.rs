//! `longshore --version` names the version, and the commit it was built from where git knows one.

use std::path::Path;

use crate::run::longshore_in;

/// What the build script found out.
const VERSION: &str = env!("LONGSHORE_VERSION");

#[test]
fn the_version_is_printed() {
    for option in ["--version", "-V"] {
        let run = longshore_in(Path::new("."), &[option], "");
        assert_eq!((run.status, run.err.as_str()), (0, ""));
        assert_eq!(run.out, format!("longshore {VERSION}\n"));
    }
}

#[test]
fn the_version_names_the_commit_and_its_date() {
    let number = env!("CARGO_PKG_VERSION");
    let rest = VERSION.strip_prefix(number).expect("the number of the version comes first");
    if rest.is_empty() {
        println!("SKIPPED: built without git");
        return;
    }
    let build = rest.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')')).expect("in parentheses");
    let (commit, date) = build.split_once(", ").expect("two parts");
    let commit = commit.strip_suffix("-dirty").unwrap_or(commit);
    assert!(commit.len() == 10 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{VERSION}");
    let shape: String = date.chars().map(|char| if char.is_ascii_digit() { '0' } else { char }).collect();
    assert_eq!(shape, "0000-00-00", "{VERSION}");
}
