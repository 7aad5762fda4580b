//! Decides which texts CHAR(n) and VARCHAR(n) take, and what they store of them.
//!
//! As PostgreSQL does on assignment: n counts characters, and a text that is longer is an error unless all characters
//! beyond n are blanks, which are cut. Only U+0020 is a blank.
//!
//! A CHAR(n) is stored without its trailing blanks, since they do not count in comparisons; PostgreSQL pads it instead, so it is
//! padded where it is sent and written as text.
//!
//! Not here: casts, which cut a text in PostgreSQL whatever they cut off.

/// A text as VARCHAR(n) stores it; `None` if it is too long.
#[inline]
#[must_use]
pub fn fit_varchar(text: &str, n: u32) -> Option<&str> {
    // Every character has at least one byte.
    if text.len() <= n as usize {
        return Some(text);
    }
    let Some((end, _)) = text.char_indices().nth(n as usize) else { return Some(text) };
    let (stored, surplus) = text.split_at(end);
    surplus.bytes().all(|byte| byte == b' ').then_some(stored)
}

/// A text as CHAR(n) stores it; `None` if it is too long.
#[inline]
#[must_use]
pub fn fit_char(text: &str, n: u32) -> Option<&str> {
    // What is left to cut ends in no blank.
    fit_varchar(trim_char(text), n)
}

/// What counts of a text that is compared as a CHAR: all but its trailing blanks.
#[inline]
#[must_use]
pub fn trim_char(text: &str) -> &str {
    text.trim_end_matches(' ')
}

/// How many blanks stand behind the text of a CHAR(n), which is UTF-8.
#[inline]
#[must_use]
pub fn blanks_behind(text: &[u8], n: usize) -> usize {
    // The bytes that begin a character.
    n.saturating_sub(text.iter().filter(|byte| **byte & 0xC0 != 0x80).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_padded() {
        for (text, blanks) in [("", 3), ("ab", 1), ("abcd", 0), ("\u{e4}\u{20ac}", 1)] {
            assert_eq!(blanks_behind(text.as_bytes(), 3), blanks, "{text}");
        }
    }

    #[test]
    fn texts_are_fitted_as_on_assignment() {
        for (text, varchar, char) in [
            ("", Some(""), Some("")),
            ("abc", Some("abc"), Some("abc")),
            ("ab ", Some("ab "), Some("ab")),
            ("abc  ", Some("abc"), Some("abc")),
            ("  c  ", Some("  c"), Some("  c")),
            ("     ", Some("   "), Some("")),
            ("abcd", None, None),
            ("abcd ", None, None),
            ("abc x", None, None),
            ("abc\t", None, None),
            ("abc\u{a0}", None, None),
            ("\u{e4}\u{f6}\u{fc}", Some("\u{e4}\u{f6}\u{fc}"), Some("\u{e4}\u{f6}\u{fc}")),
            ("\u{e4}\u{f6}\u{fc}  ", Some("\u{e4}\u{f6}\u{fc}"), Some("\u{e4}\u{f6}\u{fc}")),
            ("\u{e4}\u{f6}\u{fc}\u{df}", None, None),
            // A character is a code point, as in PostgreSQL.
            ("e\u{301}e\u{301}", None, None),
        ] {
            assert_eq!(fit_varchar(text, 3), varchar, "{text:?} as VARCHAR(3)");
            assert_eq!(fit_char(text, 3), char, "{text:?} as CHAR(3)");
        }
    }
}
