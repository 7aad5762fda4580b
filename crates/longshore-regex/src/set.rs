//! Sets of characters.

use std::fmt::Write;

/// A named class of characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Alnum,
    Alpha,
    Ascii,
    Blank,
    Cntrl,
    Digit,
    Graph,
    Lower,
    Print,
    Punct,
    Space,
    Upper,
    Xdigit,
    Word,
}

impl Class {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "alnum" => Self::Alnum,
            "alpha" => Self::Alpha,
            "ascii" => Self::Ascii,
            "blank" => Self::Blank,
            "cntrl" => Self::Cntrl,
            "digit" => Self::Digit,
            "graph" => Self::Graph,
            "lower" => Self::Lower,
            "print" => Self::Print,
            "punct" => Self::Punct,
            "space" => Self::Space,
            "upper" => Self::Upper,
            "xdigit" => Self::Xdigit,
            "word" => Self::Word,
            _ => return None,
        })
    }

    fn has(self, c: char) -> bool {
        match self {
            Self::Alnum => c.is_alphanumeric(),
            Self::Alpha => c.is_alphabetic(),
            Self::Ascii => c.is_ascii(),
            Self::Blank => c == ' ' || c == '\t' || (c.is_whitespace() && !c.is_control() && c != '\u{a0}'),
            Self::Cntrl => c.is_control(),
            Self::Digit => c.is_ascii_digit(),
            Self::Graph => !c.is_whitespace() && !c.is_control(),
            Self::Lower => c.is_lowercase(),
            Self::Print => !c.is_control(),
            Self::Punct => c.is_ascii_punctuation() || (!c.is_ascii() && Self::Graph.has(c) && !c.is_alphanumeric()),
            Self::Space => c.is_whitespace(),
            Self::Upper => c.is_uppercase(),
            Self::Xdigit => c.is_ascii_hexdigit(),
            Self::Word => is_word(c),
        }
    }

    /// The class as the crate `regex` spells it within brackets.
    fn searched(self) -> &'static str {
        match self {
            Self::Alnum => "\\p{Alphabetic}\\p{N}",
            Self::Alpha => "\\p{Alphabetic}",
            Self::Ascii => "\\x00-\\x7f",
            Self::Blank => "\\t\\p{Zs}",
            Self::Cntrl => "\\p{Cc}",
            Self::Digit => "0-9",
            Self::Graph => "[\\S&&\\P{Cc}]",
            Self::Lower => "\\p{Lowercase}",
            Self::Print => "\\P{Cc}",
            Self::Punct => "[:punct:][\\S&&\\P{Cc}&&\\P{Alphabetic}&&\\P{N}&&[^\\x00-\\x7f]]",
            Self::Space => "\\s",
            Self::Upper => "\\p{Uppercase}",
            Self::Xdigit => "0-9A-Fa-f",
            Self::Word => "\\p{Alphabetic}\\p{N}_",
        }
    }
}

/// Whether `c` is part of a word.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A member of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Range(char, char),
    Class { class: Class, negated: bool },
}

/// The characters that a part of an expression matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Set {
    pub(crate) items: Vec<Item>,
    pub(crate) negated: bool,
    pub(crate) ignore_case: bool,
}

impl Set {
    pub(crate) fn one(c: char, ignore_case: bool) -> Self {
        Self { items: vec![Item::Range(c, c)], negated: false, ignore_case: ignore_case && c.is_alphabetic() }
    }

    pub(crate) fn class(class: Class, negated: bool) -> Self {
        Self { items: vec![Item::Class { class, negated }], negated: false, ignore_case: false }
    }

    /// Any character, or any but a line feed.
    pub(crate) fn any(line_feeds_stop: bool) -> Self {
        let items = if line_feeds_stop { vec![Item::Range('\n', '\n')] } else { Vec::new() };
        Self { items, negated: true, ignore_case: false }
    }

    pub(crate) fn has(&self, c: char) -> bool {
        let found = self.lists(c)
            || (self.ignore_case
                && (c.to_lowercase().any(|c| self.lists(c)) || c.to_uppercase().any(|c| self.lists(c))));
        found != self.negated
    }

    fn lists(&self, c: char) -> bool {
        self.items.iter().any(|item| match *item {
            Item::Range(first, last) => first <= c && c <= last,
            Item::Class { class, negated } => class.has(c) != negated,
        })
    }

    /// The set as the crate `regex` spells it.
    pub(crate) fn searched(&self, text: &mut String) {
        if self.items.is_empty() {
            text.push_str(if self.negated { "(?s:.)" } else { "[^\\x00-\\x{10ffff}]" });
            return;
        }
        if let ([Item::Range(first, last)], false, false) = (self.items.as_slice(), self.negated, self.ignore_case)
            && first == last
        {
            text.push_str(&regex::escape(first.encode_utf8(&mut [0; 4])));
            return;
        }
        text.push_str(if self.ignore_case { "(?i:" } else { "(?:" });
        text.push_str(if self.negated { "[^" } else { "[" });
        for item in &self.items {
            match *item {
                Item::Range(first, last) => {
                    let _ = write!(text, "\\x{{{:x}}}-\\x{{{:x}}}", u32::from(first), u32::from(last));
                }
                Item::Class { class, negated: false } => text.push_str(class.searched()),
                Item::Class { class, negated: true } => {
                    let _ = write!(text, "[^{}]", class.searched());
                }
            }
        }
        text.push_str("])");
    }
}
