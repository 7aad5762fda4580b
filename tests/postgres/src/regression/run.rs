//! Scripts run on both, a few at a time; what is counted of them, and what is told.
//!
//! `LONGSHORE_REGRESSION_FILES=json,jsonb` runs these scripts alone; `LONGSHORE_REGRESSION_REPORT` names a folder for what
//! differs, a file for each.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use longshore_engine::Config;

use super::compare::{Both, Compared, Given, Kind};
use super::script::Statement;
use crate::engine::Engine;
use crate::rows::Refusal;
use crate::server::Client;

/// Deep plans need deep stacks.
const STACK_BYTES: usize = 256 << 20;
/// Scripts that run at a time.
const WORKERS: usize = 2;
/// Rows of an answer that a report shows.
const ROWS_SHOWN: usize = 8;

/// How many statements were answered how.
pub type Counts = BTreeMap<Kind, usize>;

/// Whether the script `name` is to be run.
#[must_use]
pub fn is_asked_for(name: &str) -> bool {
    std::env::var("LONGSHORE_REGRESSION_FILES").map_or(true, |names| names.split(',').any(|asked| asked.trim() == name))
}

/// Runs each of `scripts`, which has the name that `name` gives; prints the counts of each and of all.
///
/// # Panics
/// When a script does.
pub fn run_all<S: Sync>(
    scripts: &[S],
    name: impl Fn(&S) -> &str + Sync,
    run: impl AsyncFn(&S) -> Counts + Sync,
) -> Counts {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Counts::new()));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            let work = || {
                let runtime =
                    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
                while let Some(script) = scripts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let counts = runtime.block_on(run(script));
                    println!("{}", told(name(script), &counts));
                    let mut all = all.lock().expect("no panic");
                    for (kind, count) in counts {
                        *all.entry(kind).or_default() += count;
                    }
                }
                // A statement that took too long may still run.
                runtime.shutdown_background();
            };
            std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work).expect("a thread starts");
        }
    });
    let all = all.into_inner().expect("no panic");
    println!("{}", told("all", &all));
    all
}

/// A new database of ours, and the one of PostgreSQL that `client` is connected to.
#[must_use]
pub fn both(client: Client) -> Both {
    Both::new(Engine::open(Config { threads: 2, ..Config::default() }), client)
}

/// Compares the answers to the statements of the script `name`, and leaves a report of what differs if one is asked for.
///
/// # Panics
/// When the server goes away, or the report cannot be written.
pub async fn compare(both: &mut Both, name: &str, statements: impl IntoIterator<Item = Statement>) -> Counts {
    let (mut counts, mut report) = (Counts::new(), String::new());
    for statement in statements {
        let compared = both.compare(&statement).await.expect("the server answers");
        *counts.entry(compared.kind).or_default() += 1;
        if !matches!(compared.kind, Kind::Same | Kind::SameError) {
            tell(&mut report, &statement, &compared);
        }
    }
    if let Some(folder) = std::env::var_os("LONGSHORE_REGRESSION_REPORT").map(PathBuf::from) {
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        std::fs::write(folder.join(name).with_extension("txt"), report).expect("the report can be written");
    }
    counts
}

/// Of a hundred statements, how many both did the same.
#[must_use]
pub fn percent(counts: &Counts) -> f64 {
    let same: usize = counts.iter().filter(|(kind, _)| kind.is_same()).map(|(_, count)| count).sum();
    100.0 * same as f64 / counts.values().sum::<usize>().max(1) as f64
}

fn told(name: &str, counts: &Counts) -> String {
    let mut line = format!("{name:20} {:6} {:5.1} %", counts.values().sum::<usize>(), percent(counts));
    for (kind, count) in counts {
        write!(line, "  {kind:?} {count}").expect("text takes all");
    }
    line
}

fn tell(report: &mut String, statement: &Statement, compared: &Compared) {
    let Compared { kind, ours, theirs } = compared;
    writeln!(report, "== {kind:?} line {}\n{}", statement.line, statement.sql).expect("text takes all");
    for (whose, given) in [("ours", ours), ("PostgreSQL", theirs)] {
        writeln!(report, "-- {whose}: {}", shown(given)).expect("text takes all");
    }
    report.push('\n');
}

fn shown(given: &Result<Given, Refusal>) -> String {
    match given {
        Err(refusal) => refusal.to_string(),
        Ok(given) => {
            let line = |row: &Vec<Option<String>>| {
                row.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect::<Vec<_>>().join(" | ")
            };
            let mut text = given.heading.as_ref().map(|row| format!("[{}]", line(row))).unwrap_or_default();
            for row in given.rows.iter().take(ROWS_SHOWN) {
                write!(text, "\n     {}", line(row)).expect("text takes all");
            }
            if given.rows.len() > ROWS_SHOWN {
                write!(text, "\n     ... {} rows", given.rows.len()).expect("text takes all");
            }
            text
        }
    }
}
