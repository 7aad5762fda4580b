//! Files, folders and the output of programs, with errors that name them.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::shell::{Captured, capture, describe};

/// What a command prints.
///
/// # Errors
///
/// Names the command if it fails, with its last words.
pub(super) fn output(command: &mut Command) -> Result<String, String> {
    let Captured { success, stdout, stderr } = capture(command)?;
    if success { Ok(stdout) } else { Err(format!("{} failed: {}{}", describe(command), stdout, stderr.trim_end())) }
}

/// An empty folder in place of what was there.
pub(super) fn renew(folder: &Path) -> Result<(), String> {
    if folder.exists() {
        remove(folder)?;
    }
    make_folder(folder)
}

/// Removes a folder with all that is in it.
pub(super) fn remove(folder: &Path) -> Result<(), String> {
    fs::remove_dir_all(folder).map_err(|error| at(folder, &error))
}

/// A folder, with those above it.
pub(super) fn make_folder(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| at(folder, &error))
}

/// Copies a file, with its permissions.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to)
        .map(|_| ())
        .map_err(|error| format!("cannot copy {} to {}: {error}", from.display(), to.display()))
}

/// Writes a file.
pub(super) fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| at(path, &error))
}

/// How many bytes a file has.
pub(super) fn bytes(path: &Path) -> Result<u64, String> {
    fs::metadata(path).map(|file| file.len()).map_err(|error| at(path, &error))
}

/// The size of a file, for people.
pub(super) fn size(path: &Path) -> Result<String, String> {
    let bytes = bytes(path)?;
    Ok(if bytes < 1_000_000 { format!("{bytes} B") } else { format!("{:.1} MB", bytes as f64 / 1e6) })
}

/// An error with the path that it is about.
pub(super) fn at(path: &Path, error: &dyn Display) -> String {
    format!("{}: {error}", path.display())
}
