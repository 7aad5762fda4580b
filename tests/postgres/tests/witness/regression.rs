//! PostgreSQL's regression files: how many of their statements are answered as PostgreSQL answers them.
//!
//! `scripts/postgres-regression.sh` brings the files and runs this; `LONGSHORE_REGRESSION` names their folder
//! (`src/test/regress` of PostgreSQL's source), without which nothing is tested. `regression::run` has the other variables.

use std::path::{Path, PathBuf};

use longshore_witness::pair::server;
use longshore_witness::regression::files::{FILES, File, SETUP};
use longshore_witness::regression::run::{self, Counts};
use longshore_witness::regression::scope::Scope;
use longshore_witness::regression::script::{self, Statement};
use longshore_witness::server::{Client, Server};

/// Of a hundred statements, so many are answered as PostgreSQL answers them, at least.
const SAME_PERCENT_MIN: f64 = 89.0;

#[test]
fn regression_files_are_answered_as_postgres_does() {
    let Some(folder) = std::env::var_os("LONGSHORE_REGRESSION").map(PathBuf::from) else {
        println!("SKIPPED: LONGSHORE_REGRESSION does not name the regression files of PostgreSQL's source");
        return;
    };
    let Some(server) = server() else { return };
    let files: Vec<File> = FILES.iter().filter(|(name, _)| run::is_asked_for(name)).copied().collect();
    make_template(&server, &folder);
    let all = run::run_all(&files, |file| file.0, async |file| run(&server, &folder, file).await);
    let is_whole = files.len() == FILES.len();
    assert!(
        !is_whole || run::percent(&all) >= SAME_PERCENT_MIN,
        "fewer than {SAME_PERCENT_MIN} % are answered the same"
    );
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
    let mut both = run::both(client);
    let before: Vec<_> = [SETUP].iter().chain(needed).copied().collect();
    let (mut scope, statements) = scoped(folder, &before);
    for statement in statements {
        both.prepare(&statement).await;
    }
    let mut statements = script::read(folder, name);
    statements.retain(|statement| scope.has(&statement.sql, statement.needs_psql));
    run::compare(&mut both, name, statements).await
}
