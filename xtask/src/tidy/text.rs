//! Words that are banned, each with its replacement, and what every module must open with.

use super::Finding;
use crate::shell::ending;

/// Where a rule holds.
#[derive(Clone, Copy)]
enum Scope {
    /// Rust code of the whole repository; comments do not count.
    Code,
    /// Rust code of the crates that are libraries, tests and examples excepted.
    Library,
    /// Every text file.
    Everywhere,
}

/// Where, what, and what to write instead.
type Rule = (Scope, &'static str, &'static str);

// The words are pieced together, or this file would be its own first finding.
const RULES: &[Rule] = &[
    (Scope::Code, concat!("todo", "!("), "finish it, or return an error that says what is not supported"),
    (Scope::Code, concat!("unimplemented", "!("), "return an error that says what is not supported"),
    (Scope::Code, concat!("dbg", "!("), "assert in a test what you wanted to see"),
    (Scope::Code, concat!("#[ign", "ore]"), "#[ignore = \"reason\"]"),
    (Scope::Library, "println!(", "return it, or report it through Control; only binaries print"),
    (Scope::Library, "print!(", "return it, or report it through Control; only binaries print"),
    (Scope::Library, "env::var", "an argument; only binaries and tests read the environment"),
    (Scope::Library, "process::exit", "an error; only binaries decide to exit"),
    (Scope::Everywhere, concat!("FIX", "ME"), "mend it, or describe the limit in a sentence"),
    (Scope::Everywhere, concat!("TO", "DO"), "do it, or describe the limit in a sentence"),
    (Scope::Everywhere, concat!("/wo", "rk/"), "a path relative to the repository"),
    (Scope::Everywhere, concat!("/ro", "ot/"), "a path relative to the repository or to $HOME"),
    (Scope::Everywhere, concat!("/t", "mp/"), "a temporary folder that the program or test makes"),
    (Scope::Everywhere, concat!("<<<<", "<<< "), "the merged text"),
];

/// Crates that are libraries: they print nothing and read no environment.
const LIBRARIES: [&str; 7] = [
    "crates/longshore-value/src/",
    "crates/longshore-csv/src/",
    "crates/longshore-storage/src/",
    "crates/longshore-format/src/",
    "crates/longshore-source/src/",
    "crates/longshore-load/src/",
    "crates/longshore-engine/src/",
];

pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let rust = ending(path) == "rs";
    let library = LIBRARIES.iter().any(|folder| path.starts_with(folder)) && !path.contains("test");
    // Unit tests stand last in a file.
    let tests_begin = text.lines().position(|line| line.starts_with("#[cfg(test)]")).unwrap_or(usize::MAX);
    for (index, line) in text.lines().enumerate() {
        let code = line.find("//").map_or(line, |comment| &line[..comment]);
        for &(scope, banned, instead) in RULES {
            let found = match scope {
                Scope::Code => rust && code.contains(banned),
                Scope::Library => library && index < tests_begin && names(code, banned),
                Scope::Everywhere => is_prose(path) && line.contains(banned),
            };
            if found {
                findings.push(Finding::new(path, index + 1, format!("{banned} is banned: write {instead}")));
            }
        }
    }
    if rust && opens_without_doc(path, text) {
        findings.push(Finding::new(path, 1, "open the module with //! and what it decides"));
    }
    if is_prose(path) && !text.is_empty() && !text.ends_with('\n') {
        findings.push(Finding::new(path, text.lines().count(), "end the file with a line feed"));
    }
    findings
}

/// `banned` as a whole word: `print!(` is not found in `eprint!(`, which has a rule of its own only by its reader.
fn names(code: &str, banned: &str) -> bool {
    code.match_indices(banned).any(|(at, _)| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// Text that people write: data of tests may hold anything.
fn is_prose(path: &str) -> bool {
    path == ".ci/run" || ["rs", "md", "toml", "py", "sh", "txt", "sql", "slt"].contains(&ending(path))
}

/// Sources of crates and of xtask, and the first file of an integration test.
fn opens_without_doc(path: &str, text: &str) -> bool {
    let module = path.starts_with("crates/") || path.starts_with("xtask/") || path.starts_with("fuzz/");
    let first = text.lines().find(|line| !line.starts_with("#!["));
    module && !first.is_some_and(|line| line.starts_with("//!"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(path, text).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn banned_words_are_found_where_they_count() {
        let body = format!("//! Doc.\nfn f() {{ {}) }}\n// {})\n", RULES[0].1, RULES[0].1);
        assert_eq!(lines("crates/a/src/lib.rs", &body), [2]);
        assert!(check("crates/a/src/lib.rs", &body)[0].remedy.contains("finish it"));
        assert!(lines("notes.csv", &body).is_empty());
    }

    #[test]
    fn libraries_do_not_print() {
        let body = "//! Doc.\nfn f() { println!(); }\n#[cfg(test)]\nmod tests { fn g() { println!(); } }\n";
        assert_eq!(lines("crates/longshore-csv/src/a.rs", body), [2]);
        assert!(lines("crates/longshore-cli/src/a.rs", body).is_empty());
    }

    #[test]
    fn modules_open_with_what_they_decide() {
        assert_eq!(lines("crates/a/src/b.rs", "fn f() {}\n"), [1]);
        assert!(lines("crates/a/src/b.rs", "#![no_main]\n//! Decides.\n").is_empty());
    }

    #[test]
    fn files_end_with_a_line_feed() {
        assert_eq!(lines("README.md", "a\nb"), [2]);
    }
}
