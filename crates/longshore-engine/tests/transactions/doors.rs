//! Every statement by which a session learns of rows is a read of them, errors included.
//!
//! Each case is write skew, as in `longshore-storage/tests/storage/doors.rs`: the first session learns something and writes to `b`,
//! the second one has read `b` and changes what the first has learned, so both must not commit. The same with a change of
//! something else shows that it is not refused for nothing.

use futures::StreamExt;
use longshore_engine::{Config, Database, Outcome, Session};

use super::run;

const SETUP: &[&str] = &[
    "CREATE TABLE a (x int)",
    "CREATE INDEX ai ON a (x)",
    "CREATE TABLE b (x int)",
    "CREATE TABLE c (x int)",
    "CREATE TABLE k (id int PRIMARY KEY, v int UNIQUE, t varchar(1) UNIQUE, w int CHECK (w > 0))",
    "CREATE TABLE child (id int REFERENCES k (id) ON DELETE NO ACTION)",
    "CREATE TABLE nulled (id int NOT NULL REFERENCES k (id) ON DELETE SET NULL)",
    "CREATE TABLE checked (id int REFERENCES k (id) ON UPDATE CASCADE CHECK (id < 100), w int)",
    "INSERT INTO a VALUES (1), (2)",
    "INSERT INTO c VALUES (2), (3)",
    "INSERT INTO k VALUES (1, 1, 'a', 1), (2, 2, 'b', 2), (5, 5, 'e', 5), (6, 6, 'f', 6), (8, 8, 'h', 8), (9, 9, 'i', 9)",
    "INSERT INTO child VALUES (8)",
    "INSERT INTO nulled VALUES (5)",
    "INSERT INTO checked VALUES (6, 1)",
    "CREATE VIEW v AS SELECT x + 1 AS y FROM a",
];

/// What the session that learns does; rows of `LAZY` queries are read when all is over.
async fn learn(session: &mut Session, sql: &str, late: &mut Vec<Outcome>) {
    if let Some(sql) = sql.strip_prefix("LAZY ") {
        late.push(session.execute(sql).await.unwrap());
        return;
    }
    // A statement that is to fail does.
    let (sql, fails) = sql.strip_prefix("FAILS ").map_or((sql, false), |sql| (sql, true));
    if let Some(rest) = sql.split_once(" STDIN ") {
        session.set_input(std::io::Cursor::new(rest.1.to_owned()));
        let sql = format!("{} STDIN (ON_ERROR 'ignore')", rest.0);
        run(session, &sql).await.unwrap();
        return;
    }
    session.set_output(std::io::sink());
    let done = run(session, sql).await;
    assert_eq!(done.is_err(), fails, "{sql}: {done:?}");
}

/// Whether both commit.
async fn both_commit(first: &[&str], second: &[&str], first_first: bool) -> bool {
    let database = Database::open(Config { threads: 2, ..Config::default() }).unwrap();
    let (mut one, mut two) = (database.session(), database.session());
    for sql in SETUP {
        run(&mut one, sql).await.unwrap();
    }
    run(&mut one, "BEGIN").await.unwrap();
    run(&mut two, "BEGIN").await.unwrap();
    let mut late = Vec::new();
    run(&mut two, "SELECT count(*) FROM b").await.unwrap();
    for sql in first {
        learn(&mut one, sql, &mut late).await;
    }
    run(&mut one, "INSERT INTO b VALUES (1)").await.unwrap();
    for sql in second {
        run(&mut two, sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let sessions = if first_first { [&mut one, &mut two] } else { [&mut two, &mut one] };
    let mut both = true;
    for session in sessions {
        both &= run(session, "COMMIT").await.is_ok();
    }
    for outcome in late {
        let Outcome::Rows(mut rows) = outcome else { panic!("rows expected") };
        while let Some(batch) = rows.next().await {
            batch.unwrap();
        }
    }
    both
}

/// What the first learns is a read of what the second changes, and of nothing of `others`.
fn are_reads(cases: &[&[&str]], second: &[&str], others: &[&str]) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        for first in cases {
            for first_first in [false, true] {
                assert!(!both_commit(first, second, first_first).await, "{first:?}, first first: {first_first}");
            }
            if !others.is_empty() {
                assert!(both_commit(first, others, false).await, "{first:?} beside {others:?}");
            }
        }
    });
}

const TO_SAVEPOINT: &str = "ROLLBACK TO s";

#[test]
fn all_rows_of_a_table() {
    let cases: &[&[&str]] = &[
        &["SELECT count(*) FROM a"],
        &["SELECT * FROM v"],
        &["SELECT 1 WHERE EXISTS (SELECT 1 FROM a WHERE x = 7)"],
        &["SELECT * FROM c WHERE x NOT IN (SELECT x FROM a)"],
        &["SELECT c.x FROM c LEFT JOIN a ON c.x = a.x WHERE a.x IS NULL"],
        &["SELECT max(x) FROM a"],
        &["SELECT x FROM a ORDER BY x DESC LIMIT 1"],
        &["SELECT x FROM a WHERE CAST(x AS text) = '7'"],
        &["WITH q AS (SELECT * FROM a) SELECT count(*) FROM q"],
        &["SELECT (SELECT max(x) FROM a) FROM c"],
        &["INSERT INTO c SELECT count(*) FROM a"],
        &["UPDATE c SET x = (SELECT count(*) FROM a)"],
        &["DELETE FROM c USING a WHERE a.x = c.x"],
        &["MERGE INTO c USING a ON c.x = a.x WHEN MATCHED THEN DELETE"],
        &["MERGE INTO a USING c ON c.x = a.x WHEN NOT MATCHED THEN INSERT VALUES (c.x)"],
        &["INSERT INTO c VALUES (8) RETURNING (SELECT sum(x) FROM a)"],
        &["EXPLAIN SELECT * FROM a WHERE x = 1"],
        &["EXPLAIN ANALYZE SELECT count(*) FROM a"],
        &["SHOW TABLES"],
        &["SELECT bytes FROM storage('a')"],
        &["LAZY SELECT bytes FROM storage('a')"],
        &["COPY a TO STDOUT"],
        &["COPY v TO STDOUT"],
        &["COPY (SELECT x FROM a) TO STDOUT"],
        &["COPY c FROM (SELECT count(*) FROM a)"],
        &["TRUNCATE a"],
        &["SAVEPOINT s", "TRUNCATE a", TO_SAVEPOINT],
        &["SAVEPOINT s", "SELECT count(*) FROM a", TO_SAVEPOINT],
        &["SELECT 1", "SAVEPOINT s", "SELECT count(*) FROM a", TO_SAVEPOINT],
        &["LAZY SELECT x FROM a"],
        &["LAZY SELECT x, count(*) FROM a GROUP BY x"],
        &["LAZY SELECT c.x FROM c JOIN a ON a.x = c.x ORDER BY 1"],
        &["PREPARE p AS SELECT count(*) FROM a WHERE x = $1", "EXECUTE p(7)"],
        &["PREPARE p AS SELECT x FROM a WHERE x >= $1 ORDER BY x LIMIT 5", "EXECUTE p(2)", "EXECUTE p(2)"],
    ];
    are_reads(cases, &["INSERT INTO a VALUES (7)"], &[]);
}

const INSERT_3: &[&str] = &["INSERT INTO k VALUES (3, 3, 'c', 3)"];
const INSERT_4: &[&str] = &["INSERT INTO k VALUES (4, 4, 'd', 4)"];
const DELETE_2: &[&str] = &["DELETE FROM k WHERE id = 2"];
const DELETE_9: &[&str] = &["DELETE FROM k WHERE id = 9"];

#[test]
fn keys_that_are_there() {
    let to_savepoint = |sql: &'static str| vec!["SAVEPOINT s", sql, TO_SAVEPOINT];
    let cases = [
        vec!["SELECT v FROM k WHERE id = 2"],
        to_savepoint("FAILS INSERT INTO k VALUES (2, 50, 'z', 1)"),
        to_savepoint("FAILS INSERT INTO k SELECT 2, 50, 'z', 1"),
        to_savepoint("FAILS INSERT INTO k VALUES (50, 2, 'z', 1)"),
        to_savepoint("FAILS INSERT INTO k VALUES (50, 50, 'b   ', 1)"),
        to_savepoint("FAILS UPDATE k SET id = 2 WHERE id = 1"),
        to_savepoint(
            "FAILS MERGE INTO k USING (SELECT 1) AS s (n) ON k.id = 50 WHEN NOT MATCHED THEN INSERT VALUES (2, 50, 'z', 1)",
        ),
        to_savepoint("FAILS COPY k FROM (SELECT 2, 50, 'z', 1)"),
        vec!["INSERT INTO k VALUES (2, 50, 'z', 1) ON CONFLICT DO NOTHING"],
        vec!["INSERT INTO k VALUES (2, 50, 'z', 1) ON CONFLICT (id) DO UPDATE SET w = 1 WHERE k.v > 50"],
        vec!["COPY k FROM (SELECT 2, 50, 'z', 1) (ON_CONFLICT keep_first)"],
        vec![
            "PREPARE p AS INSERT INTO k VALUES ($1, $2, 'z', 1)",
            "SAVEPOINT s",
            "FAILS EXECUTE p(2, 50)",
            TO_SAVEPOINT,
        ],
    ];
    are_reads(&cases.iter().map(Vec::as_slice).collect::<Vec<_>>(), DELETE_2, DELETE_9);
}

#[test]
fn keys_that_are_not_there() {
    let to_savepoint = |sql: &'static str| vec!["SAVEPOINT s", sql, TO_SAVEPOINT];
    let cases = [
        vec!["SELECT v FROM k WHERE id = 3"],
        vec!["UPDATE k SET w = 1 WHERE id = 3"],
        vec!["DELETE FROM k WHERE id = 3"],
        to_savepoint("INSERT INTO k VALUES (3, 50, 'z', 1)"),
        to_savepoint("INSERT INTO k SELECT 3, 50, 'z', 1"),
        to_savepoint("FAILS INSERT INTO k VALUES (3, 2, 'z', 1)"),
        to_savepoint("FAILS INSERT INTO child VALUES (3)"),
        to_savepoint("FAILS INSERT INTO child SELECT 3"),
        to_savepoint("FAILS UPDATE child SET id = 3"),
        to_savepoint("FAILS COPY child FROM (SELECT 3)"),
        vec!["COPY child FROM STDIN 3\n9\n"],
    ];
    are_reads(&cases.iter().map(Vec::as_slice).collect::<Vec<_>>(), INSERT_3, INSERT_4);
}

#[test]
fn rows_that_refer() {
    let fails = |sql: &'static str| vec!["SAVEPOINT s", sql, TO_SAVEPOINT];
    are_reads(&[&fails("FAILS DELETE FROM k WHERE id = 8")], &["DELETE FROM child"], DELETE_9);
    are_reads(&[&fails("FAILS UPDATE k SET id = 80 WHERE id = 8")], &["DELETE FROM child"], DELETE_9);
    are_reads(&[&fails("FAILS DELETE FROM k WHERE id = 5")], &["DELETE FROM nulled"], DELETE_9);
    // A CHECK of the row that follows.
    are_reads(&[&fails("FAILS UPDATE k SET id = 600 WHERE id = 6")], &["DELETE FROM checked"], DELETE_9);
}

/// What is shown of rows that the statement changes, by RETURNING and by a CHECK that fails, when the change is undone.
#[test]
fn values_of_rows_that_are_changed() {
    let undone = |sql: &'static str| vec!["SAVEPOINT s", sql, TO_SAVEPOINT];
    let cases = [
        undone("UPDATE k SET w = 7 WHERE id = 1 RETURNING v"),
        undone("DELETE FROM k WHERE id = 1 RETURNING *"),
        undone("FAILS UPDATE k SET w = -1 WHERE id = 1"),
    ];
    let second = &["UPDATE k SET v = 70 WHERE id = 1"];
    // It joins all rows of the table.
    let merge =
        undone("MERGE INTO k USING (SELECT 1) AS s (n) ON k.id = s.n WHEN MATCHED THEN UPDATE SET w = 3 RETURNING k.v");
    are_reads(&[&merge], second, &[]);
    are_reads(&cases.iter().map(Vec::as_slice).collect::<Vec<_>>(), second, &["UPDATE k SET v = 70 WHERE id = 9"]);
}

/// One block, one snapshot, also where a savepoint comes before the first statement.
#[test]
fn a_block_sees_one_snapshot() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for first in ["", "SELECT 1"] {
        runtime.block_on(async {
            let database = Database::open(Config { threads: 2, ..Config::default() }).unwrap();
            let (mut one, mut two) = (database.session(), database.session());
            for sql in SETUP {
                run(&mut one, sql).await.unwrap();
            }
            run(&mut one, "BEGIN").await.unwrap();
            if !first.is_empty() {
                run(&mut one, first).await.unwrap();
            }
            run(&mut one, "SAVEPOINT s").await.unwrap();
            let before = run(&mut one, "SELECT count(*) FROM a").await.unwrap();
            run(&mut one, "ROLLBACK TO s").await.unwrap();
            run(&mut two, "INSERT INTO a VALUES (7)").await.unwrap();
            assert_eq!(run(&mut one, "SELECT count(*) FROM a").await.unwrap(), before, "first {first:?}");
        });
    }
}
