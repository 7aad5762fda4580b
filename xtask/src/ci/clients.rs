//! Programs that speak PostgreSQL's protocol, against `longshore serve`: `tests/clients`, by pytest.
//!
//! Python's packages come from its registry, into a virtual environment below `target/`. The server is the binary that
//! `cargo test --workspace` has built, as in the demo's step.

use super::Outcome;
use super::python_environment::{program, python_environment};
use crate::shell::{cargo, command, run, target};

pub(super) fn step() -> Result<Outcome, String> {
    run(&mut cargo(&["test", "--locked", "--workspace", "--no-run", "--quiet"]))?;
    let environment = match python_environment("clients", "tests/clients/requirements.txt") {
        Ok(environment) => environment,
        Err(reason) => return Ok(Outcome::Skipped(reason)),
    };
    let mut tests = command(&program(&environment, "python"));
    tests.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/clients"]);
    tests.env("LONGSHORE", target().join("debug/longshore")).env("PYTHONDONTWRITEBYTECODE", "1");
    run(&mut tests)?;
    Ok(Outcome::Passed)
}
