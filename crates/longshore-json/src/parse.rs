//! Text to nodes, with PostgreSQL's errors.

use crate::error::JsonError;
use crate::node::{Kind, Node};

/// Arrays and objects that stand within each other, at most.
pub const DEPTH_MAX: usize = 1000;

/// Reads `text`, which is one value.
///
/// # Errors
/// If it is none, or nested too deeply, or has escapes that no text can hold.
pub fn parse(text: &str) -> Result<Node<'_>, JsonError> {
    read(text, true)
}

/// Checks that `text` is one value, as `json` does when it is made of a text: escapes need not mean anything.
///
/// # Errors
/// If it is none, or nested too deeply.
pub fn validate(text: &str) -> Result<(), JsonError> {
    read(text, false).map(drop)
}

fn read(text: &str, unescapes: bool) -> Result<Node<'_>, JsonError> {
    let mut parser = Parser { text, at: 0, depth: 0, unescapes };
    let node = parser.value(Expected::Value)?;
    parser.skip_space();
    if parser.at < text.len() {
        return Err(parser.unexpected(Expected::End));
    }
    Ok(node)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Whether strings are made of what their escapes mean, or only checked.
    unescapes: bool,
}

#[derive(Clone, Copy)]
enum Expected {
    Value,
    End,
    ArrayFirst,
    ArrayNext,
    ObjectFirst,
    ObjectNext,
    Colon,
    String,
}

impl<'a> Parser<'a> {
    fn value(&mut self, expected: Expected) -> Result<Node<'a>, JsonError> {
        self.skip_space();
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.object()?,
            Some(b'[') => self.array()?,
            Some(b'"') => Kind::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => {
                let kind = match self.word() {
                    "true" => Kind::Bool(true),
                    "false" => Kind::Bool(false),
                    "null" => Kind::Null,
                    _ => return Err(self.unexpected(expected)),
                };
                self.at += self.word().len();
                kind
            }
        };
        Ok(Node { text: &self.text[start..self.at], kind })
    }

    fn object(&mut self) -> Result<Kind<'a>, JsonError> {
        self.enter()?;
        let mut members = Vec::new();
        self.skip_space();
        if self.take(b'}') {
            self.depth -= 1;
            return Ok(Kind::Object(members));
        }
        let mut expected = Expected::ObjectFirst;
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected(expected));
            }
            let key = self.string()?;
            self.skip_space();
            if !self.take(b':') {
                return Err(self.unexpected(Expected::Colon));
            }
            members.push((key, self.value(Expected::Value)?));
            self.skip_space();
            if self.take(b'}') {
                self.depth -= 1;
                return Ok(Kind::Object(members));
            }
            if !self.take(b',') {
                return Err(self.unexpected(Expected::ObjectNext));
            }
            expected = Expected::String;
        }
    }

    fn array(&mut self) -> Result<Kind<'a>, JsonError> {
        self.enter()?;
        let mut elements = Vec::new();
        self.skip_space();
        if self.take(b']') {
            self.depth -= 1;
            return Ok(Kind::Array(elements));
        }
        loop {
            elements.push(self.value(if elements.is_empty() { Expected::ArrayFirst } else { Expected::Value })?);
            self.skip_space();
            if self.take(b']') {
                self.depth -= 1;
                return Ok(Kind::Array(elements));
            }
            if !self.take(b',') {
                return Err(self.unexpected(Expected::ArrayNext));
            }
        }
    }

    fn enter(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        self.depth += 1;
        if self.depth > DEPTH_MAX { Err(JsonError::too_deep()) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut value = String::new();
        let mut high: Option<u32> = None;
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < 0x20);
            let Some(plain) = plain else {
                self.at = self.text.len();
                return Err(ended());
            };
            if plain > 0 {
                if high.is_some() {
                    return Err(low_surrogate());
                }
                if self.unescapes {
                    value.push_str(&rest[..plain]);
                }
                self.at += plain;
            }
            match rest.as_bytes()[plain] {
                b'"' if high.is_some() => return Err(low_surrogate()),
                b'"' => {
                    self.at += 1;
                    return Ok(value);
                }
                b'\\' => {
                    self.at += 1;
                    self.escape(&mut value, &mut high)?;
                }
                byte => return Err(JsonError::invalid(format!("Character with value 0x{byte:02x} must be escaped."))),
            }
        }
    }

    fn escape(&mut self, value: &mut String, high: &mut Option<u32>) -> Result<(), JsonError> {
        let Some(escaped) = self.text[self.at..].chars().next() else { return Err(ended()) };
        self.at += escaped.len_utf8();
        let plain = match escaped {
            '"' | '\\' | '/' => escaped,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode(value, high),
            other => return Err(JsonError::invalid(format!("Escape sequence \"\\{other}\" is invalid."))),
        };
        if high.is_some() {
            return Err(low_surrogate());
        }
        value.push(plain);
        Ok(())
    }

    fn unicode(&mut self, value: &mut String, high: &mut Option<u32>) -> Result<(), JsonError> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.text[self.at..].chars().next() else { return Err(ended()) };
            let Some(digit) = digit.to_digit(16) else {
                return Err(JsonError::invalid("\"\\u\" must be followed by four hexadecimal digits."));
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        if !self.unescapes {
            return Ok(());
        }
        let code = match (code, high.take()) {
            (0xd800..=0xdbff, None) => {
                *high = Some(code);
                return Ok(());
            }
            (0xd800..=0xdbff, Some(_)) => {
                return Err(JsonError::invalid("Unicode high surrogate must not follow a high surrogate."));
            }
            (0xdc00..=0xdfff, Some(high)) => 0x10000 + ((high & 0x3ff) << 10) + (code & 0x3ff),
            (0xdc00..=0xdfff, None) | (_, Some(_)) => return Err(low_surrogate()),
            (0, None) => return Err(JsonError::untranslatable("\\u0000 cannot be converted to text.")),
            (code, None) => code,
        };
        value.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        Ok(())
    }

    fn number(&mut self) -> Result<Kind<'a>, JsonError> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let digits = |mut at: usize| {
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        let mut at = start + usize::from(bytes[start] == b'-');
        let mut is_sound = true;
        let whole = digits(at);
        is_sound &= whole > at && (bytes[at] != b'0' || whole == at + 1);
        at = whole;
        if bytes.get(at) == Some(&b'.') {
            let fraction = digits(at + 1);
            is_sound &= fraction > at + 1;
            at = fraction;
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            let exponent = digits(at);
            is_sound &= exponent > at;
            at = exponent;
        }
        let end = at + bytes[at..].iter().take_while(|byte| is_of_word(**byte)).count();
        if !is_sound || end > at {
            return Err(JsonError::invalid(format!("Token \"{}\" is invalid.", &self.text[start..end])));
        }
        self.at = at;
        Ok(Kind::Number)
    }

    /// Letters, digits and whatever is beyond ASCII from here.
    fn word(&self) -> &'a str {
        let rest = &self.text[self.at..];
        &rest[..rest.bytes().take_while(|byte| is_of_word(*byte)).count()]
    }

    /// What is wrong here, where something else was expected.
    fn unexpected(&self, expected: Expected) -> JsonError {
        let rest = &self.text[self.at..];
        let Some(first) = rest.chars().next() else { return ended() };
        let word = self.word();
        let token = match first {
            '{' | '}' | '[' | ']' | ',' | ':' => &rest[..1],
            '"' => match self.clone_at().string_end() {
                Ok(end) => &self.text[self.at..end],
                Err(error) => return error,
            },
            '-' | '0'..='9' => {
                let mut number = self.clone_at();
                if let Err(error) = number.number() {
                    return error;
                }
                &self.text[self.at..number.at]
            }
            _ if ["true", "false", "null"].contains(&word) => word,
            _ => {
                let token = if word.is_empty() { &rest[..first.len_utf8()] } else { word };
                return JsonError::invalid(format!("Token \"{token}\" is invalid."));
            }
        };
        let expected = match expected {
            Expected::Value => "JSON value",
            Expected::End => "end of input",
            Expected::ArrayFirst => "array element or \"]\"",
            Expected::ArrayNext => "\",\" or \"]\"",
            Expected::ObjectFirst => "string or \"}\"",
            Expected::ObjectNext => "\",\" or \"}\"",
            Expected::Colon => "\":\"",
            Expected::String => "string",
        };
        JsonError::invalid(format!("Expected {expected}, but found \"{token}\"."))
    }

    fn clone_at(&self) -> Self {
        Self { text: self.text, at: self.at, depth: self.depth, unescapes: self.unescapes }
    }

    fn string_end(mut self) -> Result<usize, JsonError> {
        self.string().map(|_| self.at)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn ended() -> JsonError {
    JsonError::invalid("The input string ended unexpectedly.")
}

fn low_surrogate() -> JsonError {
    JsonError::invalid("Unicode low surrogate must follow a high surrogate.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Problem;

    #[test]
    fn errors_say_what_postgresql_says() {
        for (text, detail) in [
            ("", "The input string ended unexpectedly."),
            ("\"abc", "The input string ended unexpectedly."),
            ("\"\\v\"", "Escape sequence \"\\v\" is invalid."),
            ("\"a\nb\"", "Character with value 0x0a must be escaped."),
            ("01", "Token \"01\" is invalid."),
            ("1f2", "Token \"1f2\" is invalid."),
            ("[1,2", "The input string ended unexpectedly."),
            ("[1,]", "Expected JSON value, but found \"]\"."),
            ("[1,[2]", "The input string ended unexpectedly."),
            ("{\"abc\"}", "Expected \":\", but found \"}\"."),
            ("{1:\"abc\"}", "Expected string or \"}\", but found \"1\"."),
            ("{\"abc\",1}", "Expected \":\", but found \",\"."),
            ("{\"abc\":1:2}", "Expected \",\" or \"}\", but found \":\"."),
            ("{\"abc\":1,3}", "Expected string, but found \"3\"."),
            ("true false", "Expected end of input, but found \"false\"."),
            ("true, false", "Expected end of input, but found \",\"."),
            ("truf", "Token \"truf\" is invalid."),
            ("    ", "The input string ended unexpectedly."),
            ("\"\\u00\"", "\"\\u\" must be followed by four hexadecimal digits."),
            ("[}", "Expected array element or \"]\", but found \"}\"."),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.detail.as_deref(), Some(detail), "{text}");
            assert_eq!(error.problem, Problem::InvalidText, "{text}");
        }
    }

    #[test]
    fn escapes_mean_characters_where_they_are_read() {
        let Kind::String(text) = parse(r#""a\u00e4\ud83d\ude04\/\n""#).unwrap().kind else { panic!() };
        assert_eq!(text, "aä😄/\n");
        for text in [r#""\ud83d""#, r#""\ude04""#, r#""\ud83d\ud83d""#, r#""\ud83dx""#, r#""\ud83d\n""#, r#""\u0000""#]
        {
            assert!(parse(text).is_err(), "{text}");
            assert!(validate(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn depth_is_limited() {
        for open in ["[", "{\"a\":"] {
            let error = parse(&open.repeat(100_000)).unwrap_err();
            assert_eq!(error.problem, Problem::TooDeep);
        }
        assert!(parse(&format!("{}{}", "[".repeat(DEPTH_MAX), "]".repeat(DEPTH_MAX))).is_ok());
    }

    #[test]
    fn nodes_know_their_text() {
        let node = parse(" { \"a\" : [ 1 , {\"b\" :2} ], \"a\":3 } ").unwrap();
        assert_eq!(node.text, "{ \"a\" : [ 1 , {\"b\" :2} ], \"a\":3 }");
        assert_eq!(node.member("a").unwrap().text, "3");
        let node = parse("[1, {\"b\" :[2, 5]}]").unwrap();
        assert_eq!(node.at(&["1", "b", "-1"]).unwrap().text, "5");
        assert!(node.at(&["1", "c"]).is_none());
    }
}
