//! Decides what `longshore --version` prints: the version, and the commit with its date where git knows them.
//!
//! `LONGSHORE_VERSION` is `0.1.0 (164b795c1f, 2026-11-23)`. `-dirty` follows the commit if tracked files have changes.
//! Where the sources are not the top of a git repository, as in a source archive, it is `0.1.0` alone.
//!
//! Cargo compiles the package again whenever this script runs, so the script runs only when HEAD or the index changes,
//! or a source file of the workspace. A change of any other file shows at the next run.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How much of the commit's hash is shown.
const COMMIT_DIGITS: usize = 10;

/// Variables that git sets for its hooks. They may name another repository, or an index in the making.
const HOOK_VARIABLES: [&str; 3] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"];

fn main() {
    let version = variable("CARGO_PKG_VERSION");
    let package = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    watch(&package.join("build.rs"));
    let root = package.join("../..");
    match commit(&root) {
        Some(commit) => {
            watch_commit(&root);
            watch_sources(&root);
            println!("cargo::rustc-env=LONGSHORE_VERSION={version} ({commit})");
        }
        None => println!("cargo::rustc-env=LONGSHORE_VERSION={version}"),
    }
}

/// A variable that cargo sets for build scripts.
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|error| panic!("cargo sets {name}: {error}"))
}

/// The commit, whether there are changes, and the date; `None` if `root` is not the top of a repository with commits.
fn commit(root: &Path) -> Option<String> {
    // Sources that were unpacked somewhere inside another repository have none of their own.
    if !git(root, &["rev-parse", "--show-prefix"])?.is_empty() {
        return None;
    }
    let shown = git(root, &["-c", "log.showSignature=false", "log", "--max-count=1", "--format=%H %cs"])?;
    let (hash, date) = shown.split_once(' ')?;
    let commit = hash.get(..COMMIT_DIGITS)?;
    let changes = git(root, &["status", "--porcelain", "--untracked-files=no"])?;
    let dirty = if changes.is_empty() { "" } else { "-dirty" };
    Some(format!("{commit}{dirty}, {date}"))
}

/// Runs this script again when HEAD moves or the index changes.
fn watch_commit(root: &Path) {
    let branch = git(root, &["symbolic-ref", "--quiet", "HEAD"]);
    // The log of HEAD changes also where a branch moves out of the packed references.
    let names = ["HEAD", "logs/HEAD", "index"].into_iter().chain(branch.as_deref());
    // In a worktree `.git` is a file, and branches lie elsewhere than HEAD: git knows where.
    for path in names.filter_map(|name| git(root, &["rev-parse", "--git-path", name])) {
        watch(&root.join(path));
    }
}

/// Runs this script again when a file changes that makes cargo compile the program again.
fn watch_sources(root: &Path) {
    watch(&root.join("Cargo.toml"));
    watch(&root.join("Cargo.lock"));
    for package in fs::read_dir(root.join("crates")).into_iter().flatten().flatten() {
        watch(&package.path().join("src"));
    }
}

/// Runs this script again when `path` changes. Cargo takes a path that does not exist for one that always changes.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// What git prints, without the last line feed; `None` if there is no git or it fails.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    // Without this, `git status` could write the index, and each build would ask for the next one.
    command.arg("--no-optional-locks").args(arguments).current_dir(root);
    for variable in HOOK_VARIABLES {
        command.env_remove(variable);
    }
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok().map(|text| text.trim_end().to_owned())
}
