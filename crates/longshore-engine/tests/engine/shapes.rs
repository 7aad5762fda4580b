//! Statements with literals run as if they were prepared once their shape is known. Here each of many runs so, and again in
//! a spelling that has no shape, in a database of its own: rows, counts and codes must be the same.
//!
//! `SHAPES=100000 cargo test -p longshore-engine --test engine shapes` takes more; `SEED=7` takes others.

use crate::query_support::{run, session};
use longshore_engine::{Error, Session};
use longshore_testing::{Random, share};

/// Statements of a run.
const STATEMENTS: usize = 3000;

/// The columns, and literals that are values of them or not.
const COLUMNS: [(&str, &str, &[&str]); 12] = [
    ("s", "SMALLINT", &["1", "-1", "32767", "32768", "'5'", "1.5"]),
    ("i", "INTEGER", &["1", "2147483647", "2147483648", "'7'", "0.5", "1e2", "true"]),
    ("b", "BIGINT", &["1", "9223372036854775807", "9223372036854775808", "-5", "' 7 '"]),
    ("r", "REAL", &["1", "1.5", "0.1", "1e30", "1e39", "'0.1'", "16777217"]),
    ("f", "DOUBLE PRECISION", &["1", "0.1", "1e300", "1e309", "9007199254740993", "1e-320", "'NaN'", "-0.0"]),
    (
        "n",
        "DECIMAL(9,2)",
        &["1", "1.5", "1.005", "-12.50", "1234567.89", "12345678", "1e2", "'2.5'", "' 2.5'", ".5", "5."],
    ),
    ("w", "DECIMAL(30,3)", &["1", "1.5", "123456789012345678901234567", "'2.5'", "1.0005"]),
    ("t", "TEXT", &["'x'", "''", "'it''s'", "5", "1.50", "true", "'é'"]),
    ("v", "VARCHAR(3)", &["'x'", "'abc'", "'abc  '", "'abcd'", "12345", "'äöü'"]),
    ("c", "CHAR(3)", &["'x'", "'x  '", "'abcd'", "''"]),
    ("d", "DATE", &["'2024-01-31'", "'2024-02-30'", "'2024-1-5'", "'31.01.2024'", "'x'", "'2024-01-31 10:00:00'"]),
    (
        "m",
        "TIMESTAMP",
        &[
            "'2024-01-31 10:00:00'",
            "'2024-01-31 10:00:00.123456'",
            "'2024-01-31'",
            "'2024-01-31 10:00:00.1234567'",
            "'2024-01-31 25:00:00'",
        ],
    ),
];

/// A statement in two spellings: one with a shape, one without.
struct Spelled {
    plain: String,
    without_shape: String,
}

fn literal<'a>(random: &mut Random, column: usize) -> &'a str {
    if random.below(8) == 0 { "NULL" } else { COLUMNS[column].2[random.below(COLUMNS[column].2.len())] }
}

fn statement(random: &mut Random) -> Spelled {
    let key = |random: &mut Random| ["1", "2", "3", "4", "5", "'6'", "7.0", "-1", "NULL"][random.below(9)];
    let column = random.below(COLUMNS.len());
    let (name, value) = (COLUMNS[column].0, literal(random, column));
    match random.below(8) {
        0 | 1 => {
            let row = |random: &mut Random| format!("({}, {})", key(random), literal(random, column));
            let rows: Vec<_> = (0..[1, 1, 1, 2, 6][random.below(5)]).map(|_| row(random)).collect();
            let begin = format!("INSERT INTO z (k, {name}) VALUES ");
            let wrapped = |row: &String| row.replacen('(', "((", 1).replacen(',', "),", 1);
            Spelled {
                plain: format!("{begin}{}", rows.join(", ")),
                without_shape: format!("{begin}{}", rows.iter().map(wrapped).collect::<Vec<_>>().join(", ")),
            }
        }
        2 => condition(&format!("UPDATE z SET {name} = {value}"), &format!("k = {}", key(random))),
        // The planner adds no text to a number.
        3 if !value.starts_with('\'') => {
            condition(&format!("UPDATE z SET {name} = {name} + {value}"), &format!("k = {}", key(random)))
        }
        4 => condition("DELETE FROM z", &format!("k = {}", key(random))),
        5 => condition(&format!("SELECT {name}, k FROM z"), &format!("k = {}", key(random))),
        6 => condition(&format!("SELECT k, {name} FROM z"), &format!("{name} = {value}")),
        _ => condition("SELECT count(*), min(k) FROM z", &format!("k BETWEEN {} AND {}", key(random), key(random))),
    }
}

fn condition(begin: &str, condition: &str) -> Spelled {
    Spelled {
        plain: format!("{begin} WHERE {condition}"),
        without_shape: format!("{begin} WHERE {condition} AND $$a$$ = 'a'"),
    }
}

async fn tables() -> Session {
    let mut session = session(2);
    let columns = COLUMNS.map(|(name, of, _)| format!("{name} {of}")).join(", ");
    let create = format!("CREATE TABLE z (k INTEGER PRIMARY KEY, {columns})");
    run(&mut session, &create).await.expect("the table is made");
    for (name, _, _) in COLUMNS {
        run(&mut session, &format!("CREATE INDEX ON z ({name})")).await.expect("the index is made");
    }
    session
}

/// Rows in an order that depends on them alone; of a failure its code.
fn told(answer: &Result<Vec<String>, Error>) -> String {
    match answer {
        Ok(rows) => {
            let mut rows = rows.clone();
            rows.sort();
            rows.join("\n")
        }
        Err(error) => error.kind().sqlstate().to_owned(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_with_a_shape_do_what_the_planner_does() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let mut random = Random::new(number("SEED").unwrap_or(1) as u64);
    let (mut shaped, mut planned) = (tables().await, tables().await);
    for round in 0..number("SHAPES").unwrap_or_else(|| share(STATEMENTS)) {
        let Spelled { plain, without_shape } = statement(&mut random);
        let (one, other) = (run(&mut shaped, &plain).await, run(&mut planned, &without_shape).await);
        assert_eq!(told(&one), told(&other), "statement {round}: {plain}\n{one:?}\n{other:?}");
    }
    let all = "SELECT * FROM z ORDER BY k";
    assert_eq!(told(&run(&mut shaped, all).await), told(&run(&mut planned, all).await));
}
