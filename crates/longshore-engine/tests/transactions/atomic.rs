//! Statements that fail: with which SQLSTATE, what is left of them, and what becomes of the block that they stand in.
//!
//! Not here: the same in SQL alone (`tests/sql/transactions/statements_that_fail.slt`).

use longshore_testing::share;
use std::io::{Cursor, Read};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use futures::StreamExt;
use longshore_engine::{Datum, Error, Outcome, RowStream, Session, key};

use super::{database, run};

fn block_on<R>(future: impl Future<Output = R>) -> R {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(future)
}

async fn set_up(session: &mut Session) {
    for sql in [
        "CREATE TABLE r (a int PRIMARY KEY, b int)",
        "INSERT INTO r VALUES (1, 10), (2, 20), (3, 30)",
        "PREPARE reads AS SELECT 1 / (a - $1) FROM r",
        "PREPARE deletes AS DELETE FROM r WHERE a = $1 RETURNING 1 / (a - $2)",
    ] {
        run(session, sql).await.unwrap();
    }
}

fn state(result: Result<String, Error>) -> &'static str {
    result.map_or_else(|error| error.kind().sqlstate(), |_| "00000")
}

/// Statements that fail, and how.
const FAILS: [(&str, &str); 14] = [
    ("SELECT 1 / (a - 3) FROM r", "22012"),
    ("SELECT a::text::int / 0 FROM r ORDER BY 1", "22012"),
    ("EXPLAIN ANALYZE SELECT 1 / (a - 3) FROM r", "22012"),
    ("EXECUTE reads(3)", "22012"),
    ("EXECUTE deletes(3, 3)", "22012"),
    ("EXECUTE deletes(3)", "22023"),
    ("INSERT INTO r VALUES (4, 0) RETURNING a / b", "22012"),
    ("INSERT INTO r VALUES (4, 0), (1, 0)", "23505"),
    ("INSERT INTO r SELECT 5 - a, 0 FROM r", "23505"),
    ("INSERT INTO r VALUES (5, 1), (5, 2) ON CONFLICT (a) DO UPDATE SET b = 0", "21000"),
    ("INSERT INTO r VALUES (1, 1), (1, 2) ON CONFLICT (a) DO UPDATE SET b = 0", "21000"),
    ("UPDATE r SET a = 2", "23505"),
    ("DELETE FROM r RETURNING 1 / (a - 3)", "22012"),
    ("MERGE INTO r USING (VALUES (1), (1)) AS s (a) ON r.a = s.a WHEN MATCHED THEN DELETE", "21000"),
];

#[test]
fn a_statement_that_fails_changes_nothing_and_ends_the_block() {
    block_on(async {
        let database = database();
        let mut session = database.session();
        set_up(&mut session).await;
        for (sql, expected) in FAILS {
            let all = "SELECT * FROM r ORDER BY a";
            // By itself.
            assert_eq!(state(run(&mut session, sql).await), expected, "{sql}");
            assert_eq!(run(&mut session, all).await.unwrap(), "1 10, 2 20, 3 30", "{sql}");
            // In a block.
            run(&mut session, "BEGIN").await.unwrap();
            run(&mut session, "UPDATE r SET b = 11 WHERE a = 1").await.unwrap();
            assert_eq!(state(run(&mut session, sql).await), expected, "{sql}, in a block");
            for next in ["SELECT 1", "INSERT INTO r VALUES (9, 9)", "SHOW threads", "SAVEPOINT s", "EXECUTE reads(9)"] {
                assert_eq!(state(run(&mut session, next).await), "25P02", "{sql}, then {next}");
            }
            let prepared = session.prepare("SELECT b FROM r WHERE a = $1").unwrap();
            let outcome = session.execute_prepared(&prepared, key![1]).await;
            assert_eq!(outcome.unwrap_err().kind().sqlstate(), "25P02", "{sql}, then prepared");
            run(&mut session, "COMMIT").await.unwrap();
            assert_eq!(run(&mut session, all).await.unwrap(), "1 10, 2 20, 3 30", "{sql}");
            // Behind a savepoint.
            run(&mut session, "BEGIN").await.unwrap();
            run(&mut session, "SAVEPOINT s").await.unwrap();
            assert_eq!(state(run(&mut session, sql).await), expected, "{sql}, behind a savepoint");
            run(&mut session, "ROLLBACK TO s").await.unwrap();
            assert_eq!(run(&mut session, all).await.unwrap(), "1 10, 2 20, 3 30", "{sql}, to a savepoint");
            run(&mut session, "UPDATE r SET b = 10 WHERE a = 1").await.unwrap();
            assert_eq!(run(&mut session, "COMMIT").await.unwrap(), "0");
        }
    });
}

async fn rows(session: &mut Session, sql: &str) -> RowStream {
    match session.execute(sql).await.unwrap() {
        Outcome::Rows(rows) => rows,
        done @ Outcome::Done { .. } => panic!("{sql}: {done:?}"),
    }
}

async fn read(mut rows: RowStream) -> Result<usize, Error> {
    let mut count = 0;
    while let Some(batch) = rows.next().await {
        count += batch?.num_rows();
    }
    Ok(count)
}

const FAILING: &str = "SELECT 1 / (a - 3) FROM r";

/// Rows are made while they are read, perhaps after other statements.
#[test]
fn rows_that_fail_late_end_the_block_that_their_query_stands_in() {
    block_on(async {
        let database = database();
        let mut session = database.session();
        set_up(&mut session).await;
        let begin = ["BEGIN", "UPDATE r SET b = 0"];
        // Read behind another statement; COMMIT rolls back.
        for sql in begin {
            run(&mut session, sql).await.unwrap();
        }
        let late = rows(&mut session, FAILING).await;
        run(&mut session, "SELECT 1").await.unwrap();
        assert_eq!(read(late).await.unwrap_err().kind().sqlstate(), "22012");
        run(&mut session, "COMMIT").await.unwrap();
        assert_eq!(run(&mut session, "SELECT sum(b) FROM r").await.unwrap(), "60");
        // Not read, or not to the end.
        for sql in begin {
            run(&mut session, sql).await.unwrap();
        }
        drop(rows(&mut session, FAILING).await);
        run(&mut session, "ROLLBACK AND CHAIN").await.unwrap();
        // Read when its savepoint is gone, or was gone back to.
        run(&mut session, "SAVEPOINT s").await.unwrap();
        let late = rows(&mut session, FAILING).await;
        run(&mut session, "ROLLBACK TO s").await.unwrap();
        assert!(read(late).await.is_err());
        run(&mut session, "SELECT 1").await.unwrap();
        let late = rows(&mut session, FAILING).await;
        run(&mut session, "RELEASE s").await.unwrap();
        assert!(read(late).await.is_err());
        assert_eq!(state(run(&mut session, "SELECT 1").await), "25P02");
        run(&mut session, "ROLLBACK").await.unwrap();
        // Its query stands before the savepoint, but it has failed behind it.
        run(&mut session, "BEGIN").await.unwrap();
        let (late, later) = (rows(&mut session, FAILING).await, rows(&mut session, FAILING).await);
        run(&mut session, "SAVEPOINT s").await.unwrap();
        assert!(read(late).await.is_err());
        assert_eq!(state(run(&mut session, "SELECT 1").await), "25P02");
        run(&mut session, "ROLLBACK TO s").await.unwrap();
        run(&mut session, "SELECT 1").await.unwrap();
        assert!(read(later).await.is_err());
        assert_eq!(state(run(&mut session, "SELECT 1").await), "25P02");
        // The block is another one by now.
        run(&mut session, "ROLLBACK").await.unwrap();
        run(&mut session, "BEGIN").await.unwrap();
        let late = rows(&mut session, FAILING).await;
        run(&mut session, "COMMIT").await.unwrap();
        run(&mut session, "BEGIN").await.unwrap();
        assert!(read(late).await.is_err());
        run(&mut session, "SELECT 1").await.unwrap();
    });
}

/// A text that waits before its end.
struct Waits(Cursor<&'static str>, Receiver<()>);

impl Read for Waits {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.read(buffer)?;
        if count == 0 {
            let _ = self.1.recv();
        }
        Ok(count)
    }
}

/// A load whose future was dropped goes on for a moment on its thread, but not in the transaction.
#[test]
fn a_load_that_is_given_up_adds_nothing_behind_a_savepoint() {
    for options in ["", " (MERGE_MODE interleaved)", " WHERE a > 0"] {
        for wait_ms in [0, 1, 5] {
            block_on(async {
                let database = database();
                let mut session = database.session();
                set_up(&mut session).await;
                run(&mut session, "BEGIN").await.unwrap();
                run(&mut session, "SAVEPOINT s").await.unwrap();
                run(&mut session, "INSERT INTO r VALUES (4, 40)").await.unwrap();
                let (go, wait) = channel();
                session.set_input(Waits(Cursor::new("5,50\n6,60\n"), wait));
                let sql = format!("COPY r FROM STDIN{options}");
                let load = run(&mut session, &sql);
                let given_up = tokio::time::timeout(Duration::from_millis(20), load).await;
                assert!(given_up.is_err(), "it waits for its end");
                go.send(()).unwrap();
                tokio::time::sleep(Duration::from_millis(wait_ms)).await;
                assert_eq!(state(run(&mut session, "SELECT 1").await), "25P02");
                run(&mut session, "ROLLBACK TO s").await.unwrap();
                run(&mut session, "INSERT INTO r VALUES (7, 70)").await.unwrap();
                run(&mut session, "COMMIT").await.unwrap();
                tokio::time::sleep(Duration::from_millis(20)).await;
                assert_eq!(run(&mut session, "SELECT sum(a) FROM r").await.unwrap(), "13", "{options}");
            });
        }
    }
}

/// Each operation of the typed API is done or not, and the transaction goes on.
#[test]
fn an_operation_that_fails_leaves_nothing() {
    block_on(async {
        let database = database();
        let mut session = database.session();
        set_up(&mut session).await;
        run(&mut session, "CREATE UNIQUE INDEX by_b ON r (b)").await.unwrap();
        let table = database.table("r").unwrap();
        let mut t = database.begin(longshore_engine::Isolation::Serializable);
        let primary = table.primary_key().unwrap();
        assert_eq!(t.insert(&table, key![4, 20]).unwrap_err().kind().sqlstate(), "23505");
        let row = t.find(&primary, key![1]).unwrap().unwrap();
        assert_eq!(
            t.update(&table, row, &[(0, Datum::I32(9)), (1, Datum::I32(30))]).unwrap_err().kind().sqlstate(),
            "23505"
        );
        assert_eq!(t.find(&primary, key![4]).unwrap(), None);
        assert_eq!(t.find(&primary, key![9]).unwrap(), None);
        t.insert(&table, key![5, 50]).unwrap();
        t.commit().unwrap();
        assert_eq!(run(&mut session, "SELECT sum(a), sum(b) FROM r").await.unwrap(), "11 110");
    });
}

/// Parts of a query that has failed may still hold its transaction, which must not be in the way of the next statement.
#[test]
fn the_next_statement_does_not_meet_one_that_has_failed() {
    block_on(async {
        let mut session = database().session();
        run(&mut session, "CREATE TABLE r (a int PRIMARY KEY, b int)").await.unwrap();
        run(&mut session, "INSERT INTO r SELECT i, i FROM generate_series(1, 3000) AS g (i)").await.unwrap();
        for round in 0..share(200) {
            for sql in [
                "WITH w AS (SELECT a % 7 AS k, count(*) AS n FROM r GROUP BY 1) UPDATE r SET b = w.n FROM w \
                 WHERE w.k = r.a % 7 RETURNING 1 / (r.a - 2000)",
                "DELETE FROM r WHERE b IN (SELECT b FROM r GROUP BY b) RETURNING 1 / (a - 2)",
            ] {
                assert_eq!(state(run(&mut session, sql).await), "22012", "{sql}");
            }
            let updated = run(&mut session, "UPDATE r SET b = b + 1").await;
            assert_eq!(updated.as_deref().ok(), Some("3000"), "round {round}: {updated:?}");
        }
    });
}
