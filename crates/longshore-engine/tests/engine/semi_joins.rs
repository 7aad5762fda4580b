//! Semi and anti joins whose keys come again and again on both sides: they look at each key once, and answer as over distinct keys.

use longshore_engine::{Config, Session};

use crate::query_support::{ok, open};

/// Rows of the table `large`; `small` has a quarter. All pairs of equal keys would be millions.
const ROWS: usize = 12_000;

async fn filled(threads: usize) -> Session {
    let mut session = open(Config { threads, ..Config::default() }).session();
    for (table, rows, first) in [("large", ROWS, 0), ("small", ROWS / 4, 3)] {
        ok(
            &mut session,
            &format!("CREATE TABLE {table} (id INT PRIMARY KEY, n INT, s TEXT, d NUMERIC, f DOUBLE PRECISION, v INT)"),
        )
        .await;
        ok(
            &mut session,
            &format!(
                "INSERT INTO {table} SELECT i, nullif(i % 7 + {first}, 5), 'text ' || i % 5 + {first}, (i % 6 + {first}) / 2.0, \
                 CASE i % 4 WHEN 0 THEN 'NaN'::float WHEN 1 THEN -0.0 WHEN 2 THEN 0 ELSE i % 3 + {first} END, i % 3 + {first} \
                 FROM generate_series(1, {rows}) AS g (i)"
            ),
        )
        .await;
    }
    session
}

/// Queries over a table `a` whose rows are looked for in `b`, by `columns` of both.
fn queries(a: &str, b: &str, columns: &[&str]) -> Vec<(String, String)> {
    let list = columns.join(", ");
    let row = |alias: &str| columns.iter().map(|column| format!("{alias}.{column}")).collect::<Vec<_>>().join(", ");
    let equal: Vec<String> = columns.iter().map(|column| format!("b.{column} = a.{column}")).collect();
    let (outer, equal) = (row("a"), equal.join(" AND "));
    let conditions = [
        "({outer}) IN (SELECT {list} FROM {b} AS b)",
        "({outer}) NOT IN (SELECT {list} FROM {b} AS b)",
        "({outer}) NOT IN (SELECT {list} FROM {b} AS b WHERE n IS NOT NULL)",
        "EXISTS (SELECT 1 FROM {b} AS b WHERE {equal})",
        "NOT EXISTS (SELECT 1 FROM {b} AS b WHERE {equal})",
        "EXISTS (SELECT 1 FROM {b} AS b WHERE {equal}) OR a.id % 5 = 0",
        "NOT EXISTS (SELECT 1 FROM {b} AS b WHERE {equal} AND b.id % 2 = 0)",
        "EXISTS (SELECT 1 FROM {b} AS b WHERE {equal} AND b.id % 2 < a.id % 3)",
        "NOT EXISTS (SELECT 1 FROM {b} AS b WHERE b.n < a.n + a.id % 2)",
    ];
    let query = |condition: &str, b: &str| {
        let condition = condition.replace("{outer}", &outer).replace("{list}", &list).replace("{equal}", &equal);
        format!("SELECT count(*), sum(a.id), count(a.n) FROM {a} AS a WHERE {}", condition.replace("{b}", b))
    };
    let distinct = format!("(SELECT DISTINCT n, s, d, f, v, id % 2 AS id FROM {b})");
    conditions.iter().map(|condition| (query(condition, b), query(condition, &distinct))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_come_again_are_looked_at_once() {
    let mut grouped = 0;
    for threads in [1, 2] {
        let mut session = filled(threads).await;
        for columns in [&["n"][..], &["s"], &["d"], &["f"], &["n", "v"]] {
            for (a, b) in [("large", "small"), ("small", "large")] {
                for (sql, over_distinct) in queries(a, b, columns) {
                    assert_eq!(ok(&mut session, &sql).await, ok(&mut session, &over_distinct).await, "{sql}");
                    let plan = ok(&mut session, &format!("EXPLAIN (FORMAT JSON) {sql}")).await.join("\n");
                    grouped += usize::from(plan.contains("key_0"));
                }
            }
        }
        let unique = "SELECT count(*) FROM small AS a WHERE id IN (SELECT n FROM large AS b)";
        assert!(!ok(&mut session, &format!("EXPLAIN (FORMAT JSON) {unique}")).await.join("\n").contains("key_0"));
    }
    assert!(grouped > 50, "{grouped} plans group keys");
}
