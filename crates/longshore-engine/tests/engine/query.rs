//! Queries over tables: predicates in the scan, pruning, limits, statistics, INSERT, views, cancellation, memory.

use crate::query_support::{fails, fill, ok, open, predicate, run, session, sorted};
use longshore_engine::{Config, ErrorKind};
use longshore_testing::{Random, share};

/// Rows of the table that most tests use: several chunks, the last one not full.
const ROWS: usize = 150_000;

/// CASE over two columns keeps a predicate out of the scan, so it sees every row there is.
fn outside(predicate: &str) -> String {
    format!("CASE WHEN {predicate} THEN id + big > 0 ELSE false END")
}

#[tokio::test(flavor = "multi_thread")]
async fn predicates_in_the_scan_keep_the_same_rows() {
    let mut session = session(3);
    fill(&mut session, ROWS).await;
    let mut random = Random::new(7);
    for round in 0..share(60) {
        let condition = predicate(&mut random, ROWS, 2);
        let columns = random.pick(&["id", "s, id", "count(*), sum(id)", "d, c, dt, id", "count(v), max(ts)"]);
        let inside = sorted(&mut session, &format!("SELECT {columns} FROM t WHERE {condition}")).await;
        let outside = sorted(&mut session, &format!("SELECT {columns} FROM t WHERE {}", outside(&condition))).await;
        assert!(inside == outside, "round {round}: {condition}: {} and {} rows", inside.len(), outside.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scan_takes_simple_predicates_and_leaves_others() {
    let mut session = session(2);
    fill(&mut session, 10).await;
    let plan =
        ok(&mut session, "EXPLAIN SELECT id FROM t WHERE id > 3 AND s LIKE '%1%' AND dt IS NOT NULL").await.join("\n");
    assert!(!plan.contains("FilterExec"), "{plan}");
    assert!(plan.contains("columns=[id]"), "{plan}");
    let plan = ok(&mut session, "EXPLAIN SELECT id FROM t WHERE 100 / id > 20 AND id > 3").await.join("\n");
    assert!(!plan.contains("FilterExec") && plan.contains("predicate=id@0 > 3 AND checked_divide(100, "), "{plan}");
    let plan = ok(&mut session, "EXPLAIN SELECT id FROM t WHERE id > 3 AND big / id > 20").await.join("\n");
    assert!(plan.contains("FilterExec") && plan.contains("predicate=id@0 > 3"), "{plan}");
}

#[tokio::test(flavor = "multi_thread")]
async fn joins_and_sorts_prune_chunks_without_losing_rows() {
    let mut session = session(2);
    fill(&mut session, ROWS).await;
    ok(&mut session, "CREATE TABLE few (k INTEGER, x INTEGER)").await;
    ok(&mut session, "INSERT INTO few VALUES (70000, 1), (70001, 2), (149999, 3), (NULL, 4), (999999, 5)").await;
    assert_eq!(
        sorted(&mut session, "SELECT x, id FROM t JOIN few ON id = k").await,
        ["1|70000", "2|70001", "3|149999"]
    );
    assert_eq!(
        sorted(&mut session, "SELECT x, id FROM few LEFT JOIN t ON id = k").await,
        ["1|70000", "2|70001", "3|149999", "4|-", "5|-"]
    );
    assert_eq!(ok(&mut session, "SELECT id FROM t ORDER BY id DESC LIMIT 3").await, ["150000", "149999", "149998"]);
    assert_eq!(ok(&mut session, "SELECT id FROM t ORDER BY d DESC NULLS LAST, id LIMIT 2").await, ["149999", "149998"]);
    assert_eq!(
        ok(&mut session, "SELECT a.id FROM t a JOIN (SELECT id FROM t LIMIT 10) b ON a.id = b.id ORDER BY 1")
            .await
            .len(),
        10
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_gives_the_first_rows() {
    let mut session = session(4);
    fill(&mut session, ROWS).await;
    assert_eq!(ok(&mut session, "SELECT id FROM t LIMIT 3").await, ["1", "2", "3"]);
    assert_eq!(ok(&mut session, "SELECT id FROM t LIMIT 2 OFFSET 3").await, ["4", "5"]);
    assert_eq!(ok(&mut session, "SELECT count(*) FROM (SELECT id FROM t LIMIT 70001)").await, ["70001"]);
    assert_eq!(
        sorted(&mut session, "SELECT id FROM t WHERE id >= 149998 LIMIT 10").await,
        ["149998", "149999", "150000"]
    );
    assert_eq!(ok(&mut session, "SELECT v FROM t WHERE c = 'c1' LIMIT 100").await.len(), 100);
    assert_eq!(ok(&mut session, "SELECT count(*) FROM (SELECT 1 FROM t WHERE id > 10 LIMIT 1000)").await, ["1000"]);
    assert_eq!(ok(&mut session, "SELECT * FROM (SELECT id FROM t LIMIT 5) WHERE id > 3").await, ["4", "5"]);
    assert!(ok(&mut session, "SELECT id FROM t LIMIT 0").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_and_bounds_come_from_statistics_and_are_right() {
    let mut session = session(2);
    fill(&mut session, ROWS).await;
    let sql = "SELECT count(*), count(small), min(id), max(id), min(d), max(dt), min(tm), max(flag) FROM t";
    let fast = ok(&mut session, sql).await;
    let slow = ok(&mut session, &format!("{sql} WHERE {}", outside("id > 0"))).await;
    assert_eq!(fast, slow);
    let plan = ok(&mut session, "EXPLAIN SELECT count(*), max(id) FROM t").await.join("\n");
    assert!(!plan.contains("table=t"), "{plan}");
    assert_eq!(
        ok(&mut session, "SELECT min(s), max(s) FROM t").await,
        ok(&mut session, &format!("SELECT min(s), max(s) FROM t WHERE {}", outside("id > 0"))).await
    );
    ok(&mut session, "CREATE TABLE empty (a INTEGER, b TEXT)").await;
    assert_eq!(ok(&mut session, "SELECT count(*), min(a), max(b), sum(a) FROM empty").await, ["0|-|-|-"]);
    assert!(ok(&mut session, "SELECT * FROM empty WHERE a > 1").await.is_empty());
    ok(&mut session, "INSERT INTO empty VALUES (NULL, NULL)").await;
    assert_eq!(ok(&mut session, "SELECT count(*), count(a), min(a), max(b) FROM empty").await, ["1|0|-|-"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_type_comes_back_as_it_went_in() {
    let mut session = session(1);
    ok(
        &mut session,
        "CREATE TABLE x (a SMALLINT, b INTEGER, c BIGINT, d REAL, e DOUBLE PRECISION, f DECIMAL(18,4), g DECIMAL(38,0), \
         h CHAR(4), i VARCHAR(3), j TEXT, k DATE, l TIME, m TIMESTAMP, n TIMESTAMP WITH TIME ZONE, o UUID, p BOOLEAN)",
    )
    .await;
    ok(
        &mut session,
        "INSERT INTO x VALUES (-32768, 2147483647, -9223372036854775808, 1.5, -2.25, 99999999999999.9999, \
         99999999999999999999999999999999999999, 'ab  ', 'äöü', 'a longer text than fits a view', '0001-01-01', \
         '23:59:59.999999', '9999-12-31 23:59:59.999999', '2020-01-01 00:00:00+02', \
         '550E8400-E29B-41D4-A716-446655440000', true), \
         (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    )
    .await;
    assert_eq!(
        ok(&mut session, "SELECT * FROM x").await,
        [
            "-32768|2147483647|-9223372036854775808|1.5|-2.25|99999999999999.9999|99999999999999999999999999999999999999|ab|äöü|\
             a longer text than fits a view|0001-01-01|23:59:59.999999|9999-12-31T23:59:59.999999|2019-12-31T22:00:00Z|\
             550e8400-e29b-41d4-a716-446655440000|true",
            "-|-|-|-|-|-|-|-|-|-|-|-|-|-|-|-"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn insert_is_all_or_nothing() {
    let mut session = session(2);
    ok(&mut session, "CREATE TABLE n (a INTEGER NOT NULL, b VARCHAR(3), c SMALLINT, d DATE)").await;
    ok(&mut session, "INSERT INTO n (d, a) VALUES ('2020-02-29', 1)").await;
    assert_eq!(ok(&mut session, "SELECT * FROM n").await, ["1|-|-|2020-02-29"]);
    for (sql, part) in [
        ("INSERT INTO n VALUES (2, 'x', 1, NULL), (NULL, 'y', 1, NULL)", "NOT NULL"),
        ("INSERT INTO n (b) VALUES ('x')", "NOT NULL"),
        ("INSERT INTO n VALUES (2, 'four', 1, NULL)", "character varying(3)"),
        ("INSERT INTO n (a, c) VALUES (2, 32768)", "smallint out of range"),
        ("INSERT INTO n (a, c) SELECT i, i + 0 FROM generate_series(1, 40000) AS g(i)", "smallint out of range"),
        ("INSERT INTO n (a, d) VALUES (2, '2021-02-29')", "2021-02-29"),
        ("INSERT INTO n (a) VALUES (1, 2)", "more expressions than target columns"),
        ("INSERT INTO n (a, z) VALUES (1, 2)", "z"),
        ("INSERT INTO nowhere VALUES (1)", "nowhere does not exist"),
    ] {
        let message = fails(&mut session, sql).await;
        assert!(message.contains(part), "{sql}: {message}");
    }
    assert_eq!(ok(&mut session, "SELECT count(*) FROM n").await, ["1"]);
    for _ in 0..5 {
        ok(&mut session, "INSERT INTO n SELECT a + 1, b, c, d FROM n").await;
    }
    assert_eq!(ok(&mut session, "SELECT count(*), min(a), max(a) FROM n").await, ["32|1|6"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn insert_and_create_as_keep_the_order_that_is_asked_for() {
    let mut session = session(4);
    let numbers = "SELECT 100000 - i AS n, i FROM generate_series(1, 100000) AS g(i)";
    ok(&mut session, "CREATE TABLE o (n BIGINT, i INTEGER, x TEXT)").await;
    ok(&mut session, &format!("INSERT INTO o (n, i) {numbers} ORDER BY n")).await;
    assert_eq!(ok(&mut session, "SELECT n, i, x FROM o LIMIT 2").await, ["0|100000|-", "1|99999|-"]);
    ok(&mut session, "TRUNCATE o").await;
    ok(&mut session, &format!("INSERT INTO o (i, n) SELECT i + 0.4, n FROM ({numbers}) ORDER BY n DESC LIMIT 70000"))
        .await;
    assert_eq!(ok(&mut session, "SELECT n, i FROM o LIMIT 2").await, ["99999|1", "99998|2"]);
    assert_eq!(ok(&mut session, "SELECT count(*), min(n) FROM o").await, ["70000|30000"]);
    ok(&mut session, &format!("CREATE TABLE p AS {numbers} ORDER BY n")).await;
    assert_eq!(ok(&mut session, "SELECT n, i FROM p LIMIT 2").await, ["0|100000", "1|99999"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn views_are_planned_anew_and_may_read_views() {
    let mut session = session(2);
    ok(&mut session, "CREATE TABLE b (a INTEGER, s TEXT)").await;
    ok(&mut session, "CREATE VIEW v (x) AS SELECT a * 2, s FROM b WHERE a > 1").await;
    ok(&mut session, "CREATE VIEW w AS SELECT x + 1 AS y, s FROM v").await;
    ok(&mut session, "INSERT INTO b VALUES (1, 'one'), (2, 'two'), (3, NULL)").await;
    assert_eq!(sorted(&mut session, "SELECT * FROM w").await, ["5|two", "7|-"]);
    assert_eq!(ok(&mut session, "SELECT v.x FROM v, w WHERE v.s = w.s").await, ["4"]);
    assert_eq!(ok(&mut session, "WITH v AS (SELECT 1 AS q) SELECT * FROM v").await, ["1"]);
    assert_eq!(
        ok(
            &mut session,
            "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
        )
        .await,
        ["b|BASE TABLE", "v|VIEW", "w|VIEW"]
    );
    assert_eq!(
        ok(&mut session, "SELECT column_name FROM information_schema.columns WHERE table_name = 'w' ORDER BY 1").await,
        ["s", "y"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn integer_overflow_is_an_error() {
    let mut session = session(2);
    ok(&mut session, "CREATE TABLE i (a INTEGER, b BIGINT, s SMALLINT)").await;
    ok(&mut session, "INSERT INTO i VALUES (2147483647, 9223372036854775807, 32767), (NULL, 5, 2)").await;
    for sql in [
        "SELECT a + a FROM i",
        "SELECT b + 1 FROM i",
        "SELECT b * 2 FROM i WHERE b > 5",
        "SELECT -b - 2 FROM i",
        "SELECT 9223372036854775807 + 1",
        "SELECT s * s * s * s * s * s FROM i",
        "SELECT sum(b)::bigint FROM i, generate_series(1, 2)",
    ] {
        let message = fails(&mut session, sql).await;
        assert!(message.contains("out of range") || message.contains("overflow"), "{sql}: {message}");
    }
    assert_eq!(
        ok(&mut session, "SELECT a - 1, b - 7, -s, a + NULL FROM i WHERE s > 2").await,
        ["2147483646|9223372036854775800|-32767|-"]
    );
    assert_eq!(ok(&mut session, "SELECT 1 + 2 * 3 - -4 LIMIT 2 - 1").await, ["11"]);
    assert_eq!(ok(&mut session, "SELECT count(*) FROM i GROUP BY a - 1 + 1 HAVING count(*) + 1 > 1").await, ["1", "1"]);
    assert_eq!(ok(&mut session, "SELECT DATE '2020-01-31' + 1, 0.1 + 0.2, 7 / 2, 7 % 4").await, ["2020-02-01|0.3|3|3"]);
    assert_eq!(ok(&mut session, "SELECT sum(b), sum(b - 5) FROM i WHERE a IS NULL").await, ["5|0"]);
    assert_eq!(
        sorted(&mut session, "SELECT s, sum(b), sum(a), sum(DISTINCT b) FROM i GROUP BY s").await,
        ["2|5|-|5", "32767|9223372036854775807|2147483647|9223372036854775807"]
    );
    assert_eq!(ok(&mut session, "SELECT sum(x) FROM (SELECT b AS x FROM i UNION ALL SELECT -b FROM i)").await, ["0"]);
    assert_eq!(
        ok(&mut session, "SELECT sum(b) OVER (ORDER BY a NULLS FIRST) FROM (SELECT 1 a, 2 b UNION ALL SELECT 2, 3)")
            .await,
        ["2", "5"]
    );
    assert_eq!(ok(&mut session, "SELECT sum(b) FROM i WHERE a < 0").await, ["-"]);
    assert!(fails(&mut session, "SELECT 1 / 0").await.contains("division by zero"));
}

#[tokio::test(flavor = "multi_thread")]
async fn casts_mean_what_they_mean_in_postgresql() {
    let mut session = session(1);
    ok(&mut session, "CREATE TABLE c (b BYTEA, i INTEGER, d DECIMAL(5,1))").await;
    ok(&mut session, "INSERT INTO c VALUES ('\\x00ff', 2.5, 0.25), ('ab', -2.5, -0.25), (NULL, 1.49, NULL)").await;
    assert_eq!(
        ok(&mut session, "SELECT CAST(b AS TEXT), i, d FROM c").await,
        ["\\x00ff|3|0.3", "\\x6162|-3|-0.3", "-|1|-"]
    );
    assert_eq!(ok(&mut session, "SELECT count(*) FROM c WHERE b = '\\x6162'::bytea").await, ["1"]);
    assert_eq!(ok(&mut session, "SELECT 1.5::int, -0.5::smallint, 0.49::bigint, '12'::int").await, ["2|-1|0|12"]);
    assert!(fails(&mut session, "INSERT INTO c (b) VALUES ('\\x0')").await.contains("odd number"));
    assert!(fails(&mut session, "SELECT 3000000000.0::int").await.contains("out of range"));
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_speak_of_what_the_user_wrote() {
    let mut session = session(1);
    ok(&mut session, "CREATE TABLE e (a INTEGER)").await;
    for (sql, kind, part) in [
        ("SELECT * FROM missing", ErrorKind::NotFound, "relation \"missing\" does not exist"),
        ("SELECT z FROM e", ErrorKind::NoColumn, "z"),
        ("SELECT CAST('x' AS INTEGER)", ErrorKind::InvalidText, "invalid input syntax for type integer: \"x\""),
        ("SELECT nofunction(1)", ErrorKind::NoFunction, "nofunction"),
        ("SELECT a FROM e, e AS f", ErrorKind::Ambiguous, "a"),
        ("SELECT a, count(*) FROM e", ErrorKind::Grouping, "GROUP BY"),
        ("SELECT * FROM e JOIN e AS f USING (z)", ErrorKind::NoColumn, "z"),
        ("INSERT INTO e (z) VALUES (1)", ErrorKind::NoColumn, "z"),
        ("INSERT INTO e VALUES (1) ON CONFLICT (a) DO NOTHING", ErrorKind::ConflictTarget, "just these columns"),
        ("INSERT INTO e VALUES (1) ON CONFLICT (z) DO NOTHING", ErrorKind::NoColumn, "z"),
        ("UPDATE e SET z = 1", ErrorKind::NoColumn, "z"),
        ("UPDATE missing SET z = 1", ErrorKind::NotFound, "missing"),
        ("DELETE FROM e WHERE z = 1", ErrorKind::NoColumn, "z"),
        ("ALTER TABLE e DROP COLUMN z", ErrorKind::NoColumn, "z"),
        ("ALTER TABLE e DROP CONSTRAINT z", ErrorKind::NoObject, "z"),
        ("CREATE INDEX i ON e (z)", ErrorKind::NoColumn, "z"),
        ("DROP INDEX z", ErrorKind::NoObject, "z"),
        ("COPY e (z) FROM 'x.csv'", ErrorKind::NoColumn, "z"),
    ] {
        let error = run(&mut session, sql).await.expect_err(sql);
        assert!(error.kind() == kind && error.to_string().contains(part), "{sql}: {:?}: {error}", error.kind());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_query_ends_soon_and_the_session_goes_on() {
    let mut session = session(2);
    let control = session.control();
    let canceller = tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        control.cancel();
    });
    let started = std::time::Instant::now();
    // Few rows on one side: a worker that is stopped first tries a batch of the other side with all of them.
    let sql =
        "SELECT count(*) FROM generate_series(1, 5000) a(i), generate_series(1, 1000000000000) b(j) WHERE i + j = 3";
    let error = run(&mut session, sql).await.expect_err("it would take days");
    canceller.await.expect("the canceller ends");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(ok(&mut session, "SELECT count(*) FROM generate_series(1, 10)").await, ["10"]);
    assert!(started.elapsed().as_secs() < 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_join_that_sorts_takes_zeros_for_equal() {
    // A hash table of one side does not fit, so that both are sorted and merged.
    let database = open(Config { threads: 2, memory_limit: Some(100 << 20), ..Config::default() });
    let side = |zero: &str, other: &str, every: u8, letter: &str| {
        format!(
            "(SELECT CASE WHEN i % {every} = 0 THEN '{zero}'::float8 ELSE '{other}'::float8 END AS f, i, repeat('{letter}', \
             100) AS t FROM generate_series(1, 1000000) AS g(i))"
        )
    };
    let (left, right) = (side("-0", "0", 2, "x"), side("0", "-0", 3, "y"));
    let sql = format!(
        "SELECT count(*), max(length(a.t || b.t)) FROM {left} AS a JOIN {right} AS b ON a.f = b.f AND a.i = b.i"
    );
    assert_eq!(ok(&mut database.session(), &sql).await, ["1000000|200"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_heed_the_memory_limit() {
    let database = open(Config { threads: 1, memory_limit: Some(4 << 20), ..Config::default() });
    let mut session = database.session();
    let sql = "SELECT i, count(*) FROM generate_series(1, 200000) AS g(i) GROUP BY i ORDER BY 2 DESC, 1 LIMIT 1";
    match run(&mut session, sql).await {
        // Aggregations spill to temporary files when they can.
        Ok(rows) => assert_eq!(rows, ["1|1"]),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Memory, "{error}"),
    }
    let sql = "SELECT max(array_length(a)) FROM (SELECT array_agg(i) AS a FROM generate_series(1, 1250000) AS g(i))";
    let error = run(&mut session, sql).await.expect_err("an array of 10 MB");
    assert!(error.kind() == ErrorKind::Memory && error.to_string().contains("--memory-limit"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sorts_of_several_threads_leave_memory_to_each_other() {
    // Which thread asks first differs from run to run.
    let limited = Config { threads: 4, memory_limit: Some(16 << 20), ..Config::default() };
    for (config, limit) in [(Config { threads: 4, ..Config::default() }, "4MB"), (limited, "1GB")] {
        let database = open(config);
        let mut session = database.session();
        let table = "CREATE TABLE rows AS SELECT (g * 7919) % 100003 AS n, 'text ' || g AS t \
                     FROM generate_series(1, 100002) AS g";
        ok(&mut session, table).await;
        ok(&mut session, &format!("SET query_memory_limit = '{limit}'")).await;
        for _ in 0..share(20) {
            assert_eq!(ok(&mut session, "SELECT n FROM rows ORDER BY n DESC, t OFFSET 100000").await, ["2", "1"]);
        }
    }
}
