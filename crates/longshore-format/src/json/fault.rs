//! What is wrong with a text that is no JSON: what was found, where, and what is expected there.
//!
//! Kept apart from [`longshore_csv::Defect`] until the record's bounds are known. Everything here is cold.

use std::fmt;

use longshore_csv::DefectKind;

/// What is expected where something else stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Key,
    Value,
    /// A digit that a number begins with.
    Number,
    /// Anything else, as a message names it.
    Other(&'static str),
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Expected::Key => "a key in double quotes",
            Expected::Value => "a value",
            Expected::Number => "a number's digit",
            Expected::Other(name) => name,
        })
    }
}

/// Something that is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Position of the byte that is wrong.
    pub(super) at: usize,
    pub(super) kind: DefectKind,
    /// What is wrong, up to where it stands.
    pub(super) found: String,
    /// What is expected there, unless it is there but not as it should be.
    pub(super) expected: Option<Expected>,
    pub(super) remedy: &'static str,
}

impl Fault {
    /// Another byte than those that are expected stands at `at`.
    #[cold]
    #[inline(never)]
    pub(super) fn unexpected(text: &[u8], at: usize, expected: Expected) -> Box<Fault> {
        Box::new(Fault {
            at,
            kind: DefectKind::Syntax,
            found: format!("found {}", describe(text, at)),
            expected: Some(expected),
            remedy: remedy(text, at, expected),
        })
    }

    /// What stands at `at` is what it should be, but not as it should be.
    #[cold]
    #[inline(never)]
    pub(super) fn new(at: usize, kind: DefectKind, found: impl Into<String>, remedy: &'static str) -> Box<Fault> {
        Box::new(Fault { at, kind, found: found.into(), expected: None, remedy })
    }

    /// The sentence part for a record that begins at `start`.
    pub(super) fn reason(&self, start: usize) -> String {
        let byte = self.at.saturating_sub(start) + 1;
        let found = format!("{} at byte {byte} of the record", self.found);
        match self.expected {
            Some(expected) => format!("{found} where {expected} is expected"),
            None => found,
        }
    }
}

/// What stands at a position, as a message shows it.
fn describe(text: &[u8], at: usize) -> String {
    let rest = text.get(at..).unwrap_or_default();
    match rest.first() {
        None => "the end of the text".to_owned(),
        Some(b'\n') => "the end of the line".to_owned(),
        Some(b'\r') if rest.get(1).is_none_or(|&byte| byte == b'\n') => "the end of the line".to_owned(),
        Some(byte) if byte.is_ascii_alphabetic() => format!("\"{}\"", word(rest)),
        Some(byte) if byte.is_ascii_graphic() => format!("'{}'", char::from(*byte)),
        Some(b' ') => "a blank".to_owned(),
        Some(_) => match character(rest) {
            Some(character) if !character.is_control() => format!("'{character}'"),
            _ => format!("the byte 0x{:02X}", rest[0]),
        },
    }
}

/// The letters at the start of a text, not too many of them.
fn word(text: &[u8]) -> String {
    let letters = text.iter().take(20).take_while(|byte| byte.is_ascii_alphabetic());
    letters.map(|&byte| char::from(byte)).collect()
}

/// The first character of a text.
fn character(text: &[u8]) -> Option<char> {
    let head = &text[..text.len().min(4)];
    let valid = match std::str::from_utf8(head) {
        Ok(valid) => valid,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).ok()?,
    };
    valid.chars().next()
}

fn remedy(text: &[u8], at: usize, expected: Expected) -> &'static str {
    let rest = text.get(at..).unwrap_or_default();
    let before = text[..at.min(text.len())].iter().rev().find(|byte| !byte.is_ascii_whitespace());
    match rest.first() {
        None => "complete the record or take it out",
        Some(b'\n' | b'\r') => {
            "complete the record; where records span lines, read the text as values, not as one record a line"
        }
        // Where a record is expected, what stands before it may not be at hand.
        Some(b'}' | b']') if before == Some(&b',') && matches!(expected, Expected::Key | Expected::Value) => {
            "take out the comma before it"
        }
        Some(b'/' | b'#') => "take out comments, which JSON does not have",
        Some(b'\'') => "write strings and keys in double quotes",
        Some(b'N' | b'I' | b'n' | b'i') if matches!(expected, Expected::Value | Expected::Number) => {
            "write null, or a string, for what JSON has no number for"
        }
        Some(b'T' | b'F' | b'U' | b'u') if expected == Expected::Value => "write true, false or null, in lower case",
        Some(byte) if expected == Expected::Key && byte.is_ascii_alphabetic() => "write keys in double quotes",
        Some(_) => "correct the record or take it out",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &[u8], at: usize, expected: Expected) -> (String, &'static str) {
        let fault = Fault::unexpected(text, at, expected);
        (fault.reason(0), fault.remedy)
    }

    #[test]
    fn a_reason_says_what_where_and_what_is_expected() {
        let (reason, remedy) = said(b"{\"a\":1,}", 7, Expected::Key);
        assert_eq!(reason, "found '}' at byte 8 of the record where a key in double quotes is expected");
        assert_eq!(remedy, "take out the comma before it");
        let (reason, remedy) = said(b"{\"a\":NaN}", 5, Expected::Value);
        assert_eq!(reason, "found \"NaN\" at byte 6 of the record where a value is expected");
        assert_eq!(remedy, "write null, or a string, for what JSON has no number for");
    }

    #[test]
    fn what_cannot_be_shown_is_named() {
        for (text, shown) in [
            ("", "the end of the text"),
            ("\n", "the end of the line"),
            ("\r\n", "the end of the line"),
            ("é", "'é'"),
            ("\u{1}", "the byte 0x01"),
            (" ", "a blank"),
            ("'", "'''"),
        ] {
            assert_eq!(describe(text.as_bytes(), 0), shown);
        }
        assert_eq!(describe(b"\xFF", 0), "the byte 0xFF");
    }
}
