//! Parameters as drivers of other languages write them, `?` and `$name`, as those that statements have: `$1`, `$2`, ...
//!
//! The scan is that of statements in a text ([`super::split`](mod@super::split)). Where numbers are written, `?` is the operator
//! of JSONB; elsewhere that is written `??`. Not here: values.

use super::split::{comment_end, dollar_end, follows_name, is_escape_text, is_name_byte, line_end, text_end};

/// A text whose parameters have numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Numbered {
    /// The text, with `$1`, `$2`, ... in the place of `?` and `$name`.
    pub sql: String,
    /// The names of parameters, in the order of their numbers; empty if none has a name.
    pub names: Vec<String>,
    /// How many parameters there are: as many as names if each has one.
    pub count: usize,
}

/// Gives the parameters `?` and `$name` of `sql` numbers: each `?` the next one, and each name one.
///
/// ```
/// let numbered = longshore_engine::numbered("SELECT ?, '?', ? -- ?");
/// assert_eq!(numbered.sql, "SELECT $1, '?', $2 -- ?");
/// let named = longshore_engine::numbered("SELECT $low, $high, $low");
/// assert_eq!((named.sql.as_str(), named.names.len()), ("SELECT $1, $2, $1", 2));
/// ```
#[must_use]
pub fn numbered(sql: &str) -> Numbered {
    let has_numbers = places(sql).iter().any(|place| matches!(place, Place::Number(_)));
    let mut made = Numbered { sql: String::with_capacity(sql.len()), names: Vec::new(), count: 0 };
    let mut copied = 0;
    let (mut marks, mut highest) = (0, 0);
    for place in places(sql) {
        let (start, end, text) = match place {
            Place::Number(number) => {
                highest = highest.max(number);
                continue;
            }
            Place::Mark(_) | Place::Doubled(_) if has_numbers => continue,
            Place::Mark(at) => {
                marks += 1;
                (at, at + 1, format!("${marks}"))
            }
            Place::Doubled(at) => (at, at + 2, "?".to_owned()),
            Place::Name(at, end) => {
                let name = &sql[at + 1..end];
                let known = made.names.iter().position(|known| known == name);
                let number = known.unwrap_or_else(|| {
                    made.names.push(name.to_owned());
                    made.names.len() - 1
                });
                (at, end, format!("${}", number + 1))
            }
        };
        made.sql.push_str(&sql[copied..start]);
        made.sql.push_str(&text);
        copied = end;
    }
    made.sql.push_str(&sql[copied..]);
    made.count = made.names.len() + marks.max(highest);
    made
}

/// What stands outside of texts, names and comments.
enum Place {
    /// `$1`
    Number(usize),
    /// `?`
    Mark(usize),
    /// `??`
    Doubled(usize),
    /// `$name`, and where it ends.
    Name(usize, usize),
}

fn places(sql: &str) -> Vec<Place> {
    let bytes = sql.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        at = match bytes[at] {
            b'\'' => text_end(bytes, at, is_escape_text(bytes, at)),
            b'"' => text_end(bytes, at, false),
            b'-' if bytes.get(at + 1) == Some(&b'-') => line_end(bytes, at),
            b'/' if bytes.get(at + 1) == Some(&b'*') => comment_end(bytes, at),
            b'?' if bytes.get(at + 1) == Some(&b'?') => {
                found.push(Place::Doubled(at));
                at + 2
            }
            // `?|` and `?&` are operators of JSONB, too; `?` before them is written doubled like any other.
            b'?' => {
                found.push(Place::Mark(at));
                at + 1
            }
            b'$' if !follows_name(bytes, at) => {
                let quoted = dollar_end(bytes, at);
                let length = bytes[at + 1..].iter().take_while(|byte| is_name_byte(**byte)).count();
                if quoted == at + 1 && length > 0 {
                    let name = &sql[at + 1..at + 1 + length];
                    let is_number = bytes[at + 1].is_ascii_digit();
                    // More than a statement may have is refused when it is prepared.
                    let number = || name.parse().unwrap_or(usize::MAX);
                    found.push(if is_number { Place::Number(number()) } else { Place::Name(at, at + 1 + length) });
                    at + 1 + length
                } else {
                    quoted
                }
            }
            _ => at + 1,
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sql: &str) -> (String, Vec<String>) {
        let made = numbered(sql);
        (made.sql, made.names)
    }

    #[test]
    fn marks_are_counted() {
        assert_eq!(of("a = ? AND b IN (?, ?)"), ("a = $1 AND b IN ($2, $3)".to_owned(), vec![]));
        assert_eq!(of("j ?? 'key' AND a = ?").0, "j ? 'key' AND a = $1");
        assert_eq!(of("SELECT '?', \"?\", $$?$$ /* ? */").0, "SELECT '?', \"?\", $$?$$ /* ? */");
    }

    #[test]
    fn names_have_one_number_each() {
        let names = vec!["low".to_owned(), "high".to_owned()];
        assert_eq!(of("$low < a AND a < $high OR $low IS NULL"), ("$1 < a AND a < $2 OR $1 IS NULL".to_owned(), names));
        assert_eq!(of("$q$ $low $q$").0, "$q$ $low $q$");
    }

    #[test]
    fn parameters_are_counted() {
        let cases =
            [("SELECT 1", 0), ("?, ?", 2), ("$2 + $2", 2), ("$low, $high, $low", 2), ("j ? $1", 1), ("?, $low", 2)];
        for (sql, count) in cases {
            assert_eq!(numbered(sql).count, count, "{sql}");
        }
    }

    #[test]
    fn beside_numbers_marks_are_operators() {
        assert_eq!(of("j ? $1"), ("j ? $1".to_owned(), vec![]));
        assert_eq!(of("a$1 = ?").0, "a$1 = $1");
    }
}
