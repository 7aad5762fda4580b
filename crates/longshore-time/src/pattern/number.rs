//! `to_char` and `to_number` of numbers. Numbers come and go as decimal text, which holds all of their digits.
//!
//! As in PostgreSQL with the locale `C`: `D` is a point, `G` a comma, `L` a blank.

mod description;
mod reading;
mod writing;

use crate::error::Result;
use description::Description;

pub use reading::to_number;
pub use writing::Number;

/// A pattern of numbers.
#[derive(Debug, Clone)]
pub struct NumberPattern {
    nodes: Vec<Node>,
    description: Description,
}

/// A part of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    Key(Key),
    Text(char),
}

/// A keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Comma,
    Point,
    Zero,
    Nine,
    Blank,
    /// The point of the locale.
    LocalPoint,
    Exponent,
    Fill,
    Group,
    Currency,
    Minus,
    Plus,
    Bracket,
    Roman,
    LowerRoman,
    Sign,
    Spell,
    AnchoredSign,
    UpperOrdinal,
    LowerOrdinal,
    Shift,
    IsoCurrency,
}

/// Keywords in PostgreSQL's order; but for RN and TH the case does not count.
const KEYWORDS: [(&str, Key); 22] = [
    (",", Key::Comma),
    (".", Key::Point),
    ("0", Key::Zero),
    ("9", Key::Nine),
    ("B", Key::Blank),
    ("C", Key::IsoCurrency),
    ("D", Key::LocalPoint),
    ("EEEE", Key::Exponent),
    ("FM", Key::Fill),
    ("G", Key::Group),
    ("L", Key::Currency),
    ("MI", Key::Minus),
    ("PL", Key::Plus),
    ("PR", Key::Bracket),
    ("RN", Key::Roman),
    ("SG", Key::Sign),
    ("SP", Key::Spell),
    ("S", Key::AnchoredSign),
    ("TH", Key::UpperOrdinal),
    ("V", Key::Shift),
    ("rn", Key::LowerRoman),
    ("th", Key::LowerOrdinal),
];

fn find(text: &str) -> Option<(Key, usize)> {
    let fits = |(word, key): &(&str, Key)| {
        let start = text.get(..word.len())?;
        let is_lower = start == word.to_ascii_lowercase() && !matches!(key, Key::Roman | Key::UpperOrdinal);
        (start == *word || is_lower).then_some((*key, word.len()))
    };
    KEYWORDS.iter().find_map(fits)
}

impl NumberPattern {
    /// Takes a pattern apart.
    ///
    /// # Errors
    ///
    /// Keywords that do not go together.
    pub fn new(text: &str) -> Result<Self> {
        let mut nodes = Vec::new();
        let mut description = Description::default();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if let Some((key, length)) = find(rest) {
                description.add(key)?;
                nodes.push(Node::Key(key));
                rest = &rest[length..];
            } else if first == '"' {
                rest = quoted(&rest[1..], &mut nodes);
            } else {
                if rest.starts_with("\\\"") {
                    rest = &rest[1..];
                }
                let char = rest.chars().next().unwrap_or(first);
                nodes.push(Node::Text(char));
                rest = &rest[char.len_utf8()..];
            }
        }
        Ok(Self { nodes, description })
    }

    /// Digits behind the point that numbers have at most.
    #[must_use]
    pub fn scale(&self) -> usize {
        self.description.behind + self.description.shift
    }
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
