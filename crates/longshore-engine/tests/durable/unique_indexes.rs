//! Unique indexes over expressions, about some of the rows, and with NULLS NOT DISTINCT come back from the log, from a
//! checkpoint, a backup and an export, and keep others out as before; no column of theirs is seen.

use longshore_engine::{Database, Session};

use crate::described::rows;
use crate::support::{config, open, run, runtime};

const STATEMENTS: [&str; 10] = [
    "CREATE TABLE t (id int PRIMARY KEY, mail text, gone bool, n int UNIQUE NULLS NOT DISTINCT)",
    "INSERT INTO t SELECT x, 'Mail' || x, x % 3 = 0, x FROM generate_series(1, 200) s(x)",
    "CREATE UNIQUE INDEX t_mail ON t (lower(mail))",
    "CREATE UNIQUE INDEX t_here ON t ((id / 10), (n % 10)) WHERE NOT gone",
    "INSERT INTO t VALUES (1000, 'Late', true, NULL), (1001, 'later', NULL, -1)",
    "UPDATE t SET mail = 'changed' WHERE id = 7",
    "DELETE FROM t WHERE id = 8",
    "ALTER TABLE t ADD COLUMN more text DEFAULT 'more'",
    "CREATE UNIQUE INDEX t_more ON t (more, id) NULLS NOT DISTINCT",
    "UPDATE t SET more = NULL WHERE id < 50",
];

/// Changes that a unique index refuses, and changes that it takes.
async fn check(session: &mut Session) {
    for sql in [
        "INSERT INTO t VALUES (2000, 'CHANGED', true, 2000)",
        "INSERT INTO t VALUES (2000, 'mAIL9', true, 2000)",
        "INSERT INTO t VALUES (2000, 'free', true, NULL)",
        "INSERT INTO t SELECT 2000, 'LATE', true, 2000",
        "UPDATE t SET gone = false, id = 2000 WHERE id = 1001; UPDATE t SET gone = false, id = 2001, n = -11 WHERE id = 1000",
        "UPDATE t SET n = 2001 WHERE id = 19",
    ] {
        run(session, &["BEGIN"]).await;
        let mut failed = None;
        for one in sql.split("; ") {
            failed = session.execute(one).await.err();
        }
        let error = failed.unwrap_or_else(|| panic!("{sql} is done"));
        assert_eq!(error.kind().sqlstate(), "23505", "{sql}: {error}");
        run(session, &["ROLLBACK"]).await;
    }
    run(
        session,
        &[
            "BEGIN",
            "INSERT INTO t VALUES (2000, 'mail7', true, 2000), (2001, NULL, true, 2001), (2002, NULL, false, 2002)",
            "INSERT INTO t (id, mail) VALUES (3000, 'MAIL7') ON CONFLICT (lower(mail)) DO UPDATE SET more = 'found'",
            "ROLLBACK",
        ],
    )
    .await;
}

async fn shown(session: &mut Session) -> String {
    let mut all = String::new();
    for sql in [
        "SELECT column_name FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position",
        "SELECT indexdef FROM pg_indexes WHERE tablename = 't' ORDER BY indexname",
        "SELECT * FROM t ORDER BY id",
    ] {
        all += &rows(session, sql).await;
    }
    all
}

#[test]
fn they_come_back() {
    runtime().block_on(async {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("database");
        let mut before = String::new();
        for round in 0..3 {
            let database = open(&path);
            let mut session = database.session();
            if round == 0 {
                run(&mut session, &STATEMENTS).await;
                before = shown(&mut session).await;
            }
            assert_eq!(shown(&mut session).await, before, "round {round}");
            check(&mut session).await;
            if round == 1 {
                let backup = format!("BACKUP DATABASE TO '{}'", directory.path().join("backup").display());
                run(&mut session, &["CHECKPOINT", &backup]).await;
            }
        }
        let backup = open(&directory.path().join("backup"));
        assert_eq!(shown(&mut backup.session()).await, before);
        check(&mut backup.session()).await;
        drop(backup);
        let report = Database::check_directory(&path, config()).await.unwrap();
        assert_eq!(report.problems, Vec::<String>::new());
    });
}

#[test]
fn they_are_exported_and_imported() {
    runtime().block_on(async {
        let directory = tempfile::tempdir().unwrap();
        let database = open(&directory.path().join("database"));
        let mut session = database.session();
        run(&mut session, &STATEMENTS).await;
        let before = shown(&mut session).await;
        for format in ["native", "csv", "parquet"] {
            let exported = directory.path().join(format);
            run(&mut session, &[&format!("EXPORT DATABASE '{}' (FORMAT {format})", exported.display())]).await;
            let other = open(&directory.path().join(format!("{format} database")));
            let mut imported = other.session();
            run(&mut imported, &[&format!("IMPORT DATABASE '{}'", exported.display())]).await;
            assert_eq!(shown(&mut imported).await, before, "{format}");
            check(&mut imported).await;
        }
    });
}
