//! AddressSanitizer over the crates that hold unsafe code.
//!
//! It works on the pinned stable toolchain (`RUSTC_BOOTSTRAP=1`). The standard library is not instrumented,
//! which hides errors inside it and reports none falsely.

use super::{LOW_CRATES, Outcome, WITHOUT_LINES};
use crate::shell::{cargo, run, target};

/// Tests that meet no unsafe code that others do not: what is found out of files, rules about records, estimates, how much
/// memory is taken, in how many chunks rows are, models of what is altered, and thousands of crashes and failures of files, behind each of which stands the code
/// that other tests recover with.
const LEFT_OUT: [&str; 35] = [
    "alter_model::",
    "by_name::",
    "column_bytes::",
    "conflict::appends_do_what_one_row_after_the_other",
    "delimited::",
    "detect::",
    "distinct_counts::",
    "durable::a_checkpoint_that_fails",
    "durable_crash::",
    "durable_faults::",
    "durable_joins::",
    "freed_memory::",
    "infer::",
    "infer_given::",
    "infer_lossless::",
    "infer_streams::",
    "line_formats::",
    "log_crash::",
    "log_faults::",
    "merge::many_small_appends_make_few_chunks",
    "merge::small_buffers_of_one_append",
    "native_damage::every_changed_byte",
    "pollock::",
    "postgres_text::",
    "ragged::",
    "redo_model::a_log_goes_on",
    "redo_model::alterations",
    "reject_ends::",
    "repairs::",
    "rules::",
    "snapshot::a_dropped_append_returns_its_memory",
    "snapshot::everything_is_returned_in_the_end",
    "sniff::",
    "sniff_files::",
    "sources::",
];

pub(super) fn step() -> Result<Outcome, String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Ok(Outcome::Skipped("AddressSanitizer is set up for x86-64 Linux only".to_owned()));
    }
    let mut test = cargo(&[]);
    for name in LOW_CRATES.iter().chain(&["longshore-source", "longshore-value"]) {
        // Most of the time goes into compiling the tests, not into running them.
        test.arg("--config").arg(format!("profile.dev.package.{name}.opt-level=1"));
    }
    test.args(WITHOUT_LINES).args(["test", "--locked", "--lib"]);
    // With an explicit target the flags reach no build script.
    test.args(["--target", "x86_64-unknown-linux-gnu"]);
    for name in LOW_CRATES {
        test.args(["--package", name]);
    }
    // Those of longshore-format meet what its unit tests do.
    for name in LOW_CRATES.iter().filter(|name| **name != "longshore-format") {
        test.args(["--test", name.trim_start_matches("longshore-")]);
    }
    // Every block of memory an allocation of its exact size: one byte too far is seen.
    test.args(["--features", "longshore-storage/exact-blocks"]);
    test.arg("--target-dir").arg(target().join("asan"));
    test.arg("--").args(LEFT_OUT.iter().flat_map(|name| ["--skip", name]));
    test.env("RUSTC_BOOTSTRAP", "1");
    test.env("RUSTFLAGS", "-Zsanitizer=address");
    // Regions are freed by unmapping, and threads end with the process: leaks are not what is looked for. No unsafe
    // code keeps a pointer into the frame of a call that ended, and to look for that takes a third of the time.
    test.env("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=0");
    // Of tests that push much through the decoders, a part: each access is checked.
    test.env("LONGSHORE_TEST_SHARE", "10");
    run(&mut test)?;
    Ok(Outcome::Passed)
}
