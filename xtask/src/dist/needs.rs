//! Decides what a system must have to run a binary, from the libraries that the binary names.
//!
//! `readelf` of binutils shows them, which every machine with a C compiler has. Debian's `dpkg-shlibdeps` finds the
//! same, but exists only on Debian.

use std::fmt;
use std::path::Path;

use super::files::output;
use crate::shell::command;

/// Libraries that are part of the C library, up to their version.
const C_LIBRARIES: [&str; 6] = ["libc.so.", "libm.so.", "libdl.so.", "librt.so.", "libpthread.so.", "ld-linux"];

/// What a binary asks of the system that runs it.
#[derive(Debug, PartialEq)]
pub(super) struct Needs {
    /// The oldest C library that will do.
    pub(super) glibc: Glibc,
    /// Whether it unwinds its stack through GCC's library, as Rust programs do.
    pub(super) libgcc: bool,
}

/// A version of the GNU C library, such as 2.34 or 2.2.5.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Glibc(Vec<u32>);

impl Needs {
    /// What `binary` needs.
    pub(super) fn of(binary: &Path) -> Result<Needs, String> {
        let mut readelf = command("readelf");
        let shown = output(readelf.args(["--wide", "--dynamic", "--version-info"]).arg(binary).env("LC_ALL", "C"))?;
        Needs::read(&shown).map_err(|error| format!("{}: {error}", binary.display()))
    }

    /// Reads what `readelf --dynamic --version-info` shows.
    fn read(shown: &str) -> Result<Needs, String> {
        let mut libgcc = false;
        for line in shown.lines().filter(|line| line.contains("(NEEDED)")) {
            let library = line.split_once('[').and_then(|(_, name)| name.split(']').next()).unwrap_or_default();
            if library.starts_with("libgcc_s.so.") {
                libgcc = true;
            } else if !C_LIBRARIES.iter().any(|known| library.starts_with(known)) {
                return Err(format!("it needs {library:?}, and no package is known that has it"));
            }
        }
        let versions = shown
            .lines()
            .filter_map(|line| line.split_once(" Name: GLIBC_"))
            .filter_map(|(_, version)| version.split_whitespace().next())
            .map(Glibc::read)
            .collect::<Result<Vec<Glibc>, String>>()?;
        let glibc = versions.into_iter().max().ok_or("it names no version of the C library")?;
        Ok(Needs { glibc, libgcc })
    }

    /// The packages of Debian, as its control files list them.
    pub(super) fn debian(&self) -> String {
        let libgcc = if self.libgcc { ", libgcc-s1" } else { "" };
        format!("libc6 (>= {}){libgcc}", self.glibc)
    }
}

impl Glibc {
    /// Reads a version: numbers with points between.
    pub(super) fn read(text: &str) -> Result<Glibc, String> {
        let numbers: Result<Vec<u32>, _> = text.split('.').map(str::parse).collect();
        numbers.map(Glibc).map_err(|_| format!("GLIBC_{text} is no version of the C library"))
    }
}

impl fmt::Display for Glibc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: &str = "\
 0x0000000000000001 (NEEDED)             Shared library: [libgcc_s.so.1]
 0x0000000000000001 (NEEDED)             Shared library: [libm.so.6]
 0x0000000000000001 (NEEDED)             Shared library: [ld-linux-x86-64.so.2]
  000:   0 (*local*)       2 (GLIBC_2.34)    3 (GCC_3.0)
  000000: Version: 1  File: libgcc_s.so.1  Cnt: 1
  0x0010:   Name: GCC_3.0  Flags: none  Version: 3
  0x0030: Version: 1  File: libc.so.6  Cnt: 2
  0x0040:   Name: GLIBC_2.34  Flags: none  Version: 2
  0x0050:   Name: GLIBC_2.2.5  Flags: none  Version: 4
";

    #[test]
    fn needs_are_read() {
        let needs = Needs::read(SHOWN).expect("valid");
        assert_eq!(needs.debian(), "libc6 (>= 2.34), libgcc-s1");
        let without = SHOWN.replace("libgcc_s.so.1]", "libc.so.6]").replace("GLIBC_2.34", "GLIBC_2.4");
        assert_eq!(Needs::read(&without).expect("valid").debian(), "libc6 (>= 2.4)");
    }

    #[test]
    fn what_no_package_has_is_refused() {
        let error = Needs::read(&SHOWN.replace("libm.so.6", "libstdc++.so.6")).expect_err("unknown");
        assert!(error.contains("libstdc++.so.6"), "{error}");
        assert!(Needs::read(&SHOWN.replace("GLIBC_2.34", "GLIBC_PRIVATE")).is_err());
        assert!(Needs::read("").is_err());
    }

    #[test]
    fn versions_are_ordered_by_number() {
        let version = |text| Glibc::read(text).expect("a version");
        assert!(version("2.2.5") < version("2.4") && version("2.4") < version("2.34"));
        assert!(version("2.36") <= version("2.36"));
    }
}
