//! What is run without the planner against the same statement as text, which the planner sees to.

use arrow::util::display::{ArrayFormatter, FormatOptions};
use arrow_array::RecordBatch;
use futures::TryStreamExt;
use longshore_storage::Datum;
use longshore_testing::Random;

use crate::prepared::Prepared;
use crate::sql::parameters::literal;
use crate::{Config, Database, Outcome, Session};

/// Rows of one value of `a` that are too many to be read one by one.
const MANY: i64 = 1_500;

/// Names and types of columns, and the rows as text; of a statement without rows its tag.
async fn said(outcome: Outcome) -> (Vec<String>, Vec<String>) {
    let rows = match outcome {
        Outcome::Done { tag, .. } => return (Vec::new(), vec![tag]),
        Outcome::Rows(rows) => rows,
    };
    let of_field = |field: &arrow_schema::FieldRef| format!("{} {}", field.name(), field.data_type());
    let columns = rows.schema().fields().iter().map(of_field).collect();
    let batches: Vec<RecordBatch> = rows.try_collect().await.expect("the rows come");
    let options = FormatOptions::default().with_null("-");
    let text = |batch: &RecordBatch, row: usize| {
        let value = |array| ArrayFormatter::try_new(array, &options).expect("it has a text").value(row).to_string();
        batch.columns().iter().map(|array| value(array.as_ref())).collect::<Vec<_>>().join("|")
    };
    let rows = batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |row| text(batch, row)));
    (columns, rows.collect())
}

async fn run(session: &mut Session, sql: &str) -> (Vec<String>, Vec<String>) {
    said(session.execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"))).await
}

async fn filled() -> Session {
    let database = Database::open(Config { threads: 2, ..Config::default() }).expect("a database opens");
    let mut session = database.session();
    for sql in [
        "CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, c INT, d DECIMAL(12,2), w DECIMAL(30,3), v VARCHAR(20) NOT NULL, \
         h CHAR(3), s SMALLINT, big BIGINT, ts TIMESTAMP NOT NULL, f DOUBLE PRECISION, PRIMARY KEY (a, b) USING art)",
        &format!(
            "INSERT INTO t SELECT CASE WHEN n < {MANY} THEN 99 ELSE n % 37 END, n, CASE WHEN n % 11 = 0 THEN NULL ELSE n % 13 END, \
             n / 4.0, CASE WHEN n % 5 = 0 THEN NULL ELSE n * 1000003.125 END, 'v' || (n * 7919) % 1000, \
             'h' || n % 7, n % 100, n % 41, to_timestamp_seconds(981173106 + n * 60), n / 8.0 \
             FROM (SELECT CAST(value AS INT) AS n FROM generate_series(0, 3999) AS s(value)) AS g"
        ),
        "CREATE INDEX by_c ON t USING art (c, v)",
        "CREATE INDEX by_big ON t USING hash (big)",
        "CREATE INDEX by_h ON t USING art (h, ts, b)",
        "CREATE UNIQUE INDEX by_b ON t USING hash (b)",
    ] {
        run(&mut session, sql).await;
    }
    session
}

/// A value of a parameter: of `a`, `b`, `c` and so on, as it is called in the text of a statement.
fn random_value(random: &mut Random, of: char) -> Datum<'static> {
    match of {
        'a' if random.below(8) == 0 => Datum::I64(99),
        'a' => Datum::I64(random.below(40) as i64),
        'b' => Datum::I64(random.below(4_100) as i64),
        'c' => Datum::I64(random.below(14) as i64),
        'g' => Datum::I64(random.below(43) as i64),
        'h' => Datum::Text(random.pick(&["h0", "h3", "h6", "none"])),
        'v' => Datum::Text(random.pick(&["v1", "v37", "v5", "v9", ""])),
        _ => Datum::I64(random.below(5) as i64),
    }
}

/// A statement whose parameters are written `:a`, `:b` and so on: with `$1`, `$2` and so on, and as text.
fn written(template: &str, random: &mut Random) -> (String, Vec<Datum<'static>>, String) {
    let (mut sql, mut text, mut values) = (String::new(), String::new(), Vec::new());
    let mut letters = template.chars();
    while let Some(letter) = letters.next() {
        if letter == ':' {
            let mut value = random_value(random, letters.next().expect("a parameter has a name"));
            if random.below(40) == 0 && !template.contains("LIMIT") {
                value = Datum::Null;
            }
            values.push(value);
            sql.push('$');
            sql.push_str(&values.len().to_string());
            text.push_str(&literal(value).to_string());
        } else {
            sql.push(letter);
            text.push(letter);
        }
    }
    (sql, values, text)
}

#[tokio::test(flavor = "multi_thread")]
async fn selects_give_what_the_planner_gives() {
    let mut session = filled().await;
    let mut random = Random::new(7);
    for round in 0..10 {
        if round == 5 {
            run(&mut session, "BEGIN").await;
            run(&mut session, "UPDATE t SET a = a + 1, v = 'v5' WHERE b % 10 = 3").await;
            run(&mut session, "UPDATE t SET d = d + 1, c = NULL WHERE b % 7 = 3").await;
            run(&mut session, "DELETE FROM t WHERE b % 9 = 4").await;
        }
        for template in [
            "SELECT * FROM t WHERE b = :b",
            "SELECT b, d AS other FROM t WHERE a = :a",
            "SELECT x.b, w, v, h, s, f, ts FROM t AS x WHERE x.a = :a AND :b < x.b",
            "SELECT b FROM t WHERE a = :a AND b BETWEEN :b AND :b",
            "SELECT b FROM t WHERE (a = :a AND b >= :b) AND b < :b ORDER BY b",
            "SELECT b, c FROM t WHERE a = :a ORDER BY b DESC",
            "SELECT b FROM t WHERE a = :a ORDER BY a, b LIMIT :l",
            "SELECT b FROM t WHERE a > :a ORDER BY a DESC, b DESC LIMIT 3",
            "SELECT a, b FROM t ORDER BY a, b LIMIT 5",
            "SELECT c, b FROM t WHERE c = :c",
            "SELECT count(*), count(*) FROM t WHERE c = :c AND v = :v",
            "SELECT count(*) FROM t WHERE c = :c AND v > :v",
            "SELECT v FROM t WHERE c = :c ORDER BY v LIMIT 2",
            "SELECT b FROM t WHERE big = :g",
            "SELECT b FROM t WHERE h = :h AND ts < :n ORDER BY ts, b",
            "SELECT b FROM t WHERE h = :h ORDER BY ts DESC, b DESC LIMIT 4",
            "SELECT min(b) FROM t WHERE a = :a",
            "SELECT max(b) AS last FROM t WHERE a = :a AND b < :b",
            "SELECT max(a) FROM t",
            "SELECT min(v) FROM t WHERE c = :c",
            "SELECT count(*), count(w), sum(s), sum(big), sum(d), sum(w), min(d), max(ts) FROM t WHERE a = :a",
            "SELECT sum(x.b), min(c), max(c) AS most, min(ts) FROM t x WHERE x.h = :h AND x.ts >= :n",
            "SELECT sum(d) FROM t WHERE c = :c AND v = :v",
        ] {
            let (sql, mut values, mut text) = written(template, &mut random);
            if template.contains(":n") {
                // As columns of timestamps take it, and as text.
                let at = 981_173_106_000_000 + random.below(4_000) * 60_000_000;
                let last = values.len() - 1;
                let before = literal(values[last]).to_string();
                values[last] = Datum::I64(at as i64);
                let rest = text.rfind(&before).expect("it is there");
                let moment = format!("TIMESTAMP '1970-01-01' + INTERVAL '{} seconds'", at / 1_000_000);
                text.replace_range(rest..rest + before.len(), &moment);
            }
            let prepared = session.prepare(&sql).expect("it can be prepared");
            assert!(prepared.point_query.is_some(), "{sql} goes through the planner");
            let outcome = session.execute_prepared(&prepared, &values).await;
            let mut point_query = said(outcome.unwrap_or_else(|error| panic!("{text}: {error}"))).await;
            let mut planned = run(&mut session, &text).await;
            if !template.contains("ORDER BY") || template.contains("SELECT v FROM") {
                point_query.1.sort();
                planned.1.sort();
            }
            assert_eq!(point_query, planned, "{text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_those_of_the_planner() {
    let mut session = filled().await;
    let mut random = Random::new(11);
    for _ in 0..6 {
        for template in [
            "UPDATE t SET d = :l, s = s + 1 WHERE a = :a AND b = :b",
            "UPDATE t SET d = d - :l, f = NULL, s = :l WHERE a = :a",
            "UPDATE t SET s = s - 1, d = NULL WHERE a = :a AND b BETWEEN :b AND :b",
            "UPDATE t SET d = :l WHERE c = :c AND v < :v",
            "UPDATE t SET d = :l WHERE big = :g",
            "DELETE FROM t WHERE b = :b",
            "DELETE FROM t WHERE a = :a AND b < :b",
            "DELETE FROM t WHERE c = :c",
        ] {
            let (sql, values, text) = written(template, &mut random);
            let prepared = session.prepare(&sql).expect("it can be prepared");
            assert!(prepared.point_query.is_some(), "{sql} goes through the planner");
            let mut outcomes = Vec::new();
            for is_fast in [true, false] {
                run(&mut session, "BEGIN").await;
                let tag = if is_fast {
                    said(session.execute_prepared(&prepared, &values).await.expect("it can be done")).await
                } else {
                    run(&mut session, &text).await
                };
                let (_, mut rows) = run(&mut session, "SELECT * FROM t").await;
                rows.sort();
                outcomes.push((tag, rows));
                run(&mut session, "ROLLBACK").await;
            }
            assert!(outcomes[0] == outcomes[1], "{text}: {:?}, not {:?}", outcomes[0].0, outcomes[1].0);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_understood_goes_through_the_planner() {
    let session = filled().await;
    for sql in [
        "SELECT b FROM t",
        "SELECT b FROM t WHERE a = 1 OR a = 2",
        "SELECT b FROM t WHERE b > 5",
        "SELECT b FROM t WHERE a = 1 AND d = 5",
        "SELECT b FROM t WHERE c > 1",
        "SELECT b, b FROM t WHERE b = 1",
        "SELECT b FROM t WHERE a = 1 AND b > 1 AND b > 2",
        "SELECT b FROM t WHERE a = 1 AND b NOT BETWEEN 1 AND 2",
        "SELECT b FROM t WHERE a = 1 ORDER BY v",
        "SELECT v AS b FROM t WHERE a = 1 ORDER BY b",
        "SELECT b FROM t WHERE a = 1 ORDER BY b LIMIT 1 OFFSET 1",
        "SELECT b FROM t WHERE a > 1 ORDER BY a, b DESC LIMIT 1",
        "SELECT b FROM t ORDER BY a, b",
        "SELECT DISTINCT v FROM t WHERE a = 1",
        "SELECT c FROM t WHERE c > 0 ORDER BY c LIMIT 1",
        "SELECT min(c) FROM t",
        "SELECT count(DISTINCT v) FROM t WHERE a = 1",
        "SELECT count(*) FILTER (WHERE b > 1) FROM t WHERE a = 1",
        "SELECT sum(b + 1) FROM t WHERE a = 1",
        "SELECT sum(f) FROM t WHERE a = 1",
        "SELECT min(v) FROM t WHERE a = 1",
        "SELECT count(*), v FROM t WHERE a = 1 GROUP BY v",
        "SELECT count(*) FROM t WHERE a = 1 HAVING count(*) > 1",
        "UPDATE t SET b = b + 1 WHERE a = 1",
        "UPDATE t SET d = 1",
        "DELETE FROM t",
        "DELETE FROM t WHERE a = 1 AND d = 1",
    ] {
        let parsed = crate::sql::parse(sql).expect("it can be parsed");
        let prepared = Prepared::of(parsed, Vec::new(), &session.database().catalog).expect("it can be prepared");
        assert!(prepared.point_query.is_none(), "{sql} does not go through the planner");
    }
}
