//! Joins by index: rows that one scan finds choose those of another. Queries over joined tables answer as without a rule, as
//! text and as prepared statements, in blocks with changes; and what is read is guarded by the keys that were asked for.

use futures::TryStreamExt;
use longshore_engine::{Config, Datum, Error, Outcome, Prepared, Session};
use longshore_testing::{Random, share};

use crate::query_support::{ok, open, run, session, text_lines};

/// Rows of each table: few, since joins without a rule go through all pairs of some.
const ROWS: usize = 260;
const QUERIES: usize = 240;

/// Tables that refer to each other, with NULL and with keys that are nowhere.
async fn fill(session: &mut Session, rows: usize) {
    for sql in [
        "CREATE TABLE a (id INT PRIMARY KEY, b_id BIGINT, c_id INT, n INT, s TEXT)".to_owned(),
        "CREATE TABLE b (id BIGINT PRIMARY KEY, c_id INT, n INT, s TEXT)".to_owned(),
        "CREATE TABLE c (id INT PRIMARY KEY, b_id INT, n INT, s TEXT UNIQUE)".to_owned(),
        "CREATE INDEX a_b ON a (b_id)".to_owned(),
        "CREATE INDEX b_c ON b USING hash (c_id)".to_owned(),
        "CREATE INDEX c_two ON c (n, b_id)".to_owned(),
        format!(
            "INSERT INTO a SELECT i, nullif(i * 7 % {}, 14), i * 3 % 1000, i % 11, 'x' || i % 700 \
             FROM generate_series(1, {rows}) AS g (i)",
            rows + 50
        ),
        format!(
            "INSERT INTO b SELECT i, nullif(i % 1500, 3), i % 13, CASE WHEN i % 5 > 0 THEN 'x' || i % 900 END \
             FROM generate_series(1, {rows}) AS g (i)"
        ),
        format!(
            "INSERT INTO c SELECT i, nullif(i % 40, 7), nullif(i % 17, 5), 'x' || i \
             FROM generate_series(1, {rows}) AS g (i)"
        ),
    ] {
        ok(session, &sql).await;
    }
}

/// Columns of numbers, by the number of the table.
const NUMBERS: [&[&str]; 3] = [&["id", "b_id", "c_id", "n"], &["id", "c_id", "n"], &["id", "b_id", "n"]];
const TABLES: [&str; 3] = ["a", "b", "c"];

/// Two columns that a query may join by: of the table `left` with this alias, and of `right`.
fn equality(random: &mut Random, (left, l): (usize, &str), (right, r): (usize, &str)) -> String {
    let mut columns = |table: usize| {
        // A column with few values joins many rows.
        random.pick(&NUMBERS[table][..NUMBERS[table].len() - 1])
    };
    let (left, right) = (columns(left), columns(right));
    match random.below(12) {
        0 => format!("{l}.s = {r}.s"),
        1 => format!("{l}.{left} = {r}.{right} AND {l}.n = {r}.n"),
        2 => format!("{l}.{left} = {r}.{right} AND {l}.n < {r}.n"),
        3 => format!("coalesce({l}.{left}, 5) = {r}.{right}"),
        4 => format!("{l}.{left} = {r}.{right} + 1"),
        5 => format!("{l}.{left} IS NOT DISTINCT FROM {r}.{right}"),
        _ => format!("{l}.{left} = {r}.{right}"),
    }
}

/// A key that is found by an index, with `$1` in it.
fn by_key(random: &mut Random, table: usize, alias: &str) -> String {
    match (random.below(6), table) {
        (0, _) => format!("{alias}.id IN ($1, $1 + 1, 17)"),
        (1, _) => format!("{alias}.id BETWEEN $1 AND $1 + 12"),
        (2, 0) => format!("{alias}.b_id = $1"),
        (2, 1) => format!("{alias}.c_id = $1"),
        (3, _) => format!("{alias}.id = $1 AND {alias}.n > 2"),
        _ => format!("{alias}.id = $1"),
    }
}

/// What stands in FROM for a table.
fn relation(random: &mut Random, table: usize, alias: &str) -> String {
    let name = TABLES[table];
    match random.below(14) {
        0 => {
            let others: Vec<String> =
                NUMBERS[table][1..].iter().map(|column| format!("max({column}) AS {column}")).collect();
            format!("(SELECT id, {}, min(s) AS s FROM {name} GROUP BY id) {alias}", others.join(", "))
        }
        1 => format!("(SELECT * FROM {name} WHERE n > 1) {alias}"),
        2 => format!("(SELECT * FROM {name} ORDER BY id LIMIT 240) {alias}"),
        3 => format!("(SELECT * FROM {name} WHERE id < 200 UNION ALL SELECT * FROM {name} WHERE id > 190) {alias}"),
        _ => format!("{name} {alias}"),
    }
}

/// A query with the parameter `$1`.
fn query(random: &mut Random) -> String {
    let tables: Vec<usize> = (0..2 + random.below(3)).map(|_| random.below(3)).collect();
    let alias = |at: usize| ["t0", "t1", "t2", "t3"][at];
    let mut from = relation(random, tables[0], "t0");
    for at in 1..tables.len() {
        let kind = random.pick(&["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
        let before = random.below(at);
        let on = loop {
            let on = equality(random, (tables[before], alias(before)), (tables[at], alias(at)));
            // Other full joins are not offered.
            if kind != "FULL JOIN" || !on.contains('<') {
                break on;
            }
        };
        let on = if random.once_in(8) { format!("{on} AND {}", by_key(random, tables[at], alias(at))) } else { on };
        from = format!("{from} {kind} {} ON {on}", relation(random, tables[at], alias(at)));
    }
    let of = random.below(tables.len());
    let mut conditions = vec![by_key(random, tables[of], alias(of))];
    if random.once_in(3) {
        let (inner, outer) = (random.below(3), random.below(tables.len()));
        let name = TABLES[inner];
        let equal = equality(random, (tables[outer], alias(outer)), (inner, "e"));
        let column = NUMBERS[tables[outer]][random.below(2)];
        let condition = match random.below(5) {
            0 => format!("EXISTS (SELECT 1 FROM {name} e WHERE {equal})"),
            1 => format!("NOT EXISTS (SELECT 1 FROM {name} e WHERE {equal})"),
            2 => format!("{}.{column} IN (SELECT id FROM {name} e WHERE e.n > 3)", alias(outer)),
            3 => format!("{}.{column} NOT IN (SELECT n FROM {name} e WHERE e.id = $1)", alias(outer)),
            _ => format!("coalesce((SELECT max(e.n) FROM {name} e WHERE {equal}), 3) > 2"),
        };
        conditions.push(condition);
    }
    let columns: Vec<String> = (0..tables.len()).map(|at| format!("{0}.id, {0}.n", alias(at))).collect();
    let columns = match random.below(6) {
        0 => format!("count(*), sum(t0.n), max(t1.s), min({}.id)", alias(tables.len() - 1)),
        1 => format!("t0.id, (SELECT count(*) FROM a e WHERE e.b_id = t0.id), {}", columns[1..].join(", ")),
        _ => columns.join(", "),
    };
    format!("SELECT {columns} FROM {from} WHERE {}", conditions.join(" AND "))
}

async fn sorted_or_error(session: &mut Session, sql: &str) -> Result<Vec<String>, String> {
    let mut rows = run(session, sql).await.map_err(|error| error.to_string())?;
    rows.sort();
    Ok(rows)
}

async fn execute(session: &mut Session, prepared: &Prepared, key: i64) -> Result<Vec<String>, Error> {
    match session.execute_prepared(prepared, &[Datum::I64(key)]).await? {
        Outcome::Done { tag, .. } => Ok(vec![tag]),
        Outcome::Rows(rows) => {
            let mut rows: Vec<String> = rows.try_collect::<Vec<_>>().await?.iter().flat_map(text_lines).collect();
            rows.sort();
            Ok(rows)
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn joins_answer_as_without_a_rule() {
    let mut fast = session(2);
    let mut slow = open(Config { threads: 2, optimizer: false, ..Config::default() }).session();
    for session in [&mut fast, &mut slow] {
        fill(session, ROWS).await;
    }
    let mut random = Random::new(23);
    let (mut chosen, mut found) = (0, 0);
    let queries = share(QUERIES);
    for round in 0..queries {
        let sql = query(&mut random);
        let is_block = round % 5 == 3;
        if is_block {
            for session in [&mut fast, &mut slow] {
                ok(session, "BEGIN").await;
                ok(session, &format!("UPDATE a SET b_id = {} WHERE id = {round}", round % 40)).await;
                ok(session, &format!("INSERT INTO c VALUES ({}, 5, 6, 'y{round}')", 100_000 + round)).await;
                ok(session, &format!("DELETE FROM b WHERE id = {}", round % 60)).await;
            }
        }
        let prepared = fast.prepare(&sql.replace("$1", "$1::bigint")).unwrap_or_else(|error| panic!("{sql}: {error}"));
        for key in [random.below(60), random.below(ROWS + 20), random.below(60)] {
            let text = sql.replace("$1", &key.to_string());
            let expected = sorted_or_error(&mut slow, &text).await;
            assert_eq!(sorted_or_error(&mut fast, &text).await, expected, "{text}");
            let of_prepared = execute(&mut fast, &prepared, key as i64).await.map_err(|error| error.to_string());
            assert_eq!(of_prepared, expected, "prepared: {text}");
            let plan = ok(&mut fast, &format!("EXPLAIN {text}")).await.join("\n");
            chosen += usize::from(plan.matches("index=").count() > 1);
            found += usize::from(expected.is_ok_and(|rows| !rows.is_empty()));
        }
        if is_block {
            let end = if random.once_in(3) { "COMMIT" } else { "ROLLBACK" };
            for session in [&mut fast, &mut slow] {
                ok(session, end).await;
            }
        }
    }
    assert!(
        chosen > queries && found > queries,
        "{chosen} by two indexes, {found} with rows, of {queries} times three"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_one_table_choose_rows_of_the_next() {
    let mut session = session(2);
    fill(&mut session, 5000).await;
    for (query, scans) in [
        ("SELECT a.n, b.n FROM a JOIN b ON b.id = a.b_id WHERE a.id = 5", 2),
        ("SELECT a.n, b.n FROM a LEFT JOIN b ON b.id = a.b_id WHERE a.id = 5", 2),
        ("SELECT a.n, b.n FROM b RIGHT JOIN a ON b.id = a.b_id WHERE a.id = 5", 2),
        ("SELECT a.n, b.n FROM a JOIN b ON b.id = a.b_id WHERE b.id = 5", 2),
        ("SELECT a.n, b.n, c.n FROM a JOIN b ON b.id = a.b_id LEFT JOIN c ON c.id = b.c_id WHERE a.id = 5", 3),
        ("SELECT a.n FROM a, (SELECT b.id, c.n FROM b JOIN c ON c.id = b.c_id) x WHERE x.id = a.b_id AND a.id = 5", 3),
        ("SELECT a.n, (SELECT count(*) FROM b WHERE b.c_id = a.c_id) FROM a WHERE a.id = 5", 2),
        ("SELECT a.n FROM a WHERE a.id = 5 AND EXISTS (SELECT 1 FROM c WHERE c.id = a.c_id AND c.n > 3)", 2),
        ("SELECT a.n FROM a WHERE a.id = 5 AND NOT EXISTS (SELECT 1 FROM c WHERE c.id = a.c_id)", 2),
        ("SELECT c.n FROM c WHERE c.id IN (SELECT c_id FROM a WHERE id BETWEEN 5 AND 9)", 2),
        ("SELECT a.n FROM a JOIN c ON c.s = a.s WHERE a.id = 5", 2),
        ("SELECT a.n FROM a JOIN c ON c.id = a.b_id WHERE a.id = 5", 2),
        ("SELECT a.n FROM a FULL JOIN b ON b.id = a.b_id WHERE a.id = 5 OR b.id = 5", 0),
    ] {
        let plan = ok(&mut session, &format!("EXPLAIN {query}")).await.join("\n");
        assert_eq!(plan.matches("index=").count(), scans, "{query}: {plan}");
    }
}

/// Of a table that is read by the keys of another, no row is guarded but those.
#[tokio::test(flavor = "multi_thread")]
async fn joins_are_guarded_by_the_keys_that_they_ask_for() {
    let database = open(Config { threads: 2, ..Config::default() });
    let (mut one, mut two) = (database.session(), database.session());
    fill(&mut one, 5000).await;
    let sql = "SELECT sum(b.n) FROM a LEFT JOIN b ON b.id = a.b_id WHERE a.id = $1::bigint";
    let prepared = one.prepare(sql).expect("it is one");
    ok(&mut one, "UPDATE a SET b_id = 9000 WHERE id = 6").await;
    for is_prepared in [false, true] {
        // The first row has a partner, the second one none.
        for (read, written, conflicts) in [
            (5, "UPDATE b SET n = n + 1 WHERE id = 35", true),
            (5, "UPDATE b SET n = n + 1 WHERE id = 36", false),
            (5, "DELETE FROM b WHERE id = 35", true),
            (5, "UPDATE a SET b_id = 77 WHERE id = 5", true),
            (5, "UPDATE a SET n = 77 WHERE id = 5", false),
            (6, "INSERT INTO b VALUES (9000, 1, 2, 'x')", true),
            (6, "INSERT INTO b VALUES (9001, 1, 2, 'x')", false),
        ] {
            ok(&mut one, "BEGIN").await;
            if is_prepared {
                for _ in 0..3 {
                    execute(&mut one, &prepared, read).await.expect("it can be run");
                }
            } else {
                ok(&mut one, &sql.replace("$1", &read.to_string())).await;
            }
            ok(&mut one, "UPDATE c SET b_id = 1 WHERE id = 900").await;
            ok(&mut two, written).await;
            let committed = run(&mut one, "COMMIT").await;
            assert_eq!(committed.is_err(), conflicts, "{written}: {committed:?}");
            ok(&mut one, "DELETE FROM b WHERE id >= 9000").await;
            ok(&mut one, "UPDATE a SET b_id = 35 WHERE id = 5").await;
            ok(&mut one, "INSERT INTO b VALUES (35, 1, 2, 'x') ON CONFLICT DO NOTHING").await;
        }
    }
}
