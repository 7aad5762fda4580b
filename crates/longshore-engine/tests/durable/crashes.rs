//! A database on a simulated disk: the machine crashes at every change of the disk in turn, which keeps or loses what was not
//! synchronised; and every operation fails in turn. What was acknowledged is there afterwards, and nothing by halves.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use longshore_engine::{Config, Database, Durability, Error, ErrorKind};
use longshore_simdisk::{Fault, SimDisk};
use longshore_storage::disk::Disk;
use longshore_testing::share;

use crate::described::rows;
use crate::support::{open_simulated, runtime};

/// What is done, one statement after the other.
const STATEMENTS: [&str; 45] = [
    "CREATE TABLE t (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a INTEGER NOT NULL, note TEXT UNIQUE)",
    "INSERT INTO t (a, note) VALUES (1, 'one'), (2, 'two'), (3, 'three')",
    "CREATE TABLE child (id INTEGER PRIMARY KEY, parent BIGINT REFERENCES t ON DELETE CASCADE)",
    "INSERT INTO child VALUES (1, 1), (2, 2)",
    "CHECKPOINT",
    "UPDATE t SET a = a * 10 WHERE id > 1",
    "CREATE VIEW v AS SELECT a, note FROM t",
    "DELETE FROM t WHERE id = 2",
    "CREATE TABLE made AS SELECT g AS a, g * g AS b FROM generate_series(1, 300) AS s(g)",
    "ALTER TABLE made ADD COLUMN c TEXT DEFAULT 'c'",
    "CREATE UNIQUE INDEX made_a ON made (a)",
    "CHECKPOINT",
    BACKUPS[0],
    "UPDATE made SET b = 0 WHERE a % 3 = 0",
    "DROP VIEW v",
    "CREATE SEQUENCE s",
    "INSERT INTO made SELECT 1000 + nextval('s'), 1, 'd' FROM generate_series(1, 5)",
    "ALTER TABLE child RENAME COLUMN parent TO up",
    "TRUNCATE child",
    BACKUPS[1],
    "DROP TABLE made",
    "BEGIN",
    "CREATE TABLE in_block (id INTEGER PRIMARY KEY, up BIGINT REFERENCES t)",
    "INSERT INTO in_block VALUES (1, 1), (2, NULL)",
    "DROP TABLE child",
    "CREATE SEQUENCE block_s",
    "INSERT INTO in_block SELECT 10 + nextval('block_s'), 1 FROM generate_series(1, 3)",
    "COMMIT",
    "INSERT INTO in_block VALUES (20 + nextval('block_s'), 3)",
    "BEGIN",
    "CREATE TABLE lost AS SELECT 1 AS a",
    "DROP TABLE in_block",
    "ROLLBACK",
    "BEGIN",
    "ALTER TABLE in_block ADD COLUMN note TEXT",
    "UPDATE in_block SET note = 'note ' || id",
    "ALTER TABLE in_block ALTER COLUMN note SET NOT NULL",
    "ALTER TABLE t DROP COLUMN a",
    "INSERT INTO t (note) VALUES ('altered')",
    "COMMIT",
    "INSERT INTO in_block VALUES (30, NULL, 'behind')",
    "CREATE UNIQUE INDEX lower_notes ON in_block (lower(note)) WHERE id > 5",
    "INSERT INTO in_block VALUES (31, NULL, 'Behind you') ON CONFLICT (lower(note)) WHERE id > 5 DO NOTHING",
    "UPDATE in_block SET note = upper(note)",
    "DROP INDEX lower_notes",
];

/// Those of them that are backups, behind how many statements each is written, and where.
const BACKUPS: [&str; 2] = ["BACKUP DATABASE TO '/one'", "BACKUP DATABASE TO '/two' (INCREMENTAL '/one')"];
const BACKUPS_AT: [(usize, &str); 2] = [(12, "/one"), (19, "/two")];

/// Does the statements until one fails; says how many were done, and why the next one was not.
async fn work(database: &Arc<Database>) -> (usize, Option<Error>) {
    let mut session = database.session();
    for (at, sql) in STATEMENTS.iter().enumerate() {
        if let Err(error) = session.execute(sql).await {
            return (at, Some(error));
        }
    }
    (STATEMENTS.len(), None)
}

/// All rows, and what there is.
async fn shown(database: &Arc<Database>) -> String {
    let mut session = database.session();
    let mut text = format!("{:?} {:?}\n", database.table_names(), database.sequence_names());
    for name in database.table_names() {
        let parts = (database.keys(&name), database.foreign_keys(&name), database.column_names(&name));
        let rows = rows(&mut session, &format!("SELECT * FROM {name} ORDER BY 1")).await;
        writeln!(text, "{name} {parts:?}\n{rows}").expect("a text takes everything");
    }
    text
}

/// What there is after each number of statements, in memory.
async fn states() -> Vec<String> {
    let database = Database::open(Config { threads: 1, ..Config::default() }).expect("it opens");
    let mut states = vec![shown(&database).await];
    let mut session = database.session();
    for sql in STATEMENTS {
        // A database in memory has no backups, which change nothing.
        if !BACKUPS.contains(&sql) {
            session.execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        states.push(shown(&database).await);
    }
    states
}

/// That each backup is what was there before it, and sound; or is refused, if it was not acknowledged.
async fn check_backups(disk: &SimDisk, done: usize, states: &[String]) {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    for (at, path) in BACKUPS_AT {
        assert!(STATEMENTS[at].contains(path), "{}", STATEMENTS[at]);
        let durability = Durability { read_only: true, ..Durability::default() };
        let config = Config { threads: 1, ..Config::default() };
        match Database::open_on(&disk, Path::new(path), config.clone(), &durability) {
            Ok(backup) => {
                assert_eq!(shown(&backup).await, states[at], "{path}");
                let report = Database::check_on(&disk, Path::new(path), &config).await.expect("it can be read");
                assert_eq!(report.problems, Vec::<String>::new(), "{path}");
            }
            Err(error) => assert!(error.kind() == ErrorKind::NotFound && done <= at, "{path}: {error}"),
        }
    }
}

/// Crashes, and failures of each kind, at least. `LONGSHORE_CRASHES` multiplies them: with more, every change and every operation
/// is tried, with several seeds, which keep and lose other parts.
fn tries() -> u64 {
    let times = std::env::var("LONGSHORE_CRASHES").map_or(1, |times| times.parse().expect("a number"));
    share(120) as u64 * times
}

#[test]
fn at_every_change() {
    let runtime = runtime();
    runtime.block_on(async {
        let states = states().await;
        let (mut crashes, mut seed) = (0, 0);
        while crashes < tries() {
            seed += 1;
            // The changes of a run that nothing disturbs.
            let disk = SimDisk::new(seed);
            let database = open_simulated(&disk, 1).expect("it opens");
            assert_eq!(work(&database).await.0, STATEMENTS.len());
            let changes = disk.changes();
            drop(database);
            let step = 1 + changes / tries();
            let mut change = seed % step;
            while change < changes {
                let disk = SimDisk::new(seed);
                disk.crash_at(change);
                let done = match open_simulated(&disk, 1) {
                    Ok(database) => work(&database).await.0,
                    Err(_) => 0,
                };
                let survived = disk.restart();
                let database = open_simulated(&survived, 1)
                    .unwrap_or_else(|error| panic!("seed {seed}, change {change}: {error}"));
                let found = shown(&database).await;
                check_backups(&survived, done, &states).await;
                // What was under way may be there, too.
                let is_sound = found == states[done] || states.get(done + 1) == Some(&found);
                assert!(
                    is_sound,
                    "seed {seed}, change {change}, behind {done} statements:\n{found}\nexpected\n{}\nor\n{:?}",
                    states[done],
                    states.get(done + 1)
                );
                crashes += 1;
                change += step;
            }
        }
        println!("{crashes} crashes, {seed} seeds");
    });
}

#[test]
fn at_every_failure() {
    let runtime = runtime();
    runtime.block_on(async {
        let states = states().await;
        let disk = SimDisk::new(1);
        let database = open_simulated(&disk, 1).expect("it opens");
        let first = disk.operations();
        assert_eq!(work(&database).await.0, STATEMENTS.len());
        let operations = disk.operations();
        drop(database);
        let step = 1 + (operations - first) / tries();
        for (fault, start) in [(Fault::Full, first), (Fault::Broken, first + step / 2)] {
            for operation in (start..operations).step_by(step as usize) {
                let disk = SimDisk::new(operation);
                disk.fail_from(operation, fault);
                let database = open_simulated(&disk, 1).expect("nothing fails yet");
                let (done, error) = work(&database).await;
                let seen = shown(&database).await;
                if let Some(error) = error {
                    assert!(!error.to_string().is_empty());
                    // Queries still answer; the statement that failed may be seen if only waiting for it failed.
                    let is_sound = seen == states[done] || states.get(done + 1) == Some(&seen);
                    assert!(is_sound, "operation {operation}, behind {done} statements: {error}\n{seen}");
                }
                drop(database);
                disk.heal();
                let restarted = disk.restart();
                check_backups(&restarted, done, &states).await;
                let database = open_simulated(&restarted, 1).expect("it opens again");
                let found = shown(&database).await;
                let is_sound = found == states[done] || states.get(done + 1) == Some(&found);
                assert!(is_sound, "operation {operation}, behind {done} statements, opened again:\n{found}");
            }
        }
    });
}
