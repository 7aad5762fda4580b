//! Statements that were good once, with words changed at random: whatever they say, nothing panics.
//!
//! `SOUP_ROUNDS=100000 cargo test -p longshore-engine --test engine soup` runs longer.

use std::time::Duration;

use futures::StreamExt;
use longshore_engine::{Config, Database, Error, ErrorKind, Outcome, Session, split};
use longshore_testing::{Random, share};

/// A statement that takes longer is cancelled.
const STATEMENT_TIME_MAX: Duration = Duration::from_millis(500);

/// Words are what blanks separate. `$DIR` is a directory with a small file `f`.
const STATEMENTS: &[&str] = &[
    "SELECT a , b , count(*) FROM t WHERE a > 1 AND b LIKE '%x' GROUP BY a , b ORDER BY a LIMIT 3",
    "SELECT * FROM t JOIN u USING ( a ) LEFT JOIN v ON t . a = v . a",
    "WITH RECURSIVE r AS ( SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5 ) SELECT sum(n) FROM r",
    "SELECT CASE WHEN a IN ( 1 , 2 ) THEN a :: text ELSE 'x' || b END AS c , sum(a) OVER ( ORDER BY b ) FROM t",
    "SELECT * FROM read_csv( '$DIR/f' , columns => { a : 'INTEGER' , b : 'TEXT' } , header => false )",
    "SELECT DATE '2020-01-01' + INTERVAL '1 day' , 1e3 , -0.5 , 'x' , NULL , true , E'\\t' , $$y$$",
    "CREATE OR REPLACE TABLE u ( a int NOT NULL , b varchar(10) , c decimal(5,2) NULL )",
    "CREATE TABLE IF NOT EXISTS t ( a int , b text )",
    "CREATE OR REPLACE TABLE u ( x , y ) AS SELECT a , b FROM t",
    "CREATE OR REPLACE VIEW v ( a ) AS SELECT a FROM t WHERE a IS NOT NULL",
    "INSERT INTO t ( b , a ) VALUES ( 'x' , 1 ) , ( NULL , 2 )",
    "INSERT INTO t SELECT a + 1 , b FROM t LIMIT 5",
    "DROP TABLE IF EXISTS u , t CASCADE",
    "DROP VIEW IF EXISTS v",
    "TRUNCATE TABLE t",
    "DESCRIBE t",
    "SHOW TABLES",
    "SHOW ALL",
    "EXPLAIN ANALYZE SELECT a FROM t",
    "COPY t ( a , b ) FROM '$DIR/f' WITH ( FORMAT csv , DELIMITER ',' , QUOTE '\"' , ESCAPE '\\' , NULL 'x' , HEADER match )",
    "COPY t FROM '$DIR/f' ( MODE fast , MERGE copy , THREADS 2 , PIECE_SIZE 3 , SPAN_SIZE 1 , FORCE_NULL ( a ) )",
    "COPY t FROM '$DIR/f' DELIMITER AS '|' NULL AS '-' CSV HEADER QUOTE 'q' FORCE NOT NULL a , b",
    "COPY ( SELECT a FROM t ) TO '$DIR/g' ( HEADER , FORCE_QUOTE * , DELIMITER E'\\t' )",
    "COPY v TO '$DIR/g' CSV FORCE QUOTE a",
    "EXPORT DATABASE '$DIR/d' ( FORMAT csv , DELIMITER '|' )",
    "IMPORT DATABASE '$DIR/d'",
    "UPDATE t SET a = 1 WHERE b = 'x'",
    "BEGIN ; COMMIT",
];

/// Words to put where they do not belong.
const WORDS: &[&str] = &[
    "\"\"",
    "''",
    "\0",
    "é",
    "$1",
    "/*",
    "--",
    "$a$",
    "'",
    "\"",
    "[",
    "]",
    ";",
    "{",
    "}",
    "=>",
    "999999999999999999999",
    "DECIMAL(99,1)",
    "VARCHAR(0)",
    "1e999",
    "NaN",
    "-",
    "*",
    "(",
    ")",
    ",",
    "public . t",
    "nowhere",
    "'$DIR'",
    "STDIN",
];

fn word(random: &mut Random) -> &'static str {
    if random.once_in(3) {
        return random.pick(WORDS);
    }
    let words: Vec<_> = random.pick(STATEMENTS).split(' ').collect();
    random.pick(&words)
}

fn statement(random: &mut Random) -> String {
    let mut words: Vec<_> = random.pick(STATEMENTS).split(' ').collect();
    for _ in 0..random.below(4) {
        let at = random.below(words.len());
        match random.below(4) {
            0 => words.insert(at, word(random)),
            1 => words[at] = word(random),
            2 => words.swap(at, 0),
            _ => drop(words.remove(at)),
        }
        words.push("");
    }
    words.join(" ")
}

async fn run(session: &mut Session, sql: &str) -> Result<(), Error> {
    if let Outcome::Rows(rows) = session.execute(sql).await? {
        // Joins of joins may have many rows; a few batches are enough.
        let mut rows = rows.take(3);
        while let Some(batch) = rows.next().await {
            batch?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn random_words_never_panic() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let path = directory.path().display().to_string();
    std::fs::write(directory.path().join("f"), "1,x\n2,y\n").expect("a temporary file can be written");
    let config = Config { threads: 2, memory_limit: Some(64 << 20), ..Config::default() };
    let mut session = Database::open(config).expect("a database opens").session();
    let rounds = std::env::var("SOUP_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(share(3000));
    let mut random = Random::new(1);
    let mut done = 0;
    for _ in 0..rounds {
        let sql = statement(&mut random).replace("$DIR", &path);
        assert!(split(&sql).statements.len() <= sql.matches(';').count());
        // A recursive query may have no end; then it must end when it is cancelled.
        let control = session.control();
        let alarm = tokio::spawn(async move {
            tokio::time::sleep(STATEMENT_TIME_MAX).await;
            control.cancel();
        });
        let outcome = tokio::time::timeout(STATEMENT_TIME_MAX * 20, run(&mut session, &sql)).await;
        alarm.abort();
        match outcome.unwrap_or_else(|_| panic!("{sql}: goes on though it was cancelled")) {
            Ok(()) => done += 1,
            Err(error) => assert_ne!(error.kind(), ErrorKind::Internal, "{sql}: {error}"),
        }
    }
    assert!(done > rounds / 20, "only {done} of {rounds} statements did something");
}

/// Trees of this depth come from programs that write SQL.
#[tokio::test(flavor = "multi_thread")]
async fn long_chains_are_an_answer_or_an_error() {
    let mut session = Database::open(Config::default()).expect("a database opens").session();
    for terms in [100, 3000, 100_000] {
        for sql in [
            format!("SELECT 1{}", " + 1".repeat(terms)),
            format!("SELECT true{}", " OR false".repeat(terms)),
            format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(terms.min(3000))),
            format!("SELECT {}1{}", "abs(".repeat(terms), ")".repeat(terms)),
            format!("SELECT {}1", "- ".repeat(terms)),
            format!("SELECT {}true", "NOT ".repeat(terms)),
            format!("SELECT * FROM {}(SELECT 1){}", "(SELECT * FROM ".repeat(terms), ")".repeat(terms)),
            format!("COPY (SELECT 1{}) TO '/nowhere/at/all'", " + 1".repeat(terms)),
        ] {
            let _ = session.execute(&sql).await;
        }
    }
}
