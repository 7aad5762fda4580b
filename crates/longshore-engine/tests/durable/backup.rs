//! BACKUP DATABASE through SQL: what a backup has, beside what others do, and when it is refused.

use std::sync::atomic::{AtomicBool, Ordering};

use longshore_engine::{Database, ErrorKind, Outcome};

use crate::described::rows;
use crate::support::{config, open, open_read_only, run, runtime, value};

#[test]
fn a_backup_has_everything() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let at = |name: &str| directory.path().join(name);
    let database = open(&at("database"));
    runtime.block_on(async {
        let mut session = database.session();
        run(
            &mut session,
            &[
                "CREATE TABLE t (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a INTEGER CHECK (a > 0), b TEXT UNIQUE)",
                "CREATE TABLE child (id INTEGER, t BIGINT REFERENCES t ON DELETE CASCADE)",
                "CREATE VIEW v AS SELECT a FROM t",
                "CREATE SEQUENCE s START 5",
                "INSERT INTO t (a, b) SELECT g, 'text ' || g FROM generate_series(1, 20000) AS s(g)",
                "INSERT INTO child VALUES (1, 1), (2, 2)",
            ],
        )
        .await;
        assert_eq!(value(&mut session, "SELECT nextval('s')").await, 5);
        let statement = format!("BACKUP DATABASE TO '{}'", at("one").display());
        let Ok(Outcome::Done { tag, report, notice }) = session.execute(&statement).await else { panic!("it fails") };
        assert_eq!(tag, "BACKUP DATABASE");
        let expected = format!(" files ({} bytes)", report.bytes_written);
        assert!(notice.as_ref().is_some_and(|notice| notice.ends_with(&expected)), "{notice:?}");
        run(&mut session, &["DELETE FROM t WHERE id = 1", "DROP VIEW v", "INSERT INTO t (a) VALUES (1)"]).await;
        let statement =
            format!("BACKUP DATABASE TO '{}' (INCREMENTAL '{}')", at("two").display(), at("one").display());
        run(&mut session, &[&statement]).await;
        // Only read, as it was.
        let one = open_read_only(&at("one")).expect("it opens");
        assert_eq!(one.table_names(), ["child", "t", "v"]);
        let mut session = one.session();
        assert_eq!(rows(&mut session, "SELECT count(*), sum(a) FROM t").await.trim(), "20000|200010000");
        drop((session, one));
        // As a database that goes on.
        let two = open(&at("two"));
        let mut session = two.session();
        assert_eq!(value(&mut session, "SELECT count(*) FROM t").await, 20_000);
        assert_eq!(value(&mut session, "SELECT count(*) FROM child").await, 1);
        assert!(value(&mut session, "SELECT nextval('s')").await > 5);
        let error = session.execute("INSERT INTO t (a, b) VALUES (7, 'text 7')").await.expect_err("it is there");
        assert_eq!(error.kind(), ErrorKind::Duplicate);
        let error = session.execute("INSERT INTO child VALUES (3, 1)").await.expect_err("it has no parent");
        assert_eq!(error.kind(), ErrorKind::ForeignKey);
        for name in ["one", "two"] {
            let report = Database::check_directory(&at(name), config()).await.expect("it can be read");
            assert_eq!((report.problems, report.tables), (Vec::new(), 2));
        }
    });
}

#[test]
fn a_backup_is_consistent_beside_others() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let at = |name: &str| directory.path().join(name);
    let database = open(&at("database"));
    let has_ended = AtomicBool::new(false);
    runtime.block_on(async {
        run(
            &mut database.session(),
            &[
                "CREATE TABLE account (id INTEGER PRIMARY KEY, sum BIGINT)",
                "INSERT INTO account SELECT g, 100 FROM generate_series(1, 100) AS s(g)",
            ],
        )
        .await;
        let transfers = async {
            let mut session = database.session();
            let mut at = 0;
            while !has_ended.load(Ordering::Relaxed) {
                let (from, to) = (at % 100 + 1, (at + 37) % 100 + 1);
                run(
                    &mut session,
                    &[
                        "BEGIN",
                        &format!("UPDATE account SET sum = sum - 1 WHERE id = {from}"),
                        &format!("UPDATE account SET sum = sum + 1 WHERE id = {to}"),
                        "COMMIT",
                    ],
                )
                .await;
                if at % 10 == 0 {
                    run(
                        &mut session,
                        &["CHECKPOINT", &format!("CREATE TABLE t{at} AS SELECT 1 AS a"), &format!("DROP TABLE t{at}")],
                    )
                    .await;
                }
                at += 1;
                tokio::task::yield_now().await;
            }
        };
        let backups = async {
            let mut session = database.session();
            for number in 0..6 {
                let path = at(&format!("backup{number}"));
                let mut statement = format!("BACKUP DATABASE TO '{}'", path.display());
                if number > 0 {
                    let previous = at(&format!("backup{}", number - 1));
                    statement = format!("{statement} (INCREMENTAL '{}')", previous.display());
                }
                run(&mut session, &[&statement]).await;
                let backup = open_read_only(&path).expect("it opens");
                let mut session = backup.session();
                assert_eq!(value(&mut session, "SELECT sum(sum)::BIGINT FROM account").await, 10_000);
                let report = Database::check_directory(&path, config()).await.expect("it can be read");
                assert_eq!(report.problems, Vec::<String>::new());
            }
            has_ended.store(true, Ordering::Relaxed);
        };
        tokio::join!(transfers, backups);
    });
}

#[test]
fn what_cannot_be_backed_up_says_so() {
    let runtime = runtime();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let at = |name: &str| directory.path().join(name);
    runtime.block_on(async {
        let memory = Database::open(config()).expect("it opens");
        let statement = format!("BACKUP DATABASE TO '{}'", at("backup").display());
        let error = memory.session().execute(&statement).await.expect_err("it is in memory");
        assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("EXPORT DATABASE"), "{error}");
        let database = open(&at("database"));
        let mut session = database.session();
        run(&mut session, &["CREATE TABLE t (a INTEGER)", "BEGIN"]).await;
        let error = session.execute(&statement).await.expect_err("a block is open");
        assert_eq!(error.kind(), ErrorKind::ActiveTransaction, "{error}");
        run(&mut session, &["ROLLBACK"]).await;
        run(&mut session, &[&statement]).await;
        let error = session.execute(&statement).await.expect_err("it is there");
        assert_eq!(error.kind(), ErrorKind::Exists, "{error}");
        let other = format!("BACKUP DATABASE TO '{}' (INCREMENTAL '{}')", at("x").display(), at("y").display());
        let error = session.execute(&other).await.expect_err("there is none");
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(!at("x").exists() && !at("backup").join("incomplete_backup").exists());
        // In a prepared statement it is refused as other statements of its kind are.
        let read = open_read_only(&at("backup")).expect("it opens");
        let error = read.session().execute(&other).await.expect_err("it is only read");
        assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
    });
}
