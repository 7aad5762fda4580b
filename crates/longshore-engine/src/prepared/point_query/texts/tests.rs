//! Texts that are read for point queries give what the planner gives: the same rows, or the same error.

use longshore_storage::Datum;

use super::super::tests::said;
use crate::prepared::Prepared;
use crate::{Config, Database, Error, Outcome, Session};

/// Types, the OIDs by which they are declared, and texts of which some are no values of theirs.
const TEXTS: &[(&str, u32, &[&str])] = &[
    (
        "numeric",
        1700,
        &[
            "12.5",
            "-0.00",
            "1e3",
            "NaN",
            "-infinity",
            " 7 ",
            "",
            "abc",
            "1.2.3",
            "99999999999999999999999999999999999999999",
        ],
    ),
    ("numeric(30,4)", 1700, &["12.5", "12.00005", "-0.00001", "1e3", "99999999999999999999999999", "1e30", "NaN", "x"]),
    ("numeric(60,2)", 1700, &["12.5", "12.005", "1e70"]),
    ("numeric(9,2)", 1700, &["12.5", "12.005", "1e70", "NaN"]),
    ("json", 114, &["{\"a\": 1, \"a\":2}", " [1, 2]", "null", "\"x\"", "", "{a:1}", "[1,]"]),
    ("jsonb", 3802, &["{\"b\": 1, \"a\":2, \"a\":3}", " [1, 2.50]", "null", "\"\\u0041\"", "", "{a:1}", "\"\\u0000\""]),
    ("interval", 1186, &["1 day", "1 year 2 mons -03:04:05.6", "P1DT2H", "", "1", "x", "infinity"]),
    ("time", 1083, &["10:00", "23:59:59.9999999", "24:00:00", "allballs", "noon", "25:00", "", "10:00 PM"]),
    ("timetz", 1266, &["10:00+02", "10:00", "10:00:00.5-03:30", "allballs", "10:00 Europe/Berlin"]),
    (
        "timestamptz",
        1184,
        &["2024-01-31 10:00:00+02", "2024-01-31T10:00:00Z", "2024-01-31 10:00:00", "2024-01-31", "epoch", "x"],
    ),
    ("timestamptz(2)", 1184, &["2024-01-31 10:00:00.129+02", "2024-01-31 10:00:00.129"]),
    ("real", 700, &["1.5", "-0", "1e-50", "1e50", "NaN", "infinity", "x", "16777217"]),
    ("bytea", 17, &["\\x00ff", "abc", "\\\\a\\001", "\\x0", "\\xzz", ""]),
    ("text[]", 1009, &["{a,b}", "{}", "{NULL,\"x y\",\"\\\"\"}", "[0:1]={a,b}", "{a", "a", "{{a},{b}}"]),
    ("int[]", 1007, &["{1,2}", "{1,NULL}", "{1,x}", "{99999999999}", "{{1}}"]),
    ("numeric[]", 1231, &["{1.50,2}", "{x}"]),
    ("jsonb[]", 3807, &["{\"{\\\"a\\\":1}\",null}", "{x}"]),
    ("timestamptz[]", 1185, &["{\"2024-01-31 10:00:00+02\"}", "{epoch}", "{2024-01-31}"]),
    ("varchar(3)[]", 1015, &["{abc}", "{abcd}"]),
    ("int[][]", 1007, &["{{1,2},{3,4}}", "{1}", "{{1},{2,3}}"]),
    ("uuid", 2950, &["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "x"]),
    ("boolean", 16, &["t", "yes", "maybe"]),
];

const INTEGER: u32 = 23;

const STATEMENTS: &[&str] = &[
    "INSERT INTO x VALUES ($1, $2) RETURNING id, v",
    "INSERT INTO x (v, id) VALUES ($2, $1) ON CONFLICT (id) DO UPDATE SET v = $2, n = x.n + 1 RETURNING v, n",
    "UPDATE x SET v = $2 WHERE id = $1 RETURNING v",
    "UPDATE x SET v = $2, n = n + 1 WHERE id = $1",
];

async fn filled(of_type: &str) -> Session {
    let database = Database::open(Config { threads: 2, ..Config::default() }).expect("a database opens");
    let mut session = database.session();
    for sql in [
        &format!("CREATE TABLE x (id INT PRIMARY KEY, v {of_type}, n INT DEFAULT 0)"),
        "INSERT INTO x SELECT g, NULL, 0 FROM generate_series(1, 20) AS s (g)",
        "SET timezone = 'America/Caracas'",
    ] {
        session.execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    session
}

/// What became of `act`, and the table behind it; which is then as it was.
async fn tried(session: &mut Session, all: &Prepared, prepared: &Prepared, values: &[Datum<'_>]) -> String {
    session.execute("BEGIN").await.expect("a block begins");
    let outcome = described(session.execute_prepared(prepared, values).await).await;
    ended(session, all, outcome).await
}

/// The rows, or the error.
async fn described(outcome: Result<Outcome, Error>) -> Result<String, String> {
    match outcome {
        Ok(outcome) => Ok(format!("{:?}", said(outcome).await)),
        Err(error) => Err(error.kind().sqlstate().to_owned()),
    }
}

/// The outcome and what `all` rows are behind it, at the end of the block.
async fn ended(session: &mut Session, all: &Prepared, outcome: Result<String, String>) -> String {
    let table = match &outcome {
        Ok(_) => described(session.execute_prepared(all, &[]).await).await.expect("the table is there"),
        Err(_) => String::new(),
    };
    session.execute("ROLLBACK").await.expect("a block ends");
    format!("{outcome:?}\n{table}")
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_every_type_are_what_the_planner_makes_of_them() {
    let mut other = Vec::new();
    for (of_type, oid, texts) in TEXTS {
        let mut session = filled(of_type).await;
        let all = session.prepare("SELECT * FROM x ORDER BY id").expect("valid");
        for sql in STATEMENTS {
            let plain = session.prepare(sql).expect(sql);
            let typed = session.prepare_typed(sql, &[INTEGER, *oid]).expect(sql);
            for (at, text) in texts.iter().copied().map(Some).chain([None]).enumerate() {
                // One that is there, and one that is not.
                for id in [if sql.starts_with("UPDATE") || at % 2 == 0 { 7 } else { 21 }] {
                    let value = text.map_or(Datum::Null, Datum::Text);
                    let literal = text.map_or("NULL".to_owned(), |text| format!("'{}'", text.replace('\'', "''")));
                    let literal = sql.replace("$1", &id.to_string()).replace("$2", &literal);
                    session.execute("BEGIN").await.expect("a block begins");
                    session.execute("SET LOCAL search_path = public").await.expect("it is set");
                    let outcome = described(session.execute(&literal).await).await;
                    let expected = ended(&mut session, &all, outcome).await;
                    let values = [Datum::I32(id), value];
                    let found = tried(&mut session, &all, &plain, &values).await;
                    if found != expected {
                        other.push(format!("{of_type}: {literal}: {found} and not {expected}"));
                    }
                    let found = tried(&mut session, &all, &typed, &values).await;
                    // A declared type has an error of its own.
                    if (found.starts_with("Ok") || expected.starts_with("Ok")) && found != expected {
                        other.push(format!("{of_type}, declared: {literal}: {found} and not {expected}"));
                    }
                    // As its shape is known.
                    session.execute("BEGIN").await.expect("a block begins");
                    let outcome = described(session.execute(&literal).await).await;
                    let found = ended(&mut session, &all, outcome).await;
                    if found != expected {
                        other.push(format!("{of_type}, as text: {literal}: {found} and not {expected}"));
                    }
                }
            }
        }
    }
    assert!(other.is_empty(), "{}", other.join("\n"));
}
