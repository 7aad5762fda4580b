//! Runs the built binary.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a run of the binary left.
#[derive(Debug)]
pub(crate) struct Run {
    /// Exit status.
    pub(crate) status: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

/// Runs the binary with `args` in `directory` and `input` on standard input.
pub(crate) fn longshore_in(directory: &Path, args: &[&str], input: &str) -> Run {
    let mut child = command(directory)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // The binary may leave before it has read everything.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("the binary ends");
    Run {
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// The binary, not yet started, free of the environment's settings.
pub(crate) fn command(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longshore"));
    command.current_dir(directory).env_remove("LONGSHORE_KERNEL").env("XDG_STATE_HOME", directory.join("state"));
    command
}
