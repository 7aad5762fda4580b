//! What the tests of queries share: run SQL, read the rows as text, make predicates at random.

use std::sync::Arc;

use arrow::util::display::{ArrayFormatter, FormatOptions};
use arrow_array::{ArrayRef, RecordBatch};
use futures::TryStreamExt;
use longshore_engine::{Config, Database, Error, Outcome, Session, nested_texts};
use longshore_testing::Random;

/// A session of a new database with `threads` workers.
pub(crate) fn session(threads: usize) -> Session {
    open(Config { threads, ..Config::default() }).session()
}

/// A new database.
pub(crate) fn open(config: Config) -> Arc<Database> {
    Database::open(config).expect("the configuration can be met")
}

/// Runs `sql`; rows come as text, columns separated by `|`, NULL as `-`. A statement without rows gives its tag.
pub(crate) async fn run(session: &mut Session, sql: &str) -> Result<Vec<String>, Error> {
    match Box::pin(session.execute(sql)).await? {
        Outcome::Done { tag, .. } => Ok(vec![tag]),
        Outcome::Rows(rows) => Ok(rows.try_collect::<Vec<_>>().await?.iter().flat_map(text_lines).collect()),
    }
}

/// Like [`run`], for statements that must succeed.
pub(crate) async fn ok(session: &mut Session, sql: &str) -> Vec<String> {
    run(session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Like [`ok`], with the rows sorted.
pub(crate) async fn sorted(session: &mut Session, sql: &str) -> Vec<String> {
    let mut rows = ok(session, sql).await;
    rows.sort();
    rows
}

/// Like [`run`], for statements that must fail. Returns the message.
pub(crate) async fn fails(session: &mut Session, sql: &str) -> String {
    match run(session, sql).await {
        Ok(rows) => panic!("{sql} should fail, but gave {rows:?}"),
        Err(error) => error.to_string(),
    }
}

/// The rows of a batch as [`run`] tells them.
pub(crate) fn text_lines(batch: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::default().with_null("-");
    let arrays: Vec<_> = batch.columns().iter().map(written).collect();
    let columns: Vec<_> =
        arrays.iter().map(|array| ArrayFormatter::try_new(array, &options).expect("every type has a text")).collect();
    (0..batch.num_rows())
        .map(|row| columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join("|"))
        .collect()
}

/// Values for which Arrow has no type as their texts.
fn written(array: &ArrayRef) -> ArrayRef {
    nested_texts(array).map_or_else(|| Arc::clone(array), |texts| Arc::new(texts))
}

/// Makes the table `t` of `rows` rows whose columns have every type, NULLs, and a share of them in order.
pub(crate) async fn fill(session: &mut Session, rows: usize) {
    ok(
        session,
        "CREATE TABLE t (id INTEGER NOT NULL, small SMALLINT, big BIGINT, flag BOOLEAN, r REAL, f DOUBLE PRECISION, \
         d DECIMAL(15,2), w DECIMAL(30,3), c CHAR(5), v VARCHAR(40), s TEXT, dt DATE, tm TIME, ts TIMESTAMP, \
         tz TIMESTAMP WITH TIME ZONE)",
    )
    .await;
    let insert = format!(
        "INSERT INTO t SELECT i, CASE WHEN i % 7 = 0 THEN NULL ELSE i % 1000 END, i::bigint * 1000003 % 100000, \
         CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END, CASE WHEN i % 11 > 0 THEN (i % 97) / 8.0 END, \
         i / 16.0, CASE WHEN i % 5 > 0 THEN (i - 300) / 100.0 END, i * 1.001, \
         CASE WHEN i % 13 > 0 THEN 'c' || (i % 50) END, CASE WHEN i % 17 > 0 THEN 'value number ' || (i % 211) END, \
         'row ' || i, CASE WHEN i % 19 > 0 THEN DATE '1995-01-01' + CAST(i / 64 AS INTEGER) END, \
         CAST(to_timestamp_seconds(i % 3600 + 1) AS TIME), to_timestamp_seconds(981173106 + i * 60), \
         CASE WHEN i % 23 > 0 THEN to_timestamp_seconds(981173106 + i * 60) END \
         FROM generate_series(1, {rows}) AS g(i) ORDER BY i"
    );
    assert_eq!(ok(session, &insert).await, [format!("INSERT 0 {rows}")]);
}

/// A predicate over the columns of the table that [`fill`] makes of `rows` rows.
pub(crate) fn predicate(random: &mut Random, rows: usize, depth: usize) -> String {
    if depth > 0 && random.below(3) > 0 {
        let left = predicate(random, rows, depth - 1);
        let right = predicate(random, rows, depth - 1);
        return match random.below(5) {
            0 => format!("NOT ({left})"),
            1 | 2 => format!("({left}) OR ({right})"),
            _ => format!("({left}) AND ({right})"),
        };
    }
    let row = random.below(rows + rows / 4);
    let comparison = random.pick(&["<", "<=", "=", "<>", ">", ">="]);
    match random.below(16) {
        0..=2 => format!("id {comparison} {row}"),
        3 => format!("id BETWEEN {row} AND {}", row + random.below(5000)),
        4 => format!("small {comparison} {}", random.below(1000)),
        5 => format!("big {comparison} {}", random.below(100_000)),
        6 => random.pick(&["flag", "NOT flag", "flag IS NULL", "flag = false"]).to_owned(),
        7 => format!("f {comparison} {}", row as f64 / 16.0),
        8 => format!("d {comparison} {}.{:02}", row / 100, row % 100),
        9 => format!("c IN ('c{}', 'c{}', 'c3')", random.below(60), random.below(60)),
        10 => format!("v LIKE '%{}%'", random.below(30)),
        11 => format!("s {comparison} 'row {row}'"),
        12 => format!("dt {comparison} DATE '1995-{:02}-{:02}'", 1 + random.below(12), 1 + random.below(28)),
        13 => format!("ts {comparison} TIMESTAMP '2001-02-{:02} 12:00:00'", 3 + random.below(26)),
        14 => random.pick(&["d IS NULL", "r IS NOT NULL", "tz IS NULL", "r > 3.5"]).to_owned(),
        _ => random.pick(&["small < big", "c < v", "d > f", "c NOT LIKE 'c1%'"]).to_owned(),
    }
}
