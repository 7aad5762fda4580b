//! AddressSanitizer over the crates that hold unsafe code.
//!
//! It works on the pinned stable toolchain (`RUSTC_BOOTSTRAP=1`). The standard library is not instrumented,
//! which hides errors inside it and reports none falsely.

use std::fs;

use super::{LOW_CRATES, Outcome};
use crate::shell::{cargo, root, run, target};

/// Tests of safe code, which meet no unsafe code that others do not: what is found out of files, and rules about records;
/// and one that has a step of its own.
const LEFT_OUT: [&str; 18] = [
    "by_name",
    "delimited",
    "detect",
    "infer",
    "infer_given",
    "infer_lossless",
    "infer_streams",
    "interleave",
    "line_formats",
    "pollock",
    "postgres_text",
    "ragged",
    "reject_ends",
    "repairs",
    "rules",
    "sniff",
    "sniff_files",
    "sources",
];

pub(super) fn step() -> Result<Outcome, String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Ok(Outcome::Skipped("AddressSanitizer is set up for x86-64 Linux only".to_owned()));
    }
    let mut test = cargo(&["test", "--locked", "--lib"]);
    // With an explicit target the flags reach no build script.
    test.args(["--target", "x86_64-unknown-linux-gnu"]);
    for name in LOW_CRATES {
        test.args(["--package", name]);
        for file in tests_of(name)? {
            test.args(["--test", &file]);
        }
    }
    // Every block of memory an allocation of its exact size: one byte too far is seen.
    test.args(["--features", "longshore-storage/exact-blocks"]);
    test.arg("--target-dir").arg(target().join("asan"));
    test.env("RUSTC_BOOTSTRAP", "1");
    test.env("RUSTFLAGS", "-Zsanitizer=address");
    // Regions are freed by unmapping, and threads end with the process: leaks are not what is looked for.
    test.env("ASAN_OPTIONS", "detect_leaks=0:abort_on_error=0");
    // Of tests that push much through the decoders, a part: each access is checked.
    test.env("LONGSHORE_TEST_SHARE", "8");
    run(&mut test)?;
    Ok(Outcome::Passed)
}

/// The tests of a crate that are not left out: one file each.
fn tests_of(name: &str) -> Result<Vec<String>, String> {
    let folder = root().join("crates").join(name).join("tests");
    let listed = fs::read_dir(&folder).map_err(|error| format!("cannot list {}: {error}", folder.display()))?;
    let files = listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".rs").map(str::to_owned));
    let mut files: Vec<String> = files.filter(|file| !LEFT_OUT.contains(&file.as_str())).collect();
    files.sort();
    Ok(files)
}
