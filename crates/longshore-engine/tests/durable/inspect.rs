//! Databases that are looked at: damage that is found, what is read out of them, and what their logs say.

use std::fs;
use std::path::{Path, PathBuf};

use longshore_engine::{Database, LogLine};

use crate::described::rows;
use crate::support::{config, copy_all, open, run, runtime, value};

/// A database with two tables, one of which refers to the other, that was closed.
async fn made(path: &Path) {
    let database = open(path);
    run(
        &mut database.session(),
        &[
            "CREATE TABLE parent (id INTEGER PRIMARY KEY, name TEXT NOT NULL, c INTEGER, p INTEGER)",
            "CREATE TABLE child (id BIGINT GENERATED ALWAYS AS IDENTITY, parent INTEGER REFERENCES parent, a INTEGER \
             CHECK (a < 1000000))",
            "INSERT INTO parent (id, name) SELECT g, 'name ' || g FROM generate_series(1, 1000) AS s(g)",
            "INSERT INTO child (parent, a) SELECT g, g FROM generate_series(1, 1000) AS s(g)",
            "CHECKPOINT",
            "CREATE TABLE \"Third\" AS SELECT 1 AS a",
        ],
    )
    .await;
    database.close().expect("nobody uses it");
}

fn blocks(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path.join("blocks")).expect("it can be read");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    paths.sort();
    paths
}

async fn problems(path: &Path) -> Vec<String> {
    Database::check_directory(path, config()).await.expect("it can be read").problems
}

#[test]
fn damage_is_listed_and_the_rest_is_read() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let path = directory.path().join("database");
    runtime.block_on(async {
        made(&path).await;
        let report = Database::check_directory(&path, config()).await.expect("it can be read");
        assert_eq!((report.problems, report.tables, report.rows), (Vec::new(), 3, 2001));
        assert_eq!(report.files, blocks(&path).len());
        // A chunk whose last byte has changed, and a file that is missing.
        let [first, .., last] = &blocks(&path)[..] else { panic!("two files") };
        let mut bytes = fs::read(first).expect("it can be read");
        *bytes.last_mut().expect("it is not empty") ^= 1;
        fs::write(first, bytes).expect("it can be written");
        fs::remove_file(last).expect("it is there");
        let found = problems(&path).await;
        let all = found.join("\n");
        assert!(all.contains(&format!("{}: offset ", first.display())), "{all}");
        assert!(all.contains(&format!("{}: cannot open it", last.display())), "{all}");
        assert!(all.contains("\ntable \"Third\": 1 chunk is missing, with the rows 0 to 65535"), "{all}");
        // What is sound can be read.
        let (database, missing) = Database::open_damaged(&path, &config()).expect("it opens");
        assert!(missing.iter().any(|line| line.starts_with("table \"Third\": 1 chunk")), "{missing:?}");
        let mut session = database.session();
        assert_eq!(value(&mut session, "SELECT count(*) FROM \"Third\"").await, 0);
        let left = rows(&mut session, "SELECT (SELECT count(*) FROM parent), (SELECT count(*) FROM child)").await;
        assert!(["0|1000", "1000|0"].contains(&left.trim()), "{left}");
        assert!(session.execute("DELETE FROM parent").await.is_err(), "it is only read");
        // A manifest is all or nothing.
        fs::write(path.join("manifest"), b"nothing").expect("it can be written");
        let found = problems(&path).await;
        assert!(found.len() == 1 && found[0].contains("manifest: not a manifest"), "{found:?}");
    });
}

#[test]
fn constraints_that_do_not_hold_are_named() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let path = directory.path().join("database");
    runtime.block_on(async {
        made(&path).await;
        let database = open(&path);
        run(&mut database.session(), &["CREATE TABLE keys (a INTEGER, b INTEGER, UNIQUE (a, b))"]).await;
        drop(database);
        assert_eq!(problems(&path).await, Vec::<String>::new());
        let copy = directory.path().join("copy");
        copy_all(&path, &copy);
        // The parents are lost, whose chunk is that with names, so that what refers to them refers to nothing.
        for block in blocks(&copy) {
            let bytes = fs::read(&block).expect("it can be read");
            let is_named = bytes.windows(4).any(|window| window == b"name");
            if is_named {
                let mut bytes = bytes;
                let at = bytes.windows(4).position(|window| window == b"name").expect("it was found");
                bytes[at] ^= 1;
                fs::write(&block, bytes).expect("it can be written");
            }
        }
        let found = problems(&copy).await.join("\n");
        assert!(
            found.contains("table child: 1000 rows refer to no row of table parent, which FOREIGN KEY "),
            "{found}"
        );
    });
}

fn log(path: &Path, from: Option<&str>) -> Result<Vec<LogLine>, longshore_engine::Error> {
    let mut lines = Vec::new();
    Database::read_log(path, from, &mut |line| lines.push(line)).map(|()| lines)
}

#[test]
fn the_log_is_read() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let path = directory.path().join("database");
    runtime.block_on(async {
        let database = open(&path);
        let mut session = database.session();
        run(
            &mut session,
            &[
                "CREATE TABLE t (a INTEGER PRIMARY KEY, b DECIMAL(10,2), c DATE, d TEXT, CHECK (a > 0))",
                "INSERT INTO t VALUES (1, 1.5, '2024-02-29', NULL)",
                "UPDATE t SET d = repeat('x', 100)",
                "ALTER TABLE t RENAME COLUMN d TO e",
                "ALTER TABLE t ADD COLUMN f INTEGER DEFAULT 7",
                "DELETE FROM t",
                "CREATE VIEW v AS SELECT a FROM t",
                "CREATE SEQUENCE s",
            ],
        )
        .await;
        run(&mut session, &["DROP VIEW v", "DROP SEQUENCE s"]).await;
        let lines = log(&path, None).expect("it can be read");
        let all: Vec<String> = lines
            .iter()
            .map(|line| match line {
                LogLine::Record(line) | LogLine::Change(line) | LogLine::Note(line) => line.clone(),
            })
            .collect();
        let all = all.join("\n");
        for part in [
            "relation 1 joins: t (a INTEGER NOT NULL, b DECIMAL(10,2), c DATE, d TEXT)",
            "table t is relation 1 with primary key t_pkey (",
            "t (relation 1): insert row 0:0: a = 1, b = 1.50, c = 2024-02-29, d = NULL",
            "t (relation 1): update row 0:0: d = 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'... (100 bytes)",
            "row 0:0 has f = 7",
            "): delete row 0:0",
            "view v is SELECT a FROM t",
            "sequence s (number ",
            "no table and no view is called v",
            "the last checkpoint has what lies before 0/00000000",
            "the log ends at ",
        ] {
            assert!(all.contains(part), "{part} in\n{all}");
        }
        assert!(!all.contains("cannot be read"), "{all}");
        let records: Vec<&str> = lines
            .iter()
            .filter_map(|line| match line {
                LogLine::Record(line) => line.split(' ').next(),
                _ => None,
            })
            .collect();
        let later = log(&path, Some(records[3])).expect("it can be read");
        assert!(lines.ends_with(&later) && matches!(&later[0], LogLine::Record(line) if line.starts_with(records[3])));
        let error = log(&path, Some("x")).expect_err("it is none").to_string();
        assert_eq!(error, "'x' is not a position of the log, which is like 0/1A2B3C");
        assert!(log(&path.join("blocks"), None).is_err());
    });
}
