//! AddressSanitizer over the crates that hold unsafe code.
//!
//! It works on the pinned stable toolchain (`RUSTC_BOOTSTRAP=1`). The standard library is not instrumented,
//! which hides errors inside it and reports none falsely.

use super::{LOW_CRATES, Outcome};
use crate::shell::{cargo, run, target};

pub(super) fn step() -> Result<Outcome, String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Ok(Outcome::Skipped("AddressSanitizer is set up for x86-64 Linux only".to_owned()));
    }
    let mut test = cargo(&["test", "--locked", "--lib", "--tests"]);
    // With an explicit target the flags reach no build script.
    test.args(["--target", "x86_64-unknown-linux-gnu"]);
    for name in LOW_CRATES {
        test.args(["--package", name]);
    }
    // Every block of memory an allocation of its exact size: one byte too far is seen.
    test.args(["--features", "longshore-storage/exact-blocks"]);
    test.arg("--target-dir").arg(target().join("asan"));
    test.env("RUSTC_BOOTSTRAP", "1");
    test.env("RUSTFLAGS", "-Zsanitizer=address");
    // Regions are freed by unmapping, and threads end with the process: leaks are not what is looked for.
    test.env("ASAN_OPTIONS", "detect_leaks=0:abort_on_error=0");
    run(&mut test)?;
    Ok(Outcome::Passed)
}
