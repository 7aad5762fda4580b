//! The repository's own commands: what a person or a machine runs to check Longshore.
//!
//! `cargo xtask ci` runs every check and test, `cargo xtask tidy` the house rules alone, `cargo xtask dist` makes a
//! release. Only the standard library is used, so that the commands build in a second and cannot break with a dependency.
//! Not here: what the checks check; each test lives in its crate.

mod ci;
mod dist;
mod imports;
mod shell;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  ci [--fast] [--list] [--from STEP] [STEP...]
      Runs every check and test in order and stops at the first failure.
      --fast       only what a developer needs before a commit
      --from STEP  start at this step
      STEP...      only these steps
      --list       name the steps and stop

  dist [--check] [--target-dir DIR]
      Builds a release in the folder dist-out of the target folder: an archive, a Debian package, a recipe for a
      container image, and their checksums.
      --check           tries them: in an empty environment, in a fresh Debian, in a container
      --target-dir DIR  where cargo builds, if not in target

  imports [CRATE...]
      Checks that imports within a crate point down.

  tidy [--write]
      Checks the house rules of CONTRIBUTING.md.
      --write      lowers the entries of xtask/ratchet.txt to what the files now are
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.split_first() {
        _ if let Some(result) = ci::as_rustc(&words) => result,
        Some((&"ci", rest)) => ci::main(rest),
        Some((&"tidy", rest)) => tidy::main(rest),
        Some((&"dist", rest)) => dist::main(rest),
        Some((&"imports", rest)) => imports::main(rest),
        Some((&"help" | &"--help" | &"-h", _)) => {
            print!("{USAGE}");
            Ok(())
        }
        Some((other, _)) => Err(format!("unknown command {other:?}\n\n{USAGE}")),
        None => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
