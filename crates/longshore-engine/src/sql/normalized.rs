//! The text of a statement with `$1`, `$2`, ... in the place of its values, as `pg_stat_statements` shows it.
//!
//! Only of queries and changes of rows: other statements stay as they are, without secrets. Parameters that are there keep
//! their numbers, and those of values go on behind them. Not here: shapes, which are run (`shape`).

use std::fmt::Write as _;

use super::secrets::without_secrets;
use super::split::{comment_end, dollar_end, follows_name, is_escape_text, is_name_byte, line_end, text_end};

/// What statements with values begin with.
const WITH_VALUES: [&str; 9] = ["select", "insert", "update", "delete", "with", "merge", "values", "table", "from"];

/// The text of `sql` without its values, without a semicolon and blanks around it.
pub(crate) fn normalized(sql: &str) -> String {
    let sql = sql.trim().trim_end_matches(|end: char| end == ';' || end.is_whitespace());
    let bytes = sql.as_bytes();
    if !has_values(sql) {
        return without_secrets(sql).into_owned();
    }
    let (mut text, mut number, mut at, mut start) = (String::with_capacity(sql.len()), last_parameter(sql), 0, 0);
    while at < bytes.len() {
        let (from, end) = match bytes[at] {
            b'\'' => {
                let is_escape = is_escape_text(bytes, at);
                // `E'...'`, `B'...'` and their like are values with their letter.
                let has_letter = at > start
                    && matches!(bytes[at - 1], b'e' | b'E' | b'b' | b'B' | b'x' | b'X' | b'n' | b'N')
                    && !follows_name(bytes, at - 1);
                (at - usize::from(has_letter), text_end(bytes, at, is_escape))
            }
            b'$' if !follows_name(bytes, at) && dollar_end(bytes, at) > at + 1 => (at, dollar_end(bytes, at)),
            b'0'..=b'9' if !follows_name(bytes, at) && !is_parameter(bytes, at) => (at, number_end(bytes, at)),
            b'.' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
                && (at == 0 || !(is_name_byte(bytes[at - 1]) || bytes[at - 1] == b'.')) =>
            {
                (at, number_end(bytes, at))
            }
            byte => {
                at = match byte {
                    b'"' => text_end(bytes, at, false),
                    b'-' if bytes.get(at + 1) == Some(&b'-') => line_end(bytes, at),
                    b'/' if bytes.get(at + 1) == Some(&b'*') => comment_end(bytes, at),
                    _ => at + 1,
                };
                continue;
            }
        };
        number += 1;
        text.push_str(&sql[start..from]);
        // Writing to a string cannot fail.
        let _ = write!(text, "${number}");
        (at, start) = (end, end);
    }
    text.push_str(&sql[start.min(sql.len())..]);
    text
}

/// Whether a statement is a query or changes rows.
fn has_values(sql: &str) -> bool {
    let bytes = sql.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        at = match (bytes[at], bytes.get(at + 1)) {
            (b'-', Some(b'-')) => line_end(bytes, at),
            (b'/', Some(b'*')) => comment_end(bytes, at),
            (b'(', _) => at + 1,
            (byte, _) if byte.is_ascii_whitespace() => at + 1,
            _ => break,
        };
    }
    let length = bytes[at..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    WITH_VALUES.iter().any(|word| sql[at..at + length].eq_ignore_ascii_case(word))
}

fn is_parameter(bytes: &[u8], at: usize) -> bool {
    let before = bytes[..at].iter().rev().find(|byte| !byte.is_ascii_digit());
    before == Some(&b'$')
}

/// The highest number of a parameter that is there.
fn last_parameter(sql: &str) -> u32 {
    let after = sql.split('$').skip(1);
    let number = |part: &str| {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        part[..digits].parse::<u16>().ok()
    };
    after.filter_map(number).max().map_or(0, u32::from)
}

/// The end of the number that begins at `at`.
fn number_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    while let Some(byte) = bytes.get(end) {
        let is_sign = matches!(byte, b'+' | b'-') && matches!(bytes[end - 1], b'e' | b'E') && end > at;
        let is_exponent = is_sign && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') || is_exponent {
            end += 1;
        } else {
            break;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_parameters() {
        for (sql, expected) in [
            ("SELECT 1", "SELECT $1"),
            (" select a1, 'x''y', 1.5e-3 from t2 where b = .5 ; ", "select a1, $1, $2 from t2 where b = $3"),
            ("SELECT $2 + 7, $1", "SELECT $2 + $3, $1"),
            ("INSERT INTO t VALUES (1, E'a\\'b', NULL)", "INSERT INTO t VALUES ($1, $2, NULL)"),
            ("SELECT \"1\", $$a'1$$, $t$x$t$ -- 5\n, 6", "SELECT \"1\", $1, $2 -- 5\n, $3"),
            ("SELECT 1-2, a[3], x'ff' /* '7' */", "SELECT $1-$2, a[$3], $4 /* '7' */"),
            ("(select 'é') union select 2", "(select $1) union select $2"),
            ("SET x = 'y'", "SET x = 'y'"),
            ("SELECT 'open", "SELECT $1"),
            ("SELECT 1e", "SELECT $1"),
            ("", ""),
        ] {
            assert_eq!(normalized(sql), expected, "{sql}");
        }
        assert!(!normalized("ALTER ROLE a PASSWORD 'secret'").contains("secret"));
    }
}
