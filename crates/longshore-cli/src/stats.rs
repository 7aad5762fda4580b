//! Writes what each statement cost to a file: one JSON object per line and statement (`--stats`).
//!
//! `peak_memory` is the largest resident set of the process while the statement ran, in bytes, as the kernel counts
//! it (`VmHWM`, reset before each statement). It includes pages of files that are mapped, which cost no memory;
//! `peak_database_memory` is what tables and loads held at most while it ran, without such pages. `table_bytes` is what the
//! rows of all tables take afterwards, and `table_bytes_if_plain` what they would take if nothing were packed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use serde::Serialize;

/// What a statement cost.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Cost<'a> {
    /// Its text.
    pub(crate) statement: &'a str,
    /// Rows returned, loaded, inserted or written.
    pub(crate) rows: u64,
    /// Bytes of files read.
    pub(crate) bytes_read: u64,
    /// Bytes of files written.
    pub(crate) bytes_written: u64,
    /// Wall time, with the output of the rows.
    pub(crate) seconds: f64,
    /// Workers of the database.
    pub(crate) threads: usize,
    /// See the module.
    pub(crate) peak_memory: u64,
    /// See the module.
    pub(crate) peak_database_memory: u64,
    /// See the module.
    pub(crate) table_bytes: u64,
    /// See the module.
    pub(crate) table_bytes_if_plain: u64,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// The file that the costs are appended to.
#[derive(Debug)]
pub(crate) struct Stats {
    file: File,
}

impl Stats {
    /// Opens the file, making it if there is none.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { file })
    }

    /// Appends what one statement cost.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub(crate) fn append(&mut self, cost: &Cost<'_>) -> io::Result<()> {
        let mut line = serde_json::to_vec(cost)?;
        line.push(b'\n');
        self.file.write_all(&line)
    }
}

/// Starts the measure of [`peak_memory`] anew where the kernel can; elsewhere the peak is that of the process.
pub(crate) fn reset_peak_memory() {
    // Needs Linux 4.0; if it fails, the peak is an upper bound.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The largest resident set since [`reset_peak_memory`], in bytes; 0 if the system does not tell.
pub(crate) fn peak_memory() -> u64 {
    let Ok(status) = fs::read_to_string("/proc/self/status") else {
        return 0;
    };
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|value| value.trim().strip_suffix("kB"))
        .and_then(|value| value.trim().parse::<u64>().ok())
        .map_or(0, |kibibytes| kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_known_on_linux() {
        if cfg!(target_os = "linux") {
            reset_peak_memory();
            assert!(peak_memory() > 100_000);
        }
    }
}
