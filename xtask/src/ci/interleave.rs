//! The transactions and the log of storage, their threads interleaved at every lock and atomic as seeds say.
//!
//! A feature puts the locks of `shuttle` in the place of those of the standard library, so this is built in a folder of
//! its own.

use super::{Outcome, WITHOUT_LINES};
use crate::shell::{cargo, run, target};

pub(super) fn step() -> Result<Outcome, String> {
    // Most of the time goes into compiling, not into running.
    let mut test = cargo(&["--config", "profile.dev.package.longshore-storage.opt-level=1"]);
    test.args(WITHOUT_LINES).args(["--config", "profile.dev.lto='off'", "test", "--locked"]);
    test.args(["--package", "longshore-storage", "--features", "interleave"]);
    test.args(["--test", "interleave", "--test", "interleave_log", "--test", "interleave_waits"]);
    test.arg("--target-dir").arg(target().join("interleave"));
    run(&mut test)?;
    Ok(Outcome::Passed)
}
