//! `cargo xtask ci`: every check and test, in order, each with its time.
//!
//! The order is cheapest first, and the steps share target folders so that DataFusion is compiled once. Clippy and the
//! documentation alone would compile it once more, to metadata: in a first build of all, they run as the tests are compiled.
//! Sanitizers and emulator build only the crates below the engine, each in a folder of its own under `target/`. Behind
//! the tests, two steps at a time run beside each other.

mod absence;
mod beside;
mod book;
mod clients;
mod compiler;
mod demo;
mod features;
mod fuzz;
mod interleave;
mod lints;
mod neon;
mod python;
mod python_environment;
mod regression;
mod sanitizer;
mod threads;
mod workspace_tests;

use std::time::{Duration, Instant};

use crate::shell::{cargo, run};
use crate::{imports, tidy};

pub(crate) use compiler::as_rustc;

/// What became of a step that did not fail.
pub(crate) enum Outcome {
    /// It ran and passed.
    Passed,
    /// It cannot run on this machine, for this reason.
    Skipped(String),
}

/// The crates below the engine: they build without DataFusion, in seconds.
pub(crate) const LOW_CRATES: [&str; 4] = ["longshore-csv", "longshore-storage", "longshore-format", "longshore-load"];

/// For steps that compile much and run little: reports name functions, and no lines. Leave it out to look into one of them.
pub(crate) const WITHOUT_LINES: [&str; 2] = ["--config", "profile.dev.debug=false"];

type Run = fn() -> Result<Outcome, String>;

struct Step {
    name: &'static str,
    about: &'static str,
    run: Run,
    /// What `--fast` runs of it, if anything.
    fast: Option<Run>,
    /// Whether it runs only where it is named.
    is_named: bool,
}

/// A step that `--fast` leaves out: it runs beside others of its kind.
const fn slow(name: &'static str, about: &'static str, run: Run) -> Step {
    Step { name, about, run, fast: None, is_named: false }
}

/// A step that `--fast` runs as well, perhaps less of it. It runs alone: it builds what others use, or keeps every core busy.
const fn fast(name: &'static str, about: &'static str, run: Run, fast: Run) -> Step {
    Step { name, about, run, fast: Some(fast), is_named: false }
}

/// A step that runs only where it is named: it takes long and finds little that others do not.
const fn named(name: &'static str, about: &'static str, run: Run) -> Step {
    Step { name, about, run, fast: None, is_named: true }
}

/// What came of a step.
struct Came {
    name: &'static str,
    took: Duration,
    result: Result<Outcome, String>,
}

/// Steps that are left out where those before them have taken very long: on a slow machine a run must still come to its end.
const IF_THERE_IS_TIME: [&str; 2] = ["neon", "demo"];
const TIME_MAX: Duration = Duration::from_mins(76);

const STEPS: &[Step] = &[
    fast("tidy", "house rules", tidy_step, tidy_step),
    fast("fmt", "rustfmt", fmt, fmt),
    fast("absence", "promises of absence, crate by crate", absence::step, absence::step),
    fast("features", "every package builds the same DataFusion", features::step, features::step),
    fast("imports", "imports within each crate point down", imports_step, imports_step),
    fast("clippy", "lints, warnings denied", lints::clippy, lints::clippy),
    fast("test", "all tests of the workspace", workspace_tests::all, workspace_tests::quick),
    // The longest first, so that the last two end together; what may be left out comes last.
    slow("asan", "low crates under AddressSanitizer", sanitizer::step),
    slow("regression", "PostgreSQL's regression files, compared with PostgreSQL", regression::step),
    slow("threads", "transactions and index builds under ThreadSanitizer", threads::step),
    slow("clients", "programs that speak PostgreSQL's protocol, against the server", clients::step),
    slow("interleave", "transactions and the log in interleavings that seeds choose", interleave::step),
    slow("python", "the Python package, its types and its tests", python::step),
    slow("doc", "documentation of the libraries, warnings denied", lints::doc),
    slow("book", "the book is built without a warning", book::step),
    slow("neon", "csv on emulated ARM; storage compiles for it", neon::step),
    slow("demo", "the demo at scale 0.01 under each kernel of this machine", demo::step),
    // What its targets check, tests check with random bytes.
    named("fuzz", "each fuzz target for a while", fuzz::step),
];

/// Runs the steps that the arguments ask for.
///
/// # Errors
///
/// The first failure.
pub(crate) fn main(arguments: &[&str]) -> Result<(), String> {
    let Some(mut steps) = select(arguments)? else {
        for step in STEPS {
            let when = match (step.fast.is_some(), step.is_named) {
                (true, _) => " (also --fast)",
                (false, true) => " (only by its name)",
                (false, false) => "",
            };
            println!("{:10} {}{when}", step.name, step.about);
        }
        return Ok(());
    };
    if compiler::is_first_build() && beside_compiler(&mut steps) {
        println!("this is a first build: the tests are linted and the libraries documented as they are compiled");
    }
    let started = Instant::now();
    let late = |name: &str| {
        let is_late = started.elapsed() > TIME_MAX && IF_THERE_IS_TIME.contains(&name);
        is_late.then(|| format!("{} have passed; run it by itself: cargo xtask ci {name}", seconds(TIME_MAX)))
    };
    let mut report = Vec::new();
    for group in steps.chunk_by(|(step, _), (next, _)| step.fast.is_none() && next.fast.is_none()) {
        let came = match group {
            [(step, run)] => vec![alone(step, *run, late(step.name))],
            _ => beside::run(&group.iter().map(|(step, _)| step.name).collect::<Vec<_>>(), late)?,
        };
        report.extend(came.iter().map(line));
        if let Some(Came { name, result: Err(error), .. }) = came.iter().find(|came| came.result.is_err()) {
            summary(&report);
            return Err(format!("\nci failed at {name}: {error}\nagain with: cargo xtask ci {name}"));
        }
    }
    summary(&report);
    if report.len() > 1 {
        println!("ci passed in {}", seconds(started.elapsed()));
    }
    Ok(())
}

/// Lets the compiler of the tests do what steps would do that compile all again; whether they were among the steps.
fn beside_compiler(steps: &mut Vec<(&'static Step, Run)>) -> bool {
    let is_done_by_compiler = |name: &str| ["clippy", "doc"].contains(&name);
    let is_done = steps.iter().filter(|(step, _)| is_done_by_compiler(step.name)).count() == 2;
    let Some(test) = steps.iter().position(|(step, _)| step.name == "test").filter(|_| is_done) else { return false };
    steps[test].1 = workspace_tests::linted;
    steps.retain(|(step, _)| !is_done_by_compiler(step.name));
    true
}

/// Shows what came of the steps, if there were several.
fn summary(report: &[String]) {
    if report.len() > 1 {
        println!("\n{}", report.join("\n"));
    }
}

/// Runs a step, unless there is a reason to leave it out.
fn alone(step: &Step, run: Run, skipped: Option<String>) -> Came {
    println!("\n==> {}: {}", step.name, step.about);
    let began = Instant::now();
    let result = skipped.map_or_else(run, |reason| Ok(Outcome::Skipped(reason)));
    let came = Came { name: step.name, took: began.elapsed(), result };
    match &came.result {
        Ok(Outcome::Passed) => println!("<== {}: passed in {}", came.name, seconds(came.took)),
        Ok(Outcome::Skipped(reason)) => println!("<== {}: SKIPPED: {reason}", came.name),
        Err(_) => {}
    }
    came
}

/// A line of the report.
fn line(came: &Came) -> String {
    let took = seconds(came.took);
    match &came.result {
        Ok(Outcome::Passed) => format!("{:10} {took:>9}  passed", came.name),
        Ok(Outcome::Skipped(reason)) => format!("{:10} {took:>9}  SKIPPED: {reason}", came.name),
        Err(_) => format!("{:10} {took:>9}  FAILED", came.name),
    }
}

/// The steps to run, and what of them; `None` to list them.
fn select(arguments: &[&str]) -> Result<Option<Vec<(&'static Step, Run)>>, String> {
    let mut steps: Vec<&'static Step> = STEPS.iter().filter(|step| !step.is_named).collect();
    let mut named = Vec::new();
    let mut is_fast = false;
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        match argument {
            "--list" => return Ok(None),
            "--fast" => is_fast = true,
            "--from" => {
                let name = rest.next().ok_or("--from needs the name of a step")?;
                let first = find(name)?;
                if first.is_named {
                    return Err(format!("{name} runs only by its name: cargo xtask ci {name}"));
                }
                steps = steps.into_iter().skip_while(|step| step.name != first.name).collect();
            }
            name => named.push(find(name)?),
        }
    }
    let steps = if named.is_empty() { steps } else { named };
    let selected = |step: &'static Step| if is_fast { Some((step, step.fast?)) } else { Some((step, step.run)) };
    Ok(Some(steps.into_iter().filter_map(selected).collect()))
}

fn find(name: &str) -> Result<&'static Step, String> {
    STEPS.iter().find(|step| step.name == name).ok_or_else(|| {
        let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        format!("there is no step {name:?}; the steps are {}", names.join(", "))
    })
}

fn seconds(time: Duration) -> String {
    let whole = time.as_secs();
    if whole < 60 { format!("{:.1} s", time.as_secs_f64()) } else { format!("{} min {:02} s", whole / 60, whole % 60) }
}

fn tidy_step() -> Result<Outcome, String> {
    tidy::main(&[]).map(|()| Outcome::Passed)
}

fn imports_step() -> Result<Outcome, String> {
    imports::main(&[]).map(|()| Outcome::Passed)
}

fn fmt() -> Result<Outcome, String> {
    run(&mut cargo(&["fmt", "--all", "--check"])).map_err(|error| format!("{error}; run: cargo fmt --all"))?;
    run(&mut cargo(&["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]))?;
    Ok(Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(arguments: &[&str]) -> Vec<&'static str> {
        let steps = select(arguments).expect("valid").expect("steps");
        steps.iter().map(|(step, _)| step.name).collect()
    }

    #[test]
    fn what_the_compiler_does_is_no_step_of_its_own() {
        let of = |arguments: &[&str]| select(arguments).expect("valid").expect("steps");
        let mut all = of(&[]);
        assert!(beside_compiler(&mut all));
        assert_eq!(all.len(), names(&[]).len() - 2);
        assert!(!beside_compiler(&mut of(&["--fast"])));
        assert!(!beside_compiler(&mut of(&["clippy", "doc"])));
        assert!(!beside_compiler(&mut of(&["test"])));
    }

    #[test]
    fn steps_are_selected() {
        assert!(!names(&[]).contains(&"fuzz"));
        assert_eq!(names(&["fuzz"]), ["fuzz"]);
        assert_eq!(names(&["--from", "neon"]), ["neon", "demo"]);
        assert_eq!(names(&["doc", "tidy"]), ["doc", "tidy"]);
        assert!(names(&["--fast"]).contains(&"test"));
        assert!(!names(&["--fast"]).contains(&"fuzz"));
        assert!(select(&["--list"]).expect("valid").is_none());
        assert!(select(&["nonsense"]).is_err());
    }
}
