//! Bracket expressions: `[^a-z[:digit:]]`.

use super::Parser;
use super::escape::Escaped;
use crate::error::{Error, Problem};
use crate::set::{Class, Item, Set};
use crate::syntax::{Node, Place};

/// Names of characters that POSIX has, of those that are not letters.
const NAMES: [(&str, char); 24] = [
    ("NUL", '\0'),
    ("tab", '\t'),
    ("newline", '\n'),
    ("vertical-tab", '\u{b}'),
    ("form-feed", '\u{c}'),
    ("carriage-return", '\r'),
    ("space", ' '),
    ("exclamation-mark", '!'),
    ("quotation-mark", '"'),
    ("number-sign", '#'),
    ("dollar-sign", '$'),
    ("asterisk", '*'),
    ("plus-sign", '+'),
    ("comma", ','),
    ("hyphen", '-'),
    ("period", '.'),
    ("slash", '/'),
    ("colon", ':'),
    ("left-square-bracket", '['),
    ("backslash", '\\'),
    ("right-square-bracket", ']'),
    ("circumflex", '^'),
    ("underscore", '_'),
    ("tilde", '~'),
];

/// A member as it is read: a range needs characters at both ends.
enum Member {
    Character(char),
    Class(Class, bool),
}

impl Parser {
    /// The part behind `[`.
    pub(super) fn bracket(&mut self) -> Result<Node, Error> {
        for (text, place) in [("[:<:]]", Place::WordStart), ("[:>:]]", Place::WordEnd)] {
            if self.take(text) {
                return Ok(Node::Place(place));
            }
        }
        let negated = self.take("^");
        let mut items = Vec::new();
        let mut is_first = true;
        loop {
            let Some(c) = self.peek() else { return Err(Error::Invalid(Problem::Brackets)) };
            if c == ']' && !is_first {
                self.at += 1;
                break;
            }
            let first = self.member()?;
            is_first = false;
            let is_range = self.peek() == Some('-') && self.characters.get(self.at + 1).is_some_and(|c| *c != ']');
            match first {
                Member::Class(..) if is_range => return Err(Error::Invalid(Problem::Range)),
                Member::Class(class, negated) => items.push(Item::Class { class, negated }),
                Member::Character(first) if is_range => {
                    self.at += 1;
                    let Member::Character(last) = self.member()? else { return Err(Error::Invalid(Problem::Range)) };
                    if last < first {
                        return Err(Error::Invalid(Problem::Range));
                    }
                    items.push(Item::Range(first, last));
                }
                Member::Character(c) => items.push(Item::Range(c, c)),
            }
        }
        if negated && self.options.line_feeds_stop {
            items.push(Item::Range('\n', '\n'));
        }
        Ok(Node::One(Set { items, negated, ignore_case: self.options.ignore_case }))
    }

    fn member(&mut self) -> Result<Member, Error> {
        let Some(c) = self.next() else { return Err(Error::Invalid(Problem::Brackets)) };
        match c {
            '\\' if !self.options.extended => match self.escaped()? {
                Escaped::Character(c) => Ok(Member::Character(c)),
                Escaped::Class(class, negated) => Ok(Member::Class(class, negated)),
                Escaped::Place(_) | Escaped::BackReference(_) => Err(Error::Invalid(Problem::Escape)),
            },
            '[' => match self.peek() {
                Some(':') => {
                    let name = self.named(':')?;
                    let class = Class::named(&name).ok_or(Error::Invalid(Problem::Class))?;
                    // Where case does not count, both cases are one class.
                    let both = self.options.ignore_case && matches!(class, Class::Lower | Class::Upper);
                    Ok(Member::Class(if both { Class::Alpha } else { class }, false))
                }
                Some(kind @ ('.' | '=')) => {
                    let name = self.named(kind)?;
                    let mut characters = name.chars();
                    if let (Some(c), None) = (characters.next(), characters.next()) {
                        return Ok(Member::Character(c));
                    }
                    let known = NAMES.iter().find(|(known, _)| *known == name);
                    known.map(|(_, c)| Member::Character(*c)).ok_or(Error::Invalid(Problem::Element))
                }
                _ => Ok(Member::Character('[')),
            },
            c => Ok(Member::Character(c)),
        }
    }

    /// The name in `[:name:]`, behind the first bracket.
    fn named(&mut self, kind: char) -> Result<String, Error> {
        self.at += 1;
        let start = self.at;
        while let Some(c) = self.next() {
            if c == kind && self.at - 1 > start && self.peek() == Some(']') {
                let name = self.characters[start..self.at - 1].iter().collect();
                self.at += 1;
                return Ok(name);
            }
        }
        Err(Error::Invalid(Problem::Brackets))
    }
}
