//! Conditions that no index serves, by point queries and by the planner.

use longshore_storage::Datum;
use longshore_testing::Random;

use super::super::tests::{planned, run, said};
use crate::prepared::Prepared;
use crate::{Config, Database, Session};

/// Rows of the table.
const ROWS: usize = 3_000;

/// Columns of the table, and values that some of its rows have.
const COLUMNS: [(&str, &str, [&str; 3]); 11] = [
    ("ok", "g % 3 = 0", ["true", "false", "NULL"]),
    ("day", "date '2024-01-01' + g % 50", ["'2024-01-05'", "'2024-02-01'", "'1999-12-31'"]),
    (
        "at",
        "timestamptz '2024-01-01 00:00:00Z' + g % 50 * interval '1 hour'",
        ["'2024-01-01 05:00:00+00'", "NULL", "'2024-01-02 00:00:00+00'"],
    ),
    (
        "local",
        "timestamp '2024-01-01' + g % 50 * interval '1 day'",
        ["'2024-01-05 00:00:00'", "'2024-02-01 00:00:00'", "NULL"],
    ),
    ("name", "'n' || g % 9", ["'n3'", "'n'", "''"]),
    ("short", "'s' || g % 9", ["'s3'", "'longer than all'", "'s8 '"]),
    ("big", "g % 9 * 10000000000", ["0", "30000000000", "'70000000000'"]),
    ("small", "g % 9", ["3", "'7'", "100000"]),
    ("m", "(g % 9) / 4.0", ["1", "'0.75'", "2"]),
    (
        "u",
        "('00000000-0000-4000-8000-00000000000' || g % 9)::uuid",
        ["'00000000-0000-4000-8000-000000000003'", "'00000000000040008000000000000007'", "NULL"],
    ),
    ("checked", "'c' || g % 3", ["'c1'", "'c9'", "NULL"]),
];

async fn filled() -> Session {
    let database = Database::open(Config { threads: 2, ..Config::default() }).expect("a database opens");
    let mut session = database.session();
    let values: Vec<String> = COLUMNS
        .iter()
        .enumerate()
        .map(|(at, (_, value, _))| format!("CASE WHEN g % {} = 0 THEN NULL ELSE {value} END", 11 + at))
        .collect();
    for sql in [
        "CREATE TYPE mood AS ENUM ('sad', 'fine', 'elated')",
        "CREATE TABLE r (id INT PRIMARY KEY, n INT NOT NULL, ok BOOLEAN, day DATE, at TIMESTAMPTZ, local TIMESTAMP, name TEXT, \
         short VARCHAR(20), big BIGINT, small SMALLINT, m DECIMAL(10,2), u UUID, checked TEXT CHECK (checked <> 'c7'), \
         c CHAR(3) DEFAULT 'x', f DOUBLE PRECISION DEFAULT 1.5, \
         mood mood NOT NULL DEFAULT 'fine')",
        "CREATE INDEX r_n ON r USING art (n, id)",
        "CREATE INDEX r_mood ON r USING art (mood, id)",
        &format!("INSERT INTO r SELECT g, g % 20, {} FROM generate_series(1, {ROWS}) AS s (g)", values.join(", ")),
    ] {
        run(&mut session, sql).await;
    }
    session
}

/// A condition on one column, which it is known how to ask.
fn condition(random: &mut Random) -> String {
    let (column, _, values) = COLUMNS[random.below(COLUMNS.len())];
    let value = random.pick(&values);
    match random.below(11) {
        0 => format!("{column} IS NULL"),
        1 => format!("{column} IS NOT NULL"),
        2 => format!("{column} IN ({})", values.join(", ")),
        3 => format!("{column} <> {value}"),
        4 => format!("{column} < {value}"),
        5 => format!("{value} <= {column}"),
        6 => format!("{column} BETWEEN {value} AND {}", values[2]),
        // Of columns by which rows are found already.
        9 => format!("id <= {}", random.below(ROWS)),
        10 => format!("n = {}", random.below(21)),
        7 if column == "ok" => (*random.pick(&["ok", "NOT ok", "(ok)"])).to_owned(),
        _ => format!("{column} = {value}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_those_that_the_planner_leaves() {
    let mut session = filled().await;
    let mut random = Random::new(17);
    for round in 0..longshore_testing::share(600) {
        let found = match random.below(3) {
            0 => format!("id = {}", random.below(ROWS)),
            1 => format!("n = {}", random.below(21)),
            _ => format!("n = {} AND id > {}", random.below(21), random.below(ROWS)),
        };
        let mut conditions = vec![found, condition(&mut random)];
        if random.below(3) == 0 {
            conditions.push(condition(&mut random));
        }
        let condition = conditions.join(" AND ");
        let limit = random.below(40);
        let (sql, is_ordered) = match round % 6 {
            0 => (format!("SELECT * FROM r WHERE {condition}"), false),
            1 => (format!("SELECT id FROM r WHERE {condition} ORDER BY n, id LIMIT {limit}"), true),
            2 => (format!("SELECT id FROM r WHERE {condition} ORDER BY n DESC, id DESC LIMIT {limit}"), true),
            3 => (format!("SELECT count(*), sum(small), min(day) FROM r WHERE {condition}"), false),
            4 => (format!("UPDATE r SET small = 4, name = 'new' WHERE {condition} RETURNING id, name"), false),
            _ => (format!("DELETE FROM r WHERE {condition} RETURNING id"), false),
        };
        let Ok(prepared) = session.prepare(&sql) else { panic!("{sql} cannot be prepared") };
        assert!(prepared.point_query.is_some(), "{sql} goes through the planner");
        run(&mut session, "BEGIN").await;
        let by_index = session.execute_prepared(&prepared, &[]).await;
        let mut by_index = said(by_index.unwrap_or_else(|error| panic!("{sql}: {error}"))).await;
        run(&mut session, "ROLLBACK").await;
        run(&mut session, "BEGIN").await;
        let mut by_planner = planned(&mut session, &sql).await;
        run(&mut session, "ROLLBACK").await;
        if !is_ordered {
            by_index.1.sort();
            by_planner.1.sort();
        }
        assert_eq!(by_index, by_planner, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_may_be_parameters() {
    let mut session = filled().await;
    let sql = "SELECT id FROM r WHERE n = $1 AND name = $2 AND big >= $3 AND small IN ($4, $5) ORDER BY n, id LIMIT $6";
    let prepared = session.prepare(sql).unwrap();
    assert!(prepared.point_query.is_some());
    for (name, big, small) in [("n3", 0, 3), ("n5", 40_000_000_000, 5), ("n5", 60_000_000_000, 5), ("x", 0, 1)] {
        let values =
            [Datum::I32(7), Datum::Text(name), Datum::I64(big), Datum::I64(small), Datum::I64(100_000), Datum::I64(9)];
        let by_index = said(session.execute_prepared(&prepared, &values[..]).await.unwrap()).await;
        let text = format!(
            "SELECT id FROM r WHERE n = 7 AND name = '{name}' AND big >= {big} AND small IN ({small}, 100000) ORDER BY n, id LIMIT 9"
        );
        assert_eq!(by_index, planned(&mut session, &text).await, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_compares_otherwise_goes_through_the_planner() {
    let session = filled().await;
    for condition in [
        "n = 1 AND c = 'x'",
        "n = 1 AND f > 1",
        "n = 1 AND mood > 'sad'",
        "mood > 'sad'",
        "mood >= 'fine' ORDER BY mood, id LIMIT 3",
        "n = 1 AND name LIKE 'n%'",
        "n = 1 AND ok IS NOT TRUE",
        "n = 1 AND n = id",
        "n = 1 AND name NOT IN ('a')",
        "n = 1 AND m = 1.5",
        "n = 1 AND id + 1 = 2",
        "n = 1 AND (ok OR name = 'a')",
        "name = 'a'",
        "name = 'a' ORDER BY n, id LIMIT 1",
    ] {
        let parsed = crate::sql::parse(&format!("SELECT id FROM r WHERE {condition}")).unwrap();
        let prepared = Prepared::of(parsed, Vec::new(), &session.database().catalog).unwrap();
        assert!(prepared.point_query.is_none(), "{condition} does not go through the planner");
    }
}
