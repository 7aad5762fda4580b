//! The shape of a statement: its text with parameters in the place of literals, so that statements that differ in their
//! values alone are known to be the same.
//!
//! Only SELECT, INSERT, UPDATE and DELETE have one, and only where each literal is sure to be a value of its own: after
//! an operator, a comma, a parenthesis, BETWEEN, AND or LIMIT. Other literals stay in the text. An INSERT has one if it
//! ends with rows of literals alone; their number is no part of the shape. A statement with a literal of a type of its
//! own (`E'...'`, `$$...$$`), or with parameters, has no shape.
//! Not here: whether a shape can be run without the planner (`prepared/shapes`).

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt::Write as _;

use longshore_storage::Datum;

use super::split::{comment_end, is_name_byte, line_end, text_end};

/// Literals of a statement that is no INSERT, at most.
const LITERALS_MAX: usize = 64;
/// Bytes of a shape, at most.
const TEXT_BYTES_MAX: usize = 4096;

/// What stands for a literal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal<'a> {
    /// `NULL`, as a value of an INSERT.
    Null,
    /// `TRUE` or `FALSE`, likewise.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a point or an exponent, or one that is too large.
    Decimal(&'a str),
    /// A text.
    Text(Cow<'a, str>),
}

impl Literal<'_> {
    /// Its value, where no column says what type it is of; not of a number that is no BIGINT.
    pub(crate) fn value(&self) -> Option<Datum<'_>> {
        match self {
            Self::Null => Some(Datum::Null),
            Self::Bool(value) => Some(Datum::Bool(*value)),
            Self::Integer(value) => Some(Datum::I64(*value)),
            Self::Decimal(_) => None,
            Self::Text(text) => Some(Datum::Text(text)),
        }
    }
}

/// A statement, taken apart.
#[derive(Debug, PartialEq)]
pub(crate) struct Shape<'a> {
    /// The text with `$1`, `$2`, ... in it.
    pub(crate) text: String,
    /// The values of these parameters, and of an INSERT those of all its rows, one after the other.
    pub(crate) literals: Vec<Literal<'a>>,
    /// How many values a row has, of an INSERT.
    pub(crate) row: usize,
}

/// The shape of `sql`, if it has one.
pub(crate) fn shape(sql: &str) -> Option<Shape<'_>> {
    let mut reader = Reader { sql, at: 0, text: String::with_capacity(sql.len().min(256)), literals: Vec::new() };
    let is_insert = match reader.first_word()? {
        word if word.eq_ignore_ascii_case("insert") => true,
        word if ["select", "update", "delete"].iter().any(|verb| word.eq_ignore_ascii_case(verb)) => false,
        _ => return None,
    };
    let row = if is_insert { reader.insert()? } else { reader.statement()? };
    Some(Shape { text: reader.text, literals: reader.literals, row })
}

/// The name and the values of an EXECUTE whose values are literals; `None` of any other statement.
pub(crate) fn execution(sql: &str) -> Option<(String, Vec<Literal<'_>>)> {
    let mut reader = Reader { sql, at: 0, text: String::new(), literals: Vec::new() };
    if !reader.first_word()?.eq_ignore_ascii_case("execute") {
        return None;
    }
    reader.word();
    reader.skip_blank();
    let name = reader.word();
    let is_name = name.is_ascii() && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if !is_name || name.contains('$') {
        return None;
    }
    if !reader.is_at_end() {
        reader.row(None)?;
    }
    reader.is_at_end().then(|| (name.to_ascii_lowercase(), reader.literals))
}

struct Reader<'a> {
    sql: &'a str,
    at: usize,
    text: String,
    literals: Vec<Literal<'a>>,
}

/// What was read last.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    /// What a value may follow.
    Opening,
    /// What ends a value, or is none.
    Other,
}

impl<'a> Reader<'a> {
    fn bytes(&self) -> &'a [u8] {
        self.sql.as_bytes()
    }

    fn peek(&self) -> Option<u8> {
        self.bytes().get(self.at).copied()
    }

    /// Passes white space and comments.
    fn skip_blank(&mut self) {
        let bytes = self.bytes();
        while let Some(byte) = self.peek() {
            match (byte, bytes.get(self.at + 1)) {
                (byte, _) if byte.is_ascii_whitespace() => self.at += 1,
                (b'-', Some(b'-')) => self.at = line_end(bytes, self.at),
                (b'/', Some(b'*')) => self.at = comment_end(bytes, self.at),
                _ => break,
            }
        }
    }

    /// The first word, which is not passed.
    fn first_word(&mut self) -> Option<&'a str> {
        self.skip_blank();
        let length = self.bytes()[self.at..].iter().take_while(|byte| is_name_byte(**byte)).count();
        self.sql.get(self.at..self.at + length)
    }

    /// Passes a word, with the dollars in it.
    fn word(&mut self) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(|byte| is_name_byte(byte) || byte == b'$') {
            self.at += 1;
        }
        &self.sql[start..self.at]
    }

    /// Whether what follows is the end of the text, perhaps behind semicolons.
    fn is_at_end(&mut self) -> bool {
        self.skip_blank();
        let before = self.at;
        while self.peek() == Some(b';') {
            self.at += 1;
            self.skip_blank();
        }
        let is_at_end = self.peek().is_none();
        if !is_at_end {
            self.at = before;
        }
        is_at_end
    }

    /// Reads a statement to its end; its literals are values of one row.
    fn statement(&mut self) -> Option<usize> {
        let mut last = Last::Other;
        while !self.is_at_end() {
            last = self.token(last)?;
            if self.text.len() > TEXT_BYTES_MAX || self.literals.len() > LITERALS_MAX {
                return None;
            }
        }
        Some(self.literals.len())
    }

    /// Reads an INSERT, to the end of its rows; gives the number of values in each.
    fn insert(&mut self) -> Option<usize> {
        let mut last = Last::Other;
        loop {
            self.skip_blank();
            let is_values = self.peek().is_some_and(|byte| matches!(byte, b'v' | b'V'))
                && self.first_word().is_some_and(|word| word.eq_ignore_ascii_case("values"));
            if is_values {
                break;
            }
            last = self.token(last)?;
            if self.peek().is_none() || !self.literals.is_empty() || self.text.len() > TEXT_BYTES_MAX {
                return None;
            }
        }
        self.word();
        let row = self.row(None)?;
        while self.passes(b',') {
            self.row(Some(row))?;
        }
        if !self.is_at_end() {
            return None;
        }
        self.text.push_str(" VALUES (");
        for number in 1..=row {
            // Writing to a string cannot fail.
            let _ = write!(self.text, "{}${number}", if number > 1 { "," } else { "" });
        }
        self.text.push(')');
        Some(row)
    }

    /// Passes white space and `byte`, if it comes.
    fn passes(&mut self, byte: u8) -> bool {
        self.skip_blank();
        let comes = self.peek() == Some(byte);
        self.at += usize::from(comes);
        comes
    }

    /// Reads a row of literals, of which there must be `expected`; gives their number.
    fn row(&mut self, expected: Option<usize>) -> Option<usize> {
        let before = self.literals.len();
        if !self.passes(b'(') {
            return None;
        }
        loop {
            self.skip_blank();
            let literal = match self.peek()? {
                b'\'' => self.string()?,
                byte if byte.is_ascii_digit() || matches!(byte, b'.' | b'-') => self.number()?,
                byte if byte.is_ascii_alphabetic() => match self.word() {
                    word if word.eq_ignore_ascii_case("null") => Literal::Null,
                    word if word.eq_ignore_ascii_case("true") => Literal::Bool(true),
                    word if word.eq_ignore_ascii_case("false") => Literal::Bool(false),
                    _ => return None,
                },
                _ => return None,
            };
            self.literals.push(literal);
            if self.passes(b',') {
                continue;
            }
            let row = self.literals.len() - before;
            return (self.passes(b')') && expected.is_none_or(|expected| expected == row)).then_some(row);
        }
    }

    /// Reads the next token into the text, a literal as a parameter where it is sure to be a value.
    fn token(&mut self, last: Last) -> Option<Last> {
        let byte = self.peek()?;
        let starts_number = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
        let follows = |length: usize| self.bytes().get(self.at + length);
        let is_number = byte.is_ascii_digit()
            || byte == b'.' && starts_number(follows(1))
            || byte == b'-' && last == Last::Opening && starts_number(follows(1));
        if is_number {
            return self.number_token(last);
        }
        match byte {
            b'\'' if last == Last::Opening => {
                let literal = self.string()?;
                self.parameter(literal);
                Some(Last::Other)
            }
            // Of a type, or a file.
            b'\'' | b'$' | b'\\' | b'?' | b';' => None,
            b'"' => {
                let end = text_end(self.bytes(), self.at, false);
                self.copy(end);
                Some(Last::Other)
            }
            byte if is_name_byte(byte) => {
                let word = self.word();
                // `E'...'` and its like, and names with a dollar.
                if self.peek() == Some(b'\'') || word.contains('$') {
                    return None;
                }
                self.text.push(' ');
                self.text.push_str(word);
                let precedes = ["between", "and", "limit"].iter().any(|name| word.eq_ignore_ascii_case(name));
                Some(if precedes { Last::Opening } else { Last::Other })
            }
            byte => {
                self.text.push(char::from(byte));
                self.at += 1;
                let is_opening = matches!(byte, b'(' | b',' | b'=' | b'<' | b'>' | b'+' | b'-' | b'*' | b'/');
                Some(if is_opening { Last::Opening } else { Last::Other })
            }
        }
    }

    fn number_token(&mut self, last: Last) -> Option<Last> {
        let start = self.at;
        let literal = self.number()?;
        if last == Last::Opening {
            self.parameter(literal);
        } else {
            self.at = start;
            self.text.push(' ');
            self.copy(start + self.sql[start..].len().min(1));
            while self.peek().is_some_and(|byte| byte.is_ascii_digit() || is_name_byte(byte) || byte == b'.') {
                self.copy(self.at + 1);
            }
        }
        Some(Last::Other)
    }

    /// Copies what comes before `end` into the text.
    fn copy(&mut self, end: usize) {
        self.text.push_str(&self.sql[self.at..end]);
        self.at = end;
    }

    fn parameter(&mut self, literal: Literal<'a>) {
        self.literals.push(literal);
        // Writing to a string cannot fail.
        let _ = write!(self.text, " ${}", self.literals.len());
    }

    /// Reads a number, which may have a minus in front.
    fn number(&mut self) -> Option<Literal<'a>> {
        let (bytes, start) = (self.bytes(), self.at);
        self.at += usize::from(bytes[start] == b'-');
        let digits = |at: usize| bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let whole = digits(self.at);
        self.at += whole;
        let mut is_whole = true;
        if self.peek() == Some(b'.') {
            is_whole = false;
            let fraction = digits(self.at + 1);
            self.at += 1 + fraction;
            if whole + fraction == 0 {
                return None;
            }
        } else if whole == 0 {
            return None;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            is_whole = false;
            let sign = usize::from(matches!(bytes.get(self.at + 1), Some(b'+' | b'-')));
            let exponent = digits((self.at + 1 + sign).min(bytes.len()));
            if exponent == 0 {
                return None;
            }
            self.at += 1 + sign + exponent;
        }
        if self.peek().is_some_and(|byte| is_name_byte(byte) || matches!(byte, b'.' | b'$')) {
            return None;
        }
        let text = &self.sql[start..self.at];
        Some(match text.parse() {
            Ok(value) if is_whole => Literal::Integer(value),
            _ => Literal::Decimal(text),
        })
    }

    /// Reads a text in quotes; texts that go on behind white space are left to the parser.
    fn string(&mut self) -> Option<Literal<'a>> {
        let (start, end) = (self.at, text_end(self.bytes(), self.at, false));
        if end < start + 2 || self.bytes()[end - 1] != b'\'' {
            return None;
        }
        self.at = end;
        self.skip_blank();
        if self.peek() == Some(b'\'') {
            return None;
        }
        let text = &self.sql[start + 1..end - 1];
        let text = if text.contains('\'') { Cow::Owned(text.replace("''", "'")) } else { Cow::Borrowed(text) };
        Some(Literal::Text(text))
    }
}
