//! What `pg_dump --no-owner` writes is loaded by `-f` as it is, and all rows are those of PostgreSQL.
//!
//! Without PostgreSQL nothing is tested, but in CI that is a failure.

use std::fs;
use std::path::Path;
use std::process::Command;

use longshore_witness::pair::server;
use longshore_witness::server::Server;

use crate::run::longshore_in;

const SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/postgres/shop.sql");

/// The tables and views of the shop, and what orders their rows.
const RELATIONS: [(&str, &str); 9] = [
    ("country", "code"),
    ("customer", "id"),
    ("stock.item", "id"),
    ("invoice", "number"),
    ("basket", "id"),
    ("line", "invoice, position"),
    ("big_invoice", "number"),
    ("stock.empty", "item"),
    ("names", "who, kind"),
];

/// What is written after the dump was loaded: sequences go on, and constraints hold.
const AFTER: &str = "INSERT INTO customer (name, credit) VALUES ('new', 1) RETURNING id;
    INSERT INTO invoice (customer) VALUES (1) RETURNING number;
    INSERT INTO stock.item (\"Label\", price, pieces) VALUES ('new', 2.5, 3) RETURNING id, worth;";

#[test]
fn what_pg_dump_writes_is_loaded() {
    let Some(server) = server() else { return };
    let programs = Server::programs().expect("there is a server");
    let run = |program: &str, args: &[&str]| run(&server, &programs, program, args);
    run("psql", &["-q", "-v", "ON_ERROR_STOP=1", "-f", SHOP]);
    let folder = tempfile::tempdir().expect("a temporary directory");
    let dump = run("pg_dump", &["--no-owner"]);
    fs::write(folder.path().join("dump.sql"), &dump).expect("written");
    let answers = |further: &str| {
        let copies = RELATIONS
            .map(|(name, order)| format!("COPY (SELECT * FROM {name} ORDER BY {order}) TO STDOUT{further};\n"));
        copies.concat()
    };
    let expected = run("psql", &["-q", "-t", "-A", "-c", &answers("")]);
    // By the option, by a pipe, and into a directory that is opened again.
    let ask = answers(" WITH (FORMAT text)");
    let loaded = longshore_in(folder.path(), &["-f", "dump.sql", "-c", "RESET search_path", "-c", &ask], "");
    assert_eq!(loaded.status, 0, "{}", loaded.err);
    let loaded = loaded.out.split_once("(1 row)\n").map_or("", |(_, rows)| rows);
    let loaded = &loaded[loaded.len().saturating_sub(expected.len())..];
    assert_eq!(loaded, expected);
    let stored = longshore_in(folder.path(), &["stored"], &dump);
    assert_eq!(stored.status, 0, "{}", stored.err);
    let again = longshore_in(folder.path(), &["stored", "-c", "RESET search_path", "-c", &ask], "");
    assert_eq!((again.status, again.out.as_str()), (0, expected.as_str()), "{}", again.err);
    let after = run("psql", &["-q", "-t", "-A", "-F", ",", "-c", AFTER]);
    let ours = longshore_in(folder.path(), &["stored", "--format", "csv", "-c", AFTER], "");
    let values = |text: &str| {
        text.lines()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(values(&ours.out), values(&after), "{}", ours.err);
    let comment = longshore_in(
        folder.path(),
        &[
            "stored",
            "--format",
            "csv",
            "-c",
            "SELECT obj_description('customer', 'pg_class'), col_description('names', 1)",
        ],
        "",
    );
    assert!(comment.out.contains("Who buys; it's"), "{}", comment.out);
}

#[test]
fn what_pgbench_makes_is_loaded() {
    let Some(server) = server() else { return };
    let programs = Server::programs().expect("there is a server");
    let pgbench = programs.join("pgbench");
    if !pgbench.is_file() {
        println!("SKIPPED: pgbench is not installed (the Debian package postgresql)");
        return;
    }
    run(&server, &programs, "pgbench", &["-i", "-q", "-s", "1"]);
    let folder = tempfile::tempdir().expect("a temporary directory");
    fs::write(folder.path().join("dump.sql"), run(&server, &programs, "pg_dump", &["--no-owner"])).expect("written");
    let sums = "SELECT count(*), sum(aid), sum(bid), min(length(filler)) FROM pgbench_accounts";
    let expected = run(&server, &programs, "psql", &["-q", "-t", "-A", "-F", ",", "-c", sums]);
    let loaded =
        longshore_in(folder.path(), &["--format", "csv", "-f", "dump.sql", "-c", "RESET search_path", "-c", sums], "");
    assert_eq!(loaded.status, 0, "{}", loaded.err);
    assert_eq!(loaded.out.lines().last(), expected.lines().last());
}

/// What a program of PostgreSQL writes that works on the server.
fn run(server: &Server, programs: &Path, program: &str, args: &[&str]) -> String {
    let mut command = Command::new(programs.join(program));
    command.args(["-h"]).arg(server.folder()).args(["-U", "witness", "-d", "postgres"]).args(args);
    if program == "pgbench" {
        command = Command::new(programs.join(program));
        command.args(["-h"]).arg(server.folder()).args(["-U", "witness"]).args(args).arg("postgres");
    }
    let output = command.env("TZ", "UTC").output().expect("the program starts");
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}
