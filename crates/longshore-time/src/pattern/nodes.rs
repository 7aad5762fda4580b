//! A pattern of dates and times, taken apart.

use super::keywords::{Key, Letters, find};

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Space(char),
    /// Punctuation, which stands for any.
    Separator(char),
    Text(char),
    Field(Field),
}

/// A keyword with what stands around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) keyword: &'static str,
    pub(super) key: Key,
    pub(super) letters: Letters,
    /// Without blanks and zeros that only fill up.
    pub(super) is_bare: bool,
    pub(super) ordinal: Option<Ordinal>,
}

/// How the ending of an ordinal number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ordinal {
    Upper,
    Lower,
}

/// Whether a character separates fields: punctuation of ASCII.
pub(super) fn is_separator(char: char) -> bool {
    char.is_ascii_punctuation()
}

/// Takes a pattern apart.
pub(super) fn parse(text: &str) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (mut is_bare, mut is_translated) = (false, false);
        if let Some(behind) = ["FM", "fm"].into_iter().find_map(|prefix| rest.strip_prefix(prefix)) {
            (rest, is_bare) = (behind, true);
        } else if let Some(behind) = ["TM", "tm"].into_iter().find_map(|prefix| rest.strip_prefix(prefix)) {
            (rest, is_translated) = (behind, true);
        }
        if let Some((keyword, key, letters)) = find(rest) {
            // Names in a language are as long as they are.
            is_bare |= is_translated && matches!(key, Key::DayName | Key::MonthName);
            rest = &rest[keyword.len()..];
            let mut ordinal = None;
            for (suffix, found) in [("TH", Some(Ordinal::Upper)), ("th", Some(Ordinal::Lower)), ("SP", None)] {
                if let Some(behind) = rest.strip_prefix(suffix) {
                    (ordinal, rest) = (found, behind);
                    break;
                }
            }
            nodes.push(Node::Field(Field { keyword, key, letters, is_bare, ordinal }));
            continue;
        }
        let mut chars = rest.chars();
        match chars.next() {
            Some('"') => rest = quoted(chars.as_str(), &mut nodes),
            Some('\\') if chars.as_str().starts_with('"') => {
                nodes.push(Node::Separator('"'));
                rest = &chars.as_str()[1..];
            }
            Some(other) => {
                nodes.push(if is_separator(other) {
                    Node::Separator(other)
                } else if other.is_ascii_whitespace() {
                    Node::Space(other)
                } else {
                    Node::Text(other)
                });
                rest = chars.as_str();
            }
            None => {}
        }
    }
    nodes
}

/// Takes a text in quotes; returns what stands behind it.
fn quoted<'a>(text: &'a str, nodes: &mut Vec<Node>) -> &'a str {
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => return chars.as_str(),
            '\\' => nodes.push(Node::Text(chars.next().unwrap_or('\\'))),
            other => nodes.push(Node::Text(other)),
        }
    }
    ""
}

/// What makes an ordinal of a number.
pub(super) fn ending(number: &str, ordinal: Ordinal) -> Option<&'static str> {
    let digits = number.as_bytes();
    let is_teen = digits.len() > 1 && digits[digits.len() - 2] == b'1';
    let (upper, lower) = match digits.last() {
        Some(b'1') if !is_teen => ("ST", "st"),
        Some(b'2') if !is_teen => ("ND", "nd"),
        Some(b'3') if !is_teen => ("RD", "rd"),
        Some(b'0'..=b'9') => ("TH", "th"),
        _ => return None,
    };
    Some(if ordinal == Ordinal::Upper { upper } else { lower })
}
