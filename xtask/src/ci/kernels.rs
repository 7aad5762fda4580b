//! The tests of the low crates once per scan kernel of this machine.
//!
//! The tests compare kernels among themselves already; this step proves that everything above the scan also
//! passes when `LONGSHORE_KERNEL` forces one, as a machine without the newer instructions would.

use super::{LOW_CRATES, Outcome};
use crate::shell::{cargo, run};

/// Kernel and the CPU flags of `/proc/cpuinfo` it needs.
const KERNELS: [(&str, &[&str]); 4] = [
    ("avx512", &["avx512f", "avx512bw", "avx512_vbmi2", "pclmulqdq"]),
    ("avx2", &["avx2", "pclmulqdq"]),
    ("sse42", &["sse4_2", "pclmulqdq"]),
    ("portable", &[]),
];

pub(super) fn step() -> Result<Outcome, String> {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags: Vec<&str> =
        cpu.lines().find(|line| line.starts_with("flags")).unwrap_or_default().split_whitespace().collect();
    for (kernel, needs) in KERNELS {
        if let Some(missing) = needs.iter().find(|need| !flags.contains(need)) {
            println!("kernel {kernel}: not on this machine ({missing} is missing)");
            continue;
        }
        let mut test = cargo(&["test", "--locked", "--quiet", "--lib", "--tests"]);
        for name in LOW_CRATES {
            test.args(["--package", name]);
        }
        run(test.env("LONGSHORE_KERNEL", kernel))?;
    }
    Ok(Outcome::Passed)
}
