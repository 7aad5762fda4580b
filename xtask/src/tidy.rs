//! `cargo xtask tidy`: house rules that no lint knows.
//!
//! A finding names file and line and says what to write instead. File lengths ratchet: `xtask/ratchet.txt` lists
//! the files that are over the limit with their length, and none of them may grow.
//! Not here: formatting (rustfmt), lints (clippy), what crates may depend on (`ci::absence`).

mod length;
mod links;
mod text;

use std::fs;

use crate::shell::{files, root};

/// Something to mend.
#[derive(Debug, PartialEq)]
pub(crate) struct Finding {
    path: String,
    /// Counted from one; zero where the file as a whole is meant.
    line: usize,
    remedy: String,
}

impl Finding {
    fn new(path: &str, line: usize, remedy: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, remedy: remedy.into() }
    }
}

/// Checks every file of the repository that is text.
///
/// # Errors
///
/// All findings.
pub(crate) fn main(arguments: &[&str]) -> Result<(), String> {
    let write = match arguments {
        [] => false,
        ["--write"] => true,
        other => {
            return Err(format!("tidy does not know {other:?}; it takes --write or nothing"));
        }
    };
    let mut sources = Vec::new();
    for path in files()? {
        let bytes = fs::read(root().join(&path)).map_err(|error| format!("cannot read {path}: {error}"))?;
        if let Ok(text) = String::from_utf8(bytes) {
            sources.push((path, text));
        }
    }
    let mut findings = Vec::new();
    for (path, source) in &sources {
        findings.extend(text::check(path, source));
        findings.extend(links::check(path, source, &|target| root().join(target).exists()));
    }
    findings.extend(length::check(&sources, write)?);
    if findings.is_empty() {
        println!("tidy: {} files, nothing to mend", sources.len());
        return Ok(());
    }
    let lines: Vec<String> =
        findings.iter().map(|finding| format!("{}:{}: {}", finding.path, finding.line, finding.remedy)).collect();
    Err(format!("{}\ntidy: {} to mend", lines.join("\n"), lines.len()))
}
