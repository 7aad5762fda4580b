//! What a release is: its version, the machine it is for, its time, and the names of its files.

use std::fs;
use std::time::UNIX_EPOCH;

use super::files::at;
use crate::shell::{command, root};

/// The version of all crates of the workspace, xtask's too.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The processors that releases are made for, as Rust and as Debian name them.
const ARCHITECTURES: [(&str, &str); 2] = [("x86_64", "amd64"), ("aarch64", "arm64")];

/// What a release is made for, and when.
pub(super) struct Release {
    architecture: &'static str,
    /// The architecture as Debian names it.
    pub(super) debian_architecture: &'static str,
    /// The time of every file in an archive, in seconds since 1970.
    pub(super) time_s: u64,
}

impl Release {
    /// The release that this machine can build.
    pub(super) fn of_this_machine() -> Result<Release, String> {
        let name = std::env::consts::ARCH;
        let (architecture, debian_architecture) = ARCHITECTURES
            .into_iter()
            .find(|(architecture, _)| *architecture == name && cfg!(target_os = "linux"))
            .ok_or_else(|| format!("releases are for Linux on x86_64 and aarch64, and this is {name}"))?;
        Ok(Release { architecture, debian_architecture, time_s: time_s()? })
    }

    /// The folder that the archive holds.
    pub(super) fn folder(&self) -> String {
        format!("longshore-{VERSION}-{}-linux", self.architecture)
    }

    /// The archive's name.
    pub(super) fn archive(&self) -> String {
        format!("{}.tar.gz", self.folder())
    }

    /// The Debian package's name.
    pub(super) fn debian_package(&self) -> String {
        format!("longshore_{VERSION}_{}.deb", self.debian_architecture)
    }
}

/// `SOURCE_DATE_EPOCH`, or else the time of the commit, or of the lock file where the sources come from an archive.
fn time_s() -> Result<u64, String> {
    if let Ok(text) = std::env::var("SOURCE_DATE_EPOCH") {
        return text.parse().map_err(|error| format!("SOURCE_DATE_EPOCH {text:?}: {error}"));
    }
    let git = command("git").args(["-c", "log.showSignature=false", "log", "--max-count=1", "--format=%ct"]).output();
    if let Some(time_s) = git.ok().and_then(|git| String::from_utf8_lossy(&git.stdout).trim_end().parse().ok()) {
        return Ok(time_s);
    }
    let lock = root().join("Cargo.lock");
    let modified = fs::metadata(&lock).and_then(|lock| lock.modified()).map_err(|error| at(&lock, &error))?;
    modified.duration_since(UNIX_EPOCH).map(|since| since.as_secs()).map_err(|error| at(&lock, &error))
}
