//! What is looked up by keys is what a scan finds, for keys of every type and kind of index, and it is logged as read.

use longshore_storage::Datum;

use super::super::Kept;
use super::super::tests::{run, told, uses_generic_plan};
use crate::prepared::Prepared;
use crate::{Config, Database, Session};

/// Columns with indexes of their own, and a value of row `g`.
const COLUMNS: &[(&str, &str, &str)] = &[
    ("i2", "smallint", "(g % 300)::smallint"),
    ("i4", "integer", "g % 301"),
    ("i8", "bigint", "g % 302"),
    ("n", "numeric(9, 2)", "(g % 303) / 4.0"),
    ("wide", "numeric(30, 3)", "(g % 304) * 100000000000000000000.5"),
    ("f", "double precision", "(g % 305) / 2.0"),
    ("v", "varchar(20)", "'v' || g % 306"),
    ("t", "text", "'t' || g % 307"),
    ("c", "char(6)", "'c' || g % 308"),
    ("u", "uuid", "('00000000-0000-0000-0000-000000000' || 100 + g % 309)::uuid"),
    ("d", "date", "DATE '2024-01-01' + (g % 310)::int"),
    ("ts", "timestamp", "TIMESTAMP '2024-01-01' + interval '1 hour' * (g % 311)"),
    ("tz", "timestamptz", "TIMESTAMPTZ '2024-01-01 00:00:00Z' + interval '1 hour' * (g % 312)"),
    ("by", "bytea", "('b' || g % 313)::bytea"),
];

async fn filled() -> Session {
    let database = Database::open(Config { threads: 2, ..Config::default() }).expect("a database opens");
    let mut session = database.session();
    let columns = COLUMNS.iter().map(|(name, of_type, _)| format!("{name} {of_type}")).collect::<Vec<_>>().join(", ");
    // Every ninth row has NULL everywhere.
    let values = COLUMNS.iter().map(|(_, _, value)| format!("CASE WHEN g % 9 = 4 THEN NULL ELSE {value} END"));
    let values = values.collect::<Vec<_>>().join(", ");
    for (table, rows) in [("a", 3000), ("b", 2500)] {
        run(&mut session, &format!("CREATE TABLE {table} (id integer PRIMARY KEY, {columns}, free integer)")).await;
        for (at, (name, ..)) in COLUMNS.iter().enumerate() {
            let kind = if (at % 2 == 0) == (table == "a") { "USING hash " } else { "" };
            run(&mut session, &format!("CREATE INDEX {table}_{name} ON {table} {kind}({name})")).await;
        }
        let rows = format!("generate_series(0, {}) AS x (g)", rows - 1);
        run(&mut session, &format!("INSERT INTO {table} SELECT g, {values}, 0 FROM {rows}")).await;
    }
    run(&mut session, "CREATE TABLE pairs (x integer, y text, z integer)").await;
    run(&mut session, "CREATE INDEX pairs_xyz ON pairs (x, y, z)").await;
    run(&mut session, "CREATE INDEX pairs_expr ON pairs (z, (x + 1))").await;
    run(&mut session, "CREATE INDEX pairs_some ON pairs (y) WHERE z > 40").await;
    run(
        &mut session,
        "INSERT INTO pairs SELECT g % 40, 'y' || g % 7, nullif(g % 50, 3) FROM generate_series(0, 1999) AS x (g)",
    )
    .await;
    session
}

fn are_looked_up(prepared: &Prepared) -> bool {
    prepared.plans.kept().iter().any(|kept| {
        let Some(plan) = &kept.plan else { return false };
        let Kept::Idle(plans) = &*plan.generic.0.lock().expect("nobody panicked") else { return false };
        plans.iter().any(|plan| plan.lookups.is_some())
    })
}

/// Compares what `sql` finds with each of the `values` for `$1` with what it finds when they stand in its place; whether it has generic
/// plans, and whether their scans are looked up.
async fn compare(session: &mut Session, sql: &str, values: &[Option<String>]) -> (bool, bool) {
    let prepared = session.prepare(sql).expect(sql);
    for value in values {
        let datum = value.as_deref().map_or(Datum::Null, Datum::Text);
        let found = told(session.execute_prepared(&prepared, &[datum]).await, false).await;
        let literal = value.as_ref().map_or_else(|| "NULL".to_owned(), |value| format!("'{value}'"));
        let expected = told(session.execute(&sql.replace("$1", &literal)).await, false).await;
        assert_eq!(found, expected, "{sql} of {literal}");
    }
    let is_generic = uses_generic_plan(&prepared);
    (is_generic, is_generic && are_looked_up(&prepared))
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_every_type_find_what_scans_find() {
    let mut session = filled().await;
    for (name, of_type, value) in COLUMNS {
        let mut values = vec![None];
        for g in [5, 7, 305, 3000] {
            let text = told(
                session.execute(&format!("SELECT ({value})::{of_type}::text FROM (VALUES ({g})) AS x (g)")).await,
                true,
            );
            values.push(Some(text.await.trim_matches(['|', ' ']).to_owned()));
        }
        // Equal floating-point numbers may have several forms.
        let expected = (true, *name != "f");
        for sql in [
            format!("SELECT id + 1 AS n, {name} FROM a WHERE {name} = $1"),
            format!(
                "SELECT b.id + 1 AS n, a.{name} FROM a JOIN b ON b.{name} = a.{name} WHERE a.{name} = $1 AND a.id < 2000"
            ),
            format!("SELECT a.id, b.id AS other FROM a LEFT JOIN b ON b.id = a.id AND b.i8 > 100 WHERE a.{name} = $1"),
            format!("SELECT id FROM b WHERE {name} IN (SELECT {name} FROM a WHERE {name} = $1 AND id > 3)"),
        ] {
            assert_eq!(compare(&mut session, &sql, &values).await, expected, "{sql}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn first_columns_and_bounds_find_what_scans_find() {
    let mut session = filled().await;
    let values = ["3", "39", "-1", "12"].map(|value| Some(value.to_owned()));
    let values = [&values[..], &[None]].concat();
    for sql in [
        "SELECT x + 0 AS x, z FROM pairs WHERE x = $1",
        "SELECT x + 0 AS x, z FROM pairs WHERE x = $1 AND y = 'y3'",
        "SELECT x + 0 AS x, z FROM pairs WHERE x = $1 AND y IN ('y3', 'y5', 'y3') AND z > 10 AND z <= 30",
        "SELECT x + 0 AS x, z FROM pairs WHERE x = $1 AND y > 'y3'",
        "SELECT x + 0 AS x, z FROM pairs WHERE x = $1 AND y = 'y3' AND z < 40",
        "SELECT x + 0 AS x, z FROM pairs WHERE x IN ($1, 4, 5) AND y = 'y1' AND z IS NULL",
        "SELECT p.x + 0 AS x, q.z FROM pairs p JOIN pairs q ON q.x = p.z AND q.y = p.y WHERE p.x = $1 AND p.y = 'y2'",
        "SELECT x + 0 AS x, y FROM pairs WHERE z = $1",
        "SELECT x + 0 AS x, y FROM pairs WHERE z = $1 AND x + 1 = 4",
        "SELECT x + 0 AS x, y FROM pairs WHERE z = $1 AND x + 1 > 4 AND y = 'y3'",
        "SELECT x + 0 AS x, z FROM pairs WHERE y = 'y4' AND z + 1 = $1",
        "SELECT count(*) + 0 AS n FROM pairs WHERE y = 'y' || $1",
        "SELECT id + 0 AS n FROM a WHERE id BETWEEN $1 AND $1 + 20",
        "SELECT id + 0 AS n FROM a WHERE id > $1 AND id < 20 AND i4 % 2 = 1",
        "SELECT a.id, z FROM a LEFT JOIN pairs ON x = a.i2 AND y = a.t WHERE a.id = $1",
        "SELECT a.id, b.id AS n FROM a JOIN (SELECT id FROM b WHERE id < 50 LIMIT 3) AS b ON b.id = a.id WHERE a.id = $1",
        "SELECT count(*) + 0 AS n, min(z) FROM pairs WHERE x = $1 AND y = 'y2'",
    ] {
        let (is_generic, _) = compare(&mut session, sql, &values).await;
        assert!(is_generic, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_looked_up_is_read() {
    let mut first = filled().await;
    let mut second = first.database().session();
    let sql = "SELECT b.id + 0 AS n, a.free FROM a JOIN b ON b.i4 = a.i4 WHERE a.id = $1";
    let prepared = first.prepare(sql).expect("it is one");
    for _ in 0..3 {
        told(first.execute_prepared(&prepared, &[Datum::I32(7)]).await, true).await;
    }
    assert!(are_looked_up(&prepared));
    for (changed, conflicts) in [
        ("UPDATE b SET free = 1 WHERE i4 = 7", false),
        ("UPDATE a SET free = 1 WHERE id = 7", true),
        ("UPDATE a SET free = 1 WHERE id = 8", false),
        ("UPDATE b SET i4 = 8 WHERE id = 7", true),
        ("INSERT INTO b (id, i4) VALUES (9000, 7)", true),
        ("INSERT INTO b (id, i4) VALUES (9001, 6)", false),
        ("UPDATE a SET i4 = 7 WHERE id = 8", false),
        ("UPDATE a SET i4 = 9 WHERE id = 7", true),
    ] {
        run(&mut first, "BEGIN").await;
        told(first.execute_prepared(&prepared, &[Datum::I32(7)]).await, true).await;
        run(&mut first, "INSERT INTO pairs VALUES (1000, 'x', 1)").await;
        run(&mut second, changed).await;
        let ended = first.execute("COMMIT").await;
        assert_eq!(ended.is_err(), conflicts, "{changed}");
        // As it was.
        run(&mut second, "DELETE FROM b WHERE id >= 9000").await;
        run(&mut second, "UPDATE b SET i4 = 7 WHERE id = 7").await;
        run(&mut second, "UPDATE a SET i4 = id WHERE id IN (7, 8)").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_gone_is_not_asked() {
    let mut session = filled().await;
    let prepared = session.prepare("SELECT count(*) + 0 AS n FROM a WHERE t = $1 AND id >= 0").expect("it is one");
    let value = [Datum::Text("t5")];
    for _ in 0..3 {
        assert_eq!(told(session.execute_prepared(&prepared, &value).await, true).await, "| 9 |");
    }
    assert!(are_looked_up(&prepared));
    run(&mut session, "BEGIN").await;
    run(&mut session, "DROP INDEX a_t").await;
    run(&mut session, "DELETE FROM a WHERE id = 5").await;
    assert_eq!(told(session.execute_prepared(&prepared, &value).await, true).await, "| 8 |");
    run(&mut session, "ROLLBACK").await;
    assert_eq!(told(session.execute_prepared(&prepared, &value).await, true).await, "| 9 |");
    run(&mut session, "DROP INDEX a_t").await;
    assert_eq!(told(session.execute_prepared(&prepared, &value).await, true).await, "| 9 |");
}
