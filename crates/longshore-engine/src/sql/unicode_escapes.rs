//! `U&'d\0061t'`, `U&"d\0061t"` and their `UESCAPE 'c'`, written out as plain literals and identifiers: the tokenizer knows
//! neither the identifiers nor other escape characters.

use std::borrow::Cow;

use super::split::{comment_end, dollar_end, is_escape_text, is_name_byte, line_end, text_end};
use crate::Error;

/// The text without such literals.
///
/// # Errors
/// For an escape that is none, as PostgreSQL has them.
pub(super) fn written_out(sql: &str) -> Result<Cow<'_, str>, Error> {
    let bytes = sql.as_bytes();
    let is_prefix = |at: usize| {
        (at == 0 || !is_name_byte(bytes[at - 1]))
            && bytes[at].eq_ignore_ascii_case(&b'u')
            && bytes[at + 1] == b'&'
            && matches!(bytes[at + 2], b'\'' | b'"')
    };
    let may_stand_in = sql.contains("U&") || sql.contains("u&");
    if !may_stand_in || bytes.len() < 3 || !(0..bytes.len() - 2).any(is_prefix) {
        return Ok(Cow::Borrowed(sql));
    }
    let mut plain = String::with_capacity(sql.len());
    let mut at = 0;
    while at < sql.len() {
        if at + 2 < bytes.len() && is_prefix(at) {
            let end = text_end(bytes, at + 2, false);
            let (content, quote) = (inner(sql, at + 2, end), char::from(bytes[at + 2]));
            let (escape, behind) = escape_behind(sql, end)?;
            let doubled: String = [quote, quote].iter().collect();
            let no_character = |_| Error::syntax("invalid Unicode escape value");
            let unescaped = unescaped(&content.replace(&doubled, &quote.to_string()), escape, false, no_character)?;
            plain.push(quote);
            plain.push_str(&unescaped.replace(quote, &doubled));
            plain.push(quote);
            at = behind;
        } else {
            let end = end_of_token(sql, at);
            plain.push_str(&sql[at..end]);
            at = end;
        }
    }
    Ok(Cow::Owned(plain))
}

/// Where what begins at `at` ends: a quoted text, a comment, or one character.
fn end_of_token(sql: &str, at: usize) -> usize {
    let bytes = sql.as_bytes();
    match (bytes[at], bytes.get(at + 1)) {
        (b'\'', _) => text_end(bytes, at, is_escape_text(bytes, at)),
        (b'"', _) => text_end(bytes, at, false),
        (b'-', Some(b'-')) => line_end(bytes, at),
        (b'/', Some(b'*')) => comment_end(bytes, at),
        (b'$', _) => dollar_end(bytes, at),
        _ => at + sql[at..].chars().next().map_or(1, char::len_utf8),
    }
}

fn inner(sql: &str, start: usize, end: usize) -> &str {
    sql.get(start + 1..end.saturating_sub(1)).unwrap_or_default()
}

/// The escape character that UESCAPE behind a literal names, and where that ends.
fn escape_behind(sql: &str, end: usize) -> Result<(char, usize), Error> {
    const WORD: &str = "uescape";
    let rest = sql[end..].trim_start();
    let is_named = rest.get(..WORD.len()).is_some_and(|word| word.eq_ignore_ascii_case(WORD));
    let named = rest.get(WORD.len()..).unwrap_or_default().trim_start();
    if !is_named || !named.starts_with('\'') {
        return Ok(('\\', end));
    }
    let start = sql.len() - named.len();
    let behind = text_end(sql.as_bytes(), start, false);
    let mut characters = inner(sql, start, behind).chars();
    let escape = match (characters.next(), characters.next()) {
        (Some(escape), None) => escape,
        _ => ' ',
    };
    if escape.is_ascii_hexdigit() || matches!(escape, '+' | '\'' | '"') || escape.is_whitespace() {
        return Err(Error::syntax("invalid Unicode escape character"));
    }
    Ok((escape, behind))
}

/// `text` with characters for four hexadecimal digits behind `escape`, or six behind `escape` and a plus; with letters, also for
/// `u` and four, `U` and eight. `no_character` is the error of a code that has none.
pub(crate) fn unescaped(
    text: &str,
    escape: char,
    has_letters: bool,
    no_character: impl Fn(u32) -> Error,
) -> Result<String, Error> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    let mut high: Option<u32> = None;
    let no_pair = || Error::syntax("invalid Unicode surrogate pair");
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        let is_doubled = character == escape && rest.starts_with(escape);
        if character != escape || is_doubled {
            if high.is_some() {
                return Err(no_pair());
            }
            plain.push(character);
            rest = if is_doubled { &rest[escape.len_utf8()..] } else { rest };
            continue;
        }
        let (skipped, digits) = match rest.as_bytes().first() {
            Some(b'+') => (1, 6),
            Some(b'u') if has_letters => (1, 4),
            Some(b'U') if has_letters => (1, 8),
            _ => (0, 4),
        };
        let code = rest.get(skipped..skipped + digits).filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(code) = code.and_then(|code| u32::from_str_radix(code, 16).ok()) else {
            return Err(Error::syntax("invalid Unicode escape"));
        };
        rest = &rest[skipped + digits..];
        let code = match (high.take(), code) {
            (None, 0xd800..=0xdbff) => {
                high = Some(code);
                continue;
            }
            (Some(first), 0xdc00..=0xdfff) => 0x1_0000 + ((first - 0xd800) << 10) + (code - 0xdc00),
            (None, code) if !(0xdc00..=0xdfff).contains(&code) => code,
            _ => return Err(no_pair()),
        };
        let character = char::from_u32(code).filter(|character| *character != '\0');
        plain.push(character.ok_or_else(|| no_character(code))?);
    }
    if high.is_some() { Err(no_pair()) } else { Ok(plain) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_written_out() {
        for (sql, expected) in [
            ("SELECT 1", "SELECT 1"),
            ("SELECT U&'d\\0061t\\+000061' AS U&\"d\\0061t\"", "SELECT 'data' AS \"dat\""),
            ("U&'d!0061t\\+000061' UESCAPE '!' x", "'dat\\+000061' x"),
            ("U&' \\' UESCAPE '!'", "' \\'"),
            ("U&'a\\\\b''c'", "'a\\b''c'"),
            ("'U&''a\\0061' u&'\\0061'", "'U&''a\\0061' 'a'"),
            ("/* U&'\\' */ U&'\\0061' -- U&'\\", "/* U&'\\' */ 'a' -- U&'\\"),
            ("E'\\'U&' U&'\\0061'", "E'\\'U&' 'a'"),
            ("$a$U&'\\$a$ U&'\\0061'", "$a$U&'\\$a$ 'a'"),
            ("U&'\\D83D\\DE00'", "'😀'"),
            ("aU&'b'", "aU&'b'"),
        ] {
            assert_eq!(written_out(sql).unwrap(), expected, "{sql}");
        }
        for sql in ["U&'\\061'", "U&'\\D83D'", "U&'+0061' UESCAPE '+'", "U&'\\DE00'", "U&'\\0000'"] {
            assert!(written_out(sql).is_err(), "{sql}");
        }
    }
}
