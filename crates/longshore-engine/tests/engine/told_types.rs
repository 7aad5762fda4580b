//! The types that are told of a result are those of its values, also where values of several types meet.

use longshore_engine::{Outcome, Session, TypeId};

use crate::query_support::{ok, session};

const COLUMNS: [&str; 8] = ["i2", "i4", "i8", "f4", "f8", "n", "n2", "d"];

/// Expressions over two columns.
const EXPRESSIONS: [&str; 6] = [
    "CASE WHEN k = 1 THEN {a} ELSE {b} END",
    "coalesce({a}, {b})",
    "greatest({a}, {b})",
    "{a} + {b}",
    "ARRAY[{a}, {b}]",
    "CASE WHEN k = 1 THEN {a} ELSE '7' END",
];

#[tokio::test(flavor = "multi_thread")]
async fn types_that_are_told_are_those_of_values() {
    let mut session = session(2);
    let table = "CREATE TABLE t (k int, i2 smallint, i4 int, i8 bigint, f4 real, f8 float8, n numeric, n2 numeric(10, 2), d date)";
    for sql in
        [table, "INSERT INTO t VALUES (1, 1, 2, 3, 1.5, 2.5, 4.5, 5.25, NULL), (2, 1, 2, 3, 1.5, 2.5, 4.5, 5.25, NULL)"]
    {
        ok(&mut session, sql).await;
    }
    let mut compared = 0;
    for a in COLUMNS {
        for b in COLUMNS {
            for expression in EXPRESSIONS {
                if a == "d" && expression.contains("'7'") {
                    continue;
                }
                let expression = expression.replace("{a}", a).replace("{b}", b);
                compared += check(&mut session, &format!("SELECT {expression} AS x FROM t")).await;
            }
            compared += check(&mut session, &format!("SELECT {a} AS x FROM t UNION ALL SELECT {b} FROM t")).await;
        }
    }
    assert!(compared > 300, "{compared} statements were right");
}

/// Compares the types of a statement through each way; 0 if it is refused.
async fn check(session: &mut Session, sql: &str) -> usize {
    let Ok(of_text) = session.execute(sql).await else { return 0 };
    fits(sql, "as text", of_text);
    let prepared = session.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let described = session.describe(&prepared).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let columns = described.columns.expect("it gives rows");
    // The third execution has a generic plan.
    for time in ["first", "second", "third"] {
        let outcome = session.execute_prepared(&prepared, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(fits(sql, time, outcome), columns.types[0].oid, "{sql}: the {time} time, and as described");
    }
    1
}

/// The type that is told of the column of these rows.
fn fits(sql: &str, way: &str, outcome: Outcome) -> u32 {
    let Outcome::Rows(rows) = outcome else { panic!("{sql}: it gives rows") };
    let own = TypeId::of_values(rows.schema().field(0).data_type());
    assert_eq!(rows.types()[0].oid, own.oid, "{sql}, {way}: {:?}", rows.schema());
    own.oid
}
