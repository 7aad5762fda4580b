//! The Python package: built by maturin into a virtual environment below `target/`, and tested by pytest.
//!
//! It is built as the tests of the workspace are, so that nothing below it is compiled once more. Python's packages come from
//! its registry; tests skip what cannot be had there.

use super::Outcome;
use crate::shell::{command, root, run, target};

/// What is built and tested.
const PACKAGE: &str = "crates/longshore-python";

pub(super) fn step() -> Result<Outcome, String> {
    let environment = target().join("python");
    let program = |name: &str| environment.join("bin").join(name).display().to_string();
    let mut create = command("python3");
    create.args(["-m", "venv"]).arg(&environment);
    let mut install = command(&program("python"));
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
    install.arg(format!("{PACKAGE}/tests/requirements.txt"));
    if let Err(error) = run(&mut create).and_then(|()| run(&mut install)) {
        return Ok(Outcome::Skipped(format!("Python's packages cannot be installed here: {error}")));
    }
    let mut build = command(&program("maturin"));
    build.args(["develop", "--locked", "--quiet", "--manifest-path"]).arg(format!("{PACKAGE}/Cargo.toml"));
    build.env("VIRTUAL_ENV", &environment).env("CARGO_TARGET_DIR", target());
    run(&mut build)?;
    let mut types = command(&program("python"));
    types.args(["-m", "mypy", "--strict", "--cache-dir"]).arg(target().join("mypy")).arg("python/longshore");
    types.current_dir(root().join(PACKAGE));
    run(&mut types)?;
    let mut tests = command(&program("python"));
    tests.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).arg(format!("{PACKAGE}/tests"));
    tests.env("PYTHONDONTWRITEBYTECODE", "1");
    run(&mut tests)?;
    Ok(Outcome::Passed)
}
