//! The words of a path.

use crate::error::{JsonError, Problem};

/// A word.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A punctuation mark or operator.
    Mark(&'static str),
    /// A name, or a keyword.
    Word(String),
    String(String),
    Variable(String),
    Integer(String),
    Decimal(String),
    End,
}

/// Longer ones first.
const MARKS: [&str; 29] = [
    "&&", "||", "**", "<=", "==", "<>", "!=", ">=", "!", "<", ">", "?", "%", "$", ".", "[", "]", "{", "}", "(", ")",
    "|", "&", "=", "@", "#", ",", "*", ":",
];
const MORE_MARKS: [&str; 3] = ["-", "+", "/"];

/// The words of `text`, each with its part of it.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, &str)>, JsonError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks()?;
        let start = lexer.at;
        let token = lexer.token()?;
        let is_end = token == Token::End;
        tokens.push((token, &text[start..lexer.at]));
        if is_end {
            return Ok(tokens);
        }
    }
}

/// What is wrong at `found`, a part of the path.
pub(super) fn error_at(message: &str, found: &str) -> JsonError {
    let message = if found.is_empty() {
        format!("{message} at end of jsonpath input")
    } else {
        format!("{message} at or near \"{found}\" of jsonpath input")
    };
    JsonError::new(Problem::PathSyntax, message)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_blanks(&mut self) -> Result<(), JsonError> {
        loop {
            if self.peek().is_some_and(is_blank) {
                self.at += 1;
            } else if self.rest().starts_with("/*") {
                let Some(end) = self.rest()[2..].find("*/") else {
                    return Err(error_at("unexpected end of comment", ""));
                };
                self.at += 2 + end + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token, JsonError> {
        let Some(first) = self.peek() else { return Ok(Token::End) };
        let second = self.rest()[first.len_utf8()..].chars().next();
        match first {
            '"' => {
                self.at += 1;
                self.quoted().map(Token::String)
            }
            '$' if second == Some('"') => {
                self.at += 2;
                self.quoted().map(Token::Variable)
            }
            '$' if second.is_some_and(is_other) => {
                self.at += 1;
                let length = self.rest().find(|c| !is_other(c)).unwrap_or(self.rest().len());
                let name = self.rest()[..length].to_owned();
                self.at += length;
                Ok(Token::Variable(name))
            }
            '0'..='9' => self.number(),
            '.' if second.is_some_and(|digit| digit.is_ascii_digit()) => self.number(),
            _ if is_other(first) || first == '\\' => self.word(),
            _ => {
                let mark = MARKS.iter().chain(&MORE_MARKS).find(|mark| self.rest().starts_with(**mark));
                let mark = mark.ok_or_else(|| error_at("syntax error", &self.rest()[..first.len_utf8()]))?;
                self.at += mark.len();
                Ok(Token::Mark(mark))
            }
        }
    }

    fn number(&mut self) -> Result<Token, JsonError> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let digits = |mut at: usize| {
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        // A zero is followed by no more digits.
        let mut end = if bytes[start] == b'0' { start + 1 } else { digits(start) };
        let mut is_integer = true;
        if bytes.get(end) == Some(&b'.') {
            is_integer = false;
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let is_signed = matches!(bytes.get(end + 1), Some(b'+' | b'-'));
            let exponent = digits(end + 1 + usize::from(is_signed));
            if exponent > end + 1 + usize::from(is_signed) {
                is_integer = false;
                end = exponent;
            } else if is_signed {
                return Err(error_at("invalid numeric literal", &self.text[start..exponent]));
            }
        }
        if let Some(junk) = self.text[end..].chars().next().filter(|c| is_other(*c)) {
            let found = &self.text[start..end + junk.len_utf8()];
            return Err(error_at("trailing junk after numeric literal", found));
        }
        self.at = end;
        let number = self.text[start..end].to_owned();
        Ok(if is_integer { Token::Integer(number) } else { Token::Decimal(number) })
    }

    fn word(&mut self) -> Result<Token, JsonError> {
        let mut word = String::new();
        while let Some(c) = self.peek() {
            if c == '\\' {
                self.escape(&mut word)?;
            } else if is_other(c) {
                word.push(c);
                self.at += c.len_utf8();
            } else {
                break;
            }
        }
        Ok(Token::Word(word))
    }

    fn quoted(&mut self) -> Result<String, JsonError> {
        let mut value = String::new();
        loop {
            match self.peek() {
                None => return Err(error_at("unexpected end of quoted string", "")),
                Some('"') => {
                    self.at += 1;
                    return Ok(value);
                }
                Some('\\') => self.escape(&mut value)?,
                Some(c) => {
                    value.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
    }

    /// What stands behind a backslash.
    fn escape(&mut self, value: &mut String) -> Result<(), JsonError> {
        let start = self.at;
        self.at += 1;
        let Some(c) = self.peek() else { return Err(error_at("unexpected end after backslash", "")) };
        self.at += c.len_utf8();
        value.push(match c {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => {
                let digits = self.rest().get(..2).and_then(|digits| u32::from_str_radix(digits, 16).ok());
                let Some(code) = digits else { return Err(self.bad("invalid hex character sequence", start)) };
                self.at += 2;
                character(code)?
            }
            'u' => {
                let code = self.unicode(start)?;
                if (0xd800..0xdc00).contains(&code) {
                    if !self.rest().starts_with("\\u") {
                        return Err(low_surrogate());
                    }
                    self.at += 2;
                    let low = self.unicode(start)?;
                    if (0xd800..0xdc00).contains(&low) {
                        return Err(surrogate("Unicode high surrogate must not follow a high surrogate."));
                    }
                    if !(0xdc00..0xe000).contains(&low) {
                        return Err(low_surrogate());
                    }
                    character(0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff))?
                } else if (0xdc00..0xe000).contains(&code) {
                    return Err(low_surrogate());
                } else {
                    character(code)?
                }
            }
            other => other,
        });
        Ok(())
    }

    fn unicode(&mut self, start: usize) -> Result<u32, JsonError> {
        let rest = self.rest();
        let (digits, length) = match rest.strip_prefix('{') {
            Some(braced) => match braced.find('}').filter(|length| (1..=6).contains(length)) {
                Some(length) => (&braced[..length], length + 2),
                None => return Err(self.bad("invalid unicode sequence", start)),
            },
            None => match rest.get(..4) {
                Some(digits) => (digits, 4),
                None => return Err(self.bad("invalid unicode sequence", start)),
            },
        };
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(self.bad("invalid unicode sequence", start));
        }
        self.at += length;
        u32::from_str_radix(digits, 16).map_err(|_| self.bad("invalid unicode sequence", start))
    }

    fn bad(&self, message: &str, start: usize) -> JsonError {
        error_at(message, &self.text[start..self.at])
    }
}

fn character(code: u32) -> Result<char, JsonError> {
    if code == 0 {
        return Err(JsonError::untranslatable("\\u0000 cannot be converted to text."));
    }
    char::from_u32(code).ok_or_else(|| JsonError::new(Problem::PathSyntax, "invalid Unicode code point"))
}

fn surrogate(detail: &str) -> JsonError {
    JsonError {
        problem: Problem::InvalidText,
        message: "invalid input syntax for type jsonpath".to_owned(),
        detail: Some(detail.to_owned()),
    }
}

fn low_surrogate() -> JsonError {
    surrogate("Unicode low surrogate must follow a high surrogate.")
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

/// What is neither blank nor has a meaning of its own.
fn is_other(c: char) -> bool {
    !is_blank(c) && !"?%$.[]{}()|&!=<>@#,*:-+/\\\"".contains(c)
}
