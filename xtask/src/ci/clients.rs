//! Programs that speak PostgreSQL's protocol, against `longshore serve`: `tests/clients`, by pytest.
//!
//! Python's packages come from its registry, into a virtual environment below `target/`. The server is the binary that
//! `cargo test --workspace` has built, as in the demo's step.

use super::Outcome;
use crate::shell::{cargo, command, run, target};

pub(super) fn step() -> Result<Outcome, String> {
    run(&mut cargo(&["test", "--locked", "--workspace", "--no-run", "--quiet"]))?;
    let environment = target().join("clients");
    let python = environment.join("bin/python");
    let mut create = command("python3");
    create.args(["-m", "venv"]).arg(&environment);
    let mut install = command(&python.display().to_string());
    install.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
        "tests/clients/requirements.txt",
    ]);
    if let Err(error) = run(&mut create).and_then(|()| run(&mut install)) {
        return Ok(Outcome::Skipped(format!("Python's packages cannot be installed here: {error}")));
    }
    let mut tests = command(&python.display().to_string());
    tests.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/clients"]);
    tests.env("LONGSHORE", target().join("debug/longshore")).env("PYTHONDONTWRITEBYTECODE", "1");
    run(&mut tests)?;
    Ok(Outcome::Passed)
}
