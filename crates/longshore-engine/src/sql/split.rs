//! Where one statement ends and the next begins.
//!
//! A semicolon ends a statement unless it stands in a text, a quoted name, a comment or between dollar quotes.
//! The scan follows PostgreSQL's lexical rules and needs no valid SQL, so that a shell can ask while the user types.
//! Not here: whether a statement makes sense.

/// Statements found in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Split {
    /// Complete statements, without their semicolons. Statements of white space alone are left out.
    pub statements: Vec<String>,
    /// What follows the last semicolon; empty if it is white space alone.
    pub rest: String,
}

/// Cuts `sql` into statements.
///
/// ```
/// let split = longshore_engine::split("SELECT ';'; SELECT $$;$$; SELECT 'unfinished;");
/// assert_eq!(split.statements, ["SELECT ';'", "SELECT $$;$$"]);
/// assert_eq!(split.rest, "SELECT 'unfinished;");
/// ```
#[must_use]
pub fn split(sql: &str) -> Split {
    let bytes = sql.as_bytes();
    let mut result = Split::default();
    let mut start = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b';' => {
                let statement = sql[start..at].trim();
                if !statement.is_empty() {
                    result.statements.push(statement.to_owned());
                }
                at += 1;
                start = at;
            }
            b'\'' => at = text_end(bytes, at, is_escape_text(bytes, at)),
            b'"' => at = text_end(bytes, at, false),
            b'-' if bytes.get(at + 1) == Some(&b'-') => at = line_end(bytes, at),
            b'/' if bytes.get(at + 1) == Some(&b'*') => at = comment_end(bytes, at),
            b'$' if !follows_name(bytes, at) => at = dollar_end(bytes, at),
            _ => at += 1,
        }
    }
    sql[start..].trim().clone_into(&mut result.rest);
    result
}

/// Whether the byte is part of a name; bytes of other scripts are.
pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

pub(super) fn follows_name(bytes: &[u8], at: usize) -> bool {
    at > 0 && (is_name_byte(bytes[at - 1]) || bytes[at - 1] == b'$')
}

/// Whether the quote at `at` opens `E'...'`, where a backslash escapes.
pub(super) fn is_escape_text(bytes: &[u8], at: usize) -> bool {
    at > 0 && matches!(bytes[at - 1], b'e' | b'E') && !follows_name(bytes, at - 1)
}

/// The end of the text that opens at `at` and ends with the same quote; doubled quotes reopen it at once.
pub(super) fn text_end(bytes: &[u8], at: usize, backslash_escapes: bool) -> usize {
    let quote = bytes[at];
    let mut at = at + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if backslash_escapes => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

pub(super) fn line_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    rest.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length + 1)
}

/// The end of the comment that opens at `at`; comments nest.
pub(super) fn comment_end(bytes: &[u8], at: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = at;
    while at + 1 < bytes.len() {
        match (bytes[at], bytes[at + 1]) {
            (b'/', b'*') => {
                depth += 1;
                at += 2;
            }
            (b'*', b'/') => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The end of `$tag$...$tag$` if it opens at `at`, else the byte after the dollar (as in `$1`).
pub(super) fn dollar_end(bytes: &[u8], at: usize) -> usize {
    let name = bytes[at + 1..].iter().take_while(|byte| is_name_byte(**byte)).count();
    let opens = bytes.get(at + 1 + name) == Some(&b'$') && !bytes[at + 1].is_ascii_digit();
    if !opens {
        return at + 1;
    }
    let tag = &bytes[at..=at + 1 + name];
    let body = at + tag.len();
    bytes[body..]
        .windows(tag.len())
        .position(|window| window == tag)
        .map_or(bytes.len(), |length| body + length + tag.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(sql: &str) -> (Vec<String>, String) {
        let split = split(sql);
        (split.statements, split.rest)
    }

    #[test]
    fn semicolons_end_statements() {
        assert_eq!(statements("a; b ;;\n; c"), (vec!["a".into(), "b".into()], "c".into()));
        assert_eq!(statements(" \n"), (vec![], String::new()));
    }

    #[test]
    fn semicolons_inside_do_not() {
        for inside in [
            "';'",
            "'it''s;'",
            "E'\\';'",
            "e'\\\\;'",
            "\";\"\"\"",
            "-- ; \n",
            "/* ; /* ; */ ; */",
            "$$;$$",
            "$a$;$$;$b$;$a$",
            "x'41;'",
            "'\\'",
            "name$1",
            "$1",
            "a$b",
            "é';'",
        ] {
            assert_eq!(statements(&format!("{inside}; b")), (vec![inside.trim().into()], "b".into()), "{inside}");
        }
    }

    #[test]
    fn what_is_open_is_the_rest() {
        for open in
            ["'a;", "\"a;", "/* a; /* b */ ;", "$$a;$", "$a$;$b$", "E'\\';", "-- a;", "'", "$", "$a", "/*", "-", "/"]
        {
            assert_eq!(statements(&format!("x; {open}")), (vec!["x".into()], open.trim().into()), "{open}");
        }
    }

    #[test]
    fn any_text_is_split_without_loss() {
        let parts = ["'", "\"", ";", "$", "$a$", "--", "\n", "/*", "*/", "E'", "\\", "é", "x", " ", "1"];
        let mut state = 1_u64;
        for _ in 0..20_000 {
            let mut sql = String::new();
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                sql.push_str(parts[(state >> 33) as usize % parts.len()]);
            }
            let found = split(&sql);
            let kept = |text: &str| text.chars().filter(|c| !c.is_whitespace() && *c != ';').count();
            let total: usize = found.statements.iter().map(|s| kept(s)).sum::<usize>() + kept(&found.rest);
            assert_eq!(total, kept(&sql), "{sql:?}");
        }
    }
}
