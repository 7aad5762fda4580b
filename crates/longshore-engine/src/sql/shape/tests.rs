//! Which statements have a shape, and what it is.

use super::*;

fn text(text: &str) -> Literal<'_> {
    Literal::Text(Cow::Borrowed(text))
}

#[test]
fn values_become_parameters() {
    let found = shape("SELECT a FROM t WHERE k = 5 AND b > -2.5 AND c BETWEEN 'x''y' AND '' LIMIT 3; ").unwrap();
    assert_eq!(found.text, " SELECT a FROM t WHERE k= $1 AND b> $2 AND c BETWEEN $3 AND $4 LIMIT $5");
    let expected = [Literal::Integer(5), Literal::Decimal("-2.5"), text("x'y"), text(""), Literal::Integer(3)];
    assert_eq!(found.literals, expected);
    let found = shape("update T set a = a - 1, \"b\" = -1 where k=1").unwrap();
    assert_eq!(found.text, " update T set a= a- $1,\"b\"= $2 where k= $3");
    assert_eq!(found.literals, [Literal::Integer(1), Literal::Integer(-1), Literal::Integer(1)]);
    let found = shape("/* c */ DELETE -- '\n FROM t WHERE k = 9223372036854775808").unwrap();
    assert_eq!(found.literals, [Literal::Decimal("9223372036854775808")]);
}

#[test]
fn rows_of_an_insert_are_no_part_of_its_shape() {
    let one = shape("INSERT INTO t (a, b) VALUES (1, NULL)").unwrap();
    let two = shape("INSERT INTO t (a, b)\nvalues (2, 'x') , (-3, true);").unwrap();
    assert_eq!((one.text.as_str(), one.row), (" INSERT INTO t( a, b) VALUES ($1,$2)", 2));
    assert_eq!(one.text, two.text);
    assert_eq!(one.literals, [Literal::Integer(1), Literal::Null]);
    assert_eq!(two.literals, [Literal::Integer(2), text("x"), Literal::Integer(-3), Literal::Bool(true)]);
}

#[test]
fn literals_that_may_be_no_values_stay() {
    let found = shape("SELECT a FROM t WHERE k = 1 ORDER BY 1").unwrap();
    assert_eq!(found.text, " SELECT a FROM t WHERE k= $1 ORDER BY 1");
}

#[test]
fn other_statements_have_no_shape() {
    for sql in [
        "",
        "SELECT $1",
        "SELECT E'a'",
        "SELECT x'41'",
        "SELECT $$a$$",
        "SELECT DATE '2024-01-31'",
        "SELECT * FROM 'file.csv'",
        "SELECT a FROM t WHERE k = 'a'\n'b'",
        "SELECT a FROM t WHERE k = 'a",
        "SELECT a FROM t WHERE k = 1; SELECT 2",
        "SELECT a FROM t WHERE k = 1e",
        "SELECT a FROM t WHERE k = 1.5.5",
        "SELECT a FROM t WHERE k = 0x1F",
        "INSERT INTO t VALUES (1), (1, 2)",
        "INSERT INTO t VALUES (DEFAULT)",
        "INSERT INTO t VALUES (1 + 1)",
        "INSERT INTO t VALUES (1) RETURNING a",
        "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING",
        "INSERT INTO t SELECT 1",
        "INSERT INTO t VALUES ()",
        "INSERT INTO t VALUES (1",
        "INSERT INTO t VALUES (-)",
        "INSERT INTO t VALUES (.)",
        "CREATE TABLE t (a INT)",
    ] {
        assert_eq!(shape(sql), None, "{sql}");
    }
}

#[test]
fn executions_with_literals() {
    let literals = |values: &str| execution(values).map(|(name, literals)| (name, literals.len()));
    for (sql, expected) in [
        ("EXECUTE p", Some(("p", 0))),
        ("execute Get_1 (1, -2.5, 'it''s', NULL, true);", Some(("get_1", 5))),
        ("EXECUTE p(1 + 1)", None),
        ("EXECUTE p()", None),
        ("EXECUTE p(1) INTO x", None),
        ("EXECUTE s.p(1)", None),
        ("EXECUTE \"P\"(1)", None),
        ("EXECUTE p(DATE '2020-01-01')", None),
        ("EXECUTE p('a', E'b')", None),
        ("SELECT 1", None),
    ] {
        assert_eq!(literals(sql), expected.map(|(name, count)| (name.to_owned(), count)), "{sql}");
    }
}

#[test]
fn any_text_is_read_without_a_panic() {
    let parts = [
        "'", "\"", ";", "$", "--", "\n", "/*", "*/", "E'", "\\", "é", "x", " ", "1", ".", "-", "(", ")", ",", "e", "=",
    ];
    let mut state = 1_u64;
    for round in 0..40_000 {
        let mut sql = String::from(["SELECT ", "INSERT INTO t VALUES (", "UPDATE ", "EXECUTE p("][round % 4]);
        for _ in 0..12 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            sql.push_str(parts[(state >> 33) as usize % parts.len()]);
        }
        let _ = (shape(&sql), execution(&sql));
    }
}
