//! Predicates on packed columns: the same rows as on plain ones, whatever the predicate, its types, and who looks.

use longshore_engine::{ErrorKind, Session};
use longshore_testing::{Random, share};

use crate::query_support::{fails, ok, open, run, session};

/// More than the fewest rows that are packed at once, and no multiple of anything.
const ROWS: usize = 20_011;

/// Columns of which the values lie in every encoding, and constants to compare them with.
const COLUMNS: [(&str, Kind, &[&str]); 19] = [
    ("flag", Kind::Boolean, &["true", "false"]),
    ("small", Kind::Number, &["0", "7", "99", "-1", "100", "50"]),
    ("whole", Kind::Number, &["0", "4", "49999", "25000", "777", "60000", "-3"]),
    ("big", Kind::Number, &["1000003", "5000000000", "0", "20011060033", "10000030"]),
    ("few", Kind::Number, &["-7", "1", "1000000000000", "5000000000000000", "2", "0"]),
    ("same", Kind::Number, &["42", "41", "43"]),
    ("money", Kind::Number, &["0.00", "1.5", "4.99", "2", "1.505", "-0.01", "2.50"]),
    ("wide", Kind::Number, &["0", "1000000000000.00001", "7.5", "-3", "99999999999999999999"]),
    ("r", Kind::Float, &["0", "'-0'::real", "'NaN'::real", "1.5", "-1.5", "'Infinity'::real", "'-Infinity'::real"]),
    ("f", Kind::Float, &["0", "'-0'::float8", "'NaN'::float8", "0.1", "-2", "'Infinity'::float8"]),
    ("third", Kind::Float, &["0", "100.5", "6670", "-1", "3337"]),
    ("c", Kind::Text, &["''", "'a'", "'a  '", "'ab'", "'ab '", "'abcde'", "'zz'"]),
    ("v", Kind::Text, &["''", "'value number 7'", "'value number'", "'value number 70 '", "'x'", "'äöü'"]),
    ("t", Kind::Text, &["'row 7'", "'row 19999'", "''", "'row'", "'s'"]),
    ("dt", Kind::Time, &["DATE '1992-01-01'", "DATE '1995-03-01'", "DATE '2024-01-01'", "DATE '1992-02-29'"]),
    (
        "ts",
        Kind::Time,
        &["TIMESTAMP '2024-01-07 00:00:00'", "TIMESTAMP '2024-01-01 00:00:01'", "TIMESTAMP '2030-01-01'"],
    ),
    ("tm", Kind::Time, &["TIME '00:00:07'", "TIME '12:00:00'", "TIME '01:00:00'"]),
    ("u", Kind::Identifier, &["'550e8400-e29b-41d4-a716-446655440000'", "'00000000-0000-0000-0000-000000000007'"]),
    ("bytes", Kind::Identifier, &["'\\x00'::bytea", "'\\x0001'::bytea", "'\\x'::bytea"]),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Boolean,
    Number,
    Float,
    Text,
    Time,
    Identifier,
}

/// Makes `packed` and `plain`, of the same rows.
async fn fill(session: &mut Session) {
    for (name, storage) in [("packed", "packed"), ("plain", "plain")] {
        ok(
            session,
            &format!(
                "CREATE TABLE {name} (id INTEGER NOT NULL, flag BOOLEAN, small SMALLINT, whole INTEGER, big BIGINT, \
                 few BIGINT, same INTEGER, money DECIMAL(15,2), wide DECIMAL(30,5), r REAL, f DOUBLE PRECISION, \
                 third DOUBLE PRECISION, c CHAR(5), v VARCHAR(40), t TEXT, dt DATE, ts TIMESTAMP, tm TIME, u UUID, \
                 bytes BYTEA) WITH (storage = {storage})"
            ),
        )
        .await;
        let insert = format!(
            "INSERT INTO {name} SELECT i, CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END, \
             CASE WHEN i % 11 > 0 THEN i % 100 END, CASE WHEN i % 13 > 0 THEN i * 37 % 50000 END, i::bigint * 1000003, \
             CASE i % 6 WHEN 0 THEN -7 WHEN 1 THEN 1 WHEN 2 THEN 1000000000000 WHEN 3 THEN 5000000000000000 WHEN 4 THEN 2 END, \
             42, (i % 500) / 100.0, CASE WHEN i % 4 > 0 THEN (i % 4) * 1000000000000.00001 END, \
             CASE i % 7 WHEN 0 THEN '-0'::real WHEN 1 THEN 0::real WHEN 2 THEN 'NaN'::real WHEN 3 THEN 1.5::real \
             WHEN 4 THEN '-Infinity'::real WHEN 5 THEN -1.5::real END, \
             CASE i % 5 WHEN 0 THEN '-0'::float8 WHEN 1 THEN 0::float8 WHEN 2 THEN 'NaN'::float8 WHEN 3 THEN 0.1::float8 END, \
             i / 3.0, CASE i % 6 WHEN 0 THEN '' WHEN 1 THEN 'a' WHEN 2 THEN 'ab' WHEN 3 THEN 'abcde' WHEN 4 THEN 'zz' END, \
             CASE WHEN i % 17 = 0 THEN '' WHEN i % 19 > 0 THEN 'value number ' || (i % 211) END, 'row ' || i, \
             CASE WHEN i % 23 > 0 THEN DATE '1992-01-01' + CAST(i % 2500 AS INTEGER) END, \
             CASE WHEN i % 29 > 0 THEN TIMESTAMP '2024-01-01 00:00:00' + CAST((i % 1000) || ' days' AS INTERVAL) END, \
             CAST(to_timestamp_seconds(i % 3600) AS TIME), \
             CASE WHEN i % 3 = 0 THEN '550e8400-e29b-41d4-a716-446655440000' \
             WHEN i % 3 = 1 THEN '00000000-0000-0000-0000-00000000000' || (i % 10) END, \
             CASE WHEN i % 2 = 0 THEN '\\x00'::bytea WHEN i % 5 > 0 THEN '\\x0001'::bytea END \
             FROM generate_series(1, {ROWS}) AS g(i) ORDER BY i"
        );
        assert_eq!(ok(session, &insert).await, [format!("INSERT 0 {ROWS}")]);
    }
}

/// A predicate on one column.
fn predicate(random: &mut Random, depth: usize) -> String {
    let (column, kind, constants) = random.pick(&COLUMNS);
    on_column(random, column, kind, constants, depth)
}

fn on_column(random: &mut Random, column: &str, kind: Kind, constants: &[&str], depth: usize) -> String {
    if depth > 0 && random.once_in(2) {
        let left = on_column(random, column, kind, constants, depth - 1);
        let right = on_column(random, column, kind, constants, depth - 1);
        return match random.below(5) {
            0 => format!("NOT ({left})"),
            1 | 2 => format!("(({left}) OR ({right}))"),
            3 => format!("({left}) IS NOT NULL"),
            _ => format!("({left}) AND ({right})"),
        };
    }
    let constant = random.pick(constants);
    let not = random.pick(&["", "", "NOT "]);
    let comparison = random.pick(&["<", "<=", "=", "<>", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]);
    match random.below(9) {
        0 => format!("{column} {not}BETWEEN {constant} AND {}", random.pick(constants)),
        1 | 2 => {
            let mut list: Vec<&str> = (0..=random.below(constants.len())).map(|_| random.pick(constants)).collect();
            if random.once_in(3) {
                list.push("NULL");
            }
            format!("{column} {not}IN ({})", list.join(", "))
        }
        3 => format!("{column} IS {not}NULL"),
        4 => format!("coalesce({column}, {constant}) {comparison} {}", random.pick(constants)),
        5 => format!(
            "CASE WHEN {column} IS NULL THEN {} ELSE {column} {comparison} {constant} END",
            random.pick(&["true", "false"])
        ),
        6 | 7 => of_kind(random, column, kind),
        _ => format!("{column} {comparison} {constant}"),
    }
}

/// What there is for columns of one kind only.
fn of_kind(random: &mut Random, column: &str, kind: Kind) -> String {
    let forms: &[&str] = match kind {
        Kind::Boolean => &["@", "NOT @", "@ IS TRUE", "@ IS NOT FALSE", "@ IS UNKNOWN"],
        Kind::Number => &[
            "@ + 1 > 43",
            "@ * 2 <= 100",
            "@ - 7 = 0",
            "abs(@) < 50",
            "@ % 7 = 3",
            "CAST(@ AS TEXT) LIKE '1%'",
            "@ IN (1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 37, 74, 111, 148, 1850, 3700, 10000030, 20000060)",
            "@ NOT IN (1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 37, 74, 111, 148, 1850, 3700, 10000030)",
            "@ > 1.5",
            "nullif(@, 7) IS NULL",
            // It may fail, and does where there is a zero.
            "100 / @ > 3",
            "@ <> 0 AND 100 / @ > 3",
            "@ IS NOT NULL AND @ > 0 AND 1000 / @ BETWEEN 2 AND 900",
        ],
        Kind::Float => &["@ + 1 > 2", "@ * 0 = 0", "abs(@) = 0", "@ <> @", "@ IN (0, 1.5, 0.1)", "-@ >= 0"],
        Kind::Text => &[
            "@ LIKE 'a%'",
            "@ LIKE '%7%'",
            "@ LIKE 'value number 1%'",
            "@ NOT LIKE 'value%'",
            "@ LIKE 'row 1_7'",
            "@ LIKE ''",
            "@ ILIKE 'ROW 19%'",
            "upper(@) = 'AB'",
            "length(@) > 3",
            "substr(@, 1, 2) IN ('ab', 'va', 'ro')",
            "@ || 'x' = 'abx'",
            "@ LIKE '%\\%%'",
        ],
        Kind::Time => &["CAST(@ AS TEXT) LIKE '%-01%'", "@ = @", "@ IS NOT NULL", "CAST(@ AS TEXT) < '1993'"],
        Kind::Identifier => &["@ IS NULL", "@ = @", "length(CAST(@ AS TEXT)) > 8", "CAST(@ AS TEXT) LIKE '%07'"],
    };
    random.pick(forms).replace('@', column)
}

/// What a statement returns, or how it fails.
async fn answer(session: &mut Session, sql: &str) -> Result<Vec<String>, ErrorKind> {
    run(session, sql).await.map_err(|error| error.kind())
}

/// The rows for which `condition` is true are the same in both tables. Says how many there are, if it fails nowhere.
async fn assert_same(session: &mut Session, condition: &str) -> Option<usize> {
    let packed = answer(session, &format!("SELECT id FROM packed WHERE {condition} ORDER BY id")).await;
    let plain = answer(session, &format!("SELECT id FROM plain WHERE {condition} ORDER BY id")).await;
    assert!(packed == plain, "{condition}: {} and {}", shown(&packed), shown(&plain));
    // Few rows, of which every column is unpacked alone.
    let few = |table| format!("SELECT * FROM {table} WHERE ({condition}) AND id % 40 = 7 ORDER BY id");
    let (packed, all) = (answer(session, &few("packed")).await, answer(session, &few("plain")).await);
    assert!(packed == all, "{condition}, all columns: {} and {}", shown(&packed), shown(&all));
    // Two columns, so that it stays out of the scan.
    let outside = format!("CASE WHEN {condition} THEN id + big > 0 ELSE false END");
    let outside = answer(session, &format!("SELECT id FROM plain WHERE {outside} ORDER BY id")).await;
    assert!(outside == plain || outside.is_err(), "{condition}: {} and {}", shown(&plain), shown(&outside));
    outside.and(plain).ok().map(|rows| rows.len())
}

fn shown(answer: &Result<Vec<String>, ErrorKind>) -> String {
    match answer {
        Ok(rows) => format!("{} rows, the first {:?}", rows.len(), rows.first()),
        Err(kind) => format!("{kind:?}"),
    }
}

async fn assert_many_same(session: &mut Session, random: &mut Random, rounds: usize) {
    for _ in 0..rounds {
        let mut condition = predicate(random, 2);
        if random.once_in(4) {
            condition = format!("({condition}) AND ({})", predicate(random, 1));
        }
        assert_same(session, &condition).await;
    }
}

/// Changes that leave some chunks as they are and others not.
async fn change(session: &mut Session, table: &str) {
    for sql in [
        "UPDATE @ SET whole = -whole, c = 'new', money = NULL, flag = NOT flag WHERE id % 100 = 3",
        "UPDATE @ SET few = 2, v = NULL, f = 'NaN', r = NULL WHERE id BETWEEN 500 AND 520",
        "DELETE FROM @ WHERE id % 10 = 4",
        "INSERT INTO @ (id, big, small, v, money) VALUES (0, 1, 7, 'value number 7', 1.5), (-1, 2, NULL, '', NULL)",
    ] {
        ok(session, &sql.replace('@', table)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn packed_columns_give_the_rows_that_plain_ones_give() {
    let mut session = session(3);
    fill(&mut session).await;
    let mut random = Random::new(31);
    assert_many_same(&mut session, &mut random, share(240)).await;
    for table in ["packed", "plain"] {
        change(&mut session, table).await;
    }
    assert_many_same(&mut session, &mut random, share(60)).await;
    ok(&mut session, "VACUUM packed").await;
    assert_many_same(&mut session, &mut random, share(60)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn own_changes_and_older_snapshots_are_seen_by_predicates_on_packed_columns() {
    let database = open(longshore_engine::Config { threads: 2, ..longshore_engine::Config::default() });
    let (mut writer, mut reader) = (database.session(), database.session());
    fill(&mut writer).await;
    let mut random = Random::new(32);
    // Those that fail would end the transactions.
    let mut conditions = Vec::new();
    while conditions.len() < share(40) {
        let condition = predicate(&mut random, 2);
        if let Some(count) = assert_same(&mut writer, &condition).await {
            conditions.push((condition, count));
        }
    }
    ok(&mut reader, "BEGIN ISOLATION LEVEL REPEATABLE READ").await;
    for (condition, before) in &conditions {
        assert_eq!(assert_same(&mut reader, condition).await, Some(*before), "{condition}");
    }
    ok(&mut writer, "BEGIN").await;
    for table in ["packed", "plain"] {
        change(&mut writer, table).await;
    }
    for (condition, before) in &conditions {
        assert_same(&mut writer, condition).await.expect("it did not fail before");
        assert_eq!(assert_same(&mut reader, condition).await, Some(*before), "{condition}, not committed");
    }
    ok(&mut writer, "COMMIT").await;
    for (condition, before) in &conditions {
        assert_eq!(assert_same(&mut reader, condition).await, Some(*before), "{condition}, committed");
    }
    ok(&mut reader, "COMMIT").await;
    for (condition, _) in &conditions {
        assert_same(&mut reader, condition).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_fail_sees_only_rows_that_are_left() {
    let mut session = session(2);
    ok(&mut session, "CREATE TABLE t (id INTEGER, n BIGINT, s TEXT, z INTEGER)").await;
    let insert = "INSERT INTO t SELECT i, CASE WHEN i % 5 > 0 THEN i % 4 * 1000000000000 END, \
                  CASE WHEN i % 3 = 0 THEN 'x' WHEN i % 3 = 1 THEN (i % 9)::text END, 0 FROM generate_series(1, 20000) AS g(i)";
    ok(&mut session, insert).await;
    let plan = ok(&mut session, "EXPLAIN SELECT id FROM t WHERE 100 / n = 0").await.join("\n");
    assert!(!plan.contains("FilterExec"), "{plan}");
    // A filter of two columns stays above the scan, and what may fail behind it.
    let plan = ok(&mut session, "EXPLAIN SELECT id FROM t WHERE id % n = 0 AND 100 / n = 0").await.join("\n");
    assert!(plan.contains("FilterExec"), "{plan}");
    for sql in ["SELECT count(*) FROM t WHERE 100 / n = 0", "SELECT count(*) FROM t WHERE 1 / z = 0"] {
        assert!(fails(&mut session, sql).await.contains("division by zero"), "{sql}");
    }
    assert!(fails(&mut session, "SELECT count(*) FROM t WHERE CAST(s AS INTEGER) = 4").await.contains("\"x\""));
    for (condition, count) in [
        ("n <> 0 AND 100 / n = 0", "12000"),
        ("100 / n = 0 AND n > 0", "12000"),
        ("id % 3 = 1 AND CAST(s AS INTEGER) = 4", "2222"),
        ("s <> 'x' AND CAST(s AS INTEGER) = 4", "2222"),
        ("id < 0 AND 1 / z = 0", "0"),
        ("z IS NULL AND 1 / z = 0", "0"),
    ] {
        assert_eq!(
            ok(&mut session, &format!("SELECT count(*) FROM t WHERE {condition}")).await,
            [count],
            "{condition}"
        );
    }
    // Rows that are gone or not yet there are no reason to fail.
    ok(&mut session, "BEGIN").await;
    ok(&mut session, "DELETE FROM t WHERE n = 0 OR s = 'x'").await;
    assert_eq!(ok(&mut session, "SELECT count(*) FROM t WHERE 100 / n <> 0").await, ["0"]);
    assert_eq!(ok(&mut session, "SELECT count(*) FROM t WHERE CAST(s AS INTEGER) = 10").await, ["0"]);
    ok(&mut session, "ROLLBACK").await;
    assert!(fails(&mut session, "SELECT count(*) FROM t WHERE 100 / n <> 0").await.contains("division by zero"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_volatile_function_is_called_for_every_row() {
    let mut session = session(2);
    fill(&mut session).await;
    for table in ["packed", "plain"] {
        // As many are left as chance has it: all or none, were it called once.
        let count = ok(&mut session, &format!("SELECT count(*) FROM {table} WHERE same + random() > 42.5")).await;
        let count: usize = count[0].parse().expect("a number");
        assert!(count > ROWS / 4 && count < ROWS / 4 * 3, "{count} of {table}");
    }
}
