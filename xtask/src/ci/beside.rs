//! Steps beside each other: each is a run of this program of its own, whose output is shown when it ends.
//!
//! A step that builds ends with one crate, and one that tests with one test, while the other core has nothing to do; many
//! wait for servers or packages, or run on one thread. Two at a time leave no core idle.
//!
//! Not here: the steps that run alone, since they build what others use or since their tests keep every core busy.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use super::{Came, Outcome};
use crate::shell::{command, target};

/// How many run at the same time.
const LANES: usize = 2;

/// Runs these steps, begun in this order; what came of them, in the order of their ends. After a failure none is begun.
/// `skipped` says why a step that is about to begin is left out, if it is.
///
/// # Errors
///
/// When this program cannot be found, or the folder of outputs cannot be made.
pub(super) fn run(
    names: &[&'static str],
    skipped: impl Fn(&str) -> Option<String> + Sync,
) -> Result<Vec<Came>, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let folder = target().join("ci");
    fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let queue = Mutex::new(names.iter());
    let came = Mutex::new(Vec::<Came>::new());
    let next = || {
        let has_failed = came.lock().expect("no lane panics").iter().any(|one| one.result.is_err());
        if has_failed { None } else { queue.lock().expect("no lane panics").next().copied() }
    };
    let lane = || {
        while let Some(name) = next() {
            let began = Instant::now();
            let result = match skipped(name) {
                Some(reason) => Ok(Outcome::Skipped(reason)),
                None => step(name, &program, &folder.join(format!("{name}.txt"))),
            };
            came.lock().expect("no lane panics").push(Came { name, took: began.elapsed(), result });
        }
    };
    thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(lane);
        }
    });
    Ok(came.into_inner().expect("no lane panics"))
}

/// Runs a step in a process of its own, and then shows what it printed.
fn step(name: &str, program: &Path, output: &Path) -> Result<Outcome, String> {
    println!("\n==> {name}: begun; what it prints is shown when it ends, and stands in {}", output.display());
    let cannot = |error| format!("cannot run the step {name}: {error}");
    let printed = File::create(output).map_err(cannot)?;
    let mut step = command(&program.display().to_string());
    step.args(["ci", name]).stdout(printed.try_clone().map_err(cannot)?).stderr(printed);
    let status = step.status().map_err(cannot)?;
    let printed = String::from_utf8_lossy(&fs::read(output).map_err(cannot)?).into_owned();
    println!("{printed}");
    if !status.success() {
        return Err(format!("the step {name} ended with {status}; what it printed is above"));
    }
    let skipped = format!("<== {name}: SKIPPED: ");
    let reason = printed.lines().find_map(|line| line.strip_prefix(&skipped));
    Ok(reason.map_or(Outcome::Passed, |reason| Outcome::Skipped(reason.to_owned())))
}
