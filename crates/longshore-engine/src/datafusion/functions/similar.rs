//! Patterns of SIMILAR TO as regular expressions of PostgreSQL's.
//!
//! The whole text is to match, `%` stands for any characters, `_` for one, and the escape character, a backslash unless
//! ESCAPE names another, makes a character mean itself. `|`, `*`, `+`, `?`, `{m,n}`, groups and brackets are as in regular
//! expressions. Two escaped quotation marks divide the pattern in three, of which `substring` gives the text of the second.

use crate::{Error, ErrorKind};

/// The regular expression that matches what `pattern` matches; without an escape character where `escape` is empty.
pub(super) fn expression(pattern: &str, escape: &str) -> Result<String, Error> {
    let mut characters = escape.chars();
    let escape = characters.next();
    if characters.next().is_some() {
        return Err(Error::new(
            ErrorKind::EscapeSequence,
            "invalid escape string; Escape string must be empty or one character.",
        ));
    }
    let mut regular = String::from("^(?:");
    let mut marks = 0;
    let mut is_escaped = false;
    let mut in_brackets = false;
    for character in pattern.chars() {
        if is_escaped {
            is_escaped = false;
            if character == '"' && !in_brackets {
                // The first part takes as little as it can, the second as much.
                regular.push_str(match marks {
                    0 => "){1,1}?(",
                    1 => "){1,1}(?:",
                    _ => {
                        return Err(Error::new(
                            ErrorKind::EscapeUse,
                            "SQL regular expression may not contain more than two escape-double-quote separators",
                        ));
                    }
                });
                marks += 1;
            } else {
                regular.extend(['\\', character]);
            }
        } else if Some(character) == escape {
            is_escaped = true;
        } else if in_brackets {
            if character == '\\' {
                regular.push('\\');
            }
            regular.push(character);
            in_brackets = character != ']';
        } else {
            match character {
                '[' => {
                    regular.push('[');
                    in_brackets = true;
                }
                '%' => regular.push_str(".*"),
                '_' => regular.push('.'),
                '(' => regular.push_str("(?:"),
                '\\' | '.' | '^' | '$' => regular.extend(['\\', character]),
                other => regular.push(other),
            }
        }
    }
    regular.push_str(")$");
    Ok(regular)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_become_regular_expressions() {
        for (pattern, escape, expected) in [
            ("a%", "\\", "^(?:a.*)$"),
            ("_b|c*", "\\", "^(?:.b|c*)$"),
            ("%(b|d)%", "\\", "^(?:.*(?:b|d).*)$"),
            ("a.b^$", "\\", "^(?:a\\.b\\^\\$)$"),
            ("a\\%", "\\", "^(?:a\\%)$"),
            ("a#%", "#", "^(?:a\\%)$"),
            ("a\\", "#", "^(?:a\\\\)$"),
            ("a\\", "", "^(?:a\\\\)$"),
            ("[a-c%_[:alpha:]]+", "\\", "^(?:[a-c%_[:alpha:]]+)$"),
            ("a#\"b#\"c", "#", "^(?:a){1,1}?(b){1,1}(?:c)$"),
        ] {
            assert_eq!(expression(pattern, escape).unwrap(), expected, "{pattern}");
        }
        assert!(expression("a", "##").is_err());
        assert!(expression("#\"#\"#\"", "#").is_err());
    }
}
