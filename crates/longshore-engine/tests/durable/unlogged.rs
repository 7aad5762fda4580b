//! UNLOGGED tables: they are there after a crash, but empty; after a clean exit they have their rows.

use std::sync::Arc;

use longshore_engine::{Database, ErrorKind, Session};
use longshore_simdisk::SimDisk;

use crate::described::{described, rows};
use crate::support::{open, open_read_only, open_simulated, run, runtime, value};

fn opened(disk: &SimDisk) -> Arc<Database> {
    open_simulated(disk, 1).unwrap_or_else(|error| panic!("{error}"))
}

async fn count(session: &mut Session, table: &str) -> i64 {
    value(session, &format!("SELECT count(*) FROM {table}")).await
}

const TABLES: [&str; 8] = [
    "CREATE TABLE kept (id INTEGER PRIMARY KEY, a TEXT)",
    "CREATE UNLOGGED TABLE lost (id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kept INTEGER REFERENCES kept, a TEXT \
     UNIQUE CHECK (a <> ''))",
    "CREATE INDEX lost_kept ON lost USING art (kept)",
    "CREATE UNLOGGED TABLE made AS SELECT g AS a, g * 2 AS b FROM generate_series(1, 20000) AS s(g)",
    "INSERT INTO kept SELECT g, 'kept ' || g FROM generate_series(1, 100) AS s(g)",
    "INSERT INTO lost (kept, a) SELECT g, 'lost ' || g FROM generate_series(1, 100) AS s(g)",
    "CREATE UNLOGGED TABLE children (lost INTEGER REFERENCES lost (id) ON DELETE CASCADE)",
    "INSERT INTO children SELECT id FROM lost",
];

#[test]
fn a_crash_empties_them() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    runtime.block_on(async {
        for checkpoints in [false, true] {
            let disk = SimDisk::new(1);
            let database = opened(&disk);
            let mut session = database.session();
            run(&mut session, &TABLES).await;
            let shown = rows(&mut session, "SHOW TABLES").await;
            assert!(shown.contains("lost|unlogged table|100") && shown.contains("kept|table|100"), "{shown}");
            if checkpoints {
                run(&mut session, &["CHECKPOINT"]).await;
            }
            // Of a transaction that works on both, what is logged comes back.
            run(
                &mut session,
                &[
                    "BEGIN",
                    "INSERT INTO kept VALUES (200, 'with it')",
                    "INSERT INTO lost (kept, a) VALUES (200, 'it')",
                    "DELETE FROM kept WHERE id = 200 AND a = 'no'",
                    "COMMIT",
                    "ALTER TABLE lost ADD COLUMN more INTEGER DEFAULT 7",
                    "ALTER TABLE lost ALTER COLUMN a TYPE VARCHAR(50)",
                ],
            )
            .await;
            let columns = rows(&mut session, "DESCRIBE lost").await;
            for _ in 0..2 {
                let again = opened(&disk.restart());
                let mut session = again.session();
                assert_eq!(count(&mut session, "kept").await, 101);
                for table in ["lost", "made", "children"] {
                    assert_eq!(count(&mut session, table).await, 0, "{table}");
                }
                assert_eq!(rows(&mut session, "DESCRIBE lost").await, columns);
                // Its keys, foreign keys, checks and sequence are there.
                for (sql, kind) in [
                    ("INSERT INTO lost (kept, a) VALUES (999, 'a')", ErrorKind::ForeignKey),
                    ("INSERT INTO lost (kept, a) VALUES (1, '')", ErrorKind::Check),
                    ("INSERT INTO kept VALUES (1, 'again')", ErrorKind::Duplicate),
                ] {
                    assert_eq!(session.execute(sql).await.expect_err(sql).kind(), kind, "{sql}");
                }
                run(&mut session, &["INSERT INTO lost (kept, a) VALUES (1, 'new')"]).await;
                assert!(value(&mut session, "SELECT id FROM lost").await > 100, "no number is given twice");
                assert_eq!(value(&mut session, "SELECT more FROM lost").await, 7);
            }
        }
        drop(directory);
    });
}

#[test]
fn a_clean_exit_keeps_them() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let path = directory.path().join("database");
    runtime.block_on(async {
        let database = open(&path);
        let mut session = database.session();
        run(&mut session, &TABLES).await;
        let expected = described(&database, directory.path()).await;
        assert!(expected.contains("CREATE UNLOGGED TABLE \"lost\"") || expected.contains("CREATE UNLOGGED TABLE lost"));
        drop(session);
        database.close().expect("nobody uses it");
        // Who only reads sees them, and does not use them up.
        for _ in 0..2 {
            let read = open_read_only(&path).expect("it opens");
            assert!(described(&read, directory.path()).await == expected);
        }
        for _ in 0..2 {
            // Nothing was logged, and they are kept again.
            let database = open(&path);
            assert!(described(&database, directory.path()).await == expected);
            // While it is in use, nobody else sees what may change without a trace.
            let read = open_read_only(&path).expect("it opens");
            assert_eq!(count(&mut read.session(), "lost").await, 0);
            assert_eq!(count(&mut read.session(), "kept").await, 100);
            database.close().expect("nobody uses it");
        }
        let disk = SimDisk::new(1);
        let database = opened(&disk);
        run(&mut database.session(), &TABLES).await;
        database.close().expect("nobody uses it");
        let database = opened(&disk);
        assert_eq!(count(&mut database.session(), "made").await, 20_000);
        // Nothing was changed and nothing written, but it was in use.
        let again = opened(&disk.restart());
        assert_eq!(count(&mut again.session(), "made").await, 0);
        assert_eq!(count(&mut again.session(), "kept").await, 100);
    });
}

#[test]
fn no_file_and_no_log_takes_their_rows() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let file = directory.path().join("rows.csv");
    let lines: Vec<String> = (0..50_000).map(|row| format!("{row},some text {row}\n")).collect();
    std::fs::write(&file, lines.concat()).expect("the file is written");
    runtime.block_on(async {
        let disk = SimDisk::new(1);
        let database = opened(&disk);
        let mut session = database.session();
        run(&mut session, &["CREATE UNLOGGED TABLE t (a INTEGER PRIMARY KEY, b TEXT)"]).await;
        let written = disk.bytes_written();
        run(
            &mut session,
            &[
                &format!("COPY t FROM '{}'", file.display()),
                "UPDATE t SET b = 'changed' WHERE a % 2 = 0",
                "DELETE FROM t WHERE a % 10 = 0",
                "CREATE UNLOGGED TABLE u AS SELECT * FROM t",
                &format!("CREATE UNLOGGED TABLE v AS FROM '{}'", file.display()),
                "ALTER TABLE u ALTER COLUMN b TYPE VARCHAR(30)",
                "CHECKPOINT",
            ],
        )
        .await;
        assert!(disk.bytes_written() - written < 20_000, "{} bytes", disk.bytes_written() - written);
        assert_eq!(count(&mut session, "t, u").await, 45_000 * 45_000);
    });
}

#[test]
fn a_table_turns_from_one_to_the_other() {
    let runtime = runtime();
    runtime.block_on(async {
        for rows in [10, 30_000] {
            let disk = SimDisk::new(rows);
            let database = opened(&disk);
            let mut session = database.session();
            run(
                &mut session,
                &[
                    "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)",
                    &format!("INSERT INTO t SELECT g, 'text' || g FROM generate_series(1, {rows}) AS s(g)"),
                    "ALTER TABLE t SET UNLOGGED",
                    "INSERT INTO t VALUES (0, 'more')",
                ],
            )
            .await;
            assert_eq!(count(&mut session, "t").await, rows as i64 + 1);
            let again = opened(&disk.restart());
            assert_eq!(count(&mut again.session(), "t").await, 0);
            drop(again);
            run(&mut session, &["ALTER TABLE t SET LOGGED, ADD COLUMN c INTEGER DEFAULT 1"]).await;
            run(&mut session, &["UPDATE t SET c = 2 WHERE a = 0"]).await;
            for _ in 0..2 {
                let again = opened(&disk.restart());
                let mut other = again.session();
                assert_eq!(count(&mut other, "t").await, rows as i64 + 1);
                assert_eq!(value(&mut other, "SELECT sum(c) FROM t").await, rows as i64 + 2);
                assert!(other.execute("INSERT INTO t VALUES (1, 'twice', 1)").await.is_err());
                run(&mut session, &["CHECKPOINT"]).await;
            }
            // To what it is changes nothing.
            run(&mut session, &["ALTER TABLE t SET LOGGED"]).await;
            drop(session);
            database.close().expect("nobody uses it");
            assert_eq!(count(&mut opened(&disk).session(), "t").await, rows as i64 + 1);
        }
    });
}

#[test]
fn an_export_says_which_they_are() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let exported = directory.path().join("exported");
    runtime.block_on(async {
        for format in ["csv", "native"] {
            let (disk, other) = (SimDisk::new(1), SimDisk::new(2));
            let database = opened(&disk);
            run(&mut database.session(), &TABLES).await;
            run(&mut database.session(), &[&format!("EXPORT DATABASE '{}' (FORMAT {format})", exported.display())])
                .await;
            let imported = opened(&other);
            let mut session = imported.session();
            run(&mut session, &[&format!("IMPORT DATABASE '{}'", exported.display())]).await;
            assert_eq!(count(&mut session, "made").await, 20_000);
            let again = opened(&other.restart());
            assert_eq!(count(&mut again.session(), "made").await, 0);
            assert_eq!(count(&mut again.session(), "kept").await, 100);
            std::fs::remove_dir_all(&exported).expect("it can be removed");
        }
    });
}

#[test]
fn what_a_crash_took_counts_as_not_loaded() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let file = directory.path().join("numbers.csv");
    std::fs::write(&file, "1\n2\n3\n").expect("it can be written");
    let load = |table: &str| format!("COPY {table} FROM '{}' (ONCE)", file.display());
    runtime.block_on(async {
        let disk = SimDisk::new(1);
        let database = opened(&disk);
        let mut session = database.session();
        run(&mut session, &["CREATE TABLE kept (a INTEGER)", "CREATE UNLOGGED TABLE lost (a INTEGER)"]).await;
        run(&mut session, &[&load("kept"), &load("lost")]).await;
        drop(session);
        // A clean exit keeps the rows, and what is known of them.
        database.close().unwrap_or_else(|error| panic!("{error}"));
        let database = opened(&disk);
        let mut session = database.session();
        run(&mut session, &[&load("kept"), &load("lost")]).await;
        assert_eq!((count(&mut session, "kept").await, count(&mut session, "lost").await), (3, 3));
        let crashed = disk.restart();
        drop(session);
        let database = opened(&crashed);
        let mut session = database.session();
        assert_eq!((count(&mut session, "kept").await, count(&mut session, "lost").await), (3, 0));
        run(&mut session, &[&load("kept"), &load("lost")]).await;
        assert_eq!((count(&mut session, "kept").await, count(&mut session, "lost").await), (3, 3));
    });
}
