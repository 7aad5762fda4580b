//! The types that parameters have where they stand, compared with what PostgreSQL finds: programs encode values by them.
//!
//! `parameters.sql` has the statements, one to a line. `LONGSHORE_PARAMETERS=limit` looks only at those whose text contains this.
//! Where PostgreSQL finds no type, or more than one, one may be found here. Without PostgreSQL nothing is tested, but in CI that
//! is a failure.

use std::fmt::Write;

use longshore_engine::{BuiltinType, Config};
use longshore_witness::engine::Engine;
use longshore_witness::pair::server;
use longshore_witness::server::Client;

const STATEMENTS: &str = include_str!("../../parameters.sql");
const TABLE: &str = "CREATE TABLE pt (i int PRIMARY KEY, s smallint, b bigint, f real, d double precision, n numeric, \
    m numeric(10,2), t text, v varchar(10), c char(3), bo boolean, da date, ti time, ts timestamp, tz timestamptz, iv interval, \
    u uuid, j json, jb jsonb, by bytea, ai int[], at text[], au uuid[])";
const COLUMNS: [&str; 23] = [
    "i", "s", "b", "f", "d", "n", "m", "t", "v", "c", "bo", "da", "ti", "ts", "tz", "iv", "u", "j", "jb", "by", "ai",
    "at", "au",
];

#[tokio::test]
async fn parameters_have_the_types_that_postgres_finds() {
    let Some(server) = server() else { return };
    let mut client = server.connect().expect("the server answers");
    let mut engine = Engine::open(Config { threads: 1, ..Config::default() });
    client.run(TABLE).expect("PostgreSQL makes the table");
    engine.run(TABLE).await.expect("the table is made");
    let only = std::env::var("LONGSHORE_PARAMETERS").unwrap_or_default();
    let (mut compared, mut findings) = (0, String::new());
    for sql in statements().iter().filter(|sql| sql.contains(&only)) {
        let Some(theirs) = of_postgres(&mut client, sql) else { continue };
        compared += 1;
        let ours = of_engine(&mut engine, sql).await;
        let is_known = KNOWN.iter().any(|(known, _)| known == sql);
        if (ours.as_deref() == Ok(&theirs)) == is_known {
            let _ = writeln!(findings, "{sql}\n  PostgreSQL: {theirs}\n  Longshore: {ours:?}");
        }
    }
    assert!(!only.is_empty() || compared > 750, "PostgreSQL takes {compared} of the statements only");
    assert!(findings.is_empty(), "parameters have other types than in PostgreSQL:\n{findings}");
}

/// Types without a difference between VARCHAR and TEXT, whose values are encoded alike.
fn same_texts(types: &str) -> String {
    types.replace("character varying", "text")
}

/// The statements, over each column where a line is for all.
fn statements() -> Vec<String> {
    let lines = STATEMENTS.lines().filter(|line| !line.is_empty() && !line.starts_with("--"));
    let each = lines.flat_map(|line| {
        let columns = if line.contains("{c}") { COLUMNS.as_slice() } else { &[""] };
        columns.iter().map(|column| line.replace("{c}", column))
    });
    each.collect()
}

/// The types that PostgreSQL finds; `None` where it refuses the statement.
fn of_postgres(client: &mut Client, sql: &str) -> Option<String> {
    client.run(&format!("PREPARE p AS {sql}")).ok()?;
    let types = client.run(
        "SELECT coalesce(array_to_string(parameter_types, ', '), '') FROM pg_prepared_statements WHERE name = 'p'",
    );
    client.run("DEALLOCATE p").expect("it is there");
    let types = types.expect("PostgreSQL knows the statement");
    Some(same_texts(types[0][0].to_string().trim_matches('\'')))
}

async fn of_engine(engine: &mut Engine, sql: &str) -> Result<String, String> {
    let session = engine.session();
    let prepared = session.prepare(sql).map_err(|error| error.to_string())?;
    let described = session.describe(&prepared).await.map_err(|error| error.to_string())?;
    let names = described.parameters.iter().map(|oid| match BuiltinType::of_oid(*oid) {
        Some((known, is_array)) => format!("{}{}", known.sql_name, if is_array { "[]" } else { "" }),
        None => oid.to_string(),
    });
    Ok(same_texts(&names.collect::<Vec<_>>().join(", ")))
}

/// Statements whose parameters have other types here, and why.
const KNOWN: &[(&str, &str)] = &[
    ("select coalesce($1, c) from pt", "CHAR is a text where it is not compared"),
    ("select array[c, $1] from pt", "CHAR is a text where it is not compared"),
    ("values ($1), ((select c from pt))", "CHAR is a text where it is not compared"),
    ("select $1 - t from pt", "PostgreSQL takes what is subtracted from for JSONB"),
    ("select $1 - v from pt", "PostgreSQL takes what is subtracted from for JSONB"),
    ("select $1 - c from pt", "PostgreSQL takes what is subtracted from for JSONB"),
    ("select $1 - at from pt", "PostgreSQL takes what is subtracted from for JSONB"),
    ("select ti * $1 from pt", "a time is multiplied as an interval there"),
    ("select ti / $1 from pt", "a time is divided as an interval there"),
    ("select iv || $1 from pt", "only a text that is written is appended to an interval"),
    ("select $1 || iv from pt", "only a text that is written is put before an interval"),
    ("select j || $1 from pt", "only a text that is written is appended to JSON"),
    ("select $1 || j from pt", "only a text that is written is put before JSON"),
    ("select au || $1 from pt", "an array of UUIDs is one of texts where it is not compared"),
    ("select $1 || au from pt", "an array of UUIDs is one of texts where it is not compared"),
    ("values ($1), ((select u from pt))", "a UUID of a subquery in VALUES is a text"),
    ("values ($1), ((select au from pt))", "a UUID of a subquery in VALUES is a text"),
    ("select array[by, $1] from pt", "an array of bytes takes no parameter without a cast"),
    ("select lag(m, 1, $1) over () from pt", "the default of lag needs a cast to the type of the value"),
    ("select lag(by, 1, $1) over () from pt", "the default of lag needs a cast to the type of the value"),
    ("select jsonb_path_query(jb, $1) from pt", "there is no type of paths"),
    ("with x(a) as (values ($1, $2)) select * from x", "a list of names has all names"),
    ("select nextval($1)", "sequences are known by names"),
];
