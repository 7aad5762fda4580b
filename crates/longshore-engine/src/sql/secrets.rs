//! Secrets in the text of statements: the values of options such as `SECRET_ACCESS_KEY`, and the passwords of roles.
//!
//! They stand in no message, no record of statements and no view. The text is looked at as the splitter of statements
//! does, so that it need not be valid SQL. Not here: which options are secret (`sql::options`).

use std::borrow::Cow;
use std::ops::Range;

use super::options::is_secret;
use super::split::{comment_end, dollar_end, is_escape_text, is_name_byte, line_end, text_end};

/// What stands for a secret.
const MASK: &str = "'***'";

/// A shorter text is no secret worth to be looked for in messages.
const SECRET_BYTES_MIN: usize = 4;

/// `sql` with `'***'` for every secret in it: for histories and records of statements.
///
/// ```
/// let sql = "COPY t FROM 's3://b/f' (ACCESS_KEY_ID 'me', SECRET_ACCESS_KEY 'sesame')";
/// let shown = longshore_engine::without_secrets(sql);
/// assert_eq!(shown, "COPY t FROM 's3://b/f' (ACCESS_KEY_ID 'me', SECRET_ACCESS_KEY '***')");
/// ```
#[must_use]
pub fn without_secrets(sql: &str) -> Cow<'_, str> {
    let places = places(sql.as_bytes());
    if places.is_empty() {
        return Cow::Borrowed(sql);
    }
    let mut shown = String::with_capacity(sql.len());
    let mut start = 0;
    for place in places {
        shown.push_str(&sql[start..place.start]);
        shown.push_str(MASK);
        start = place.end;
    }
    shown.push_str(&sql[start..]);
    Cow::Owned(shown)
}

/// The secrets in `sql`, without their quotes.
pub(crate) fn values(sql: &str) -> Vec<String> {
    let places = places(sql.as_bytes()).into_iter();
    places.map(|place| unquoted(&sql[place])).filter(|value| value.len() >= SECRET_BYTES_MIN).collect()
}

/// What stands between the quotes of `text`.
fn unquoted(text: &str) -> String {
    let tag = text.strip_prefix('$').and_then(|rest| rest.find('$')).map_or(0, |length| length + 2);
    if tag > 0 {
        return text.get(tag..text.len().saturating_sub(tag)).unwrap_or(text).to_owned();
    }
    let text = text.strip_prefix(['e', 'E']).filter(|rest| rest.starts_with('\'')).unwrap_or(text);
    text.trim_matches(['\'', '"']).replace("''", "'")
}

/// Where secrets stand, quotes included.
fn places(sql: &[u8]) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut at = 0;
    let mut statement = RoleWords::default();
    while at < sql.len() {
        if is_name_byte(sql[at]) {
            let end = name_end(sql, at);
            let word = std::str::from_utf8(&sql[at..end]);
            let is_secret = word.is_ok_and(|word| is_secret(word) || statement.is_before_password(word, &sql[end..]));
            at = end;
            if is_secret {
                let start = value_start(sql, at);
                at = value_end(sql, start);
                if start < at {
                    places.push(start..at);
                }
            }
        } else {
            if sql[at] == b';' {
                statement = RoleWords::default();
            }
            at = token_end(sql, at);
        }
    }
    places
}

/// Whether a statement is one about a role, by the words that it begins with: elsewhere PASSWORD is a name as any.
#[derive(Default)]
struct RoleWords {
    is_verb: bool,
    is_about_role: bool,
}

impl RoleWords {
    /// Takes the next word; whether a password stands behind it.
    fn is_before_password(&mut self, word: &str, behind: &[u8]) -> bool {
        let is = |words: &[&str]| words.iter().any(|known| known.eq_ignore_ascii_case(word));
        if self.is_about_role {
            // NULL is none.
            return is(&["password"])
                && !behind.trim_ascii_start().get(..4).is_some_and(|null| null.eq_ignore_ascii_case(b"null"));
        }
        self.is_about_role = self.is_verb && is(&["role", "user", "group"]);
        self.is_verb = is(&["create", "alter"]);
        false
    }
}

fn name_end(sql: &[u8], at: usize) -> usize {
    sql[at..].iter().position(|byte| !is_name_byte(*byte)).map_or(sql.len(), |length| at + length)
}

/// The end of what is no name: a text, a comment, or a single character.
fn token_end(sql: &[u8], at: usize) -> usize {
    match (sql[at], sql.get(at + 1)) {
        (b'\'', _) => text_end(sql, at, is_escape_text(sql, at)),
        (b'"', _) => text_end(sql, at, false),
        (b'-', Some(b'-')) => line_end(sql, at),
        (b'/', Some(b'*')) => comment_end(sql, at),
        (b'$', _) => dollar_end(sql, at),
        _ => at + 1,
    }
}

/// Behind `=>` and the like.
fn value_start(sql: &[u8], mut at: usize) -> usize {
    while at < sql.len() {
        match (sql[at], sql.get(at + 1)) {
            (b'-', Some(b'-')) => at = line_end(sql, at),
            (b'/', Some(b'*')) => at = comment_end(sql, at),
            (b'=' | b'>' | b':', _) => at += 1,
            (byte, _) if byte.is_ascii_whitespace() => at += 1,
            _ => break,
        }
    }
    at
}

/// The end of a text, or of whatever stands in its place: up to the next option.
fn value_end(sql: &[u8], mut at: usize) -> usize {
    while at < sql.len() && !matches!(sql[at], b',' | b')' | b';') && !sql[at].is_ascii_whitespace() {
        at = token_end(sql, at);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_however_they_are_written() {
        for (sql, expected) in [
            ("(SECRET_ACCESS_KEY 'a''b,c)', REGION 'x')", "(SECRET_ACCESS_KEY '***', REGION 'x')"),
            ("(secret_access_key => E'a\\'b', x => 1)", "(secret_access_key => '***', x => 1)"),
            ("(Session_Token /* my */ $q$a'b$q$)", "(Session_Token /* my */ '***')"),
            ("(SESSION_TOKEN \"oops\")", "(SESSION_TOKEN '***')"),
            ("(SESSION_TOKEN := oops)", "(SESSION_TOKEN := '***')"),
            ("(SECRET_ACCESS_KEY 'never closed, X 1)", "(SECRET_ACCESS_KEY '***'"),
            ("SELECT 'SECRET_ACCESS_KEY x' -- SESSION_TOKEN y", "SELECT 'SECRET_ACCESS_KEY x' -- SESSION_TOKEN y"),
            ("CREATE ROLE a LOGIN PASSWORD 'x''y' SUPERUSER", "CREATE ROLE a LOGIN PASSWORD '***' SUPERUSER"),
            ("SELECT 1; alter user a password sesame", "SELECT 1; alter user a password '***'"),
            (
                "ALTER ROLE a PASSWORD NULL; SELECT password FROM t",
                "ALTER ROLE a PASSWORD NULL; SELECT password FROM t",
            ),
            ("SELECT my_session_token, ä FROM t", "SELECT my_session_token, ä FROM t"),
        ] {
            assert_eq!(without_secrets(sql), expected, "{sql}");
        }
    }

    #[test]
    fn messages_lose_them() {
        let secrets = values("(SECRET_ACCESS_KEY 'se''same', SESSION_TOKEN E'tok/en+', session_token $a$b$$c$a$)");
        assert_eq!(secrets, ["se'same", "tok/en+", "b$$c"]);
        let error = crate::Error::invalid("no se'same, no tok/en+!").without(&secrets);
        assert_eq!(error.to_string(), "no ***, no ***!");
    }
}
