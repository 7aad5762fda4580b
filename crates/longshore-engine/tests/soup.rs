//! Statements of random words never panic, whatever they say.

use futures::StreamExt;
use longshore_engine::{Config, Database, ErrorKind, Outcome, split};

const WORDS: &[&str] = &[
    "SELECT",
    "FROM",
    "t",
    "u",
    "v",
    "*",
    ",",
    "(",
    ")",
    "a",
    "b",
    "1",
    "-1",
    "'x'",
    "''",
    "\"t\"",
    "\"\"",
    "WHERE",
    "=",
    "<",
    "CREATE",
    "OR",
    "REPLACE",
    "TABLE",
    "VIEW",
    "IF",
    "NOT",
    "EXISTS",
    "AS",
    "INT",
    "TEXT",
    "DECIMAL(5,2)",
    "VARCHAR(0)",
    "DECIMAL(999999999999,2)",
    "NULL",
    "DROP",
    "CASCADE",
    "INSERT",
    "INTO",
    "VALUES",
    "COPY",
    "TO",
    "STDIN",
    "STDOUT",
    "'$DIR/f'",
    "'$DIR/d'",
    "WITH",
    "FORMAT",
    "csv",
    "native",
    "parquet",
    "text",
    "DELIMITER",
    "'|'",
    "QUOTE",
    "ESCAPE",
    "HEADER",
    "match",
    "FORCE_NULL",
    "FORCE",
    "ENCODING",
    "MODE",
    "fast",
    "MERGE",
    "copy",
    "THREADS",
    "PIECE_SIZE",
    "SPAN_SIZE",
    "EXPORT",
    "IMPORT",
    "DATABASE",
    "DESCRIBE",
    "SHOW",
    "TABLES",
    "ALL",
    "EXPLAIN",
    "ANALYZE",
    "TRUNCATE",
    "BEGIN",
    "COMMIT",
    "UPDATE",
    "SET",
    "DELETE",
    "ALTER",
    "PRIMARY",
    "KEY",
    "UNIQUE",
    "DEFAULT",
    "GROUP",
    "BY",
    "ORDER",
    "LIMIT",
    "UNION",
    "JOIN",
    "ON",
    "USING",
    "read_csv",
    "columns",
    "=>",
    "{",
    "}",
    ":",
    ";",
    ".",
    "public",
    "$1",
    "$$",
    "$a$",
    "E'\\",
    "é",
    "\0",
    "--",
    "/*",
    "*/",
    "::",
    "[",
    "]",
    "||",
    "CASE",
    "WHEN",
    "END",
    "IN",
    "BETWEEN",
    "INTERVAL",
    "DATE",
    "count(*)",
    "sum(a)",
    "OVER",
    "RECURSIVE",
    "LATERAL",
    "unnest",
    "'\\x'",
    "1e999",
    "0x1F",
    "99999999999999999999999999999999999999999",
    "NaN",
    "true",
];

/// Beginnings that get further than chance would.
const STARTS: &[&str] = &[
    "",
    "SELECT",
    "SELECT * FROM t WHERE",
    "CREATE TABLE t (",
    "CREATE TABLE u AS SELECT",
    "CREATE VIEW v AS SELECT",
    "INSERT INTO t VALUES (",
    "INSERT INTO t SELECT",
    "COPY t FROM '$DIR/f' (",
    "COPY t TO '$DIR/f' (",
    "COPY (SELECT",
    "EXPORT DATABASE '$DIR/d' (",
    "IMPORT DATABASE",
    "DROP TABLE",
    "DESCRIBE",
    "SHOW",
    "EXPLAIN SELECT",
    "TRUNCATE",
    "SELECT * FROM read_csv('$DIR/f', columns => {",
    "WITH t AS (SELECT",
    "COPY t FROM '$DIR/f' WITH",
];

#[tokio::test(flavor = "multi_thread")]
async fn random_words_never_panic() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().display().to_string();
    std::fs::write(directory.path().join("f"), "1,x\n2,y\n").unwrap();
    let config = Config { threads: 2, memory_limit: Some(64 << 20), ..Config::default() };
    let mut session = Database::open(config).unwrap().session();
    let mut state = 42_u64;
    let mut below = |end: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % end
    };
    let mut done = 0;
    let rounds = std::env::var("SOUP_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(4000);
    for _ in 0..rounds {
        let mut sql = STARTS[below(STARTS.len())].to_owned();
        for _ in 0..below(12) {
            sql.push(' ');
            sql.push_str(WORDS[below(WORDS.len())]);
        }
        if below(2) == 0 {
            sql.push_str(" )");
        }
        let sql = sql.replace("$DIR", &path);
        let _ = split(&sql);
        match session.execute(&sql).await {
            Ok(Outcome::Done { .. }) => done += 1,
            Ok(Outcome::Rows(rows)) => {
                // Cross joins of cross joins have no end; a few batches are enough.
                let mut rows = rows.take(4);
                while let Some(batch) = rows.next().await {
                    if let Err(error) = batch {
                        assert_ne!(error.kind(), ErrorKind::Internal, "{sql}: {error}");
                    }
                }
                done += 1;
            }
            Err(error) => assert_ne!(error.kind(), ErrorKind::Internal, "{sql}: {error}"),
        }
        let _ = session.execute("CREATE TABLE IF NOT EXISTS t (a int, b text)").await;
    }
    assert!(done > rounds / 100, "only {done} of {rounds} statements did something");
}
