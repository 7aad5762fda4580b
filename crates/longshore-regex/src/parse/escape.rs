//! What a backslash makes of the characters behind it.

use super::Parser;
use crate::error::{Error, Problem};
use crate::set::{Class, Set};
use crate::syntax::{Node, Place};

/// What an escape stands for.
pub(super) enum Escaped {
    Character(char),
    Class(Class, bool),
    Place(Place),
    BackReference(usize),
}

impl Parser {
    /// The part that an escape is, behind its backslash.
    pub(super) fn escape(&mut self) -> Result<Node, Error> {
        let ignore_case = self.options.ignore_case;
        Ok(match self.escaped()? {
            Escaped::Character(c) => Node::One(Set::one(c, ignore_case)),
            Escaped::Class(class, negated) => Node::One(Set::class(class, negated)),
            Escaped::Place(place) => Node::Place(place),
            Escaped::BackReference(group) => {
                if !self.closed.contains(&group) {
                    return Err(Error::Invalid(Problem::BackReference));
                }
                Node::BackReference { group, ignore_case }
            }
        })
    }

    /// What an escape stands for, behind its backslash.
    pub(super) fn escaped(&mut self) -> Result<Escaped, Error> {
        let Some(c) = self.next() else { return Err(Error::Invalid(Problem::Escape)) };
        if !c.is_ascii_alphanumeric() || self.options.extended {
            return Ok(Escaped::Character(c));
        }
        let code = |parser: &mut Self, digits: usize| parser.hexadecimal(digits, digits).map(Escaped::Character);
        Ok(match c {
            'a' => Escaped::Character('\u{7}'),
            'A' => Escaped::Place(Place::TextStart),
            'b' => Escaped::Character('\u{8}'),
            'B' => Escaped::Character('\\'),
            'c' => match self.next() {
                Some(c) => Escaped::Character(char::from((u32::from(c) & 0o37) as u8)),
                None => return Err(Error::Invalid(Problem::Escape)),
            },
            'd' => Escaped::Class(Class::Digit, false),
            'D' => Escaped::Class(Class::Digit, true),
            'e' => Escaped::Character('\u{1b}'),
            'f' => Escaped::Character('\u{c}'),
            'm' => Escaped::Place(Place::WordStart),
            'M' => Escaped::Place(Place::WordEnd),
            'n' => Escaped::Character('\n'),
            'r' => Escaped::Character('\r'),
            's' => Escaped::Class(Class::Space, false),
            'S' => Escaped::Class(Class::Space, true),
            't' => Escaped::Character('\t'),
            'u' => return code(self, 4),
            'U' => return code(self, 8),
            'v' => Escaped::Character('\u{b}'),
            'w' => Escaped::Class(Class::Word, false),
            'W' => Escaped::Class(Class::Word, true),
            'x' => Escaped::Character(self.hexadecimal(1, 255)?),
            'y' => Escaped::Place(Place::WordEdge),
            'Y' => Escaped::Place(Place::NotWordEdge),
            'Z' => Escaped::Place(Place::TextEnd),
            '0' => Escaped::Character(self.octal(2)?),
            '1'..='9' => return self.number(c),
            _ => return Err(Error::Invalid(Problem::Escape)),
        })
    }

    /// A back reference, or a character by its octal number.
    fn number(&mut self, first: char) -> Result<Escaped, Error> {
        let start = self.at;
        let mut number = first.to_digit(10).unwrap_or_default() as usize;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            self.at += 1;
            number = number.saturating_mul(10).saturating_add(digit as usize);
        }
        // One digit is always a reference, more are one if there are so many groups.
        if self.at == start || number <= self.opened {
            return Ok(Escaped::BackReference(number));
        }
        self.at = start - 1;
        if self.peek().is_some_and(|c| c.is_digit(8)) {
            return self.octal(3).map(Escaped::Character);
        }
        Err(Error::Invalid(Problem::BackReference))
    }

    fn hexadecimal(&mut self, least: usize, most: usize) -> Result<char, Error> {
        self.digits(16, least, most)
    }

    fn octal(&mut self, most: usize) -> Result<char, Error> {
        self.digits(8, 0, most)
    }

    fn digits(&mut self, radix: u32, least: usize, most: usize) -> Result<char, Error> {
        let mut value: u32 = 0;
        let mut count = 0;
        while count < most
            && let Some(digit) = self.peek().and_then(|c| c.to_digit(radix))
        {
            self.at += 1;
            count += 1;
            value = value.saturating_mul(radix).saturating_add(digit);
        }
        let character = char::from_u32(value).filter(|_| count >= least);
        character.ok_or(Error::Invalid(Problem::Escape))
    }
}
