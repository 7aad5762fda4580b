//! The Python package: built by maturin into a virtual environment below `target/`, and tested by pytest.
//!
//! It is built as the tests of the workspace are, so that nothing below it is compiled once more. Python's packages come from
//! its registry; tests skip what cannot be had there.

use super::Outcome;
use super::python_environment::{program, python_environment};
use crate::shell::{command, root, run, target};

/// What is built and tested.
const PACKAGE: &str = "crates/longshore-python";

/// What type checkers read.
const TYPED: [&str; 2] = ["python/longshore", "tests/typed_use.py"];

pub(super) fn step() -> Result<Outcome, String> {
    let environment = match python_environment("python", &format!("{PACKAGE}/tests/requirements.txt")) {
        Ok(environment) => environment,
        Err(reason) => return Ok(Outcome::Skipped(reason)),
    };
    let mut build = command(&program(&environment, "maturin"));
    build.args(["develop", "--locked", "--quiet", "--manifest-path"]).arg(format!("{PACKAGE}/Cargo.toml"));
    build.env("VIRTUAL_ENV", &environment).env("CARGO_TARGET_DIR", target());
    run(&mut build)?;
    let mut types = command(&program(&environment, "python"));
    types.args(["-m", "mypy", "--strict", "--cache-dir"]).arg(target().join("mypy"));
    types.args(TYPED).current_dir(root().join(PACKAGE));
    run(&mut types)?;
    let mut types = command(&program(&environment, "basedpyright"));
    types.args(["--level", "error", "--pythonpath"]).arg(program(&environment, "python"));
    types.args(TYPED).current_dir(root().join(PACKAGE));
    run(&mut types)?;
    let mut tests = command(&program(&environment, "python"));
    tests.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).arg(format!("{PACKAGE}/tests"));
    tests.env("PYTHONDONTWRITEBYTECODE", "1");
    run(&mut tests)?;
    Ok(Outcome::Passed)
}
