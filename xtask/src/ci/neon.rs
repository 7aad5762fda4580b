//! longshore-csv on emulated ARM, so that the neon kernel is tested on every machine, and that longshore-storage compiles for it.
//!
//! `scripts/neon-test.sh` does the work; here stands when it can.

use std::path::Path;

use super::Outcome;
use crate::shell::{command, is_installed, run};

pub(super) fn step() -> Result<Outcome, String> {
    if let Some(reason) = missing() {
        return Ok(Outcome::Skipped(reason));
    }
    run(command("bash").arg("scripts/neon-test.sh"))?;
    Ok(Outcome::Passed)
}

fn missing() -> Option<String> {
    if cfg!(target_arch = "aarch64") {
        return Some("this machine is ARM: the other steps have tested the neon kernel".to_owned());
    }
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) || !Path::new("/etc/debian_version").exists() {
        return Some("the emulator is set up on x86-64 Debian only".to_owned());
    }
    let ready = is_installed("qemu-aarch64-static", "--version")
        && is_installed("aarch64-linux-gnu-gcc", "--version")
        && Path::new("/usr/lib/rustlib/aarch64-unknown-linux-gnu/lib").exists();
    let root = std::fs::metadata("/root").is_ok() && std::fs::read_dir("/root").is_ok();
    if !ready && !root {
        return Some(
            "its packages are missing and only root may install them: sudo scripts/neon-test.sh --install".to_owned(),
        );
    }
    None
}
