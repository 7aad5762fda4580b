//! Links and paths in Markdown name what exists: a page that describes files long gone misleads.

use super::Finding;
use crate::shell::ending;

/// Relative links, and in backticks paths that start at one of the repository's folders.
pub(super) fn check(path: &str, text: &str, exists: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    if ending(path) != "md" {
        return Vec::new();
    }
    let folder = path.rfind('/').map_or("", |slash| &path[..=slash]);
    let mut findings = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        for link in links(line) {
            let target = format!("{folder}{link}");
            if !exists(&target) {
                findings.push(Finding::new(
                    path,
                    index + 1,
                    format!("the link to {target} leads nowhere: name what exists"),
                ));
            }
        }
        for named in paths(line) {
            if !exists(named) {
                findings.push(Finding::new(path, index + 1, format!("there is no {named}: name what exists")));
            }
        }
    }
    findings
}

/// Targets of `[text](target)` that are files.
fn links(line: &str) -> Vec<&str> {
    line.match_indices("](")
        .filter_map(|(at, open)| line[at + open.len()..].split(')').next())
        .map(|target| target.split('#').next().unwrap_or_default())
        .filter(|target| !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:"))
        .collect()
}

/// `` `crates/...` `` and the like; patterns and placeholders are left alone.
fn paths(line: &str) -> Vec<&str> {
    const FOLDERS: [&str; 7] = ["crates/", "tests/", "xtask/", "scripts/", "fuzz/", "bench/", ".ci/"];
    line.split('`')
        .skip(1)
        .step_by(2)
        .filter(|code| FOLDERS.iter().any(|folder| code.starts_with(folder)))
        .filter(|code| !code.contains(['*', '<', '{', ' ', '…']) && !code.contains("NN") && !code.contains("..."))
        .filter(|code| !["fuzz/corpus", "fuzz/artifacts", "fuzz/target"].iter().any(|made| code.starts_with(made)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_are_found() {
        let exists = |target: &str| target == "docs/there.md" || target == "crates/a";
        let text = "[a](there.md#part) [b](gone.md) [c](https://x.y)\n`crates/a` `crates/b` `crates/*/src`\n";
        let found = check("docs/page.md", text, &exists);
        let lines: Vec<usize> = found.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1, 2]);
        assert!(found[0].remedy.contains("docs/gone.md"));
        assert!(found[1].remedy.contains("crates/b"));
    }
}
