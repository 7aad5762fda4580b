//! Lengths of source files, with a ratchet.
//!
//! Aim at 150 to 450 lines and one subject. A file over the limit stands in `xtask/ratchet.txt` with its length
//! and may only shrink; over the hard limit there is no entry that helps.

use std::collections::BTreeMap;
use std::fs;

use super::Finding;
use crate::shell::{ending, root};

/// A longer file needs an entry in the ratchet.
const LINES_MAX: usize = 450;

/// No file may be longer, whatever the ratchet says.
const LINES_HARD_MAX: usize = 700;

const RATCHET: &str = "xtask/ratchet.txt";

const HEADER: &str = "\
# Source files over 450 lines, with their length. None may grow; cut by subject instead.
# `cargo xtask tidy --write` lowers the entries; new ones are written by hand and need a reason in the commit.
";

pub(super) fn check(sources: &[(String, String)], write: bool) -> Result<Vec<Finding>, String> {
    let ratchet = read()?;
    let lengths: BTreeMap<&str, usize> = sources
        .iter()
        .filter(|(path, _)| is_source(path))
        .map(|(path, text)| (path.as_str(), text.lines().count()))
        .collect();
    if write {
        let entries: String = ratchet
            .iter()
            .filter_map(|(path, &allowed)| {
                let lines = *lengths.get(path.as_str())?;
                (lines > LINES_MAX).then(|| format!("{} {path}\n", lines.min(allowed)))
            })
            .collect();
        fs::write(root().join(RATCHET), format!("{HEADER}{entries}"))
            .map_err(|error| format!("cannot write {RATCHET}: {error}"))?;
        return Ok(findings(&lengths, &read()?));
    }
    Ok(findings(&lengths, &ratchet))
}

fn is_source(path: &str) -> bool {
    ["rs", "py", "sh"].contains(&ending(path))
}

fn findings(lengths: &BTreeMap<&str, usize>, ratchet: &BTreeMap<String, usize>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (&path, &lines) in lengths {
        let allowed = ratchet.get(path).copied();
        if lines > LINES_HARD_MAX {
            findings.push(Finding::new(
                path,
                lines,
                format!("{lines} lines, {LINES_HARD_MAX} at most: cut it by subject"),
            ));
        } else if lines > allowed.unwrap_or(LINES_MAX) && lines > LINES_MAX {
            let limit = allowed.unwrap_or(LINES_MAX);
            findings.push(Finding::new(
                path,
                lines,
                format!("{lines} lines where {limit} are allowed: cut it by subject"),
            ));
        }
    }
    for (path, &allowed) in ratchet {
        let lines = lengths.get(path.as_str()).copied().unwrap_or(0);
        if lines <= LINES_MAX || lines < allowed {
            findings.push(Finding::new(
                RATCHET,
                0,
                format!("{path} has shrunk to {lines} lines: run cargo xtask tidy --write"),
            ));
        }
    }
    findings
}

fn read() -> Result<BTreeMap<String, usize>, String> {
    let text = fs::read_to_string(root().join(RATCHET)).map_err(|error| format!("cannot read {RATCHET}: {error}"))?;
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let (lines, path) = line.split_once(' ').ok_or(format!("{RATCHET}: {line:?} is not `lines path`"))?;
            let lines = lines.parse().map_err(|_| format!("{RATCHET}: {line:?} is not `lines path`"))?;
            Ok((path.to_owned(), lines))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(lengths: &[(&str, usize)], ratchet: &[(&str, usize)]) -> Vec<String> {
        let lengths = lengths.iter().copied().collect();
        let ratchet = ratchet.iter().map(|&(path, lines)| (path.to_owned(), lines)).collect();
        findings(&lengths, &ratchet).into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn nothing_over_the_limit_may_grow() {
        assert!(paths(&[("a.rs", 450)], &[]).is_empty());
        assert_eq!(paths(&[("a.rs", 451)], &[]), ["a.rs"]);
        assert!(paths(&[("a.rs", 500)], &[("a.rs", 500)]).is_empty());
        assert_eq!(paths(&[("a.rs", 501)], &[("a.rs", 500)]), ["a.rs"]);
        assert_eq!(paths(&[("a.rs", 701)], &[("a.rs", 701)]), ["a.rs"]);
    }

    #[test]
    fn the_ratchet_keeps_no_slack() {
        assert_eq!(paths(&[("a.rs", 499)], &[("a.rs", 500)]), [RATCHET]);
        assert_eq!(paths(&[], &[("gone.rs", 500)]), [RATCHET]);
    }
}
