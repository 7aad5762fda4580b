//! Statements after PostgreSQL's manual: how many are answered as PostgreSQL answers them.
//!
//! `manual` has a script for each chapter, or for a part of a chapter, with what it explains in statements of our own.
//! What PostgreSQL's manual says of roles, triggers, procedures, full text search, XML, geometry, networks and ranges is left
//! out, and so is EXPLAIN. `regression::run` has the variables that choose scripts and ask for reports. Without PostgreSQL
//! nothing is tested, but in CI that is a failure.

use std::path::{Path, PathBuf};

use longshore_witness::pair::server;
use longshore_witness::regression::run::{self, Counts};
use longshore_witness::regression::script;
use longshore_witness::server::Server;

/// The folder of the scripts.
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/manual");
/// There are so many statements, at least.
const STATEMENTS_MIN: usize = 1_900;
/// Of a hundred statements, so many are answered as PostgreSQL answers them, at least.
const SAME_PERCENT_MIN: f64 = 86.0;

#[test]
fn statements_of_the_manual_are_answered_as_postgres_does() {
    let Some(server) = server() else { return };
    let scripts: Vec<_> = scripts();
    let asked: Vec<_> = scripts.iter().filter(|path| run::is_asked_for(name(path))).collect();
    let all = run::run_all(&asked, |path| name(path), async |path| run(&server, path).await);
    if asked.len() < scripts.len() {
        return;
    }
    let statements: usize = all.values().sum();
    assert!(statements >= STATEMENTS_MIN, "there are {statements} statements only");
    assert!(run::percent(&all) >= SAME_PERCENT_MIN, "fewer than {SAME_PERCENT_MIN} % are answered the same");
}

/// The scripts in the order of the manual.
fn scripts() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(SCRIPTS).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|name| name == "sql")).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> &str {
    path.file_stem().and_then(|name| name.to_str()).expect("scripts have names")
}

/// Runs a script on databases of its own.
async fn run(server: &Server, path: &Path) -> Counts {
    let name = name(path);
    let mut client = server.connect().expect("the server answers");
    client.run(&format!("CREATE DATABASE \"{name}\"")).expect("names differ");
    let client = server.connect_to(name).expect("the server answers");
    let statements = script::read_file(path, Path::new(SCRIPTS));
    run::compare(&mut run::both(client), name, statements).await
}
