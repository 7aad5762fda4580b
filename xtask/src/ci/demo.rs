//! The demo at a small scale: load, work, unload and reload through the binary, with its own proof at the end.
//!
//! Once per scan kernel of this machine, forced by `LONGSHORE_KERNEL`, as a machine without the newer instructions
//! would run it. It is the binary that `cargo test --workspace` has built: building the package by itself could
//! select other features of the dependencies and compile DataFusion once more.

use std::fs;

use super::Outcome;
use crate::shell::{cargo, command, run, target};

/// Kernel and the CPU flags of `/proc/cpuinfo` it needs.
const KERNELS: [(&str, &[&str]); 4] = [
    ("avx512", &["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vbmi", "avx512_vbmi2"]),
    ("avx2", &["avx2", "bmi1", "bmi2", "abm"]),
    ("sse42", &["sse4_2", "popcnt", "pclmulqdq"]),
    ("portable", &[]),
];

pub(super) fn step() -> Result<Outcome, String> {
    run(&mut cargo(&["test", "--locked", "--workspace", "--no-run", "--quiet"]))?;
    let target = target();
    let binary = target.join("debug/longshore");
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags: Vec<&str> =
        cpu.lines().find(|line| line.starts_with("flags")).unwrap_or_default().split_whitespace().collect();
    let folder = target.join("ci-demo");
    for (kernel, needs) in KERNELS {
        if let Some(missing) = needs.iter().find(|need| !flags.contains(need)) {
            println!("kernel {kernel}: not on this machine ({missing} is missing)");
            continue;
        }
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let mut demo = command(&binary.display().to_string());
        demo.args(["demo", "--scale", "0.01"]).current_dir(&folder).env("LONGSHORE_KERNEL", kernel);
        let result = run(&mut demo);
        fs::remove_dir_all(&folder).map_err(|error| format!("cannot remove {}: {error}", folder.display()))?;
        result?;
    }
    Ok(Outcome::Passed)
}
