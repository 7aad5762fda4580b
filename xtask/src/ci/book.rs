//! The book of `docs/`, built as it is published; what mdBook warns of is an error.

use super::Outcome;
use crate::shell::{capture, cargo, command, describe, run, target};

/// The version that the book is written for: others may number and escape otherwise.
const MDBOOK: &str = "0.5.4";

pub(super) fn step() -> Result<Outcome, String> {
    let program = target().join("tools/bin/mdbook");
    if !program.exists() {
        // Without its server and its search, and not optimised: most of its dependencies stay away.
        let mut install = cargo(&["install", "--locked", "mdbook", "--version", MDBOOK]);
        install.args(["--no-default-features", "--debug", "--root"]).arg(target().join("tools"));
        install.arg("--target-dir").arg(target().join("tools/build"));
        run(&mut install)?;
    }
    let mut build = command(&program.display().to_string());
    build.args(["build", "docs", "--dest-dir"]).arg(target().join("book"));
    println!("$ {}", describe(&build));
    let built = capture(&mut build)?;
    print!("{}{}", built.stdout, built.stderr);
    let warning = built.stderr.lines().find(|line| line.contains("WARN") || line.contains("ERROR"));
    match warning {
        Some(line) => Err(format!("the book is not as it should be: {line}")),
        None if !built.success => Err(format!("{} failed", describe(&build))),
        None => Ok(Outcome::Passed),
    }
}
