//! A compiler for the first build: `rustc`, and beside it clippy and rustdoc on the crates of the workspace.
//!
//! `cargo clippy` and `cargo doc` need the metadata of all dependencies, which cargo does not take from those that the tests
//! were built with: it compiles them once more. Cargo calls this program in the place of `rustc` instead
//! (`RUSTC_WRAPPER`), which hands clippy and rustdoc what the tests are compiled with.
//!
//! What is compiled already cargo does not compile again, and it would not be linted: this is for a first build only.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use crate::shell::target;

/// How cargo tells clippy's compiler, in the variable `CLIPPY_ARGS`, that warnings are denied.
pub(super) const CLIPPY_ARGS: &str = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";

/// What [`as_rustc`] needs when cargo calls it: this program.
pub(super) fn wrapper() -> Result<(&'static str, PathBuf), String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    Ok(("RUSTC_WRAPPER", program))
}

/// Whether nothing of the workspace but this program is compiled.
pub(super) fn is_first_build() -> bool {
    let compiled = fs::read_dir(target().join("debug/deps")).into_iter().flatten().flatten();
    !compiled.filter_map(|file| file.file_name().into_string().ok()).any(|name| name.contains("longshore"))
}

/// Runs `rustc` as cargo asks, and clippy and rustdoc where it compiles a crate of the workspace; `None` when cargo did not
/// call this program as its compiler.
///
/// # Errors
///
/// When one of them cannot start. One that fails has told cargo why.
pub(crate) fn as_rustc(arguments: &[&str]) -> Option<Result<(), String>> {
    let (&rustc, arguments) = arguments.split_first()?;
    (Path::new(rustc).file_stem()? == "rustc").then(|| compile(Path::new(rustc), arguments))
}

fn compile(rustc: &Path, arguments: &[&str]) -> Result<(), String> {
    let is_ours = std::env::var_os("CARGO_PRIMARY_PACKAGE").is_some() && arguments.contains(&"--crate-name");
    // What a library of Rust holds its tests hold as well, which are linted. What nothing but tests uses `rustc` itself finds.
    let has_tests = is_crate_of_type(arguments, &["lib", "rlib"]);
    let beside = [
        (is_ours && !has_tests).then(|| clippy(rustc, arguments)),
        (is_ours && is_library(arguments)).then(|| rustdoc(rustc, arguments)),
    ];
    let denied: &[&str] = if is_ours { &["-D", "warnings"] } else { &[] };
    let cannot = |error: io::Error| format!("cannot start the compiler or a tool beside it: {error}");
    let beside: Vec<_> = beside
        .into_iter()
        .flatten()
        .map(|mut tool| thread::spawn(move || tool.stdin(Stdio::null()).stdout(Stdio::null()).output()))
        .collect();
    let is_compiled = Command::new(rustc).args(arguments).args(denied).status().map_err(cannot)?.success();
    let told: Vec<Output> = beside
        .into_iter()
        .map(|tool| tool.join().expect("a thread that runs a program does not panic"))
        .collect::<io::Result<_>>()
        .map_err(cannot)?;
    for tool in &told {
        io::stderr().write_all(&tool.stderr).map_err(cannot)?;
    }
    if is_compiled && told.iter().all(|tool| tool.status.success()) {
        return Ok(());
    }
    Err("not compiled, or not without a warning".to_owned())
}

/// The lints over what `rustc` is asked to compile, as `cargo clippy` calls them.
fn clippy(rustc: &Path, arguments: &[&str]) -> Command {
    let mut clippy = Command::new(tool(rustc, "clippy-driver").unwrap_or_else(|| "clippy-driver".into()));
    clippy.arg(rustc).args(for_tool(arguments, Some("metadata"), &target().join("lints")));
    clippy.env("CLIPPY_ARGS", CLIPPY_ARGS);
    clippy
}

/// The documentation of what `rustc` is asked to compile.
fn rustdoc(rustc: &Path, arguments: &[&str]) -> Command {
    let mut rustdoc = Command::new(tool(rustc, "rustdoc").unwrap_or_else(|| "rustdoc".into()));
    rustdoc.args(for_tool(arguments, None, &target().join("lints/doc"))).args(["-D", "warnings"]);
    rustdoc
}

/// The tool of that name in the toolchain of a program, if it is there.
pub(super) fn tool(of_toolchain: &Path, name: &str) -> Option<PathBuf> {
    let tool = fs::canonicalize(of_toolchain).ok()?.with_file_name(name);
    tool.exists().then_some(tool)
}

/// Whether it is a library that `cargo doc --lib` documents.
fn is_library(arguments: &[&str]) -> bool {
    is_crate_of_type(arguments, &["lib", "rlib", "cdylib"])
}

/// Whether it is a crate of one of these types, and not its tests.
fn is_crate_of_type(arguments: &[&str], types: &[&str]) -> bool {
    let is_test = arguments.contains(&"--test");
    let mut given = arguments.iter().zip(arguments.iter().skip(1)).filter(|(option, _)| **option == "--crate-type");
    !is_test && given.any(|(_, of_type)| types.contains(of_type))
}

/// The arguments of `rustc` as another tool takes them: what it makes goes to a folder of its own, and cargo is not told
/// of files, since it would take them for those of `rustc`.
fn for_tool(arguments: &[&str], emit: Option<&str>, folder: &Path) -> Vec<OsString> {
    let mut taken = Vec::new();
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        if argument == "--out-dir" {
            rest.next();
            taken.extend(["--out-dir".into(), folder.into()]);
        } else if argument.starts_with("--emit=") {
            taken.extend(emit.map(|emit| format!("--emit={emit}").into()));
        } else if let Some(told) = argument.strip_prefix("--json=") {
            let told: Vec<&str> = told.split(',').filter(|what| *what != "artifacts").collect();
            taken.push(format!("--json={}", told.join(",")).into());
        } else {
            taken.push(argument.into());
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUSTC: [&str; 8] = [
        "--crate-name",
        "longshore_csv",
        "--json=diagnostic-rendered-ansi,artifacts,future-incompat",
        "--crate-type",
        "lib",
        "--emit=dep-info,metadata,link",
        "--out-dir",
        "target/debug/deps",
    ];

    #[test]
    fn a_tool_makes_nothing_that_cargo_takes_for_the_compilers() {
        let taken = for_tool(&RUSTC, Some("metadata"), Path::new("lints"));
        let common = ["--crate-name", "longshore_csv", "--json=diagnostic-rendered-ansi,future-incompat"];
        let expected = [&common[..], &["--crate-type", "lib", "--emit=metadata", "--out-dir", "lints"]].concat();
        assert_eq!(taken, expected);
        assert!(!for_tool(&RUSTC, None, Path::new("lints")).iter().any(|argument| argument == "--emit=metadata"));
    }

    #[test]
    fn libraries_are_documented() {
        assert!(is_library(&RUSTC));
        assert!(!is_library(&[&RUSTC[..], &["--test"]].concat()));
        assert!(!is_library(&["--crate-name", "lib", "--crate-type", "bin"]));
    }

    #[test]
    fn only_a_compiler_is_called_as_one() {
        assert!(as_rustc(&["ci", "rustc"]).is_none());
        assert!(as_rustc(&[]).is_none());
        assert!(as_rustc(&["/no/such/rustc", "-vV"]).is_some_and(|result| result.is_err()));
    }
}
