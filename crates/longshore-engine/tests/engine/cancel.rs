//! Statements of all kinds that are cancelled while they run: they end soon, and leave the tables as they were.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::query_support::{ok, open, run};
use longshore_engine::{Config, Database, Error, ErrorKind, Session};

/// How long a statement may go on behind its cancellation. It is a hundredth of that in a release build on an idle machine.
/// Tests run side by side on machines that are busy, and what was changed is taken back as well.
const PATIENCE: Duration = Duration::from_secs(20);

const ROWS: usize = 250_000;

/// How long a statement runs before it is cancelled.
const RUNS: Duration = Duration::from_millis(15);

async fn database() -> Arc<Database> {
    let database = open(Config { threads: 2, ..Config::default() });
    let mut session = database.session();
    for sql in [
        "CREATE TABLE t (k int PRIMARY KEY, v int, s text)".to_owned(),
        format!("INSERT INTO t SELECT i, i % 1000, 'a text of row ' || i FROM generate_series(1, {ROWS}) AS g (i)"),
    ] {
        run(&mut session, &sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    database
}

/// Runs a statement that is cancelled soon; how it ended, and how long after that.
async fn cancelled(session: &mut Session, sql: &str) -> (Result<Vec<String>, Error>, Duration) {
    let control = session.control();
    let cancelled = tokio::spawn(async move {
        tokio::time::sleep(RUNS).await;
        control.cancel();
        Instant::now()
    });
    let outcome = run(session, sql).await;
    let ended = Instant::now();
    let took = ended.saturating_duration_since(cancelled.await.unwrap());
    eprintln!("{took:>12.1?}  {sql:.100}");
    (outcome, took)
}

async fn state(session: &mut Session) -> Vec<String> {
    run(session, "SELECT count(*), sum(k), sum(v), sum(length(s)) FROM t").await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_runs_ends_soon() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().display();
    let mut session = database().await.session();
    let before = state(&mut session).await;
    let (mut slow, mut cancelled_count, mut count) = (Vec::new(), 0, 0);
    for sql in [
        "SELECT count(*) FROM t AS a, t AS b WHERE a.k + b.k = -1".to_owned(),
        "SELECT count(*) FROM t AS a JOIN t AS b ON a.v = b.v WHERE a.s || b.s = ''".to_owned(),
        "SELECT count(*) FROM t AS a LEFT JOIN t AS b ON a.k < b.v WHERE b.k IS NULL".to_owned(),
        "SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM t AS b WHERE b.k > t.k AND b.s = t.s)".to_owned(),
        "SELECT s, count(*), max(k) FROM t GROUP BY s ORDER BY 1 LIMIT 1".to_owned(),
        "SELECT max(w) FROM (SELECT max(v) OVER (ORDER BY s ROWS BETWEEN 5000 PRECEDING AND CURRENT ROW) AS w FROM t)".to_owned(),
        "SELECT count(*) FROM t WHERE regexp_replace(s || s || s, '([a-z ]+)*r([a-z ]+)*', '\\1x', 'g') = 'x'".to_owned(),
        "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r".to_owned(),
        "SELECT count(*) FROM generate_series(1, 100000000000) AS g (i) WHERE i % 7 = 8".to_owned(),
        "UPDATE t SET v = v + 1".to_owned(),
        "UPDATE t SET k = k + 1000000".to_owned(),
        "UPDATE t SET v = b.n FROM (SELECT v, count(*) AS n FROM t GROUP BY v) AS b WHERE b.v = t.v".to_owned(),
        "DELETE FROM t WHERE s LIKE '%a%text%'".to_owned(),
        "DELETE FROM t WHERE v IN (SELECT a.v FROM t AS a, t AS b WHERE a.k = b.v + 1)".to_owned(),
        "INSERT INTO t SELECT k + 1000000, v, s FROM t".to_owned(),
        "INSERT INTO t SELECT k, v, s FROM t ON CONFLICT (k) DO UPDATE SET v = excluded.v + 1".to_owned(),
        "MERGE INTO t USING (SELECT k + 125000 AS k, v, s FROM t) AS n ON t.k = n.k WHEN MATCHED THEN UPDATE SET v = 0 \
         WHEN NOT MATCHED THEN INSERT VALUES (n.k, n.v, n.s)"
            .to_owned(),
        "COPY t FROM (SELECT k + 1000000, v, s FROM t)".to_owned(),
        format!("COPY (SELECT a.* FROM t AS a, generate_series(1, 100) AS g (i)) TO '{root}/out.csv'"),
        "CREATE TABLE u AS SELECT a.* FROM t AS a, generate_series(1, 20) AS g (i)".to_owned(),
        "CREATE INDEX t_s ON t (s, v)".to_owned(),
        "CREATE UNIQUE INDEX t_sk ON t USING hash (s, k)".to_owned(),
        "ALTER TABLE t ADD CHECK (length(s) > v % 7)".to_owned(),
        "ALTER TABLE t ALTER COLUMN v TYPE text".to_owned(),
        "ALTER TABLE t ADD COLUMN w text DEFAULT 'x', ADD UNIQUE (s)".to_owned(),
    ] {
        let (outcome, took) = cancelled(&mut session, &sql).await;
        if took > PATIENCE {
            slow.push(format!("{sql}: goes on for {took:?}"));
        }
        count += 1;
        match outcome {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Cancelled, "{sql}: {error}");
                assert_eq!(state(&mut session).await, before, "{sql}");
                cancelled_count += 1;
            }
            // The machine was faster.
            Ok(_) => session = self::database().await.session(),
        }
    }
    assert!(cancelled_count * 4 > count * 3, "{cancelled_count} of {count} statements were cancelled");
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}

/// Actions of foreign keys, and their checks, behind what a statement has changed.
#[tokio::test(flavor = "multi_thread")]
async fn foreign_keys_are_seen_to_no_longer() {
    const EACH: &str = "SELECT (SELECT count(*) FROM parent), (SELECT sum(id) FROM parent), (SELECT count(*) FROM child), \
         (SELECT sum(parent) FROM child)";
    let mut session = open(Config { threads: 2, ..Config::default() }).session();
    for sql in [
        "CREATE TABLE parent (id int PRIMARY KEY)",
        "CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE)",
        "CREATE TABLE stranger (id int PRIMARY KEY, parent int)",
        "INSERT INTO parent SELECT i FROM generate_series(1, 400000) AS g (i)",
        "INSERT INTO child SELECT id, id FROM parent",
        "INSERT INTO stranger SELECT i, 1 + i % 400000 FROM generate_series(1, 4000000) AS g (i)",
    ] {
        ok(&mut session, sql).await;
    }
    let before = ok(&mut session, EACH).await;
    for sql in [
        "DELETE FROM parent",
        "UPDATE parent SET id = id + 1000000",
        "INSERT INTO child SELECT id + 1000000, parent FROM stranger",
        "ALTER TABLE stranger ADD FOREIGN KEY (parent) REFERENCES parent",
    ] {
        let (outcome, took) = cancelled(&mut session, sql).await;
        assert!(took < PATIENCE, "{sql}: goes on for {took:?}");
        let error = outcome.expect_err(sql);
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{sql}: {error}");
        assert_eq!(ok(&mut session, EACH).await, before, "{sql}");
    }
}

/// A commit holds what others have committed against what it read.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_is_cancelled_is_none() {
    let database = database().await;
    let (mut session, mut other) = (database.session(), database.session());
    let before = state(&mut session).await;
    ok(&mut session, "BEGIN").await;
    ok(&mut session, "INSERT INTO t SELECT -1, count(*), 'read' FROM t WHERE v < -1").await;
    ok(&mut other, "UPDATE t SET v = v + 1").await;
    ok(&mut other, "UPDATE t SET v = v - 1").await;
    let control = session.control();
    control.cancel();
    let error = run(&mut session, "COMMIT").await.expect_err("it was cancelled before");
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    assert_eq!(state(&mut session).await, before);
}
