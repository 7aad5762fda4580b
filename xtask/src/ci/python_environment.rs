//! Virtual environments of Python below `target/`, with packages of Python's registry.

use std::path::{Path, PathBuf};

use crate::shell::{command, run, target};

/// The environment `name` with the packages that a file of requirements lists; the error says why they cannot be had.
pub(super) fn python_environment(name: &str, requirements: &str) -> Result<PathBuf, String> {
    let environment = target().join(name);
    let mut create = command("python3");
    create.args(["-m", "venv"]).arg(&environment);
    let mut install = command(&program(&environment, "python"));
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements]);
    let made = run(&mut create).and_then(|()| run(&mut install));
    made.map_err(|error| format!("Python's packages cannot be installed here: {error}"))?;
    Ok(environment)
}

/// A program of an environment.
pub(super) fn program(environment: &Path, name: &str) -> String {
    environment.join("bin").join(name).display().to_string()
}
