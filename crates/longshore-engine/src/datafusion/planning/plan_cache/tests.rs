//! Which plans are kept, and until when.

use std::slice::from_ref;
use std::sync::Arc;

use longshore_storage::Datum;

use super::Plan;
use crate::prepared::Prepared;
use crate::{Config, Database, Outcome, Session};

async fn run(session: &mut Session, sql: &str) {
    session.execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

async fn execute(session: &mut Session, prepared: &Prepared, values: &[Datum<'_>]) -> Vec<Option<Arc<Plan>>> {
    let outcome = session.execute_prepared(prepared, values).await;
    if let Outcome::Rows(rows) = outcome.unwrap_or_else(|error| panic!("{}: {error}", prepared.statement)) {
        drop(rows);
    }
    prepared.plans.kept().iter().map(|kept| kept.plan.clone()).collect()
}

async fn filled() -> Session {
    let database = Database::open(Config { threads: 2, ..Config::default() }).expect("a database opens");
    let mut session = database.session();
    for sql in [
        "CREATE TABLE t (id BIGINT PRIMARY KEY, n INT DEFAULT 3, s TEXT, d DECIMAL(12,2), g BIGINT GENERATED ALWAYS AS IDENTITY)",
        "CREATE TABLE u (id BIGINT, n INT, s TEXT)",
        "INSERT INTO t (id, n, s) SELECT value, value, 'row' FROM generate_series(1, 100) AS g (value)",
        "INSERT INTO u SELECT value, value, 'row' FROM generate_series(50, 150) AS g (value)",
    ] {
        run(&mut session, sql).await;
    }
    session
}

fn is_same(one: &[Option<Arc<Plan>>], other: &[Option<Arc<Plan>>]) -> bool {
    let same = |(one, other): (&Option<Arc<Plan>>, &Option<Arc<Plan>>)| match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    };
    one.len() == other.len() && one.iter().zip(other).all(same)
}

#[tokio::test(flavor = "multi_thread")]
async fn plans_of_all_statements_are_kept_until_the_catalog_changes() {
    let mut session = filled().await;
    // The number of queries that each consists of.
    let one = [Datum::I64(60), Datum::I64(2), Datum::Text("x")];
    for (sql, plans) in [
        ("SELECT * FROM t WHERE n > $1 AND s <> $3 AND n > $2", 1),
        ("UPDATE t SET n = n + $2, s = $3 WHERE n > $1", 1),
        ("UPDATE t SET n = $2, s = $3 WHERE n + 0 = $1 RETURNING *, $2", 2),
        ("DELETE FROM t WHERE n + $2 = $1 AND s = $3", 1),
        ("INSERT INTO t (id, n, s) SELECT id + 1000 * $1, n, $3 FROM u WHERE n < $2 ORDER BY n", 1),
        ("INSERT INTO t (id, n, s) SELECT $1, $2, $3 WHERE $1 < 0", 1),
        ("INSERT INTO t (id, n, s) VALUES ($1, $2 + 1, $3) ON CONFLICT DO NOTHING", 1),
        ("INSERT INTO t (id, n, s) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET n = t.n * excluded.n, s = $3", 2),
        ("INSERT INTO t (id, d, s) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET n = $2 RETURNING g, $3", 3),
        ("MERGE INTO t USING u ON t.id = u.id AND u.id = $1 WHEN MATCHED THEN UPDATE SET n = $2, s = $3", 2),
        (
            "MERGE INTO t USING (VALUES ($1, $2, $3)) AS v (id, n, s) ON t.id = v.id \
             WHEN MATCHED THEN UPDATE SET n = v.n WHEN NOT MATCHED THEN INSERT (id, n, s) VALUES (v.id, v.n, $3) \
             RETURNING merge_action(), t.*",
            3,
        ),
    ] {
        let prepared = session.prepare(sql).expect(sql);
        let kept = execute(&mut session, &prepared, &one).await;
        assert!(kept.len() == plans && kept.iter().all(Option::is_some), "{sql}: {} plans", kept.len());
        let again = execute(&mut session, &prepared, &one).await;
        assert!(is_same(&kept, &again), "{sql}: made again");
        run(&mut session, "CREATE INDEX by_n ON t USING art (n)").await;
        let anew = execute(&mut session, &prepared, &one).await;
        assert!(anew.iter().all(|plan| kept.iter().all(|old| !is_same(from_ref(plan), from_ref(old)))), "{sql}");
        run(&mut session, "DROP INDEX by_n").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_default_belongs_to_the_plan_of_an_insert_and_null_waits() {
    let mut session = filled().await;
    let prepared = session.prepare("INSERT INTO t (id, s) SELECT id + 1000, $1 FROM u WHERE n < 0").expect("it is one");
    assert!(execute(&mut session, &prepared, &[Datum::Null]).await.is_empty());
    let kept = execute(&mut session, &prepared, &[Datum::Text("x")]).await;
    assert!(is_same(&kept, &execute(&mut session, &prepared, &[Datum::Null]).await));
    // Not of the plan's type: planned with the value in place.
    assert!(is_same(&kept, &execute(&mut session, &prepared, &[Datum::I64(5)]).await));
    run(&mut session, "ALTER TABLE t ALTER COLUMN n SET DEFAULT 4").await;
    assert!(!is_same(&kept, &execute(&mut session, &prepared, &[Datum::Text("x")]).await));
    // What is settled when a query is planned is not kept.
    run(&mut session, "ALTER TABLE t ADD COLUMN at TIMESTAMPTZ DEFAULT statement_timestamp()").await;
    assert!(is_same(&execute(&mut session, &prepared, &[Datum::Text("x")]).await, &[None]));
}
