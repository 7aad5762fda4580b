//! What one text of a statement is parsed to.

use super::*;

#[test]
fn syntax_errors_say_where() {
    for (sql, expected) in [
        ("SELEC 1", "syntax error at line 1, column 1: expected an SQL statement, found SELEC"),
        ("SELECT 1 +", "syntax error: expected an expression, found the end"),
        ("SELECT 'abc", "syntax error at line 1, column 8: Unterminated string literal"),
        ("SELECT a b c", "the statement should end before \"c\" at line 1, column 12"),
    ] {
        assert_eq!(parse(sql).map(|_| ()).unwrap_err().to_string(), expected, "{sql}");
    }
}

#[test]
fn text_without_a_statement_is_empty() {
    for sql in ["", "  \n", "-- remark", "/* remark */ ;; ", ";"] {
        assert!(matches!(parse(sql), Ok(Parsed::Empty)), "{sql:?}");
    }
}

#[test]
fn what_follows_a_statement_is_refused_with_its_place() {
    let message = parse("SELECT 1; SELECT 2").map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("another one begins with \"SELECT\""), "{message}");
    let message = parse("COPY t FROM 'f' bogus").map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("BOGUS"), "{message}");
}

#[test]
fn deep_nesting_is_an_error_not_a_crash() {
    let sql = format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(parse(&sql).is_err());
}
