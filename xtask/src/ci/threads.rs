//! Transactions, loads and index builds on many threads, under `ThreadSanitizer`.
//!
//! It works on the pinned stable toolchain (`RUSTC_BOOTSTRAP=1`), but the standard library is compiled without it, and
//! what a contended lock of the library puts in order passes for a race. So a feature takes locks that are compiled with
//! the tests, and `threads.supp` names the rest of what is reported wrongly: the fence of `Arc`, the ends of scopes.

use super::Outcome;
use crate::shell::{cargo, root, run, target};

/// Tests of the storage whose threads meet in its own locks only.
const TESTS: [&str; 6] = ["history::", "stress::", "merge::", "index_bulk::", "conflict::", "log_threads::"];

pub(super) fn step() -> Result<Outcome, String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Ok(Outcome::Skipped("ThreadSanitizer is set up for x86-64 Linux only".to_owned()));
    }
    // Most of the time goes into compiling the tests, not into running them. With lines: without them a report does not name the
    // functions that were inlined, by which what is reported wrongly is known.
    let mut test = cargo(&["--config", "profile.dev.package.longshore-storage.opt-level=1"]);
    test.args(["test", "--locked"]);
    test.args(["--package", "longshore-storage", "--features", "sanitize-threads"]);
    // With an explicit target the flags reach no build script.
    test.args(["--target", "x86_64-unknown-linux-gnu"]);
    test.args(["--test", "storage"]).arg("--target-dir").arg(target().join("threads")).arg("--").args(TESTS);
    test.env("RUSTC_BOOTSTRAP", "1");
    test.env("RUSTFLAGS", "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer");
    let suppressions = root().join("xtask/src/ci/threads.supp");
    test.env("TSAN_OPTIONS", format!("suppressions={} history_size=4", suppressions.display()));
    // Of random appends and histories, a part: each access is followed.
    test.env("LONGSHORE_TEST_SHARE", "6");
    run(&mut test)?;
    Ok(Outcome::Passed)
}
