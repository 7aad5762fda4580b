//! Runs other programs from the root of the repository.
//!
//! Output of a command that is a check goes straight to the terminal, so that the closing lines of the test
//! runners stay readable; output that a check looks at is captured.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the repository: the folder above this crate.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in a folder of the repository")
}

/// The folder that cargo builds into.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// A command that starts at the root of the repository.
///
/// It does not see what `cargo run` says of this crate. The build script of `ring` reads such variables, so a cargo that saw
/// them would compile `ring`, and with it `DataFusion`, anew after each change between `cargo xtask` and `cargo test`.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
            command.env_remove(name);
        }
    }
    command
}

/// `cargo` with these arguments: the one that runs us, so that the pinned toolchain is kept.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command.args(arguments);
    command
}

/// Runs a command, its output on the terminal.
///
/// # Errors
///
/// Names the command that could not start or did not succeed.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    println!("$ {}", describe(command));
    let status = command.status().map_err(|error| format!("cannot start {}: {error}", describe(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed: {status}", describe(command))) }
}

/// What a captured command did.
pub(crate) struct Captured {
    /// Whether it exited with success.
    pub(crate) success: bool,
    /// Its standard output.
    pub(crate) stdout: String,
    /// Its standard error.
    pub(crate) stderr: String,
}

/// Runs a command and keeps its output.
///
/// # Errors
///
/// Names the command that could not start. A command that fails is not an error here.
pub(crate) fn capture(command: &mut Command) -> Result<Captured, String> {
    let output = command.output().map_err(|error| format!("cannot start {}: {error}", describe(command)))?;
    Ok(Captured {
        success: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Whether a program can be started at all.
pub(crate) fn is_installed(program: &str, probe: &str) -> bool {
    command(program)
        .arg(probe)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The repository's files: tracked, and new ones that git does not ignore. Paths are relative to the root.
///
/// # Errors
///
/// Says so when git cannot list them.
pub(crate) fn files() -> Result<Vec<String>, String> {
    let listed = capture(command("git").args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"]))?;
    if !listed.success {
        return Err(format!("git cannot list the files: {}", listed.stderr));
    }
    let mut files: Vec<String> = listed
        .stdout
        .split('\0')
        .filter(|path| !path.is_empty() && root().join(path).is_file())
        .map(str::to_owned)
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// What stands behind the last point of a file's name.
pub(crate) fn ending(path: &str) -> &str {
    Path::new(path).extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}

/// A command as a person would write it.
pub(crate) fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let mut words: Vec<String> = command
        .get_envs()
        .filter_map(|(name, value)| {
            let value = value?.to_string_lossy().into_owned();
            Some(format!("{}={value:?}", name.to_string_lossy()))
        })
        .collect();
    words.push(program);
    words.extend(command.get_args().map(|argument| argument.to_string_lossy().into_owned()));
    words.join(" ")
}
