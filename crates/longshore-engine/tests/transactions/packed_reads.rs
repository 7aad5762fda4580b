//! Queries over packed tables count as having read what they would have read of plain ones: whatever a scan evaluates on
//! codes or once per distinct value, the same changes of others stop it, and are told by the same predicate.

use std::sync::Arc;

use longshore_engine::{Database, ErrorKind, Session};
use longshore_testing::Random;

use crate::{database, run};

/// Predicates: of codes, of values that stand for many rows, of several columns, and such that no index or range helps.
const PREDICATES: [&str; 24] = [
    "a = 7",
    "a <> 7",
    "a < 3",
    "a BETWEEN 5 AND 9",
    "a IN (1, 4, 17)",
    "a NOT IN (1, 2, 3)",
    "a IS NULL",
    "a IS NOT NULL",
    "a % 5 = 0",
    "d >= DATE '2024-03-01'",
    "d = DATE '2024-01-05' OR d = DATE '2024-02-05'",
    "p > 12.50",
    "p IN (0.25, 1.50, 99.75)",
    "x = 'short 3'",
    "x >= 'short 5'",
    "x LIKE 'short 1%'",
    "x LIKE '%9'",
    "length(x) > 7",
    "upper(x) = 'SHORT 2'",
    "a = 3 AND x = 'short 3'",
    "a < 5 AND p > 90",
    "a = 2 OR x IS NULL",
    "coalesce(a, 7) = 7",
    "TRUE",
];

struct Twin {
    reader: Session,
    writer: Session,
}

impl Twin {
    async fn new(storage: &str) -> Twin {
        let database: Arc<Database> = database();
        let (reader, mut writer) = (database.session(), database.session());
        let create =
            format!("CREATE TABLE t (id BIGINT, a INTEGER, d DATE, p DECIMAL(8,2), x TEXT) WITH (storage = {storage})");
        for sql in [create.as_str(), FILL, "CREATE TABLE log (n INTEGER)"] {
            run(&mut writer, sql).await.unwrap();
        }
        Twin { reader, writer }
    }

    /// What a query found, and how its transaction ended beside a change that was committed behind the query.
    async fn read_beside(&mut self, query: &str, change: &str) -> (String, Option<String>) {
        run(&mut self.reader, "BEGIN ISOLATION LEVEL SERIALIZABLE").await.unwrap();
        let found = run(&mut self.reader, query).await.unwrap();
        run(&mut self.writer, change).await.unwrap();
        run(&mut self.reader, "INSERT INTO log VALUES (1)").await.unwrap();
        let stopped = run(&mut self.reader, "COMMIT").await.err().map(|error| {
            assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
            // The row may lie elsewhere: inserts pass packed chunks by.
            error.to_string().split_once(" of t: ").unwrap().1.to_owned()
        });
        (found, stopped)
    }
}

const FILL: &str = "INSERT INTO t SELECT i, nullif(i % 20, 19), DATE '2024-01-01' + (i % 90)::int, (i % 400) * 0.25, \
    CASE WHEN i % 11 > 0 THEN 'short ' || (i % 11) END FROM generate_series(1, 30000) AS numbers(i)";

/// A change of few rows.
fn change(random: &mut Random, round: usize) -> String {
    let id = 1 + random.below(30_000);
    let number = random.below(20);
    match random.below(7) {
        0 => format!("UPDATE t SET a = {number} WHERE id = {id}"),
        1 => format!("UPDATE t SET x = 'short {number}' WHERE id = {id}"),
        2 => format!("UPDATE t SET p = {number}.25, d = DATE '2024-01-01' + {number} WHERE id = {id}"),
        3 => format!("UPDATE t SET a = NULL WHERE id IN ({id}, {id} + 1)"),
        4 => format!("DELETE FROM t WHERE id = {id}"),
        5 => format!(
            "INSERT INTO t VALUES ({}, {number}, DATE '2024-02-01' + {number}, {number}, 'short {number}')",
            100_000 + round
        ),
        _ => format!(
            "INSERT INTO t SELECT i, {number}, DATE '2024-03-20', i % 100, 'short ' || (i % 3) \
             FROM generate_series(1, 10000) AS numbers(i) WHERE {round} % 5 = 0"
        ),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn packed_tables_stop_the_same_readers_as_plain_ones() {
    let (mut packed, mut plain) = (Twin::new("packed").await, Twin::new("plain").await);
    let mut random = Random::new(5);
    let (mut stopped, mut passed) = (0, 0);
    for round in 0..longshore_testing::share(240) {
        let predicate = PREDICATES[round % PREDICATES.len()];
        let query = format!("SELECT count(*), sum(id), min(p) FROM t WHERE {predicate}");
        let change = change(&mut random, round);
        let of_packed = packed.read_beside(&query, &change).await;
        assert_eq!(of_packed, plain.read_beside(&query, &change).await, "{query}; {change}");
        *(if of_packed.1.is_some() { &mut stopped } else { &mut passed }) += 1;
        if round % 7 == 0 {
            run(&mut packed.writer, "VACUUM t").await.unwrap();
        }
    }
    assert!(stopped > passed / 10 && passed > stopped / 10, "{stopped} are stopped, {passed} are not");
}
