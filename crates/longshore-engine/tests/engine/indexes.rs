//! Queries by keys: the same rows with an index and without, and when an index is used.

use crate::query_support::{fill, ok, session, sorted};
use longshore_testing::{Random, share};

const ROWS: usize = 70_000;

/// CASE keeps a predicate out of the scan, so that no index can be asked for it.
fn outside(predicate: &str) -> String {
    format!("CASE WHEN {predicate} THEN true ELSE false END")
}

/// A predicate over columns that have an index, of all types, and over some that have none.
fn by_keys(random: &mut Random) -> String {
    let row = random.below(ROWS + 2000);
    let width = random.below(40);
    let term = match random.below(16) {
        0 => format!("id = {row}"),
        1 => format!("id IN ({row}, {}, NULL, {})", random.below(ROWS), row + 1),
        2 => format!("id BETWEEN {row} AND {}", row + width),
        3 => format!("id > {}", ROWS - width),
        4 => format!("small = {} AND big < {}", random.below(1000), random.below(100_000)),
        5 => format!("small = {} AND big = {}", random.below(1000), random.below(100_000)),
        6 => format!("s = 'row {row}'"),
        7 => format!("s IN ('row {row}', 'row 7', 'nothing')"),
        8 => format!("f = {} OR f = 2.5", row as f64 / 16.0),
        9 => format!("f >= {} AND f < {}", row as f64 / 16.0, (row + width) as f64 / 16.0),
        10 => format!("d = {}.{:02}", row / 100, row % 100),
        11 => format!("d > {0} AND d <= {0}.25", row / 100),
        12 => format!("ts = TIMESTAMP '2001-02-{:02} 12:00:06'", 3 + random.below(26)),
        13 => format!("c = 'c{}' AND dt = DATE '1995-01-01' + {}", random.below(60), random.below(1200)),
        14 => format!("c = 'c{}' AND dt >= DATE '1997-12-{:02}'", random.below(60), 1 + random.below(28)),
        _ => format!("w BETWEEN {0}.001 AND {1}.5", row, row + width),
    };
    match random.below(4) {
        0 => format!("{term} AND flag"),
        1 => format!("{term} AND small > 500 AND v LIKE '%1%'"),
        _ => term,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_changes_no_answer() {
    let mut session = session(2);
    fill(&mut session, ROWS).await;
    for key in [
        "UNIQUE INDEX by_id ON t USING hash (id)",
        "INDEX by_id_too ON t USING art (id)",
        "INDEX by_small ON t USING art (small, big)",
        "INDEX by_s ON t USING hash (s)",
        "INDEX by_f ON t USING art (f)",
        "INDEX by_d ON t USING art (d, id)",
        "INDEX by_ts ON t USING art (ts)",
        "INDEX by_c ON t USING art (c, dt)",
        "INDEX by_w ON t USING art (w)",
    ] {
        ok(&mut session, &format!("CREATE {key}")).await;
    }
    let mut random = Random::new(11);
    let mut used = 0;
    let rounds = share(120);
    for round in 0..rounds {
        if round == rounds / 2 {
            // The other half in a transaction that has changed rows itself.
            ok(&mut session, "BEGIN").await;
            ok(&mut session, "UPDATE t SET id = id + 1000000, s = 'row 7' WHERE id % 1000 = 3").await;
            ok(&mut session, "UPDATE t SET flag = true, r = 1 WHERE id % 500 = 7").await;
            ok(&mut session, "DELETE FROM t WHERE id % 700 = 5").await;
            ok(&mut session, "INSERT INTO t SELECT * FROM t WHERE false").await;
        }
        let condition = by_keys(&mut random);
        let inside = sorted(&mut session, &format!("SELECT id, s, small, d FROM t WHERE {condition}")).await;
        let scanned =
            sorted(&mut session, &format!("SELECT id, s, small, d FROM t WHERE {}", outside(&condition))).await;
        assert!(inside == scanned, "round {round}: {condition}: {} and {} rows", inside.len(), scanned.len());
        let plan = ok(&mut session, &format!("EXPLAIN SELECT id FROM t WHERE {condition}")).await.join("\n");
        used += usize::from(plan.contains("index=by_"));
    }
    ok(&mut session, "ROLLBACK").await;
    assert!(used * 2 > rounds, "an index was used by {used} of {rounds} queries");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_is_used_where_that_is_shorter() {
    let mut session = session(2);
    fill(&mut session, ROWS).await;
    ok(&mut session, "CREATE UNIQUE INDEX by_id ON t USING art (id)").await;
    ok(&mut session, "CREATE INDEX by_flag ON t USING hash (flag)").await;
    ok(&mut session, "CREATE INDEX by_two ON t USING art (small, big)").await;
    for (condition, expected) in [
        ("id = 5", Some("index=by_id (5), found=1")),
        ("id = 70001", Some("index=by_id (70001), found=0")),
        ("5 = id AND flag", Some("index=by_id (5), found=1")),
        ("id IN (1, 2, 30000, 40000)", Some("index=by_id (one of 4), found=4")),
        ("id BETWEEN 7 AND 9", Some("index=by_id (7 to 9), found=3")),
        ("id > 69990", Some("index=by_id (above 69990 to the end), found=10")),
        ("small = 3 AND big > 1000 AND big <= 2000", Some("index=by_two (3, above 1000 to 2000)")),
        ("id > 5", None),
        ("id + 1 = 5", None),
        ("flag", None),
        ("big = 5", None),
        ("small IS NULL", None),
        ("small > 3", None),
    ] {
        let plan = ok(&mut session, &format!("EXPLAIN SELECT s FROM t WHERE {condition}")).await.join("\n");
        match expected {
            Some(expected) => assert!(plan.contains(expected), "{condition}: {plan}"),
            None => assert!(!plan.contains("index="), "{condition}: {plan}"),
        }
    }
}

/// What is looked up by an index is guarded as what is scanned: the one key, and no other.
#[tokio::test(flavor = "multi_thread")]
async fn lookups_are_guarded_by_what_they_ask_for() {
    let database = crate::query_support::open(longshore_engine::Config { threads: 2, ..Default::default() });
    let (mut one, mut two) = (database.session(), database.session());
    ok(&mut one, "CREATE TABLE t (id INT PRIMARY KEY, n INT)").await;
    ok(&mut one, "INSERT INTO t SELECT i, i + 0 FROM generate_series(1, 1000) AS g(i)").await;
    for (read, written, conflicts) in [
        ("id IN (3, 5)", "id = 5", true),
        ("id IN (3, 5)", "id = 4", false),
        ("id = 3 OR id = 5", "id = 3", true),
        ("id = 3 OR id = 5", "id = 6", false),
        ("id BETWEEN 10 AND 20", "id = 20", true),
        ("id BETWEEN 10 AND 20", "id = 21", false),
    ] {
        ok(&mut one, "BEGIN").await;
        ok(&mut one, &format!("SELECT sum(n) FROM t WHERE {read}")).await;
        ok(&mut one, "UPDATE t SET n = n + 1 WHERE id = 900").await;
        ok(&mut two, &format!("UPDATE t SET n = n + 1 WHERE {written}")).await;
        let committed = crate::query_support::run(&mut one, "COMMIT").await;
        assert_eq!(committed.is_err(), conflicts, "{read}, {written}: {committed:?}");
    }
}
