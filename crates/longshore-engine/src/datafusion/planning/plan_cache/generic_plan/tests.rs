//! Generic plans answer as plans that are made for their values do, whichever execution it is and whatever has changed.

use datafusion::arrow::util::pretty::pretty_format_batches;
use futures::TryStreamExt;
use longshore_storage::Datum;
use longshore_testing::Random;

use super::Kept;
use crate::prepared::Prepared;
use crate::{Config, Database, Outcome, Session};

const ROWS: i64 = 3000;

/// Statements with parameters that are whole numbers, the last one a text; and whether their rows come in an order.
const QUERIES: &[(&str, bool)] = &[
    ("SELECT n + 1 AS m, s FROM t WHERE id = $1", true),
    ("SELECT n + $2 AS m, s || $3 AS x FROM t WHERE id = $1", true),
    ("SELECT id, coalesce(n, $2) AS n FROM t WHERE id = $1 AND s <> $3", true),
    ("SELECT id, n FROM t WHERE id IN ($1, $2, $1 + 5)", false),
    ("SELECT id, n FROM t WHERE id IN ($1, $2, 3, 4, 5, 6, 7)", false),
    ("SELECT id, n FROM t WHERE id < 20 AND id NOT IN ($1, $2)", false),
    ("SELECT id, n IN (1, $2, NULL) AS i, n NOT IN ($1, 2) AS o FROM t WHERE id = $1", true),
    ("SELECT string_agg(s, $3 ORDER BY id) AS a, count(*) FILTER (WHERE n > $2) AS c FROM t WHERE id < $1", true),
    ("SELECT id, n FROM t WHERE id BETWEEN $1 AND $1 + 7 ORDER BY n DESC, id", true),
    ("SELECT id FROM t WHERE id > $1 ORDER BY s, id LIMIT 4", true),
    ("SELECT id, s FROM t WHERE id = $1 OR id = $2 ORDER BY id", true),
    ("SELECT id, s FROM t WHERE id = $1 + 1 AND n < $2 * 2", true),
    ("SELECT id FROM t WHERE id IN ($1, $2 - 3, abs($1)) AND s > $3", false),
    ("SELECT id FROM t WHERE id = 1000 / $1", true),
    ("SELECT count(*), sum(n), min(s), avg(n) FROM t WHERE id >= $1 AND id < $1 + $2", true),
    ("SELECT sum(n) FROM u WHERE t_id = $1 AND n > 10", true),
    ("SELECT n % 3 AS k, count(*) FROM u WHERE t_id = $1 GROUP BY n % 3", false),
    ("SELECT n % 3 AS k FROM u WHERE t_id = $1 GROUP BY n % 3 HAVING count(*) > $2", false),
    ("SELECT DISTINCT n % 2 AS k FROM u WHERE t_id IN ($1, $2)", false),
    ("SELECT t.id, u.n FROM t JOIN u ON u.t_id = t.id WHERE t.id = $1", false),
    ("SELECT t.id, u.n FROM t LEFT JOIN u ON u.t_id = t.id AND u.n > $2 WHERE t.id = $1", false),
    ("SELECT t.id, u.n FROM u RIGHT JOIN t ON u.t_id = t.id AND u.n > $2 WHERE t.id IN ($1, $2)", false),
    ("SELECT t.id, u.n, u.id % 5 AS k FROM t JOIN u ON u.t_id = t.id AND u.n <> t.n + $2 WHERE t.id = $1", false),
    ("SELECT id FROM t WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM u WHERE u.t_id = t.id AND u.n > $2)", true),
    ("SELECT id FROM t WHERE id IN ($1, $2) AND s NOT IN (SELECT s FROM t WHERE id = $2)", false),
    (
        "SELECT t.n, count(u.id), count(DISTINCT u.n), max(t.s) FROM t LEFT JOIN u ON u.t_id = t.id WHERE t.id IN ($1, $2) GROUP BY t.n",
        false,
    ),
    (
        "SELECT n % 2 AS k, avg(n), sum(n), bool_or(n > 5), min(n) FILTER (WHERE n > 400), stddev(n) FROM u WHERE t_id = $1 GROUP BY 1",
        false,
    ),
    (
        "SELECT avg(n), sum(n) FILTER (WHERE n < 0), array_agg(n) IS NULL AS a, median(n), max(id % 3) FROM u WHERE t_id = $1",
        true,
    ),
    ("SELECT s, c, count(*) FROM t WHERE id BETWEEN $1 AND $1 + 40 GROUP BY s, c HAVING count(*) > 3", false),
    ("SELECT DISTINCT s, n IS NULL AS b FROM t WHERE id BETWEEN $1 AND $1 + 40", false),
    ("SELECT a.id, b.id AS other FROM t a, t b WHERE a.id = $1 AND b.id = $2", true),
    ("SELECT a.id, b.id AS other FROM t a JOIN t b ON a.n < b.n WHERE a.id = $1 AND b.id = $2", true),
    ("SELECT a.id FROM t a JOIN t b ON a.id = b.id + 1 JOIN u ON u.t_id = b.id WHERE b.id = $1", false),
    (
        "SELECT id FROM t WHERE n % 2 * -0.0::double precision IN (SELECT u.n * 0.0::double precision FROM u WHERE t_id = $1)",
        false,
    ),
    (
        "SELECT (n % 3 - 1) * 0.0::double precision + 0 AS z, count(*) AS c FROM t WHERE id < $1 GROUP BY (n % 3 - 1) * 0.0::double precision",
        false,
    ),
    ("SELECT max(h) AS h FROM (SELECT 1 AS h UNION ALL (SELECT id FROM t WHERE id = $1 LIMIT 0)) AS s", true),
    ("SELECT EXISTS (SELECT 1 FROM t WHERE id = $1) AS e", true),
    ("SELECT EXISTS (SELECT 1 FROM u WHERE t_id = $1 AND n = $2) AND $3 <> 'b' AS e", true),
    ("SELECT id FROM t WHERE id = $1 AND EXISTS (SELECT 1 FROM u WHERE u.t_id = t.id AND u.t_id = $1)", true),
    ("SELECT id FROM t WHERE id = $1 AND n IN (SELECT n FROM u WHERE t_id = $2)", true),
    ("SELECT id, (SELECT max(n) FROM u WHERE t_id = $1) AS m FROM t WHERE id = $2", true),
    ("SELECT CASE WHEN n > $2 THEN $3 ELSE s END AS c FROM t WHERE id = $1", true),
    ("SELECT id FROM t WHERE id = $1 AND s LIKE $3", true),
    ("SELECT id FROM t WHERE id = $1 AND (n = $2 OR $2 IS NULL)", true),
    ("SELECT id FROM t WHERE id = $1 AND n IS NOT DISTINCT FROM $2", true),
    ("SELECT id FROM t WHERE id = $1 AND c = $3", true),
    ("SELECT 10 / n AS q FROM t WHERE id = $1", true),
    ("SELECT id, 10 / $2 AS q FROM t WHERE id = $1", true),
    ("SELECT $1 + 1 AS n, $3 || 'x' AS x", true),
    ("SELECT $1 / $2 AS q WHERE $1 > 3", true),
    ("SELECT id % 7 AS r, s FROM t WHERE id BETWEEN $1 AND $1 + 30 AND s <> $3 ORDER BY id % 7 DESC, id LIMIT 3", true),
    ("SELECT id FROM t WHERE id = $1 UNION ALL SELECT n FROM u WHERE t_id = $1", false),
    ("WITH x AS (SELECT id, n FROM t WHERE id = $1) SELECT x.id, y.n FROM x JOIN x y ON x.id = y.id", true),
    ("SELECT id FROM t WHERE d = $1 AND id < $2", false),
    ("SELECT id, n FROM t WHERE n < $1", false),
    ("SELECT id, s FROM t WHERE id = $1 AND now() > '2020-01-01' AND current_date >= DATE '2020-01-01'", true),
    (
        "SELECT now() = transaction_timestamp() AS e, id, date_trunc('day', now()) <= now() AS d FROM t WHERE id = $1",
        true,
    ),
    ("SELECT id FROM t WHERE id > $1 AND id < $1 + 30 ORDER BY id LIMIT 3", true),
    ("SELECT id FROM t WHERE id > 90 AND id < $1 ORDER BY id LIMIT $2", true),
    ("SELECT id FROM t WHERE id > $1 AND id < $1 + 30 ORDER BY s, id LIMIT 5 OFFSET $2 % 3", true),
    ("SELECT sum(n + $2) AS a, string_agg(s, $3 ORDER BY id) AS b FROM t WHERE id > 4 AND id < $1", true),
    ("SELECT id, (SELECT count(*) FROM u WHERE u.t_id = t.id) AS c FROM t WHERE id = $1", true),
    ("SELECT u.id, t.n FROM u LEFT JOIN t ON t.id = u.t_id WHERE u.id = $1", true),
    ("SELECT a.id, b.n, u.n FROM t a JOIN t b ON b.id = a.n LEFT JOIN u ON u.t_id = b.id WHERE a.id = $1", false),
    ("SELECT id FROM t WHERE id IN (SELECT t_id FROM u WHERE u.id = $1 OR u.id = $2)", false),
    ("SELECT id, row_number() OVER (ORDER BY n) AS r FROM t WHERE id IN ($1, $2)", false),
];

fn number(random: &mut Random) -> Datum<'static> {
    match random.below(12) {
        0 => Datum::Null,
        1 => Datum::I64(-1),
        2 => Datum::I64(ROWS),
        3..8 => Datum::I64(random.below(20) as i64),
        _ => Datum::I64(random.below(ROWS as usize) as i64),
    }
}

fn text(random: &mut Random) -> Datum<'static> {
    random.pick(&[Datum::Null, Datum::Text("a"), Datum::Text("b"), Datum::Text("a%"), Datum::Text("")])
}

pub(super) async fn run(session: &mut Session, sql: &str) {
    session.execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// The rows, or the error, as text.
pub(super) async fn told(outcome: Result<Outcome, crate::Error>, is_ordered: bool) -> String {
    let rows = match outcome {
        Ok(Outcome::Rows(rows)) => rows.try_collect::<Vec<_>>().await,
        Ok(Outcome::Done { report, .. }) => return format!("{} rows", report.rows),
        Err(error) => Err(error),
    };
    let batches = match rows {
        Ok(batches) => batches,
        Err(error) => return error.to_string(),
    };
    let text = pretty_format_batches(&batches).expect("they can be shown").to_string();
    let mut lines: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).skip(1).map(str::trim_end).collect();
    if !is_ordered {
        lines.sort_unstable();
    }
    // Columns are as wide as their widest value.
    lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join("\n")
}

fn with_literals(sql: &str, values: &[Datum<'_>]) -> String {
    let mut text = sql.to_owned();
    for (number, value) in values.iter().enumerate().rev() {
        let literal = match value {
            Datum::I64(value) => format!("({value}::bigint)"),
            Datum::Text(value) => format!("('{value}'::text)"),
            _ if number == 2 => "(NULL::text)".to_owned(),
            _ => "(NULL::bigint)".to_owned(),
        };
        text = text.replace(&format!("${}", number + 1), &literal);
    }
    text
}

pub(super) fn uses_generic_plan(prepared: &Prepared) -> bool {
    prepared.plans.kept().iter().any(|kept| {
        let Some(plan) = &kept.plan else { return false };
        matches!(&*plan.generic.0.lock().expect("nobody panicked"), Kept::Idle(plans) if !plans.is_empty())
    })
}

async fn filled() -> Session {
    let database = Database::open(Config { threads: 2, ..Config::default() }).expect("a database opens");
    let mut session = database.session();
    for sql in [
        "CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT, s TEXT, c CHAR(3), d BIGINT)",
        "CREATE TABLE u (id BIGINT PRIMARY KEY, t_id BIGINT, n BIGINT)",
        "CREATE INDEX u_t ON u (t_id)",
        "CREATE INDEX t_d ON t USING hash (d)",
    ] {
        run(&mut session, sql).await;
    }
    run(
        &mut session,
        &format!(
            "INSERT INTO t SELECT g, nullif(g % 17, 5), chr(97 + (g % 3)::int), chr(97 + (g % 2)::int), g % 500 \
             FROM generate_series(0, {}) AS x (g)",
            ROWS - 1
        ),
    )
    .await;
    run(&mut session, "INSERT INTO u SELECT g, (g * 7) % 1000, g % 29 FROM generate_series(0, 4999) AS x (g)").await;
    session
}

#[tokio::test(flavor = "multi_thread")]
async fn generic_plans_answer_as_others_do() {
    let mut session = filled().await;
    let mut random = Random::new(7);
    let mut generic = 0;
    for (sql, is_ordered) in QUERIES {
        let count = (1..=3).rev().find(|number| sql.contains(&format!("${number}"))).expect("it has parameters");
        let prepared = session.prepare(sql).expect(sql);
        let mut used = false;
        for round in 0..24 {
            let values = [number(&mut random), number(&mut random), text(&mut random)];
            let values = &values[..count];
            // An error ends a block.
            let may_fail = sql.contains('/') || sql.contains("LIMIT $");
            let is_block = round % 8 == 5 && !may_fail;
            if is_block {
                run(&mut session, "BEGIN").await;
                run(&mut session, &format!("UPDATE t SET n = n + 1 WHERE id = {}", random.below(20))).await;
                run(&mut session, &format!("INSERT INTO u VALUES ({}, 3, 4)", 5000 + random.below(1_000_000_000)))
                    .await;
            }
            let with_plan = told(session.execute_prepared(&prepared, values).await, *is_ordered).await;
            used |= uses_generic_plan(&prepared);
            let literal = with_literals(sql, values);
            let expected = told(session.execute(&literal).await, *is_ordered).await;
            assert_eq!(with_plan, expected, "round {round}: {literal}");
            if is_block {
                run(&mut session, if random.once_in(2) { "ROLLBACK" } else { "COMMIT" }).await;
            }
        }
        generic += usize::from(used);
    }
    assert!(generic >= 34, "{generic} of {} queries had generic plans", QUERIES.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_does_not_serve_some_values_stays_for_others() {
    let mut session = filled().await;
    let prepared = session.prepare("SELECT count(*) + 0 AS c FROM t WHERE id > $1").expect("it is one");
    for (id, expected) in [(2990, "| 9 |"), (2991, "| 8 |"), (5, "| 2994 |"), (6, "| 2993 |"), (2992, "| 7 |")] {
        let rows = session.execute_prepared(&prepared, &[Datum::I64(id)]).await;
        assert_eq!(told(rows, true).await, expected);
        assert_eq!(uses_generic_plan(&prepared), id != 2990, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn generic_plans_find_what_is_changed() {
    let mut session = filled().await;
    for sql in [
        "UPDATE t SET n = n * 2 + 1 WHERE id = $1 AND s <> $2",
        "UPDATE t SET n = u.n FROM u WHERE u.t_id = t.id AND t.id = $1 AND $2 <> 'x'",
        "DELETE FROM t WHERE id = $1 AND coalesce(s, '') <> $2",
    ] {
        let prepared = session.prepare(sql).expect("it is one");
        let mut changed = 0;
        for id in 0..40 {
            let values = [Datum::I64(id * 3), Datum::Text(if id % 4 == 0 { "a" } else { "b" })];
            run(&mut session, "BEGIN").await;
            let count = told(session.execute_prepared(&prepared, &values).await, true).await;
            let after = told(session.execute("SELECT count(*), sum(n) FROM t").await, true).await;
            run(&mut session, "ROLLBACK").await;
            run(&mut session, "BEGIN").await;
            let text = sql.replace("$1", &(id * 3).to_string()).replace("$2", if id % 4 == 0 { "'a'" } else { "'b'" });
            assert_eq!(count, told(session.execute(&text).await, true).await, "{text}");
            assert_eq!(after, told(session.execute("SELECT count(*), sum(n) FROM t").await, true).await, "{text}");
            run(&mut session, "ROLLBACK").await;
            changed += usize::from(count != "0 rows");
        }
        assert!(changed > 5, "{sql}");
        assert!(uses_generic_plan(&prepared), "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_sessions_share_a_statement() {
    let session = filled().await;
    let database = std::sync::Arc::clone(session.database());
    let prepared = std::sync::Arc::new(session.prepare("SELECT n + $2 AS m FROM t WHERE id = $1").expect("it is one"));
    let tasks: Vec<_> = (0..8_i64)
        .map(|task| {
            let (database, prepared) = (std::sync::Arc::clone(&database), std::sync::Arc::clone(&prepared));
            tokio::spawn(async move {
                let mut session = database.session();
                for round in 0..200_i64 {
                    let (id, add) = ((task * 331 + round * 7) % ROWS, task * 1000 + round);
                    let rows = session.execute_prepared(&prepared, &[Datum::I64(id), Datum::I64(add)]).await;
                    let expected = if id % 17 == 5 { "| |".to_owned() } else { format!("| {} |", id % 17 + add) };
                    assert_eq!(told(rows, true).await, expected, "{id}");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("it ends");
    }
}
