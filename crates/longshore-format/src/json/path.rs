//! Where in a record a column's value is found: `key`, `key.key`, `key[0].key`, `[0]`.
//!
//! A key of other characters than letters, digits, `_`, `-` and `$` is written in double quotes, a quote in it
//! twice: `"a.b".c`. This notation is of Longshore; JSON itself has no paths.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

/// A step from a value into it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum JsonStep {
    /// To the member of an object that has this key.
    Key(Box<str>),
    /// To the element of an array at this position, from 0.
    Index(u32),
}

/// The way from a record to a value in it; at least one step.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JsonPath {
    steps: Vec<JsonStep>,
}

/// A text that is no path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPathError {
    path: String,
    /// Position of the byte that is wrong.
    at: usize,
    expected: &'static str,
}

impl JsonPath {
    /// The member of the record that has this key, whatever characters the key is of.
    #[must_use]
    pub fn key(key: &str) -> JsonPath {
        JsonPath { steps: vec![JsonStep::Key(key.into())] }
    }

    /// The element at a position of records that are arrays.
    #[must_use]
    pub fn index(index: u32) -> JsonPath {
        JsonPath { steps: vec![JsonStep::Index(index)] }
    }

    /// The path one step further.
    #[must_use]
    pub fn then(&self, step: JsonStep) -> JsonPath {
        let mut steps = self.steps.clone();
        steps.push(step);
        JsonPath { steps }
    }

    /// Its steps, from the record on.
    #[must_use]
    pub fn steps(&self) -> &[JsonStep] {
        &self.steps
    }

    /// What a column that holds the value may be called: the keys and positions, joined by `_`.
    #[must_use]
    pub fn column_name(&self) -> String {
        let name = |step: &JsonStep| match step {
            JsonStep::Key(key) => key.to_string(),
            JsonStep::Index(index) => index.to_string(),
        };
        match self.steps.as_slice() {
            // Positions of records are counted from 1, as the columns of CSV without names are.
            [JsonStep::Index(index)] => format!("column{}", u64::from(*index) + 1),
            steps => steps.iter().map(name).collect::<Vec<_>>().join("_"),
        }
    }
}

impl From<JsonStep> for JsonPath {
    fn from(step: JsonStep) -> JsonPath {
        JsonPath { steps: vec![step] }
    }
}

fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '$')
}

impl fmt::Display for JsonStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JsonStep::Key(key) if !key.is_empty() && key.chars().all(is_plain) => f.write_str(key),
            JsonStep::Key(key) => write!(f, "\"{}\"", key.replace('"', "\"\"")),
            JsonStep::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.steps.iter().enumerate() {
            if index > 0 && matches!(step, JsonStep::Key(_)) {
                f.write_str(".")?;
            }
            write!(f, "{step}")?;
        }
        Ok(())
    }
}

impl fmt::Display for JsonPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JsonPathError { path, at, expected } = self;
        let found = path[*at..].chars().next().map_or("its end".to_owned(), |found| format!("'{found}'"));
        write!(
            f,
            "\"{path}\" is not a path into JSON: {expected} is expected where {found} stands (byte {}); write a.b, a[0].b, or \
             \"a.b\" in double quotes for a key with such characters",
            at + 1
        )
    }
}

impl Error for JsonPathError {}

impl FromStr for JsonPath {
    type Err = JsonPathError;

    fn from_str(path: &str) -> Result<JsonPath, JsonPathError> {
        let error = |at: usize, expected| JsonPathError { path: path.to_owned(), at, expected };
        let mut steps = Vec::new();
        let mut at = 0;
        while at < path.len() || steps.is_empty() {
            let mut rest = &path[at..];
            if let Some(digits) = rest.strip_prefix('[') {
                let len = digits.bytes().take_while(u8::is_ascii_digit).count();
                let index = digits[..len].parse().map_err(|_| error(at + 1, "a position from 0"))?;
                if !digits[len..].starts_with(']') {
                    return Err(error(at + 1 + len, "']'"));
                }
                steps.push(JsonStep::Index(index));
                at += len + 2;
                continue;
            }
            if !steps.is_empty() {
                rest = rest.strip_prefix('.').ok_or_else(|| error(at, "'.' or '['"))?;
                at += 1;
            }
            let (key, len) = if let Some(quoted) = rest.strip_prefix('"') {
                let (key, len) = unquoted(quoted).ok_or_else(|| error(path.len(), "a closing quote"))?;
                (key, len + 1)
            } else {
                let len = rest.find(|character| !is_plain(character)).unwrap_or(rest.len());
                if len == 0 {
                    return Err(error(at, "a key"));
                }
                (rest[..len].to_owned(), len)
            };
            steps.push(JsonStep::Key(key.into()));
            at += len;
        }
        Ok(JsonPath { steps })
    }
}

/// The key behind an opening quote, and its length with the closing one.
fn unquoted(text: &str) -> Option<(String, usize)> {
    let mut from = 0;
    loop {
        let quote = from + text[from..].find('"')?;
        if !text[quote + 1..].starts_with('"') {
            return Some((text[..quote].replace("\"\"", "\""), quote + 1));
        }
        from = quote + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_round_trip() {
        for path in ["a", "a.b", "a[0].b", "[0]", "[3].x[4294967295]", "\"a.b\".c", "\"\"", "a.\"\"\"\"", "größe.$x-1"]
        {
            let parsed: JsonPath = path.parse().unwrap();
            assert_eq!(parsed.to_string(), path);
        }
        assert_eq!("\"a\"".parse::<JsonPath>().unwrap(), JsonPath::key("a"));
        let nested = JsonPath::key("a").then(JsonStep::Index(2)).then(JsonStep::Key("b c".into()));
        assert_eq!(nested.to_string(), "a[2].\"b c\"");
        assert_eq!(nested.column_name(), "a_2_b c");
        assert_eq!(JsonPath::index(0).column_name(), "column1");
    }

    #[test]
    fn what_is_no_path_is_refused_where_it_goes_wrong() {
        for (path, at, expected) in [
            ("", 0, "a key"),
            ("a.", 2, "a key"),
            ("a b", 1, "'.' or '['"),
            ("a[b]", 2, "a position from 0"),
            ("a[4294967296]", 2, "a position from 0"),
            ("a[1", 3, "']'"),
            ("\"a", 2, "a closing quote"),
            ("[0]a", 3, "'.' or '['"),
        ] {
            assert_eq!(path.parse::<JsonPath>().unwrap_err(), JsonPathError { path: path.to_owned(), at, expected });
        }
        let message = "a b".parse::<JsonPath>().unwrap_err().to_string();
        assert!(
            message.starts_with("\"a b\" is not a path into JSON: '.' or '[' is expected where ' ' stands (byte 2)")
        );
    }
}
