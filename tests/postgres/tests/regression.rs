//! PostgreSQL's regression files: how many of their statements are answered as PostgreSQL answers them.
//!
//! `scripts/postgres-regression.sh` brings the files and runs this; `LONGSHORE_REGRESSION` names their folder
//! (`src/test/regress` of PostgreSQL's source), without which nothing is tested. `LONGSHORE_REGRESSION_FILES=json,jsonb`
//! runs these alone; `LONGSHORE_REGRESSION_REPORT` names a folder for what differs, a file for each.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use longshore_engine::Config;
use longshore_witness::engine::Engine;
use longshore_witness::pair::server;
use longshore_witness::regression::compare::{Both, Compared, Given, Kind};
use longshore_witness::regression::files::{FILES, File, SETUP};
use longshore_witness::regression::scope::Scope;
use longshore_witness::regression::script::{self, Statement};
use longshore_witness::rows::Refusal;
use longshore_witness::server::{Client, Server};

/// Of a hundred statements, so many are answered as PostgreSQL answers them, at least.
const SAME_PERCENT_MIN: f64 = 77.0;
/// Deep plans need deep stacks.
const STACK_BYTES: usize = 256 << 20;
/// Files that run at a time.
const WORKERS: usize = 2;
/// Rows of an answer that a report shows.
const ROWS_SHOWN: usize = 8;

type Counts = BTreeMap<Kind, usize>;

#[test]
fn regression_files_are_answered_as_postgres_does() {
    let Some(folder) = std::env::var_os("LONGSHORE_REGRESSION").map(PathBuf::from) else {
        println!("SKIPPED: LONGSHORE_REGRESSION does not name the regression files of PostgreSQL's source");
        return;
    };
    let Some(server) = server() else { return };
    let files = files();
    make_template(&server, &folder);
    let (next, counts) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            let work = || {
                let runtime =
                    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let counted = runtime.block_on(run(&server, &folder, file));
                    println!("{}", told(file.0, &counted));
                    counts.lock().expect("no panic").insert(file.0, counted);
                }
                // A statement that took too long may still run.
                runtime.shutdown_background();
            };
            std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work).expect("a thread starts");
        }
    });
    let counts = counts.into_inner().expect("no panic");
    let mut all = Counts::new();
    for counted in counts.values() {
        for (kind, count) in counted {
            *all.entry(*kind).or_default() += count;
        }
    }
    println!("{}", told("all", &all));
    let is_whole = files.len() == FILES.len();
    assert!(!is_whole || percent(&all) >= SAME_PERCENT_MIN, "fewer than {SAME_PERCENT_MIN} % are answered the same");
}

/// The files that are asked for.
fn files() -> Vec<File> {
    match std::env::var("LONGSHORE_REGRESSION_FILES") {
        Ok(names) => {
            let names: Vec<_> = names.split(',').map(str::trim).collect();
            FILES.iter().filter(|file| names.contains(&file.0)).copied().collect()
        }
        Err(_) => FILES.to_vec(),
    }
}

/// Makes a database of the server that has what all files need.
fn make_template(server: &Server, folder: &Path) {
    let mut client = server.connect().expect("the server answers");
    client.run("CREATE DATABASE setup").expect("a new server has no such database");
    let mut client = server.connect_to("setup").expect("the server answers");
    run_on_server(&mut client, &scoped(folder, &[SETUP]));
}

/// The statements of files that make sense here, with what is left out of them.
fn scoped(folder: &Path, names: &[&str]) -> (Scope, Vec<Statement>) {
    let mut scope = Scope::default();
    let mut statements: Vec<_> = names.iter().flat_map(|name| script::read(folder, name)).collect();
    statements.retain(|statement| scope.has(&statement.sql, statement.needs_psql));
    (scope, statements)
}

fn run_on_server(client: &mut Client, (_, statements): &(Scope, Vec<Statement>)) {
    for statement in statements {
        // Some fail, as they are meant to.
        let _ = client.ask(&statement.sql, &statement.input).expect("the server answers");
    }
}

/// Runs a file on databases of its own.
async fn run(server: &Server, folder: &Path, &(name, needed): &File) -> Counts {
    let mut client = server.connect().expect("the server answers");
    client.run(&format!("CREATE DATABASE \"{name}\" TEMPLATE setup")).expect("names differ");
    let mut client = server.connect_to(name).expect("the server answers");
    run_on_server(&mut client, &scoped(folder, needed));
    let engine = Engine::open(Config { threads: 2, ..Config::default() });
    let mut both = Both::new(engine, client);
    let before: Vec<_> = [SETUP].iter().chain(needed).copied().collect();
    let (mut scope, statements) = scoped(folder, &before);
    for statement in statements {
        both.prepare(&statement).await;
    }
    let (mut counts, mut report) = (Counts::new(), String::new());
    for statement in script::read(folder, name) {
        if !scope.has(&statement.sql, statement.needs_psql) {
            continue;
        }
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

fn percent(counts: &Counts) -> f64 {
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
