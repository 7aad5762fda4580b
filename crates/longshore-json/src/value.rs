//! What `jsonb` keeps: keys by their length and then their bytes, each once with the last value that it was given, and
//! numbers as numerics.

use std::cmp::Ordering;

use crate::error::JsonError;
use crate::node::{Kind, Node, place};
use crate::number::Number;
use crate::parse::parse;

/// A value of `jsonb`.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object; its keys in the order of `compare_keys`.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The value that `text` stands for.
    ///
    /// # Errors
    /// If it is no JSON, or has a number beyond numeric.
    pub fn parse(text: &str) -> Result<Self, JsonError> {
        Self::of(&parse(text)?)
    }

    /// The value of `node`.
    ///
    /// # Errors
    /// If it has a number beyond numeric.
    pub fn of(node: &Node<'_>) -> Result<Self, JsonError> {
        Ok(match &node.kind {
            Kind::Null => Self::Null,
            Kind::Bool(value) => Self::Bool(*value),
            Kind::Number => Self::Number(Number::new(node.text)?),
            Kind::String(text) => Self::String(text.clone()),
            Kind::Array(elements) => Self::Array(elements.iter().map(Self::of).collect::<Result<_, _>>()?),
            Kind::Object(members) => {
                let members = members.iter().map(|(key, node)| Ok((key.clone(), Self::of(node)?)));
                Self::object(members.collect::<Result<_, JsonError>>()?)
            }
        })
    }

    /// An object of these members; of those of one name the last one counts.
    #[must_use]
    pub fn object(mut members: Vec<(String, Value)>) -> Self {
        members.sort_by(|(left, _), (right, _)| compare_keys(left, right));
        // Sorting is stable, so the last of equal keys is the last one given.
        let mut kept: Vec<(String, Value)> = Vec::with_capacity(members.len());
        for member in members {
            match kept.last_mut() {
                Some(last) if last.0 == member.0 => *last = member,
                _ => kept.push(member),
            }
        }
        Self::Object(kept)
    }

    /// The member of this name, if it is an object that has one.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Value> {
        let Self::Object(members) = self else { return None };
        let found = members.binary_search_by(|(key, _)| compare_keys(key, name)).ok()?;
        Some(&members[found].1)
    }

    /// The element at `index`, counted from 0, or from the end if negative, if it is an array that has one.
    #[must_use]
    pub fn element(&self, index: i64) -> Option<&Value> {
        match self {
            Self::Array(elements) => elements.get(place(index, elements.len())?),
            _ => None,
        }
    }

    /// Whether it is neither an array nor an object.
    #[must_use]
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Self::Array(_) | Self::Object(_))
    }

    /// What `jsonb_typeof` calls it.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// Its value as text: a string as it is, and anything else in its normal form; `None` for `null`.
    #[must_use]
    pub fn as_text(&self) -> Option<String> {
        match self {
            Self::Null => None,
            Self::String(text) => Some(text.clone()),
            other => Some(other.to_text()),
        }
    }

    /// Its normal form.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    /// Appends its normal form to `out`.
    pub fn write(&self, out: &mut String) {
        match self {
            Self::Array(elements) => {
                out.push('[');
                for (at, element) in elements.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    element.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    escape(key, out);
                    out.push_str(": ");
                    value.write(out);
                }
                out.push('}');
            }
            scalar => scalar.write_scalar(out),
        }
    }

    fn write_scalar(&self, out: &mut String) {
        match self {
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => out.push_str(number.as_str()),
            Self::String(text) => escape(text, out),
            _ => out.push_str("null"),
        }
    }
}

/// The order of keys in an object.
pub(crate) fn compare_keys(left: &str, right: &str) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

/// `value` over several lines, as `jsonb_pretty` writes it.
#[must_use]
pub fn pretty(value: &Value) -> String {
    let mut text = String::new();
    write_pretty(value, 0, &mut text);
    text
}

fn write_pretty(value: &Value, level: usize, out: &mut String) {
    let line = |level: usize, out: &mut String| {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', 4 * level));
    };
    match value {
        Value::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                line(level + 1, out);
                write_pretty(element, level + 1, out);
            }
            line(level, out);
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (at, (key, member)) in members.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                line(level + 1, out);
                escape(key, out);
                out.push_str(": ");
                write_pretty(member, level + 1, out);
            }
            line(level, out);
            out.push('}');
        }
        scalar => scalar.write_scalar(out),
    }
}

/// Appends `text` as a JSON string.
pub fn escape(text: &str, out: &mut String) {
    use std::fmt::Write as _;
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => {
                // Writing to memory cannot fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_a_normal_form() {
        for (text, expected) in [
            ("{\"b\":1,\"aa\":2,\"a\":3,\"b\" : 4}", "{\"a\": 3, \"b\": 4, \"aa\": 2}"),
            ("[1.10,1e2, \"\\u0041\\n\" ,null,true,{}]", "[1.10, 100, \"A\\n\", null, true, {}]"),
            ("[]", "[]"),
            (" 7 ", "7"),
        ] {
            let value = Value::parse(text).unwrap();
            assert_eq!(value.to_text(), expected);
            assert_eq!(Value::parse(expected).unwrap(), value);
        }
    }

    #[test]
    fn pretty_has_a_line_for_each_value() {
        let value = Value::parse("{\"a\":[1,{}],\"b\":2}").unwrap();
        assert_eq!(pretty(&value), "{\n    \"a\": [\n        1,\n        {\n        }\n    ],\n    \"b\": 2\n}");
    }
}
