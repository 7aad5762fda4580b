//! Every fuzz target for a short while.
//!
//! The inputs found are kept in `fuzz/corpus` (not in git), so a developer's machine digs deeper with each run.
//! A crash leaves its input in `fuzz/artifacts` and names it.
//!
//! The target of the server (`protocol`) is built with all of DataFusion, which takes longer than the other steps together: it
//! runs where `LONGSHORE_FUZZ_SERVER` is set.

use std::fs;

use super::Outcome;
use crate::shell::{cargo, is_installed, root, run};

/// How long a target runs when `LONGSHORE_FUZZ_SECONDS` does not say.
const TARGET_SECONDS: &str = "3";

/// The target that needs the server.
const SERVER_TARGET: &str = "protocol";

pub(super) fn step() -> Result<Outcome, String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Ok(Outcome::Skipped("fuzzing is set up for x86-64 Linux only".to_owned()));
    }
    if !is_installed("cargo-fuzz", "--version") {
        // Not optimised: it does little but call cargo.
        run(&mut cargo(&["install", "--locked", "--debug", "cargo-fuzz"]))?;
    }
    let with_server = std::env::var_os("LONGSHORE_FUZZ_SERVER").is_some();
    let features: &[&str] = if with_server { &["--features", "server"] } else { &[] };
    let seconds = std::env::var("LONGSHORE_FUZZ_SECONDS").unwrap_or_else(|_| TARGET_SECONDS.to_owned());
    fuzz(&[&["build"][..], features].concat())?;
    for target in targets()?.into_iter().filter(|target| with_server || target != SERVER_TARGET) {
        let time = format!("-max_total_time={seconds}");
        // The same walk every time, so that a failure can be repeated; longer walks by hand begin elsewhere.
        let limits = ["--", &time, "-seed=1", "-timeout=20", "-rss_limit_mb=4096", "-print_final_stats=1"];
        fuzz(&[&["run", target.as_str()][..], features, &limits].concat())?;
    }
    Ok(Outcome::Passed)
}

/// The targets: one file each.
fn targets() -> Result<Vec<String>, String> {
    let folder = root().join("fuzz/fuzz_targets");
    let listed = fs::read_dir(&folder).map_err(|error| format!("cannot list {}: {error}", folder.display()))?;
    let mut targets: Vec<String> =
        listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".rs").map(str::to_owned)).collect();
    targets.sort();
    if targets.is_empty() { Err(format!("no fuzz target in {}", folder.display())) } else { Ok(targets) }
}

fn fuzz(arguments: &[&str]) -> Result<(), String> {
    let mut command = cargo(&["fuzz"]);
    command.args(arguments).env("RUSTC_BOOTSTRAP", "1");
    // A thread that is just ending looks like a leak, and a leak is not what is looked for.
    command.env("ASAN_OPTIONS", "detect_leaks=0");
    // In a run of seconds, most of the time goes into compiling.
    if std::env::var_os("LONGSHORE_FUZZ_SECONDS").is_none() {
        command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
    }
    run(&mut command)
}
